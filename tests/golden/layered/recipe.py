#!/usr/bin/env python3
"""Writes the golden data of layered rings beside this program, or checks it.

    python3 recipe.py           write points.tsv and members.tsv
    python3 recipe.py --check   change nothing; fail unless the files are what would be written

points.tsv: a point of each width, and where the inner walk starts. members.tsv: keys with their region and node in the ring below,
and the fingerprint of both layers in its first line. Nothing here comes from the Rust code; labels, keys and fingerprints are
those of ../native/recipe.py. Standard library alone.
"""

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("native", os.path.join(HERE, "..", "native", "recipe.py"))
native = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(native)

M32, M64 = (1 << 32) - 1, (1 << 64) - 1

REGIONS = [
    (native.node("eu", weight=2), ["eu-1", "eu-2", "eu-3"]),
    (native.node("us", weight=3), ["us-%d" % n for n in range(5)]),
    (native.node("empty", weight=1), []),
    (native.node("ap", weight=1), ["ap-1"]),
]


def fmix32(x):
    """The finalizer of MurmurHash3_x86_32, as in smhasher's MurmurHash3.cpp."""
    x ^= x >> 16
    x = x * 0x85EBCA6B & M32
    x ^= x >> 13
    x = x * 0xC2B2AE35 & M32
    return x ^ x >> 16


def fmix64(x):
    """The finalizer of MurmurHash3_x64_128."""
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & M64
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & M64
    return x ^ x >> 33


def mix128(x):
    high, low = x >> 64, x & M64
    low ^= fmix64(high)
    high ^= fmix64(low)
    low ^= fmix64(high)
    return high << 64 | low


def points():
    rows = ["bits\tpoint\tinner"]
    for bits, mix in ((32, fmix32), (64, fmix64), (128, mix128)):
        top = (1 << bits) - 1
        chosen = [0, 1, 2, top, top - 1, 1 << (bits - 1)] + [n * 0x9E3779B97F4A7C15F39CC0605CEDC835 & top for n in range(3, 40)]
        rows += ["%d\t%d\t%d" % (bits, point, mix(point)) for point in chosen]
    return "\n".join(rows) + "\n"


def members():
    outer = native.Cluster([region for region, _ in REGIONS])
    rings = {region["id"]: native.Cluster([native.node(id) for id in ids]) for region, ids in REGIONS}
    data = outer.placement() + b"".join(rings[region["id"]].placement() for region in outer.in_id_order())
    rows = [native.blake(b"ringway.layer.1", data).hex()]
    sequence = outer.sequence()
    for n in range(300):
        key = "user:%d" % n
        x = native.key_point(key)
        start = next((at for at, (point, _, _) in enumerate(sequence) if point >= x), 0)
        for _, id_bytes, _ in sequence[start:] + sequence[:start]:
            node = rings[id_bytes.decode()].owner_at(fmix32(x))
            if node is not None:
                rows.append("%s\t%s\t%s" % (key, id_bytes.decode(), node))
                break
    return "\n".join(rows) + "\n"


def main():
    for name, text in (("points.tsv", points()), ("members.tsv", members())):
        path = os.path.join(HERE, name)
        if sys.argv[1:] == ["--check"]:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    sys.exit(name + " isn't what the recipe writes")
            print(name + " is what the recipe writes")
        elif sys.argv[1:]:
            sys.exit(__doc__)
        else:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)


if __name__ == "__main__":
    main()
