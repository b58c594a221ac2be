"""libmemcached: the client library itself, by ctypes; its rings with and without weights, and each key hash.

It has no configuration file to import, so the cluster files are written here.
"""

import ctypes
import ctypes.util

from common import Proof, Stub

library = ctypes.CDLL(ctypes.util.find_library("memcached") or "libmemcached.so.11")
library.memcached_create.restype = ctypes.c_void_p
library.memcached_create.argtypes = [ctypes.c_void_p]
library.memcached_free.argtypes = [ctypes.c_void_p]
library.memcached_behavior_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64]
library.memcached_server_add_with_weight.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint16, ctypes.c_uint32]
library.memcached_get.restype = ctypes.c_void_p
library.memcached_get.argtypes = [
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.POINTER(ctypes.c_int),
]
library.memcached_lib_version.restype = ctypes.c_char_p
libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]

# `memcached_behavior_t`, `memcached_hash_t`, `memcached_server_distribution_t` of libmemcached-1.0/types.
HASH, KETAMA, DISTRIBUTION, KETAMA_WEIGHTED = 2, 3, 9, 16
CONSISTENT_KETAMA_SPY = 4
HASHES = {
    "one_at_a_time": 0,
    "md5": 1,
    "crc32": 2,
    "fnv1_64": 3,
    "fnv1a_64": 4,
    "fnv1_32": 5,
    "fnv1a_32": 6,
    "murmur": 8,
    "jenkins": 9,
    "murmur3": 10,
}

proof = Proof("libmemcached")
print(f"libmemcached {library.memcached_lib_version().decode()}")


def ask(behaviors, servers, keys):
    client = library.memcached_create(None)
    for behavior, value in behaviors:
        if library.memcached_behavior_set(client, behavior, value):
            raise SystemExit(f"libmemcached refuses the behavior {behavior}: {value}")
    for stub, weight in servers:
        library.memcached_server_add_with_weight(client, stub.host.encode(), stub.port, weight)
    answers = []
    length, flags, error = ctypes.c_size_t(), ctypes.c_uint32(), ctypes.c_int()
    for key in keys:
        value = library.memcached_get(client, key, len(key), length, flags, error)
        if not value:
            raise SystemExit(f"{key!r}: libmemcached gives error {error.value}")
        answers.append(ctypes.string_at(value, length.value).decode())
        libc.free(value)
    library.memcached_free(client)
    return answers


def cluster(options, servers):
    lines = ['scheme = "libmemcached"', "[scheme_options]"] + [f'{name} = "{value}"' for name, value in options.items()]
    for stub, weight in servers:
        lines += ["[[node]]", f'id = "{stub.name}"', f"weight = {weight}", "[node.attributes]"]
        lines += [f'host = "{stub.host}"', f'port = "{stub.port}"']
    return proof.file("cluster.toml", "\n".join(lines) + "\n")


def servers(weights):
    stubs = []
    for place, weight in enumerate(weights):
        stub = Stub("", f"127.0.4.{place + 1}")
        stub.host = f"127.0.4.{place + 1}"
        stub.name = f"{stub.host}:{stub.port}"
        stubs.append((stub, weight))
    return stubs


def prove(what, options, behaviors, weights):
    nodes = servers(weights)
    keys = proof.keys(b",;\"'{}")
    proof.compare(what, cluster(options, nodes), keys, ask(behaviors, nodes, keys))


def ring(points, point_hash, key_hash, format="libmemcached"):
    return {"format": format, "points": points, "point_hash": point_hash, "key_hash": key_hash}


for name, number in HASHES.items():
    prove(f"ketama, {name}", ring("hash100", name, name), [(HASH, number), (KETAMA, 1)], [1, 1, 1])
prove("weighted", ring("md5x4", "md5", "md5"), [(KETAMA_WEIGHTED, 1)], [1, 2, 3, 10, 5])
prove("weighted, 25 equal", ring("md5x4", "md5", "md5"), [(KETAMA_WEIGHTED, 1)], [1] * 25)
spy = [(HASH, HASHES["md5"]), (DISTRIBUTION, CONSISTENT_KETAMA_SPY)]
prove("spy", ring("hash100", "md5", "md5", "spy"), spy, [1, 1, 1])
proof.end()
