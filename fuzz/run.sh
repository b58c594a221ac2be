#!/usr/bin/env bash
# Fuzzes every target, or those named, for SECONDS_EACH seconds each: fuzz/run.sh [--seconds N] [--install] [TARGET...]
#
# Needs a nightly toolchain and cargo-fuzz; --install fetches the latter. Prints executions, coverage and findings of each
# target. Exits with 0 if nothing was found, 1 if something was (the input stays in fuzz/artifacts), 2 if it can't run here.
set -uo pipefail
cd "$(dirname "$0")"

seconds=20
install=no
targets=()
while [ $# -gt 0 ]; do
    case $1 in
        --seconds) seconds="$2"; shift ;;
        --install) install=yes ;;
        *) targets+=("$1") ;;
    esac
    shift
done

skip() {
    echo "SKIPPED: fuzzing: $1 (seeds, past crashes and random bytes were replayed by the tests)"
    exit 2
}
rustup toolchain list 2>/dev/null | grep -q '^nightly' || skip "there is no nightly toolchain"
if ! cargo fuzz --version >/dev/null 2>&1; then
    [ "$install" = yes ] || skip "cargo-fuzz isn't installed"
    cargo install cargo-fuzz --locked --quiet || skip "cargo-fuzz can't be installed"
fi
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(cargo +nightly fuzz list)
fi

# Built at once: one after the other they would wait for each other's locks.
cargo +nightly fuzz build || exit 1
found=0
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    log="$(mktemp)"
    cargo +nightly fuzz run "$target" "corpus/$target" "seeds/$target" -- \
        -max_total_time="$seconds" -max_len=1024 -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1
    status=$?
    runs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)"
    cover="$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -1)"
    memory="$(sed -n 's/^stat::peak_rss_mb: *//p' "$log" | tail -1)"
    if [ $status = 0 ]; then
        echo "$target: nothing found; ${runs:-?} executions, coverage ${cover:-?} edges, at most ${memory:-?} MB"
    else
        found=1
        echo "$target: FAILED after ${runs:-?} executions"
        grep -v '^seed 0x' "$log" | tail -60
    fi
    rm -f "$log"
done
exit $found
