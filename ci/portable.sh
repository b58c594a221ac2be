#!/usr/bin/env bash
# Golden vectors on machines that this isn't, under Miri: big-endian (s390x) and of 32 bits (i686).
#
# Needs a nightly toolchain with the components miri and rust-src. What can't run here says SKIPPED and why, and exits with 2.
# Placement must be the same on all: labels, keys, fingerprints, dumps, the mixing of layers and probes.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
    echo "SKIPPED: placement on other machines: $1 (tests/architecture.rs looks for bytes in the machine's own order)"
    exit 2
}
components=$(rustup +nightly component list --installed 2>/dev/null) || skip "there is no nightly toolchain"
grep -q '^miri' <<<"$components" || skip "nightly's miri isn't installed"
grep -q '^rust-src' <<<"$components" || skip "nightly's rust-src isn't installed"

export MIRIFLAGS="-Zmiri-disable-isolation"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/portable"
for target in s390x-unknown-linux-gnu i686-unknown-linux-gnu; do
    echo "== $target"
    cargo +nightly miri test --target "$target" --package ringway-fuzz-targets --test portable
done
echo "placement is the same on both"
