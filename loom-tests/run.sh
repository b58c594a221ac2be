#!/usr/bin/env bash
# Explores the loom models: `run.sh` as CI does, `run.sh --long` with more preemptions each (hours).
#
# LOOM_MAX_PREEMPTIONS overrides each model's own bound. Further arguments go to the test binary, as the names of models.
set -euo pipefail
cd "$(dirname "$0")"

# Without the cfgs no model is compiled, none runs and all pass. So the number that ran is part of the result.
models=28

if [[ "${1:-}" == --long ]]; then
    export RINGWAY_LOOM_LONG=1
    shift
fi
export RUSTFLAGS="${RUSTFLAGS:-} --cfg ringway_loom --cfg crossbeam_loom"
export RUST_BACKTRACE="${RUST_BACKTRACE:-0}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
cargo test --tests -- --nocapture "$@" 2>&1 | tee "$log"

ran="$(awk '/^test result: ok\./ { sum += $4 } END { print sum + 0 }' "$log")"
if [[ $# -eq 0 && "$ran" -ne "$models" ]]; then
    echo "loom: $ran models ran, $models expected: adjust 'models' in this script if one was added" >&2
    exit 1
fi
echo "loom: $ran models passed"
