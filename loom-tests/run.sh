#!/usr/bin/env bash
# Explores the loom models. LOOM_MAX_PREEMPTIONS overrides each model's own bound; arguments go to the test binaries.
set -euo pipefail
cd "$(dirname "$0")"

# Without the cfgs no model is compiled, none runs and all pass. So the number that ran is part of the result.
models=12

export RUSTFLAGS="${RUSTFLAGS:-} --cfg ringway_loom --cfg crossbeam_loom"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
cargo test --tests -- --nocapture --test-threads=1 "$@" 2>&1 | tee "$log"

ran="$(awk '/^test result: ok\./ { sum += $4 } END { print sum + 0 }' "$log")"
if [[ $# -eq 0 && "$ran" -ne "$models" ]]; then
    echo "loom: $ran models ran, $models expected: adjust 'models' in this script if one was added" >&2
    exit 1
fi
echo "loom: $ran models passed"
