#!/usr/bin/env python3
"""Writes the dumped table beside this program from the format's description, or checks it.

    python3 recipe.py           write sample.dump
    python3 recipe.py --check   change nothing; fail unless the file is what would be written

Nothing here comes from the Rust code: labels, fingerprints and BLAKE2b are those of ../native/recipe.py. Standard library alone.
"""

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("native", os.path.join(HERE, "..", "native", "recipe.py"))
native = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(native)
le32, le64, str_, opt, blake = native.le32, native.le64, native.str_, native.opt, native.blake

SNOWMAN = "gamma \u2603"
NODES = [
    (native.node("alpha", weight=2, zone=["eu", "eu-1"]), 7),
    (native.node("beta", address="10.0.0.2:80", active_points=3, attributes=[("rack", "r1")]), 8),
    (native.node(SNOWMAN, weight=0, state="draining"), 2**32 - 1),
]
KEYS = [(b"vip", "beta")]
PREFIXES = [(b"\xff", SNOWMAN)]


def var(n):
    groups = []
    while True:
        groups.append(n & 0x7F)
        n >>= 7
        if n == 0:
            break
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def node_bytes(n, payload):
    data = str_(n["id"].encode()) + le32(n["weight"])
    data += opt(None if n["active_points"] is None else le32(n["active_points"]))
    data += opt(None if n["address"] is None else str_(n["address"].encode()))
    data += le32(len(n["zone"])) + b"".join(str_(label.encode()) for label in n["zone"])
    attributes = sorted((k.encode(), v.encode()) for k, v in n["attributes"])
    data += le32(len(attributes)) + b"".join(str_(k) + str_(v) for k, v in attributes)
    data += bytes([["up", "draining", "down"].index(n["state"])])
    return data + str_(le32(payload))


def prints(cluster):
    """Both fingerprints, with the pins in them."""
    nodes = cluster.in_id_order()
    digests = b"".join(blake(b"ringway.pnode.1", str_(n["id"].encode()) + str_(le32(cluster.active(n)))) for n in nodes)
    pins = le64(len(KEYS)) + le64(len(PREFIXES))
    pins += b"".join(str_(key) + str_(id.encode()) for key, id in KEYS + PREFIXES)
    placement = blake(b"ringway.place.1", str_(b"native") + str_(b"") + le64(len(nodes)) + digests + pins)
    specs = b"".join(map(cluster.spec_digest, nodes))
    return placement, blake(b"ringway.spec.1", placement + le64(len(nodes)) + specs)


def dump():
    cluster = native.Cluster([n for n, _ in NODES], points_per_weight=4)
    payloads = {n["id"]: payload for n, payload in NODES}
    nodes = cluster.in_id_order()
    places = {n["id"].encode(): place for place, n in enumerate(nodes)}
    sequence = cluster.sequence()
    data = b"ringway\0" + le32(1) + le32(32) + str_(b"native") + str_(b"")
    data += le32(len(nodes)) + le32(len(sequence)) + le32(len(KEYS)) + le32(len(PREFIXES))
    data += b"".join(node_bytes(n, payloads[n["id"]]) for n in nodes)
    data += b"".join(str_(key) + str_(id.encode()) for key, id in KEYS + PREFIXES)
    before = 0
    for point, id_bytes, _ in sequence:
        data += var(point - before) + var(places[id_bytes])
        before = point
    data += b"".join(prints(cluster))
    return data + blake(b"ringway.dump.1", data)


def main():
    path = os.path.join(HERE, "sample.dump")
    if sys.argv[1:] == ["--check"]:
        with open(path, "rb") as file:
            found = file.read()
        if found != dump():
            sys.exit("sample.dump isn't what the recipe writes")
        print("sample.dump is what the recipe writes")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        with open(path, "wb") as file:
            file.write(dump())


if __name__ == "__main__":
    main()
