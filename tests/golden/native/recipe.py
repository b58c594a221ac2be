#!/usr/bin/env python3
"""Writes the golden data of ringway's native scheme, and checks it.

    python3 recipe.py           write every data file beside this program
    python3 recipe.py --check   change nothing; fail unless the files are what would be written

Nothing here comes from the Rust code: SeaHash follows its public specification (the reference description in the `seahash`
crate's documentation), BLAKE2b is hashlib's, and owners, shares and moves are counted the naive way. Slow and plain on purpose.
Python 3.8 or newer, standard library alone, no randomness. What each file holds is told in README.md.
"""

import bisect
import hashlib
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CIRCLE = 1 << 32
MASK64 = (1 << 64) - 1
# The scheme's id. `../xxh3/recipe.py` gives this and the hash other values: all else is the same.
SCHEME = "native"
OPTIONS = b""  # what the scheme puts into its placement fingerprint

# ---------------------------------------------------------------------------------------------------------------------
# SeaHash 4, default seeds

SEEDS = (0x16F11FE89B0D677C, 0xB480A793D8E6C86C, 0x6FE2E5AAF078EBC9, 0x14F994A4C5259381)
PRIME = 0x6EED0E9DA4D94A4F
PRIME_INVERSE = pow(PRIME, -1, 1 << 64)


def diffuse(x):
    x = x * PRIME & MASK64
    x ^= (x >> 32) >> (x >> 60)
    return x * PRIME & MASK64


def undiffuse(x):
    """The inverse of `diffuse`: the shift-xor leaves the upper half as it was, so it undoes itself."""
    x = x * PRIME_INVERSE & MASK64
    x ^= (x >> 32) >> (x >> 60)
    return x * PRIME_INVERSE & MASK64


def seahash(data):
    a, b, c, d = SEEDS
    for at in range(0, len(data), 8):
        # A short last block reads as if zero bytes followed; the length below tells it from one that has them.
        block = int.from_bytes(data[at : at + 8], "little")
        a, b, c, d = b, c, d, diffuse(a ^ block)
    return diffuse(a ^ b ^ c ^ d ^ len(data))


# ---------------------------------------------------------------------------------------------------------------------
# Encodings


def le32(n):
    return struct.pack("<I", n)


def le64(n):
    return struct.pack("<Q", n)


def str_(data):
    return le32(len(data)) + data


def opt(data):
    return b"\x00" if data is None else b"\x01" + data


def blake(person, data):
    return hashlib.blake2b(data, digest_size=16, person=person).digest()


# ---------------------------------------------------------------------------------------------------------------------
# The scheme


def label_point(id_bytes, number):
    return seahash(str_(id_bytes) + le32(number)) >> 32


def key_point(key):
    return seahash(key.encode()) >> 32


def node(id, weight=1, active_points=None, address=None, zone=(), attributes=(), state="up"):
    """`attributes` is a list of pairs, in the order in which cluster.json shows them."""
    return dict(id=id, weight=weight, active_points=active_points, address=address, zone=list(zone), attributes=list(attributes), state=state)


class Cluster:
    def __init__(self, nodes, points_per_weight=512):
        assert len({n["id"] for n in nodes}) == len(nodes)
        self.nodes = nodes
        self.points_per_weight = points_per_weight

    def with_nodes(self, nodes):
        return Cluster(nodes, self.points_per_weight)

    def active(self, n):
        return n["weight"] * self.points_per_weight if n["active_points"] is None else n["active_points"]

    def in_id_order(self):
        return sorted(self.nodes, key=lambda n: n["id"].encode())

    def sequence(self):
        """(point, id bytes, label number) of each point: the native scheme's one total order is the order of these tuples."""
        if not hasattr(self, "_sequence"):
            ids = [(n["id"].encode(), self.active(n)) for n in self.nodes]
            self._sequence = sorted((label_point(i, number), i, number) for i, count in ids for number in range(count))
        return self._sequence

    def points(self):
        if not hasattr(self, "_points"):
            self._points = [p for p, _, _ in self.sequence()]
        return self._points

    def owner_at(self, point):
        """The id of the first point >= `point`, else of the first of all; None on an empty ring."""
        sequence = self.sequence()
        if not sequence:
            return None
        at = bisect.bisect_left(self.points(), point)
        return sequence[at if at < len(sequence) else 0][1].decode()

    def owner(self, key):
        return self.owner_at(key_point(key))

    def shares(self):
        """id -> exact number of places on the circle. A point owns (predecessor, point]; of equal points the first owns it all."""
        shares = {n["id"]: 0 for n in self.in_id_order()}
        sequence = self.sequence()
        before = sequence[-1][0] - CIRCLE if sequence else 0
        for point, id_bytes, _ in sequence:
            shares[id_bytes.decode()] += point - before
            before = point
        assert sum(shares.values()) == (CIRCLE if sequence else 0)
        return shares

    def placement(self):
        nodes = self.in_id_order()
        digests = b"".join(blake(b"ringway.pnode.1", str_(n["id"].encode()) + str_(le32(self.active(n)))) for n in nodes)
        return blake(b"ringway.place.1", str_(SCHEME.encode()) + str_(OPTIONS) + le64(len(nodes)) + digests)

    def spec(self):
        nodes = self.in_id_order()
        return blake(b"ringway.spec.1", self.placement() + le64(len(nodes)) + b"".join(map(self.spec_digest, nodes)))

    @staticmethod
    def spec_digest(n):
        data = str_(n["id"].encode()) + le32(n["weight"])
        data += opt(None if n["active_points"] is None else le32(n["active_points"]))
        data += opt(None if n["address"] is None else str_(n["address"].encode()))
        data += le32(len(n["zone"])) + b"".join(str_(label.encode()) for label in n["zone"])
        attributes = sorted((k.encode(), v.encode()) for k, v in n["attributes"])
        data += le32(len(attributes)) + b"".join(str_(k) + str_(v) for k, v in attributes)
        return blake(b"ringway.snode.1", data + bytes([["up", "draining", "down"].index(n["state"])]))


# ---------------------------------------------------------------------------------------------------------------------
# Keys

PRINTABLE = frozenset(range(0x21, 0x7F))  # ASCII without the space


def key_at(point):
    """An 8-byte key whose key point is `point`.

    SeaHash of one block is invertible. The lower half of the hash is free, so we count it up until the block that it asks for is printable.
    """
    a, b, c, d = SEEDS
    rest = b ^ c ^ d ^ 8
    for low in range(CIRCLE):
        block = (a ^ undiffuse(undiffuse(point << 32 | low) ^ rest)).to_bytes(8, "little")
        if PRINTABLE.issuperset(block):
            key = block.decode()
            assert key_point(key) == point
            return key
    raise AssertionError("no printable key has this point")


def common_keys():
    keys = ["", " ", "  ", "a", "b", "aa", "A", "0", "00", "-", "null", "key with spaces", " leading", "trailing "]
    keys += ["\x01", "\x01\x02\x03\x04\x05\x06\x07\x08", "\x7f", "\x1b[31mred\x1b[0m", "a\x0bb", "\x1c\x1d\x1e\x1f", "\u0080\u0081", "\u0085", "\u2028\u2029"]
    keys += ["é", "e\u0301", "ß", "Straße", "ключ", "キー", "密钥:42", "열쇠", "مفتاح", "κλειδί", "🔑", "👩‍👩‍👧‍👦", "\ufeffbom", "\uffff", "\U0010ffff", "a\u00a0b"]
    keys += ['"quoted"', "back\\slash", "\\t", "\\n", "'single'", "{json: [1, 2]}", "#comment", "%20%00", "<tag attr='1'>&amp;", "$HOME", "*", "?", "a,b;c|d"]
    # Every length through four full rounds of the lanes, and two long ones.
    keys += [("abcdefghijklmnopqrstuvwxyz" * 6)[:n] for n in range(3, 131)]
    keys += ["x" * 255, "x" * 1000]
    keys += ["user:%d" % n for n in range(60)]
    keys += ["session:%s" % hashlib.sha256(b"session %d" % n).hexdigest()[:24] for n in range(30)]
    keys += ["/v1/objects/%d/thumbnail?w=%d&h=%d" % (n * 7919, 64 << n % 4, 64 << n % 4) for n in range(30)]
    assert len(set(keys)) == len(keys) >= 300
    for key in keys:
        assert not set(key) & {"\t", "\n", "\r", "\0"}
    return keys


def boundary_keys(cluster, more_points=()):
    """Keys that fall on, just before and just after points of the ring, and on both ends of the circle."""
    points = cluster.points()
    wanted = [0, 1, CIRCLE - 1, CIRCLE // 2]
    chosen = [points[len(points) * n // 4] for n in range(4)] + [points[-1]] if points else []
    for point in chosen + list(more_points):
        wanted += [(point - 1) % CIRCLE, point, (point + 1) % CIRCLE]
    return [key_at(point) for point in dict.fromkeys(wanted)]


# ---------------------------------------------------------------------------------------------------------------------
# Collisions


def ties_between_nodes(cluster):
    """The points that two or more different nodes have, ascending, each with those nodes' ids in byte order."""
    found = {}
    for point, id_bytes, _ in cluster.sequence():
        found.setdefault(point, []).append(id_bytes.decode())
    return [(point, sorted(set(ids), key=str.encode)) for point, ids in sorted(found.items()) if len(set(ids)) > 1]


def colliding_cluster():
    """A small cluster with equal points of different nodes, and of one node with itself. Found by trying, from a fixed start.

    A thousand ids of 512 points make 131 thousand million pairs of points: about 30 of them are expected to be equal.
    """
    candidates = Cluster([node("c%d" % n) for n in range(1000)])
    ids = []
    for _, pair in ties_between_nodes(candidates)[:6]:
        ids += [i for i in pair if i not in ids]
    # One node alone, with so many points that two of its own are equal.
    for n in range(1000):
        id_bytes = b"s%d" % n
        points = {label_point(id_bytes, number) for number in range(32768)}
        if len(points) < 32768:
            break
    # Listed backwards, so that the order of insertion cannot help.
    return Cluster([node(i) for i in reversed(ids)] + [node(id_bytes.decode(), active_points=32768)])


# ---------------------------------------------------------------------------------------------------------------------
# The cases

LONG_ID = "".join("abcdefghijklmnopqrstuvwxyz0123456789"[n * n % 36] for n in range(255))

UNUSUAL_IDS = [
    "node", "node1", "node11", "Node", "NODE", "a", "0", "-", ".", "..", "/", "10.0.0.1:6379", "[2001:db8::1]:6379", "http://cache.example/a?b=c#d",
    "two words", " leading", "trailing ", '"quoted"', "back\\slash", "it's", "#hash", "a,b;c=d|e", "%00", "null", "true",
    "é", "e\u0301", "ÿ", "узел-7", "ノード", "节点", "노드", "عقدة", "κόμβος", "🦀", "🦀🦀", "👩‍🚀", "\ue000", "\uffee", "\U00010000", "\u200b", LONG_ID,
    "é" * 127 + "x",
]  # fmt: skip


def cases():
    """(name, cluster, points that boundary keys should aim at besides the usual ones)"""
    yield "empty", Cluster([]), ()
    yield "no-points", Cluster([node("spare-2", 0), node("spare-1", 0)]), ()
    yield "one-node", Cluster([node("solo")]), ()
    yield "one-point", Cluster([node("idle", 0), node("dot", 1, active_points=1)]), ()
    yield "three-equal", Cluster([node("node-c"), node("node-a"), node("node-b")]), ()
    weighted = [
        node("w7", 7),
        node("w1", 1),
        node("w3", 3),
        node("w0", 0),
        node("below", 2, active_points=37),
        node("above", 2, active_points=1500),
        node("same", 2, active_points=1024),
        node("none", 2, active_points=0),
        node("zero-but-set", 0, active_points=100),
        node("w2", 2),
    ]
    yield "weighted", Cluster(weighted), ()
    # Not in id order: 7 and 100 have no common divisor, so this visits each number once.
    hundred = [node("cache-%02d.example:11211" % (n * 7 % 100)) for n in range(100)]
    yield "hundred-by-160", Cluster(hundred, points_per_weight=160), ()
    yield "unusual-names", Cluster([node(i) for i in UNUSUAL_IDS], points_per_weight=64), ()
    full = [
        node("full", 2, 700, "10.1.0.1:6379", ["eu", "eu-west", "eu-west-1a"], [("rack", "r12"), ("disk", "nvme"), ("Tier", "hot"), ("é", "ü")]),
        node("address", address="cache.example:6379"),
        node("zone", zone=["eu-west-1b"]),
        node("zones", zone=["eu", "eu-west-1b"]),
        node("attribute", attributes=[("k", "v")]),
        node("attributes", attributes=[("b", "2"), ("a", "1"), ("ab", "0"), ("B", "3")]),
        node("active", active_points=512),
        node("zero", 0, address="[2001:db8::7]:6379", zone=["us", "us-east-1c"], attributes=[("quote", 'a"b\\c')]),
        node("unicode", 1, None, "кэш.example:1", ["北", "🌍"], [("🔑", "🦀")]),
        node("bare"),
        node("draining", state="draining"),
        node("down", 2, zone=["eu"], attributes=[("k", "v")], state="down"),
    ]
    yield "spec-fields", Cluster(full), ()
    empty_fields = [
        node("value", attributes=[("k", "")]),
        node("key", attributes=[("", "v")]),
        node("address", address=""),
        node("zone", zone=[""]),
        node("zones", zone=["", ""]),
        node("absent"),
    ]
    yield "empty-fields", Cluster(empty_fields, points_per_weight=8), ()
    colliding = colliding_cluster()
    yield "collisions", colliding, [point for point, _ in ties_between_nodes(colliding)]


def moves(named):
    """(name, what happened, before, after)"""
    three, hundred, weighted, colliding = (named[n] for n in ("three-equal", "hundred-by-160", "weighted", "collisions"))

    def changed(cluster, id, **fields):
        return cluster.with_nodes([dict(n, **fields) if n["id"] == id else n for n in cluster.nodes])

    def without(cluster, id):
        return cluster.with_nodes([n for n in cluster.nodes if n["id"] != id])

    yield "node-added", "node-d joins three equal nodes", three, three.with_nodes(three.nodes + [node("node-d")])
    yield "weight-plus-one", "w3 goes from weight 3 to 4", weighted, changed(weighted, "w3", weight=4)
    yield "node-removed", "1 of 100 equal nodes leaves", hundred, without(hundred, "cache-42.example:11211")
    mixed = changed(changed(weighted, "w7", weight=5), "below", active_points=400)
    yield "mixed", "w7 shrinks from 7 to 5, below grows from 37 to 400 points, fresh joins", weighted, mixed.with_nodes([node("fresh")] + mixed.nodes)
    winner = ties_between_nodes(colliding)[0][1][0]
    yield "winner-leaves", "%s leaves, the first owner of a point that another node has too" % winner, colliding, without(colliding, winner)


# ---------------------------------------------------------------------------------------------------------------------
# Files


def text(value):
    return json.dumps(value, ensure_ascii=False)


def cluster_json(cluster):
    lines = ["{", '  "scheme": "%s",' % SCHEME, '  "points_per_weight": %d,' % cluster.points_per_weight, '  "nodes": [']
    rows = []
    for n in cluster.nodes:
        fields = ['"id": %s, "weight": %d' % (text(n["id"]), n["weight"])]
        if n["active_points"] is not None:
            fields.append('"active_points": %d' % n["active_points"])
        if n["address"] is not None:
            fields.append('"address": %s' % text(n["address"]))
        if n["zone"]:
            fields.append('"zone": %s' % text(n["zone"]))
        if n["state"] != "up":
            fields.append('"state": %s' % text(n["state"]))
        if n["attributes"]:
            fields.append('"attributes": {%s}' % ", ".join("%s: %s" % (text(k), text(v)) for k, v in n["attributes"]))
        rows.append("    {%s}" % ", ".join(fields))
    return "\n".join(lines + [",\n".join(rows)] * bool(rows) + ["  ]", "}"]) + "\n"


def rows_json(name, rows):
    """One array to a line, so that a change shows as one line."""
    if not rows:
        return '  "%s": []' % name
    return '  "%s": [\n%s\n  ]' % (name, ",\n".join("    " + text(list(row)) for row in rows))


def object_json(members):
    return "{\n%s\n}\n" % ",\n".join(members)


def expected_json(cluster):
    sequence = cluster.sequence()
    pairs = [(point, id_bytes.decode()) for point, id_bytes, _ in sequence]
    whole = hashlib.sha256(b"".join(le32(point) + str_(id_bytes) for point, id_bytes, _ in sequence)).hexdigest()
    shares = cluster.shares()
    return object_json(
        [
            '  "points": %d' % len(pairs),
            '  "distinct_points": %d' % len(set(cluster.points())),
            '  "sequence_sha256": "%s"' % whole,
            '  "placement_fingerprint": "%s"' % cluster.placement().hex(),
            '  "spec_fingerprint": "%s"' % cluster.spec().hex(),
            '  "share_sum": %d' % sum(shares.values()),
            rows_json("shares", shares.items()),
            rows_json("first", pairs[:64]),
            rows_json("last", pairs[-64:]),
        ]
    )


def owners_tsv(keys, *clusters):
    def row(key):
        return "\t".join([key] + [c.owner(key) or "" for c in clusters])

    return "".join(row(key) + "\n" for key in keys)


def move_json(what, before, after):
    """Walks every arc between neighbouring boundaries of both rings: inside one, neither owner changes."""
    ends = sorted(set(before.points()) | set(after.points()))
    moved, flows = 0, {}
    start = ends[-1] - CIRCLE
    for end in ends:
        pair = (before.owner_at(end), after.owner_at(end))
        if pair[0] != pair[1]:
            moved += end - start
            flows[pair] = flows.get(pair, 0) + end - start
        start = end
    old, new = before.shares(), after.shares()
    gained = sum(max(0, share - old.get(id, 0)) for id, share in new.items())
    assert gained <= moved == sum(flows.values())
    # The walk and the shares are counted apart: what a node gets less what it gives must be what its share grew by.
    for id in old.keys() | new.keys():
        net = sum(n * ((t == id) - (f == id)) for (f, t), n in flows.items())
        assert net == new.get(id, 0) - old.get(id, 0), id
    rows = sorted(((f, t, n) for (f, t), n in flows.items()), key=lambda row: (row[0].encode(), row[1].encode()))
    return object_json(
        [
            '  "what": %s' % text(what),
            '  "moved": %d' % moved,
            '  "minimum": %d' % gained,
            '  "placement_before": "%s"' % before.placement().hex(),
            '  "placement_after": "%s"' % after.placement().hex(),
            rows_json("flows", rows),
        ]
    )


SEAHASH_TEXTS = [
    "to be or not to be", "é", "e\u0301", "ключ", "密钥:42", "キー", "🔑", "👩‍👩‍👧‍👦", "\ufeff", "\U0010ffff", "مفتاح", "Straße", "a\u0000", "\u0000", "\u0000" * 8, "\u0000" * 33,
]  # fmt: skip


def seahash_tsv():
    pattern = bytes((n * 167 + 13) % 256 for n in range(300))
    inputs = [pattern[:n] for n in range(301)] + [t.encode() for t in SEAHASH_TEXTS]
    return "".join("%s\t%016x\n" % (data.hex(), seahash(data)) for data in inputs)


def labels_tsv():
    ids = ["a", "b", "node", "node1", "node11", "nod", "cache-01", "10.0.0.1:6379", "abcd", "abcdefgh", "é", "e\u0301", "узел-7", "节点", "🦀", "two words", LONG_ID]
    numbers = list(range(16)) + [111, 159, 160, 255, 256, 511, 512, 65535, 65536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]
    return "".join("%s\t%d\t%08x\n" % (i, number, label_point(i.encode(), number)) for i in ids for number in numbers)


def self_check(name, cluster, keys):
    """Owners again, by looking at every point: the bisection above must not be its own witness."""
    sequence = cluster.sequence()
    for key in keys[:: max(1, len(sequence) // 1000)]:
        point = key_point(key)
        first = next((i for p, i, _ in sequence if p >= point), sequence[0][1] if sequence else b"")
        assert first.decode() == (cluster.owner(key) or ""), (name, key)


def files():
    """Path below this folder -> text."""
    assert seahash(b"to be or not to be") == 1988685042348123509  # the vector of SeaHash's own documentation
    out = {"seahash.tsv": seahash_tsv(), "labels.tsv": labels_tsv()}
    keys = common_keys()
    out["keys.tsv"] = "".join("%s\t%08x\n" % (key, key_point(key)) for key in keys)
    named = {}
    for name, cluster, aims in cases():
        named[name] = cluster
        all_keys = keys + [k for k in boundary_keys(cluster, aims) if k not in keys]
        self_check(name, cluster, all_keys)
        out[name + "/cluster.json"] = cluster_json(cluster)
        out[name + "/expected.json"] = expected_json(cluster)
        out[name + "/owners.tsv"] = owners_tsv(all_keys, cluster)
    ties = ties_between_nodes(named["collisions"])
    assert ties and len(named["collisions"].points()) - len(set(named["collisions"].points())) > len(ties)
    for point, ids in ties:
        assert named["collisions"].owner(key_at(point)) == ids[0]
    out["collisions/ties.tsv"] = "".join("%08x\t%s\t%s\n" % (point, key_at(point), "\t".join(ids)) for point, ids in ties)
    for name, what, before, after in moves(named):
        folder = "moves/" + name
        aims = [point for point, _ in ties] if name == "winner-leaves" else []
        move_keys = keys + [k for k in boundary_keys(after, aims) if k not in keys]
        self_check(name, after, move_keys)
        out[folder + "/before.json"] = cluster_json(before)
        out[folder + "/after.json"] = cluster_json(after)
        out[folder + "/expected.json"] = move_json(what, before, after)
        out[folder + "/owners.tsv"] = owners_tsv(move_keys, before, after)
    return out


def main(files, here):
    """Writes or checks `files()`, path below `here` -> text."""
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: recipe.py [--check]")
    wanted = {os.path.join(here, *path.split("/")): content.encode() for path, content in files().items()}
    if not sys.argv[1:]:
        for path, content in wanted.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        print("%d files, %d bytes" % (len(wanted), sum(map(len, wanted.values()))))
        return
    wrong = []
    for path, content in wanted.items():
        try:
            with open(path, "rb") as file:
                if file.read() != content:
                    wrong.append("differs: " + path)
        except FileNotFoundError:
            wrong.append("missing: " + path)
    for folder, _, names in os.walk(here):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".tsv", ".json")) and path not in wanted:
                wrong.append("not made by this recipe: " + path)
    if wrong:
        sys.exit("\n".join(wrong))
    print("%d files are as this recipe writes them" % len(wanted))


if __name__ == "__main__":
    main(files, HERE)
