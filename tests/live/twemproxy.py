"""twemproxy (nutcracker): every hash, weights, names, hash tags, ports that are 11211 and ports that aren't."""

import os

from common import Proof, Running, Stub, ask_memcached, free_port

proof = Proof("twemproxy")
#: The hash, the tag, and the weights and names of the servers.
POOLS = [
    ("fnv1a_64", None, [(1, ""), (2, ""), (3, " named"), (10, ""), (1, "")]),
    ("md5", "{}", [(1, " s1"), (1, " s2"), (1, " s3")]),
    ("murmur", "$$", [(1, ""), (1, ""), (100, "")]),
    ("hsieh", None, [(1, " a"), (2, " bb"), (3, " ccc")]),
] + [
    (hash, None, [(1, ""), (4, " longer-name"), (2, "")])
    for hash in ["one_at_a_time", "crc16", "crc32", "crc32a", "fnv1_64", "fnv1_32", "fnv1a_32", "jenkins"]
]
ports = [free_port() for _ in POOLS]
stubs, pools = [], []
for number, (port, (hash, tag, servers)) in enumerate(zip(ports, POOLS)):
    lines = [f"ring{number}:", f"  listen: 127.0.0.1:{port}", f"  hash: {hash}", "  timeout: 120000", "  servers:"]
    if tag:
        lines.insert(3, f'  hash_tag: "{tag}"')
    for place, (weight, name) in enumerate(servers):
        stub = Stub("", f"127.0.3.{place + 1}")
        stub.name = f"127.0.3.{place + 1}:{stub.port}:{weight}{name}"
        stubs.append(stub)
        lines.append(f"   - {stub.name}")
    pools.append("\n".join(lines))
config = proof.file("nutcracker.yml", "\n".join(pools) + "\n")
command = ["nutcracker", "-c", config, "-s", str(free_port()), "-a", "127.0.0.1", "-m", "16384"]
with Running(command, ports, os.path.join(proof.folder, "log")):
    for number, (port, (hash, tag, _)) in enumerate(zip(ports, POOLS)):
        keys = proof.keys(b"{}{}$$,;\"'")
        answers = ask_memcached(port, keys)
        what = f"hash {hash}" + (f", tag {tag}" if tag else "")
        # Of crc32 twemproxy keeps 15 bits, so all keys lie in one part in 131,072 of the circle.
        least = 1 if hash == "crc32" else 2
        proof.compare(what, proof.cluster("twemproxy", config, f"ring{number}"), keys, answers, least)
proof.end()
