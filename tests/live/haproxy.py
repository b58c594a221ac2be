"""HAProxy: each hash function with and without avalanche; weights, numbers, a server that is disabled, a backup."""

import os

from common import Proof, Running, Stub, ask_http, free_port

proof = Proof("haproxy")
TYPES = [
    "consistent",
    "consistent sdbm",
    "consistent djb2 avalanche",
    "consistent wt6",
    "consistent wt6 avalanche",
    "consistent crc32",
    "consistent crc32 avalanche",
]
SERVERS = [
    ("one", ""),
    ("two", "weight 3 cookie weight"),
    ("three", "id 1 weight 100"),
    ("four", "disabled weight 7"),
    ("'five:5'", "weight 256 id 4097"),
    ("six", "weight 0"),
    ("seven", "backup"),
    ("eight", "weight 17"),
]
stubs = {name: Stub(name.strip("'"), "127.0.2.1") for name, _ in SERVERS}
lines = "\n".join(f"    server {name} 127.0.2.1:{stubs[name].port} {more}" for name, more in SERVERS)
ports = [free_port() for _ in TYPES]
sections = [
    f"listen ring{number}\n    bind 127.0.0.1:{port}\n    hash-type {kind}\n{lines}\n"
    for number, (port, kind) in enumerate(zip(ports, TYPES))
]
config = proof.file(
    "haproxy.cfg",
    f"""
global
    maxconn 256
defaults
    mode http
    balance hdr(X-Key)
    default-server weight 5
    option http-keep-alive
    timeout connect 120s
    timeout client 120s
    timeout server 120s
{os.linesep.join(sections)}
""",
)
with Running(["haproxy", "-db", "-f", config], ports, os.path.join(proof.folder, "log")):
    for number, (port, kind) in enumerate(zip(ports, TYPES)):
        # Commas and quotes: of a header's list the first value counts.
        keys = proof.keys(b" ,,;\"\\'{}")
        answers = ask_http(port, keys)
        proof.compare(f"hash-type {kind}", proof.cluster("haproxy", config, f"ring{number}"), keys, answers)
proof.end()
