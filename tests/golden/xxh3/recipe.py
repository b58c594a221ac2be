#!/usr/bin/env python3
"""Writes the golden data of ringway's scheme "xxh3", and checks it.

    python3 recipe.py           write every data file beside this program
    python3 recipe.py --check   change nothing; fail unless the files are what would be written
    python3 recipe.py --oracle  compare the hash below with the package `xxhash` (pip install xxhash), which wraps the C original

Nothing here comes from the Rust code: XXH3 follows its specification (`doc/xxhash_spec.md` of Cyan4973/xxHash), and the scheme is the
native one with another hash and another name, so the rest is `../native/recipe.py`. Slow and plain on purpose. Python 3.8 or newer,
standard library alone but for --oracle, no randomness. What each file holds is told in README.md.
"""

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MASK64 = (1 << 64) - 1

# ---------------------------------------------------------------------------------------------------------------------
# XXH3, 64 bits, seed 0, default secret

PRIME32 = (None, 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
PRIME64 = (None, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
PRIME_MX1 = 0x165667919E3779F9
PRIME_MX2 = 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def le(data, at, size=8):
    return int.from_bytes(data[at : at + size], "little")


def rotl(x, n):
    return (x << n | x >> 64 - n) & MASK64


def fold(x, y):
    """Both halves of the product of 128 bits, xored."""
    product = x * y
    return product & MASK64 ^ product >> 64


def avalanche(h):
    h ^= h >> 37
    h = h * PRIME_MX1 & MASK64
    return h ^ h >> 32


def avalanche_64(h):
    """The last step of the older XXH64, which the shortest inputs take."""
    h = (h ^ h >> 33) * PRIME64[2] & MASK64
    h = (h ^ h >> 29) * PRIME64[3] & MASK64
    return h ^ h >> 32


def mix_16(data, at, secret_at):
    return fold(le(data, at) ^ le(SECRET, secret_at), le(data, at + 8) ^ le(SECRET, secret_at + 8))


def accumulate(acc, data, at, secret_at):
    for i in range(8):
        value = le(data, at + 8 * i)
        keyed = value ^ le(SECRET, secret_at + 8 * i)
        acc[i ^ 1] = acc[i ^ 1] + value & MASK64
        acc[i] = acc[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32) & MASK64


def long_hash(data):
    size = len(data)
    acc = [PRIME32[3], PRIME64[1], PRIME64[2], PRIME64[3], PRIME64[4], PRIME32[2], PRIME64[5], PRIME32[1]]
    stripes = (size - 1) // 64
    for stripe in range(stripes):
        accumulate(acc, data, 64 * stripe, 8 * (stripe % 16))
        # After each block of 16 stripes; the last one of the input, which overlaps, ends none.
        if stripe % 16 == 15:
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ le(SECRET, 192 - 64 + 8 * i)) * PRIME32[1] & MASK64
    accumulate(acc, data, size - 64, 192 - 64 - 7)
    total = size * PRIME64[1]
    for i in range(4):
        total += fold(acc[2 * i] ^ le(SECRET, 11 + 16 * i), acc[2 * i + 1] ^ le(SECRET, 11 + 16 * i + 8))
    return avalanche(total & MASK64)


def xxh3(data):
    size = len(data)
    if size == 0:
        return avalanche_64(le(SECRET, 56) ^ le(SECRET, 64))
    if size <= 3:
        word = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return avalanche_64(word ^ le(SECRET, 0, 4) ^ le(SECRET, 4, 4))
    if size <= 8:
        h = le(data, size - 4, 4) + (le(data, 0, 4) << 32) ^ le(SECRET, 8) ^ le(SECRET, 16)
        h ^= rotl(h, 49) ^ rotl(h, 24)
        h = h * PRIME_MX2 & MASK64
        h ^= (h >> 35) + size
        h = h * PRIME_MX2 & MASK64
        return h ^ h >> 28
    if size <= 16:
        low = le(data, 0) ^ le(SECRET, 24) ^ le(SECRET, 32)
        high = le(data, size - 8) ^ le(SECRET, 40) ^ le(SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return avalanche(size + swapped + high + fold(low, high) & MASK64)
    if size <= 128:
        total = size * PRIME64[1]
        # Pairs from both ends inwards: 1 pair to 32 bytes, 2 to 64, 3 to 96, 4 to 128.
        for pair in range((size - 1) // 32 + 1):
            total += mix_16(data, 16 * pair, 32 * pair) + mix_16(data, size - 16 * (pair + 1), 32 * pair + 16)
        return avalanche(total & MASK64)
    if size <= 240:
        total = size * PRIME64[1]
        for i in range(8):
            total += mix_16(data, 16 * i, 16 * i)
        total = avalanche(total & MASK64)
        for i in range(8, size // 16):
            total += mix_16(data, 16 * i, 16 * (i - 8) + 3)
        total += mix_16(data, size - 16, 136 - 17)
        return avalanche(total & MASK64)
    return long_hash(data)


# ---------------------------------------------------------------------------------------------------------------------
# The scheme: the native recipe with another name and another hash


def native_recipe():
    path = os.path.join(HERE, os.pardir, "native", "recipe.py")
    spec = importlib.util.spec_from_file_location("native_recipe", path)
    module = importlib.util.module_from_spec(spec)
    # A program, not a package: leave nothing beside it.
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


LENGTHS = list(range(301)) + [511, 512, 513, 1023, 1024, 1025, 1087, 1088, 1089, 2047, 2048, 2049, 5000]


def pattern(length):
    # n // 256 too, so that blocks of 1,024 bytes differ.
    return bytes((n * 167 + n // 256 + 13) % 256 for n in range(length))


def files():
    recipe = native_recipe()
    recipe.SCHEME = "xxh3"
    recipe.seahash = xxh3
    out = {"xxh3.tsv": "".join("%d\t%016x\n" % (length, xxh3(pattern(length))) for length in LENGTHS)}
    out["labels.tsv"] = recipe.labels_tsv()
    keys = recipe.common_keys()
    out["keys.tsv"] = "".join("%s\t%08x\n" % (key, recipe.key_point(key)) for key in keys)
    name, cluster, _ = next(case for case in recipe.cases() if case[0] == "weighted")
    recipe.self_check(name, cluster, keys)
    out[name + "/cluster.json"] = recipe.cluster_json(cluster)
    out[name + "/expected.json"] = recipe.expected_json(cluster)
    out[name + "/owners.tsv"] = recipe.owners_tsv(keys, cluster)
    return out


def compare_with_oracle():
    import xxhash

    for length in LENGTHS:
        data = pattern(length)
        assert xxh3(data) == xxhash.xxh3_64_intdigest(data), length
    print("%d lengths hash as in xxhash %s" % (len(LENGTHS), xxhash.VERSION))


if __name__ == "__main__":
    if sys.argv[1:] == ["--oracle"]:
        compare_with_oracle()
    else:
        native_recipe().main(files, HERE)
