#!/usr/bin/env python3
"""Writes the golden data of ringway's native scheme with several probes, and checks it.

    python3 recipe.py           write every data file beside this program
    python3 recipe.py --check   change nothing; fail unless the files are what would be written

Nothing here comes from the Rust code. Points, hashes and fingerprints are `../native/recipe.py`'s; owners are found by a look at
every point for every probe, shares and moved shares in exact fractions. Slow and plain on purpose. Python 3.8 or newer, standard
library alone, no randomness. What each file holds is told in README.md.
"""

import importlib.util
import os
import sys
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
MASK64 = (1 << 64) - 1
CIRCLE = 1 << 32


def native_recipe():
    path = os.path.join(HERE, os.pardir, "native", "recipe.py")
    spec = importlib.util.spec_from_file_location("native_recipe", path)
    module = importlib.util.module_from_spec(spec)
    # A program, not a package: leave nothing beside it.
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


native = native_recipe()

# ---------------------------------------------------------------------------------------------------------------------
# Probes and owners


def splitmix64(seed, n):
    """The n-th output of SplitMix64 (java.util.SplittableRandom): n steps of the golden gamma, then Stafford's variant 13."""
    z = (seed + n * 0x9E3779B97F4A7C15) & MASK64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK64
    return z ^ z >> 31


def probes(key, k):
    h = native.seahash(key.encode())
    return [h >> 32] + [splitmix64(h, i) >> 32 for i in range(1, k)]


def owner(sequence, places):
    """The node of the nearest point; of equal distances, the first in the total order."""
    found = [((point - place) % CIRCLE, (point, id_bytes, number)) for place in places for point, id_bytes, number in sequence]
    return min(found)[1][1] if found else None


def replicas(cluster, key, k, count):
    """Each is the owner on the ring without those before it."""
    sequence, out = cluster.sequence(), []
    while len(out) < count:
        one = owner([entry for entry in sequence if entry[1] not in out], probes(key, k))
        if one is None:
            break
        out.append(one)
    return [one.decode() for one in out]


def fingerprint(cluster, k):
    native.OPTIONS = b"" if k == 1 else b"probes" + native.le32(k)
    found = cluster.placement()
    native.OPTIONS = b""
    return found.hex()


# ---------------------------------------------------------------------------------------------------------------------
# Shares


def gaps(sequence):
    """(length, id) of the gap before each point; before the first of a ring it reaches around the top."""
    before = sequence[-1][0] - CIRCLE
    out = []
    for point, id_bytes, _ in sequence:
        out.append((point - before, id_bytes))
        before = point
    return out


def shares(sequence, k):
    """id -> the integral of k (1 - F)^(k-1) over the node's gaps, exactly."""
    lengths = sorted(length for length, _ in gaps(sequence))
    rest = lambda x: Fraction(sum(max(0, length - x) for length in lengths), CIRCLE)
    integral, edges = {0: Fraction(0)}, sorted(set([0] + lengths))
    for low, high in zip(edges, edges[1:]):
        # S is a straight line of slope -n / circle between two edges.
        n = sum(length > low for length in lengths)
        integral[high] = integral[low] + (rest(low) ** k - rest(high) ** k) / n
    out = {}
    for length, id_bytes in gaps(sequence):
        out[id_bytes] = out.get(id_bytes, 0) + integral[length]
    assert sum(out.values()) == 1
    return out


def cells(one, other):
    """(begin, end, next point of one, its id, next point of other, its id): where both rings' next points stay the same."""
    edges = sorted(set(entry[0] for entry in one + other))
    out, begin = [], edges[-1] - CIRCLE
    for end in edges:
        row = [begin, end]
        for sequence in (one, other):
            point, id_bytes, _ = next((entry for entry in sequence if entry[0] >= end), None) or (sequence[0][0] + CIRCLE,) + sequence[0][1:]
            row += [point, id_bytes]
        out.append(row)
        begin = end
    return out


def area(i, j, c):
    """Twice the area of u in cell i and v in cell j with u - v > c."""
    square = lambda x: max(0, x) ** 2
    (a, b), (p, q) = i[:2], j[:2]
    return square(b - p - c) - square(a - p - c) - square(b - q - c) + square(a - q - c)


def moved(old, new):
    """How likely two independent places have another owner in the new ring, exactly; and how likely each owner is in the old one."""
    total, owners, both = 0, {}, cells(old, new)
    for i in both:
        for j in both:
            # u has the nearer old point where u - v > c, and the nearer new one where u - v > d.
            c, d = i[2] - j[2], i[4] - j[4]
            whole = 2 * (i[1] - i[0]) * (j[1] - j[0])
            past_c, past_d, past_both = area(i, j, c), area(i, j, d), area(i, j, max(c, d))
            for old_cell, new_cell, twice in (
                (i, i, past_both),
                (i, j, past_c - past_both),
                (j, i, past_d - past_both),
                (j, j, whole - past_c - past_d + past_both),
            ):
                owners[old_cell[3]] = owners.get(old_cell[3], 0) + twice
                total += twice if old_cell[3] != new_cell[5] else 0
    scale = 2 * CIRCLE * CIRCLE
    return Fraction(total, scale), {id_bytes: Fraction(twice, scale) for id_bytes, twice in owners.items()}


def decimal(fraction):
    """25 digits behind the point."""
    scaled = (fraction * 10**25).__round__()
    return "%d.%025d" % (scaled // 10**25, scaled % 10**25)


def small(changes=()):
    """Six nodes of 5 points per unit of weight; `changes` are weights, None for a node that isn't there."""
    weights = {"a": 1, "b": 2, "c": 1, "d": 3, "e": 1, "f": 2}
    weights.update(changes)
    return native.Cluster([native.node(i, weight) for i, weight in weights.items() if weight is not None], 5)


CHANGES = [
    ("a node comes", {"g": 2}),
    ("a node goes", {"d": None}),
    ("one comes, one goes", {"g": 1, "b": None}),
    ("one grows", {"b": 5}),
    ("one shrinks", {"d": 1}),
    ("one grows, one shrinks", {"a": 3, "f": 1}),
    ("one shrinks, one comes, one goes", {"d": 2, "g": 1, "c": None}),
    ("two grow", {"a": 2, "b": 3}),
    ("two shrink, one grows", {"b": 1, "d": 2, "c": 2}),
    ("one grows, one comes", {"e": 2, "g": 1}),
    ("nothing", {}),
]


def files():
    out = {}
    keys = native.common_keys()
    out["probes.tsv"] = "".join("%s\t%s\n" % (key, "\t".join("%08x" % probe for probe in probes(key, 32))) for key in keys[:60])
    cluster = native.Cluster([native.node("node-%d" % n, [0, 1, 1, 2][n % 4]) for n in range(12)], 8)
    rows = []
    for k in (1, 2, 3, 5, 21):
        rows += ["%d\t%s\t%s\n" % (k, key, "\t".join(replicas(cluster, key, k, 3))) for key in keys[:60]]
        for key in keys[:60]:
            if k == 1:
                assert replicas(cluster, key, 1, 1)[0] == cluster.owner(key)
    out["replicas.tsv"] = "".join(rows)
    out["fingerprints.tsv"] = "".join("%d\t%s\n" % (k, fingerprint(cluster, k)) for k in (1, 2, 3, 5, 21, 32))
    before = small().sequence()
    rows = []
    for k in (1, 2, 3, 5, 21, 32):
        rows += ["%d\t%s\t%s\n" % (k, id_bytes.decode(), decimal(share)) for id_bytes, share in sorted(shares(before, k).items())]
    out["shares.tsv"] = "".join(rows)
    rows = []
    for name, change in CHANGES:
        fraction, owners = moved(before, small(change).sequence())
        # Two ways to the same shares.
        assert owners == shares(before, 2), name
        weights = " ".join("%s=%s" % (i, "-" if weight is None else weight) for i, weight in change.items())
        rows.append("%s\t%s\t%s\n" % (name, weights, decimal(fraction)))
    out["moved.tsv"] = "".join(rows)
    return out


if __name__ == "__main__":
    native.main(files, HERE)
