#!/usr/bin/env python3
"""Makes the recordings in this folder from whole ones: reduce.py FOLDER.

Each case keeps its cluster.json, with the number of rows changed, and of its rows all that are special (short cases are
taken whole) and an even selection of the others.
"""

import json
import os
import sys

ROWS = 300
HERE = os.path.dirname(os.path.abspath(__file__))


def selected(rows):
    if len(rows) <= ROWS + ROWS // 4:
        return rows
    # Keys of unusual bytes are recorded together, so an even selection has some of them; take all that aren't plain.
    plain = [i for i, row in enumerate(rows) if row.isascii() and len(row) < 80]
    special = sorted(set(range(len(rows))) - set(plain))
    special = special[:: max(1, len(special) // (ROWS // 3))]
    step = max(1, len(plain) // (ROWS - len(special)))
    keep = sorted(set(special) | set(plain[::step]))
    return [rows[i] for i in keep]


def main(root):
    cases = 0
    for folder, _, names in sorted(os.walk(root)):
        if not {"cluster.json", "vectors.tsv"} <= set(names):
            continue
        with open(os.path.join(folder, "cluster.json"), encoding="utf-8") as file:
            cluster = json.load(file)
        with open(os.path.join(folder, "vectors.tsv"), "rb") as file:
            rows = file.read().split(b"\n")[:-1]
        assert len(rows) == cluster["vectors"], folder
        rows = selected(rows)
        cluster["vectors"] = len(rows)
        target = os.path.join(HERE, os.path.relpath(folder, root))
        os.makedirs(target, exist_ok=True)
        with open(os.path.join(target, "cluster.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(cluster, indent=1, ensure_ascii=False) + "\n")
        with open(os.path.join(target, "vectors.tsv"), "wb") as file:
            file.write(b"".join(row + b"\n" for row in rows))
        cases += 1
    print("%d cases" % cases)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: reduce.py FOLDER")
    main(sys.argv[1])
