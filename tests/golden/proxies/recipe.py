#!/usr/bin/env python3
"""Writes hashes.tsv: known answers of the hashes that ringway's schemes for other systems use.

    python3 recipe.py           write it
    python3 recipe.py --check   change nothing; fail unless it is what would be written
    python3 recipe.py --oracle  compare with the package `xxhash` (pip install xxhash)

Each hash is written out from its specification or from the system's source, a byte at a time, without a look at the Rust code. Standard
library alone but for --oracle. A row: the hash's name, the length n, and the hash of the first n bytes of the pattern as hex digits.
"""

import os
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

# Bytes 0x80 to 0xff come early and often.
PATTERN = bytes((n * 167 + n // 256 + 0xC1) % 256 for n in range(400))
LENGTHS = list(range(65)) + [100, 127, 128, 129, 255, 256, 257, 400]


def le(data):
    return int.from_bytes(data, "little")


def rotl32(x, n):
    return (x << n | x >> 32 - n) & M32 if n else x


def rotl64(x, n):
    return (x << n | x >> 64 - n) & M64


def sdbm(data):
    h = 0
    for x in data:
        h = x + (h << 6) + (h << 16) - h & M32
    return h


def djb2(data):
    h = 5381
    for x in data:
        h = h * 33 + x & M32
    return h


def wt6(data):
    h0, h1, s0, s1 = 0xA53C965A, 0x5CA6953A, 6, 18
    for x in data:
        h0 = ~(h0 ^ x) & M32
        h1 = ~(h1 + x) & M32
        t = rotl32(h1, s0)
        h1 = rotl32(h0, s1)
        h0 = t
        t = (h0 >> 16 ^ h1) & 0xFFFF
        s0, s1 = t & 31, t >> 11
    return h0 ^ h1


def full_hash(a):
    a = a + 0x7ED55D16 + (a << 12) & M32
    a = a ^ 0xC761C23C ^ a >> 19
    a = a + 0x165667B1 + (a << 5) & M32
    a = (a + 0xD3A2646C & M32) ^ (a << 9 & M32)
    a = a + 0xFD7046C5 + (a << 3) & M32
    a = a ^ 0xB55A4F09 ^ a >> 16
    return a * 3221225473 & M32


def murmur64a(data, seed=0xC70F6907):
    m = 0xC6A4A7935BD1E995
    h = seed ^ len(data) * m & M64
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        k = le(data[at : at + 8]) * m & M64
        k = (k ^ k >> 47) * m & M64
        h = (h ^ k) * m & M64
    if data[whole:]:
        h = (h ^ le(data[whole:])) * m & M64
    h = (h ^ h >> 47) * m & M64
    return h ^ h >> 47


def cpp_loop(data):
    h = 0
    for x in data:
        h = (h ^ x) * 0x5BD1E995 & M32
        h ^= h >> 15
    return h


def xxh(data, seed, bits):
    """XXH32 and XXH64, as `doc/xxhash_spec.md` of Cyan4973/xxHash has them."""
    if bits == 32:
        p, mask, word, rotl = (None, 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1), M32, 4, rotl32
        turn, merge = 13, (1, 7, 12, 18)
    else:
        p = (None, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
        mask, word, rotl, turn, merge = M64, 8, rotl64, 31, (1, 7, 12, 18)

    def lane(acc, value):
        return rotl(acc + value * p[2] & mask, turn) * p[1] & mask

    at = 0
    if len(data) >= 4 * word:
        acc = [seed + p[1] + p[2] & mask, seed + p[2] & mask, seed, seed - p[1] & mask]
        while len(data) - at >= 4 * word:
            for i in range(4):
                acc[i] = lane(acc[i], le(data[at : at + word]))
                at += word
        h = sum(rotl(a, n) for a, n in zip(acc, merge)) & mask
        if bits == 64:
            for a in acc:
                h = (h ^ lane(0, a)) * p[1] + p[4] & mask
    else:
        h = seed + p[5] & mask
    h = h + len(data) & mask
    if bits == 64:
        while len(data) - at >= 8:
            h = rotl64(h ^ lane(0, le(data[at : at + 8])), 27) * p[1] + p[4] & mask
            at += 8
        if len(data) - at >= 4:
            h = rotl64(h ^ le(data[at : at + 4]) * p[1] & mask, 23) * p[2] + p[3] & mask
            at += 4
        for x in data[at:]:
            h = rotl64(h ^ x * p[5] & mask, 11) * p[1] & mask
        shifts = (33, p[2], 29, p[3], 32)
    else:
        while len(data) - at >= 4:
            h = rotl32(h + le(data[at : at + 4]) * p[3] & mask, 17) * p[4] & mask
            at += 4
        for x in data[at:]:
            h = rotl32(h + x * p[5] & mask, 11) * p[1] & mask
        shifts = (15, p[2], 13, p[3], 16)
    a, first, b, second, c = shifts
    h = (h ^ h >> a) * first & mask
    h = (h ^ h >> b) * second & mask
    return h ^ h >> c


def sip_round(v):
    v[0] = v[0] + v[1] & M64
    v[1] = rotl64(v[1], 13) ^ v[0]
    v[0] = rotl64(v[0], 32)
    v[2] = v[2] + v[3] & M64
    v[3] = rotl64(v[3], 16) ^ v[2]
    v[0] = v[0] + v[3] & M64
    v[3] = rotl64(v[3], 21) ^ v[0]
    v[2] = v[2] + v[1] & M64
    v[1] = rotl64(v[1], 17) ^ v[2]
    v[2] = rotl64(v[2], 32)


def siphash24(data, k0=0, k1=0):
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        v[3] ^= le(padded[at : at + 8])
        sip_round(v)
        sip_round(v)
        v[0] ^= le(padded[at : at + 8])
    v[2] ^= 0xFF
    for _ in range(4):
        sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


# Published answers: the SipHash paper's appendix A, and the xxHash specification's authors' sanity values of the empty input.
assert siphash24(bytes(range(15)), 0x0706050403020100, 0x0F0E0D0C0B0A0908) == 0xA129CA6149BE45E5
assert xxh(b"", 0, 32) == 0x02CC5D05 and xxh(b"", 0, 64) == 0xEF46DB3751D8E999

HASHES = [
    ("sdbm", 8, sdbm),
    ("djb2", 8, djb2),
    ("wt6", 8, wt6),
    ("crc32", 8, zlib.crc32),
    ("sdbm avalanche", 8, lambda data: full_hash(sdbm(data))),
    ("djb2 avalanche", 8, lambda data: full_hash(djb2(data))),
    ("wt6 avalanche", 8, lambda data: full_hash(wt6(data))),
    ("crc32 avalanche", 8, lambda data: full_hash(zlib.crc32(data))),
    ("std::hash", 8, lambda data: murmur64a(data) & M32),
    ("c++ loop", 8, cpp_loop),
    ("xxh64", 16, lambda data: xxh(data, 0, 64)),
    ("rust str", 16, lambda data: siphash24(data + b"\xff")),
]


def row(name, digits, hash_, length):
    return "%s\t%d\t%0*x\n" % (name, length, digits, hash_(PATTERN[:length]))


def content():
    return "".join(row(name, digits, hash_, length) for name, digits, hash_ in HASHES for length in LENGTHS)


def compare_with_oracle():
    import xxhash

    for length in range(len(PATTERN) + 1):
        for seed in (0, 1, 0x89ABCDEF):
            assert xxh(PATTERN[:length], seed, 32) == xxhash.xxh32_intdigest(PATTERN[:length], seed), length
            assert xxh(PATTERN[:length], seed, 64) == xxhash.xxh64_intdigest(PATTERN[:length], seed), length
    print("%d lengths hash as in xxhash %s" % (len(PATTERN) + 1, xxhash.VERSION))


def main():
    path = os.path.join(HERE, "hashes.tsv")
    if sys.argv[1:] == ["--oracle"]:
        return compare_with_oracle()
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: recipe.py [--check | --oracle]")
    if sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            if file.read() != content():
                sys.exit("differs: " + path)
        print("hashes.tsv is as this recipe writes it")
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content())


if __name__ == "__main__":
    main()
