#!/usr/bin/env python3
"""Computes hashes.tsv, what libmemcached's and twemproxy's hash functions make of keys of every length, and counts.tsv, how
many digests servers have in the ketama family.

    recipe.py                      writes both files
    recipe.py --check              says whether they are what the recipe gives
    recipe.py --libhashkit PATH    holds the functions that libhashkit has against the library itself

Written from the definitions, with numbers of any size that are cut where C cuts them: no line is shared with the crate.
"""

import ctypes
import hashlib
import os
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
M = 0xFFFFFFFF
# The length of the key is all of the seed of both murmurs.
SEED = 0xDEADBEEF


def signed(byte):
    return byte - 256 if byte > 127 else byte


def rotl(x, n):
    x &= M
    return (x << n | x >> 32 - n) & M


def one_at_a_time(key):
    h = 0
    for byte in key:
        h = (h + signed(byte)) & M
        h = h * 1025 & M
        h ^= h >> 6
    h = h * 9 & M
    h ^= h >> 11
    return h * 32769 & M


def md5(key):
    return struct.unpack("<I", hashlib.md5(key).digest()[:4])[0]


def crc16(key):
    h = 0
    for byte in key:
        top = (h >> 8 ^ byte) & 0xFF
        rest = top << 8
        for _ in range(8):
            rest = rest << 1 ^ (0x11021 if rest & 0x8000 else 0)
        h = (h << 8 ^ rest & 0xFFFF) & M
    return h


def crc32(key):
    return zlib.crc32(key) >> 16 & 0x7FFF


def crc32a(key):
    return zlib.crc32(key)


def fnv(start, prime, bits, first):
    def of(key):
        h = start
        for byte in key:
            byte = signed(byte) % (1 << bits)
            h = (h ^ byte) * prime if first == "xor" else h * prime ^ byte
            h %= 1 << bits
        return h & M

    return of


def hsieh(key):
    if not key:
        return 0
    h, at = 0, 0
    while len(key) - at >= 4:
        low, high = struct.unpack_from("<HH", key, at)
        h = (h + low) & M
        h = (h << 16 ^ high << 11 ^ h) & M
        h = (h + (h >> 11)) & M
        at += 4
    left = key[at:]
    if len(left) == 3:
        h = (h + struct.unpack("<H", left[:2])[0]) & M
        h = (h ^ h << 16 ^ signed(left[2]) << 18) & M
        h += h >> 11
    elif len(left) == 2:
        h = (h + struct.unpack("<H", left)[0]) & M
        h = (h ^ h << 11) & M
        h += h >> 17
    elif len(left) == 1:
        h = (h + left[0]) & M
        h = (h ^ h << 10) & M
        h += h >> 1
    for left_shift, right_shift in ((3, 5), (4, 17), (25, 6)):
        h &= M
        h = (h ^ h << left_shift) & M
        h += h >> right_shift
    return h & M


def words(key):
    """Whole words, and what is left over padded to one."""
    whole = len(key) // 4 * 4
    return struct.unpack("<%dI" % (whole // 4), key[:whole]), struct.unpack("<I", key[whole:].ljust(4, b"\0"))[0]


def murmur(key):
    m = 0x5BD1E995
    h = (SEED * len(key) & M) ^ len(key)
    whole, left = words(key)
    for k in whole:
        k = k * m & M
        h = (h * m & M) ^ ((k ^ k >> 24) * m & M)
    if len(key) % 4:
        h = (h ^ left) * m & M
    h = (h ^ h >> 13) * m & M
    return h ^ h >> 15


def murmur3(key):
    def scrambled(k):
        return rotl(k * 0xCC9E2D51, 15) * 0x1B873593 & M

    h = SEED * len(key) & M
    whole, left = words(key)
    for k in whole:
        h = (rotl(h ^ scrambled(k), 13) * 5 + 0xE6546B64) & M
    h ^= scrambled(left) ^ len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & M
    h = (h ^ h >> 13) * 0xC2B2AE35 & M
    return h ^ h >> 16


def jenkins(key):
    a = b = c = (0xDEADBEEF + len(key) + 13) & M
    if not key:
        return c
    blocks = [struct.unpack("<III", key[at : at + 12].ljust(12, b"\0")) for at in range(0, len(key), 12)]
    for block in blocks[:-1]:
        a, b, c = (x + y & M for x, y in zip((a, b, c), block))
        for turns in (4, 6, 8, 16, 19, 4):
            # One step of six, after which the names move on.
            a = (a - c & M) ^ rotl(c, turns)
            c = c + b & M
            a, b, c = b, c, a
    a, b, c = (x + y & M for x, y in zip((a, b, c), blocks[-1]))
    for turns in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - rotl(b, turns) & M
        a, b, c = b, c, a
    # Seven steps; the last one's result is where `b` is by now.
    return b


FUNCTIONS = [
    ("one_at_a_time", one_at_a_time, 0),
    ("md5", md5, 1),
    ("crc16", crc16, None),
    ("crc32", crc32, 2),
    ("crc32a", crc32a, None),
    ("fnv1_32", fnv(2166136261, 16777619, 32, "multiply"), 5),
    ("fnv1a_32", fnv(2166136261, 16777619, 32, "xor"), 6),
    ("fnv1_64", fnv(0xCBF29CE484222325, 0x100000001B3, 64, "multiply"), 3),
    ("fnv1a_64", fnv(0xCBF29CE484222325, 0x100000001B3, 64, "xor"), 4),
    ("hsieh", hsieh, None),
    ("murmur", murmur, 8),
    ("murmur3", murmur3, 10),
    ("jenkins", jenkins, 9),
]


def keys():
    for length in list(range(65)) + [127, 128, 255, 256, 511, 512, 513, 700]:
        yield bytes((n * n * 7 + n * 31 + length * 101) % 251 + n % 5 for n in range(length))
    yield b"123456789"
    yield bytes(range(128, 256))
    yield b"\xff" * 13
    yield b"\x80"
    yield b"\0\0\0"


def hashes():
    rows = ["\t".join(["key"] + [name for name, _, _ in FUNCTIONS])]
    for key in keys():
        rows.append("\t".join([key.hex()] + ["%08x" % function(key) for _, function, _ in FUNCTIONS]))
    return "".join(row + "\n" for row in rows)


def f32(x):
    """Rounds to 32 bits. A sum, product or quotient of two such numbers rounds right by way of Python's 64 bits."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def as_libmemcached(weight, total, servers):
    part = f32(f32(weight) / f32(total))
    digests = f32(f32(f32(part * 160) / 4) * f32(servers))
    return int(f32(digests + f32(1e-10)))


def as_twemproxy(weight, total, servers):
    part = f32(f32(weight) / f32(total))
    digests = f32(f32(f32(part * 160) / 4) * f32(servers))
    return int(f32(digests + 1e-10))


def as_libketama(weight, total, servers):
    return int(f32(f32(f32(weight) / f32(total)) * 40.0 * f32(servers)))


def in_integers(weight, total, servers):
    return 40 * servers * weight // total


def weight_lists():
    yield [1]
    yield [4294967295]
    yield [4294967295] * 3 + [1, 2]
    yield [0, 1, 0]
    yield [1] * 25
    yield [1] * 49
    yield [3] * 97
    yield [1, 2, 3, 5, 10]
    yield [16777217, 16777216, 16777215]
    yield [65535] * 7 + [1] * 5
    state = 1
    for _ in range(120):
        weights = []
        for _ in range(1 + state % 40):
            state = state * 6364136223846793005 % 2**64 + 1442695040888963407
            weights.append((state >> 33) % (2 ** (1 + (state >> 20) % 32)))
        if sum(weights):
            yield weights


def counts():
    rows = ["weights\tlibmemcached\ttwemproxy\tlibketama\tintegers"]
    for weights in weight_lists():
        columns = [weights]
        for of in (as_libmemcached, as_twemproxy, as_libketama, in_integers):
            # libmemcached takes no weight for weight 1.
            given = [max(weight, 1) for weight in weights] if of is as_libmemcached else weights
            columns.append([of(weight, sum(given), len(given)) for weight in given])
        rows.append("\t".join(",".join(map(str, column)) for column in columns))
    return "".join(row + "\n" for row in rows)


def against(path):
    digest = ctypes.CDLL(path).libhashkit_digest
    digest.restype = ctypes.c_uint32
    digest.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    compared = 0
    for name, function, number in FUNCTIONS:
        for key in keys():
            if number is not None:
                assert digest(key, len(key), number) == function(key), (name, key)
                compared += 1
    print("%d hashes are those of %s" % (compared, path))


def main(arguments):
    if arguments[:1] == ["--libhashkit"] and len(arguments) == 2:
        return against(arguments[1])
    for name, text in (("hashes.tsv", hashes()), ("counts.tsv", counts())):
        path = os.path.join(HERE, name)
        if arguments == ["--check"]:
            with open(path, encoding="ascii") as file:
                if file.read() != text:
                    sys.exit("%s is not what the recipe gives" % name)
            print("%s is what the recipe gives" % name)
        else:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
