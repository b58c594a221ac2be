#!/usr/bin/env bash
# All tests of ringway, as the README names them: `ci/test.sh` from the root of the repository.
#
# Needs Rust. What can only run where more is at hand (python3, valgrind, objdump, a nightly toolchain, the compiler whose
# instructions were counted, the systems whose rings are reproduced) says loudly that it was skipped where it isn't. As root,
# on a system with apt-get, valgrind and those systems are installed.
# RINGWAY_STRESS_SECONDS sets how long each stress test runs, 20 if not set; RINGWAY_FUZZ_SECONDS how long each fuzz target
# does, 20 if not set.
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTFLAGS="${RUSTFLAGS:-}"
export RINGWAY_STRESS_SECONDS="${RINGWAY_STRESS_SECONDS:-20}"
skipped=()

step() {
    printf '\n== %s\n' "$*"
}

step "format"
cargo fmt --all --check
(cd loom-tests && cargo fmt --check)
(cd fuzz && cargo fmt --check)

step "clippy, warnings denied"
cargo clippy --workspace --all-targets --all-features -- -D warnings
cargo clippy --lib --no-default-features -- -D warnings
cargo clippy --lib --no-default-features --features serde -- -D warnings

step "documentation, warnings denied"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps

step "tests, and doc tests"
cargo test --workspace --all-features

# Whole recordings of other systems' decisions, where they are at hand; a part of each is in tests/golden/interop.
if [ -z "${RINGWAY_INTEROP:-}" ] && [ -d ../shared/interop ]; then
    export RINGWAY_INTEROP="$PWD/../shared/interop"
fi
if [ -n "${RINGWAY_INTEROP:-}" ]; then
    step "whole recordings of other systems"
    cargo test --all-features --test interop
fi

step "every set of features; licences and sources of dependencies"
if command -v cargo-hack >/dev/null; then
    cargo hack check --package ringway --lib --feature-powerset
else
    # Three features: their powerset by hand; all together are above.
    for features in "" {serde,arc-swap,cluster-file} serde,{arc-swap,cluster-file} arc-swap,cluster-file; do
        cargo check --lib --no-default-features --features "$features"
    done
fi
if command -v cargo-deny >/dev/null; then
    cargo deny --workspace check licenses bans sources
else
    skipped+=("licences and sources of dependencies: cargo-deny isn't installed")
fi

# Little optimized, and without the release profile's LTO: that takes most of the time to build, and shows in no answer.
step "benches, as tests"
CARGO_PROFILE_BENCH_OPT_LEVEL=1 CARGO_PROFILE_BENCH_LTO=off CARGO_PROFILE_BENCH_CODEGEN_UNITS=16 \
    cargo bench --workspace --all-features -- --test

step "instruction counts"
if ! command -v valgrind >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update && apt-get install --yes --no-install-recommends valgrind) >/dev/null || true
fi
counts=$(ci/instructions.sh) && status=0 || status=$?
printf '%s\n' "$counts"
case $status in
    0) ;;
    2) skipped+=("${counts#SKIPPED: }") ;;
    *) exit "$status" ;;
esac

step "machine code of the lookup"
code=$(ci/assembly.sh) && status=0 || status=$?
printf '%s\n' "$code"
case $status in
    0) ;;
    2) skipped+=("${code#SKIPPED: }") ;;
    *) exit "$status" ;;
esac

step "AddressSanitizer and LeakSanitizer (ci/sanitizers.sh has more, for longer)"
report="$(mktemp)"
RINGWAY_STRESS_SECONDS=3 ci/sanitizers.sh --quick address | tee "$report"
while IFS= read -r reason; do skipped+=("${reason#SKIPPED: }"); done < <(grep '^SKIPPED: ' "$report" || true)
rm -f "$report"

# As the benches above.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
step "examples"
for example in quickstart embed own_scheme tokio chosen_keys layered rebalance; do
    cargo run --release --example "$example"
done

step "the tool, as the README starts it"
cargo run --release -- live --seconds 5
cargo run --release -- live --soak --seconds 20

step "live proofs against the systems themselves"
proofs=$(ci/interop-live.sh) && status=0 || status=$?
printf '%s\n' "$proofs"
[ "$status" = 0 ] || exit "$status"
while IFS= read -r line; do
    skipped+=("${line#SKIPPED: }")
done < <(grep '^SKIPPED: ' <<<"$proofs" || true)

unset CARGO_PROFILE_RELEASE_OPT_LEVEL CARGO_PROFILE_RELEASE_LTO CARGO_PROFILE_RELEASE_CODEGEN_UNITS

step "fuzzing, a little (fuzz/run.sh has more, for longer)"
report="$(mktemp)"
fuzz/run.sh --install --seconds "${RINGWAY_FUZZ_SECONDS:-20}" | tee "$report" && status=0 || status=$?
case $status in
    0) ;;
    2) while IFS= read -r reason; do skipped+=("${reason#SKIPPED: }"); done < <(grep '^SKIPPED: ' "$report") ;;
    *) exit "$status" ;;
esac
rm -f "$report"

step "loom models of the publisher"
bash loom-tests/run.sh

step "faults that the models must find (loom-tests/mutants.sh has more, for longer)"
bash loom-tests/mutants.sh --quick

step "golden data against its recipe"
if command -v python3 >/dev/null; then
    python3 tests/golden/native/recipe.py --check
    python3 tests/golden/xxh3/recipe.py --check
    python3 tests/golden/memcache/recipe.py --check
    python3 tests/golden/keyed/recipe.py --check
    python3 tests/golden/multiprobe/recipe.py --check
    python3 tests/golden/proxies/recipe.py --check
    python3 tests/golden/dump/recipe.py --check
    python3 tests/golden/layered/recipe.py --check
else
    skipped+=("golden data against its recipe: python3 isn't there (the tests above did use the data)")
fi

step "done"
for reason in "${skipped[@]}"; do
    printf 'SKIPPED: %s\n' "$reason"
done
echo "all tests passed, ${#skipped[@]} steps skipped"
