"""What the live proofs share: servers that say who they are, fresh keys, and the comparison with ringway.

A proof starts the real system on loopback addresses, in front of stub servers; sends it keys; and asks ringway, on the
configuration that the system itself was started with, where the same keys belong. Nothing may differ.
"""

import os
import random
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

KEYS = 2000
# The machine may be busy; these are for what never comes.
PATIENCE_SECONDS = 120


class Stub(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A server that answers every HTTP request and every memcached `get` with its name."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, name, host, family=socket.AF_INET):
        self.name = name
        self.address_family = family
        super().__init__(host if family == socket.AF_UNIX else (host, 0), Answers)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_bind(self):
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    @property
    def port(self):
        return self.server_address[1]


class Answers(socketserver.StreamRequestHandler):
    def handle(self):
        name = self.server.name.encode()
        try:
            while line := self.rfile.readline():
                if line.startswith(b"get ") or line.startswith(b"gets "):
                    keys = line.split()[1:]
                    value = b"VALUE %b 0 %d\r\n%b\r\n"
                    self.wfile.write(b"".join(value % (key, len(name), name) for key in keys) + b"END\r\n")
                elif line.startswith(b"version"):
                    self.wfile.write(b"VERSION 1.6.18\r\n")
                elif line.startswith(b"quit"):
                    return
                elif b"HTTP/1." in line:
                    close = False
                    while (header := self.rfile.readline()) not in (b"\r\n", b"\n", b""):
                        close |= header.lower().replace(b" ", b"").startswith(b"connection:close")
                    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%b\r\n"
                    self.wfile.write(head % (len(name), b"Connection: close\r\n" if close else b"") + name)
                    if close:
                        return
                else:
                    self.wfile.write(b"ERROR\r\n")
        except OSError:
            pass


def free_port(host="127.0.0.1"):
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


class Running:
    """A program that is started, waited for until it listens, and ended by its own process id."""

    def __init__(self, command, ports, log):
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.ports = ports

    def __enter__(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        for port in self.ports:
            while True:
                if self.process.poll() is not None:
                    self.fail(f"ended with {self.process.returncode}")
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        self.__exit__()
                        self.fail(f"doesn't listen on port {port}")
                    time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def fail(self, what):
        with open(self.log, "rb") as log:
            sys.stderr.write(log.read()[-4000:].decode(errors="replace"))
        sys.exit(f"{self.process.args[0]} {what}")


class Proof:
    """One system: its fresh keys, ringway, and a folder of its own."""

    def __init__(self, system):
        self.system = system
        self.ringway = sys.argv[1]
        self.seed = int(os.environ.get("RINGWAY_LIVE_SEED") or random.SystemRandom().randrange(1 << 32))
        self.random = random.Random(self.seed)
        self.temporary = tempfile.TemporaryDirectory(prefix="ringway-live-")
        self.folder = self.temporary.name
        self.failed = False
        print(f"{system}: seed {self.seed} (RINGWAY_LIVE_SEED={self.seed} repeats it)")

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def keys(self, special, high=True):
        """Keys of 1 to 40 bytes: digits and letters, those of `special` in between, and bytes from 0x80 on."""
        plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        keys = set()
        while len(keys) < KEYS:
            alphabet = self.random.choice([plain, plain + b":/-_.", plain + special * 4])
            if high and self.random.random() < 0.3:
                alphabet += bytes(range(0x80, 0x100))
            length = self.random.randint(1, 40)
            inner = bytes(self.random.choice(alphabet) for _ in range(length))
            # No blanks at the ends: a header's value loses them on the way.
            keys.add((self.random.choice(plain).to_bytes(1, "little") + inner).strip())
        return sorted(keys)

    def cluster(self, format, config, name=None):
        """The cluster file that ringway makes of a configuration."""
        command = [self.ringway, "import", format, config] + (["--name", name] if name else [])
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"ringway import {format}: {done.stderr.decode(errors='replace')}")
        return self.file("cluster.toml", done.stdout.decode())

    def compare(self, what, cluster, keys, answers, least=2):
        """`answers` has the node's id that the system chose for each key. On fewer than `least` nodes, they prove nothing."""
        if len(answers) != len(keys):
            sys.exit(f"{len(answers)} answers for {len(keys)} keys")
        command = [self.ringway, "route", "--cluster", cluster]
        done = subprocess.run(command, input=b"".join(key + b"\n" for key in keys), stdout=subprocess.PIPE, check=True)
        ours = [line.rpartition(b"\t")[2].decode() for line in done.stdout.split(b"\n")[:-1]]
        if len(ours) != len(keys):
            sys.exit(f"ringway gave {len(ours)} answers for {len(keys)} keys")
        differ = [(key, theirs, mine) for key, theirs, mine in zip(keys, answers, ours) if theirs != mine]
        used = len(set(answers))
        print(f"{self.system}, {what}: {len(keys)} keys on {used} servers, {len(differ)} differences")
        for key, theirs, mine in differ[:5]:
            print(f"  key {key!r}: {self.system} chose {theirs!r}, ringway {mine!r}")
        if used < least:
            print(f"  keys on fewer than {least} servers prove nothing")
        self.failed |= bool(differ) or used < least

    def end(self):
        self.temporary.cleanup()
        sys.exit(1 if self.failed else 0)


def receive(connection, buffer, ready):
    """Reads until `ready(buffer)` says where an answer ends; returns the answer and what lies behind it."""
    while (end := ready(buffer)) is None:
        more = connection.recv(65536)
        if not more:
            sys.exit(f"the connection ended after {buffer[-200:]!r}")
        buffer += more
    return buffer[:end], buffer[end:]


def ask_http(port, keys, header=b"X-Key"):
    """The bodies that come back for requests with each key in a header, over one connection."""
    answers = []
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        buffer = b""

        def whole(buffer):
            head = buffer.find(b"\r\n\r\n")
            if head < 0:
                return None
            lines = buffer[:head].lower().split(b"\r\n")
            length = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
            if not length:
                sys.exit(f"no length in {buffer[:head]!r}")
            end = head + 4 + length[0]
            return end if len(buffer) >= end else None

        for key in keys:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: live\r\n%b: %b\r\n\r\n" % (header, key))
            answer, buffer = receive(connection, buffer, whole)
            if not answer.startswith(b"HTTP/1.1 200"):
                sys.exit(f"{key!r}: {answer[:300]!r}")
            answers.append(answer.partition(b"\r\n\r\n")[2].decode())
    return answers


def ask_memcached(port, keys):
    """The values that come back for each key, over one connection."""
    answers = []
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        buffer = b""

        def whole(buffer):
            if b"ERROR" in buffer.partition(b"\r\n")[0]:
                sys.exit(f"{key!r}: {buffer!r}")
            end = buffer.find(b"\r\nEND\r\n")
            return None if end < 0 else end + 7

        for key in keys:
            connection.sendall(b"get %b\r\n" % key)
            answer, buffer = receive(connection, buffer, whole)
            answers.append(answer.split(b"\r\n")[1].decode())
    return answers
