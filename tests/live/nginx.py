"""nginx: `hash … consistent`, with weights, a server that is down, sockets, and text that isn't ASCII."""

import os
import socket

from common import Proof, Running, Stub, ask_http, free_port, has_ipv6

proof = Proof("nginx")
port = free_port()
lines, stubs = [], []


def server(host, parameters="", family=socket.AF_INET):
    stub = Stub("", host, family)
    text = {
        socket.AF_INET: lambda: f"{host}:{stub.port}",
        socket.AF_INET6: lambda: f"[{host}]:{stub.port}",
        socket.AF_UNIX: lambda: f"unix:{host}",
    }[family]()
    stub.name = text
    stubs.append(stub)
    lines.append(f'        server "{text}"{parameters}; # {len(lines)}')


server("127.0.1.1")
server("127.0.1.2", " weight=3 max_fails=0")
server("127.0.1.3", " down")
server("127.0.1.4", " weight=10")
server(os.path.join(proof.folder, "a b.sock"), family=socket.AF_UNIX)
if has_ipv6():
    server("::1", " weight=2", socket.AF_INET6)
config = proof.file(
    "nginx.conf",
    f"""
daemon off;
master_process off;
pid {proof.folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {proof.folder}/body;
    proxy_temp_path {proof.folder}/proxy;
    fastcgi_temp_path {proof.folder}/fastcgi;
    uwsgi_temp_path {proof.folder}/uwsgi;
    scgi_temp_path {proof.folder}/scgi;
    keepalive_requests 1000000;
    upstream cache {{
        hash $http_x_key consistent;
{os.linesep.join(lines)}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://cache; }}
    }}
}}
""",
)
keys = proof.keys(b" ,;\"'{}[]#$%&=?")
with Running(["nginx", "-p", proof.folder, "-c", config], [port], os.path.join(proof.folder, "log")):
    answers = ask_http(port, keys)
proof.compare("weights, one down, a socket", proof.cluster("nginx", config), keys, answers)
proof.end()
