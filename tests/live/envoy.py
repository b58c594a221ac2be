"""Envoy: RING_HASH with both hashes, weights, hash keys, host names, limits of the ring's size, endpoints out of service."""

import json
import os

from common import Proof, Running, Stub, ask_http, free_port

EXTENSIONS = "type.googleapis.com/envoy.extensions."
proof = Proof("envoy")


def policy(**ring):
    """The ring by the extension, of which the older field is a part."""
    config = {"@type": f"{EXTENSIONS}load_balancing_policies.ring_hash.v3.RingHash", **ring}
    return {"load_balancing_policy": {"policies": [{"typed_extension_config": {"name": "ring", "typed_config": config}}]}}


def key(text):
    return {"metadata": {"filter_metadata": {"envoy.lb": {"hash_key": text}}}}


by_hostname = {"common_lb_config": {"consistent_hashing_lb_config": {"use_hostname_for_hashing": True}}}
#: What it is, what the cluster says of it, and each endpoint: its weight, its host name, and what else it has.
CLUSTERS = [
    ("weights", {}, [(1, "", {}), (2, "", {}), (3, "", {}), (10, "", {})]),
    (
        "Murmur",
        {"ring_hash_lb_config": {"hash_function": "MURMUR_HASH_2", "minimum_ring_size": 100}},
        [(1, "", {}), (1, "", {}), (1, "", {})],
    ),
    (
        "a small ring",
        {"ring_hash_lb_config": {"maximum_ring_size": 50, "minimum_ring_size": "10"}},
        [(1, "", {}), (2, "", {}), (5, "", {}), (10, "", {})],
    ),
    (
        "host names",
        {"type": "STRICT_DNS", **by_hostname},
        [(1, "one.example.net", {}), (3, "", key("key of mine")), (1, "", {}), (2, "Four", {})],
    ),
    ("one out of service", {}, [(1, "", {}), (2, "", {"health_status": "UNHEALTHY"}), (3, "", {}), (4, "", {})]),
    (
        "the extension",
        policy(minimum_ring_size=300, consistent_hashing_lb_config={"use_hostname_for_hashing": True}),
        [(1, "a", {}), (2, "b", {}), (3, "", key("c"))],
    ),
]


def listener(name, port):
    router = {"name": "router", "typed_config": {"@type": f"{EXTENSIONS}filters.http.router.v3.Router"}}
    route = {"cluster": name, "timeout": "120s", "hash_policy": [{"header": {"header_name": "x-key"}}]}
    manager = {
        "@type": f"{EXTENSIONS}filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "http_filters": [router],
        "route_config": {
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}]}]
        },
    }
    return {
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [{"filters": [{"name": "manager", "typed_config": manager}]}],
    }


stubs = []


def cluster(name, settings, hosts):
    # Two localities: the ring goes over both, in their order.
    localities = [
        {"locality": {"region": "here"}, "lb_endpoints": []},
        {"locality": {"region": "there", "zone": "z"}, "lb_endpoints": []},
    ]
    for place, (weight, hostname, more) in enumerate(hosts):
        stub = Stub("", f"127.0.5.{place + 1}")
        stub.name = f"127.0.5.{place + 1}:{stub.port}"
        stubs.append(stub)
        endpoint = {"address": {"socket_address": {"address": f"127.0.5.{place + 1}", "port_value": stub.port}}}
        if hostname:
            endpoint["hostname"] = hostname
        localities[place > 1]["lb_endpoints"].append({"endpoint": endpoint, "load_balancing_weight": weight, **more})
    assignment = {"cluster_name": name, "endpoints": localities}
    base = {"name": name, "type": "STATIC", "connect_timeout": "120s", "load_assignment": assignment}
    if "load_balancing_policy" not in settings:
        base["lb_policy"] = "RING_HASH"
    return {**base, **settings}


ports = [free_port() for _ in CLUSTERS]
config = proof.file(
    "envoy.json",
    json.dumps(
        {
            "static_resources": {
                "listeners": [listener(f"ring{number}", port) for number, port in enumerate(ports)],
                "clusters": [cluster(f"ring{number}", *settings) for number, (_, *settings) in enumerate(CLUSTERS)],
            }
        },
        indent="\t",
    ),
)
envoy = os.environ.get("RINGWAY_ENVOY", "envoy")
command = [envoy, "-c", config, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]
with Running(command, ports, os.path.join(proof.folder, "log")):
    for number, (port, (what, _, _)) in enumerate(zip(ports, CLUSTERS)):
        keys = proof.keys(b" ,;\"'{}")
        answers = ask_http(port, keys)
        proof.compare(what, proof.cluster("envoy", config, f"ring{number}"), keys, answers)
proof.end()
