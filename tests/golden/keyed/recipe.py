#!/usr/bin/env python3
"""Writes the golden data of ringway's scheme "keyed", and checks it.

    python3 recipe.py           write every data file beside this program
    python3 recipe.py --check   change nothing; fail unless the files are what would be written

Nothing here comes from the Rust code: SipHash follows its paper (Aumasson and Bernstein, 2012) and is held against the paper's own example,
and the scheme is the native one with another hash, another name and one option, so the rest is `../native/recipe.py`. Slow and plain on
purpose. Python 3.8 or newer, standard library alone, no randomness. What each file holds is told in README.md.
"""

import hashlib
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MASK64 = (1 << 64) - 1
SECRET = bytes.fromhex("8f1d03c7a95e624b00ff7e2910d4b6ea")

# ---------------------------------------------------------------------------------------------------------------------
# SipHash-c-d


def rotl(x, n):
    return (x << n | x >> 64 - n) & MASK64


def sip_round(v):
    v[0] = v[0] + v[1] & MASK64
    v[1] = rotl(v[1], 13) ^ v[0]
    v[0] = rotl(v[0], 32)
    v[2] = v[2] + v[3] & MASK64
    v[3] = rotl(v[3], 16) ^ v[2]
    v[0] = v[0] + v[3] & MASK64
    v[3] = rotl(v[3], 21) ^ v[0]
    v[2] = v[2] + v[1] & MASK64
    v[1] = rotl(v[1], 17) ^ v[2]
    v[2] = rotl(v[2], 32)


def siphash(key, data, c, d):
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        for _ in range(c):
            sip_round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(d):
        sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


# The example of the paper's appendix A: key 00 01 … 0f, data 00 01 … 0e, SipHash-2-4.
assert siphash(bytes(range(16)), bytes(range(15)), 2, 4) == 0xA129CA6149BE45E5


def keyed(data):
    return siphash(SECRET, data, 1, 3)


# ---------------------------------------------------------------------------------------------------------------------
# The scheme: the native recipe with another name and another hash, and the secret's id as its option


def native_recipe():
    path = os.path.join(HERE, os.pardir, "native", "recipe.py")
    spec = importlib.util.spec_from_file_location("native_recipe", path)
    module = importlib.util.module_from_spec(spec)
    # A program, not a package: leave nothing beside it.
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def secret_id(secret):
    return hashlib.blake2b(secret, digest_size=16, person=b"ringway.keyid.1").digest()


LENGTHS = list(range(301)) + [511, 512, 513, 1024, 5000]


def pattern(length):
    return bytes((n * 167 + n // 256 + 13) % 256 for n in range(length))


def files():
    recipe = native_recipe()
    recipe.SCHEME = "keyed"
    recipe.OPTIONS = secret_id(SECRET)
    recipe.seahash = keyed
    out = {"siphash.tsv": "".join("%d\t%016x\n" % (length, keyed(pattern(length))) for length in LENGTHS)}
    out["secret.hex"] = SECRET.hex() + "\n"
    secrets = [bytes(16), bytes(range(16)), SECRET, b"\xff" * 16]
    out["ids.tsv"] = "".join("%s\t%s\n" % (secret.hex(), secret_id(secret).hex()) for secret in secrets)
    out["labels.tsv"] = recipe.labels_tsv()
    keys = recipe.common_keys()
    out["keys.tsv"] = "".join("%s\t%08x\n" % (key, recipe.key_point(key)) for key in keys)
    name, cluster, _ = next(case for case in recipe.cases() if case[0] == "weighted")
    recipe.self_check(name, cluster, keys)
    out[name + "/cluster.json"] = recipe.cluster_json(cluster)
    out[name + "/expected.json"] = recipe.expected_json(cluster)
    out[name + "/owners.tsv"] = recipe.owners_tsv(keys, cluster)
    return out


if __name__ == "__main__":
    native_recipe().main(files, HERE)
