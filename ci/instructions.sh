#!/usr/bin/env bash
# Counts the instructions of each case of benches/instructions.rs under callgrind, and compares them with
# ci/instructions.tsv: ci/instructions.sh [--write]
#
# A case fails that takes over 3 % more or less than is stored, and so does one that is new or gone: store the figures
# again with --write, and say in the commit why they changed.
#
# Exit codes: 0 all as stored (or written), 1 not, 2 can't be measured here, with the reason on a line SKIPPED: no
# valgrind, or another compiler or processor family than the one the figures were stored with, whose code is another.
set -euo pipefail
cd "$(dirname "$0")/.."

record=ci/instructions.tsv
tolerance_per_mille=30

skip() {
    printf 'SKIPPED: instruction counts: %s\n' "$*"
    exit 2
}

case "${1:-}" in
    "" | --write) ;;
    *) echo "usage: ci/instructions.sh [--write]" >&2; exit 64 ;;
esac
command -v valgrind >/dev/null || skip "valgrind isn't installed"

host=$(rustc -vV | sed -n 's/^host: //p')
compiler="$(rustc -V | cut -d' ' -f1,2) $host"
if [ "${1:-}" != --write ]; then
    stored=$(sed -n 's/^# compiler: //p' "$record")
    [ "$stored" = "$compiler" ] || skip "stored with $stored, this is $compiler; other code, other counts"
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# cargo starts the bench through this, so that nobody need guess the binary's name. All that the process does is run by
# valgrind, but only what is done inside `measured` is counted. The environment's flags would make other code.
runner="CARGO_TARGET_$(printf '%s' "$host" | tr 'a-z-' 'A-Z_')_RUNNER"
env -u RUSTFLAGS "$runner=valgrind --tool=callgrind --toggle-collect=instructions::measured --dump-after=instructions::measured --callgrind-out-file=$out/dump" \
    cargo bench --quiet --bench instructions >"$out/stdout" 2>"$out/stderr" || { cat "$out/stdout" "$out/stderr" >&2; exit 1; }

calls=$(sed -n 's/^calls\t//p' "$out/stdout")
sed -n 's/^case\t//p' "$out/stdout" >"$out/names"
# One dump a case: dump.1, dump.2, … (The end of the process writes another, without a number, in which nothing is.)
cases=$(wc -l <"$out/names")
dumps=$(find "$out" -name 'dump.*' | wc -l)
if [ "$cases" -eq 0 ] || [ "$cases" -ne "$dumps" ]; then
    echo "$cases cases and $dumps dumps: callgrind didn't see each call of instructions::measured" >&2
    exit 1
fi
number=0
{
    printf '# Instructions per lookup under callgrind, by ci/instructions.sh --write. Columns: case, instructions.\n'
    printf '# compiler: %s\n' "$compiler"
    while read -r name; do
        number=$((number + 1))
        total=$(sed -n 's/^\(summary\|totals\): //p' "$out/dump.$number" | head -n 1)
        awk -v name="$name" -v total="$total" -v calls="$calls" 'BEGIN { printf "%s\t%.2f\n", name, total / calls }'
    done <"$out/names"
} >"$out/counts"

if [ "${1:-}" = --write ]; then
    cp "$out/counts" "$record"
    cat "$record"
    exit 0
fi

awk -F '\t' -v tolerance="$tolerance_per_mille" '
    /^#/ { next }
    NR == FNR { stored[$1] = $2; next }
    !($1 in stored) { printf "%-28s %10.2f  NEW: store it with --write\n", $1, $2; bad = 1; next }
    {
        change = ($2 / stored[$1] - 1) * 1000
        off = change > tolerance || change < -tolerance
        printf "%-28s %10.2f  stored %10.2f  %+6.1f %%%s\n", $1, $2, stored[$1], change / 10, off ? "  OUT OF BOUNDS" : ""
        if (off) bad = 1
        seen[$1] = 1
    }
    END {
        for (name in stored) if (!(name in seen)) { printf "%-28s GONE: store without it with --write\n", name; bad = 1 }
        exit bad
    }
' "$record" "$out/counts"
