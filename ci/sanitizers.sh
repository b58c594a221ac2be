#!/usr/bin/env bash
# Runs the tests under sanitizers and Miri: ci/sanitizers.sh [--quick] [address] [thread] [miri], all three if none is named.
#
# address: AddressSanitizer and LeakSanitizer; needs a nightly toolchain.
# thread:  ThreadSanitizer; needs rust-src too, as the standard library must be built with it (else the compiler refuses to
#          link, and with that silenced reports 19 races of std that aren't there).
# miri:    Miri with Tree Borrows (crossbeam-epoch 0.9.21 isn't clean under Stacked Borrows, in internal.rs) and
#          RINGWAY_MIRI_SEEDS, 0..4 if not set, each another interleaving; needs miri and rust-src.
#
# No suppressions: any report fails. What can't run here says SKIPPED and why; the exit code is then still 0.
# --quick leaves out what has no unsafe code or threads below it. RINGWAY_STRESS_SECONDS: 5 if not set.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
folder="${CARGO_TARGET_DIR:-target}"
export RINGWAY_STRESS_SECONDS="${RINGWAY_STRESS_SECONDS:-5}"
quick=false
wanted=()
for word in "$@"; do
    case "$word" in
        --quick) quick=true ;;
        address | thread | miri) wanted+=("$word") ;;
        *) echo "usage: ci/sanitizers.sh [--quick] [address] [thread] [miri]" >&2; exit 64 ;;
    esac
done
[ "${#wanted[@]}" -gt 0 ] || wanted=(address thread miri)

skip() {
    printf 'SKIPPED: %s\n' "$*"
}

# What has threads, or unsafe code below it.
concurrent=(--test publish --test publish_shutdown --test field_bugs --test torture --test stress --test lives --test ring --test wait)

address() {
    local tests=(--tests)
    if "$quick"; then tests=("${concurrent[@]}" --test publish_alloc --test layouts); fi
    # Optimized a little: the layouts' tests take a minute otherwise. Assertions stay.
    CARGO_TARGET_DIR="$folder/sanitize-address" CARGO_PROFILE_DEV_OPT_LEVEL=1 \
        RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=address" ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1" \
        cargo +nightly test --all-features --target "$target" "${tests[@]}"
}

thread() {
    CARGO_TARGET_DIR="$folder/sanitize-thread" RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=thread" TSAN_OPTIONS="halt_on_error=1" \
        cargo +nightly test -Zbuild-std --all-features --target "$target" "${concurrent[@]}"
}

miri() {
    # Single tests are slow there and shrink by themselves; ring and stress, which hash thousands of labels, stay out.
    # Its leak check is on. Reuse of addresses is what lookups by address must bear, so there is much of it.
    CARGO_TARGET_DIR="$folder/miri" MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-address-reuse-rate=0.9 \
        -Zmiri-many-seeds=${RINGWAY_MIRI_SEEDS:-0..4}" RINGWAY_STRESS_SECONDS=1 \
        cargo +nightly miri test --all-features --test publish --test publish_shutdown --test field_bugs
}

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    skip "${wanted[*]}: set up for Linux on x86-64, this is $(uname -sm)"
    exit 0
fi
if ! cargo +nightly --version >/dev/null 2>&1; then
    skip "${wanted[*]}: no nightly toolchain"
    exit 0
fi
library="$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library/std"
for sanitizer in "${wanted[@]}"; do
    if [ "$sanitizer" != address ] && [ ! -d "$library" ]; then
        skip "$sanitizer: the nightly toolchain has no rust-src"
    elif [ "$sanitizer" = miri ] && ! cargo +nightly miri --version >/dev/null 2>&1; then
        skip "miri: the nightly toolchain has none"
    else
        printf '\n== %s\n' "$sanitizer"
        "$sanitizer"
    fi
done
