#!/usr/bin/env bash
# Reads the machine code of the lookups in benches/assembly.rs and holds it against what P1 and G1 promise:
#
#  - no locked instruction, no exchange with memory, no fence, anywhere in it;
#  - calls only to `refresh`, once, which the check for a new table jumps to; to the line's search of a bucket that its
#    line can't decide; to the tree of a crowded ring, and to the pins of a ring that has some; and to panics that never
#    happen;
#  - at most 10 instructions from the start through the jump to `refresh`, which is where the search begins. Saving
#    registers doesn't count: that is for the whole function.
#
# Exit codes: 0 all hold, 1 not, 2 can't be read here, with the reason on a line SKIPPED.
set -euo pipefail
cd "$(dirname "$0")/.."

most=10

skip() {
    printf 'SKIPPED: machine code of the lookup: %s\n' "$*"
    exit 2
}

[ "$(uname -m)" = x86_64 ] || skip "written for x86-64, this is $(uname -m)"
command -v objdump >/dev/null || skip "objdump isn't installed"

# The environment's flags would make other code. cargo starts the bench through echo, so that nobody need guess its name.
host=$(rustc -vV | sed -n 's/^host: //p')
runner="CARGO_TARGET_$(printf '%s' "$host" | tr 'a-z-' 'A-Z_')_RUNNER"
env -u RUSTFLAGS cargo bench --quiet --bench assembly >/dev/null
binary=$(env -u RUSTFLAGS "$runner=echo" cargo bench --quiet --bench assembly | cut -d' ' -f1)

objdump --disassemble --demangle --no-show-raw-insn "$binary" | awk -v most="$most" '
    # A function is gathered whole, then judged.
    /^[0-9a-f]+ <assembly::(lookup|control)_[a-z_]+(::h[0-9a-f]+)?>:$/ {
        name = $2
        gsub(/^<assembly::|(::h[0-9a-f]+)?>:$/, "", name)
        count = 0
        next
    }
    name == "" { next }
    NF == 0 { judge(); name = ""; next }
    {
        address = $1
        sub(/:$/, "", address)
        text = $0
        sub(/^[^\t]*\t/, "", text)
        at[address] = ++count
        code[count] = text
    }

    function fail(why) { printf "%-22s %s\n", name, why; bad = 1 }

    # The first call on the straight way from an instruction.
    function leads_to(i) {
        for (; i <= count; i++) {
            if (code[i] ~ /^call/) return code[i]
            if (code[i] ~ /^(jmp|ret)/) return ""
        }
        return ""
    }

    function judge(    i, parts, checked, refreshes, locked, pushes) {
        seen[name] = 1
        checked = refreshes = locked = pushes = 0
        for (i = 1; i <= count; i++) {
            if (code[i] ~ /^(lock|[msl]fence)/ || code[i] ~ /^xchg.*\(/) locked = i
            if (code[i] ~ /^call/) {
                if (code[i] ~ /::refresh(::h[0-9a-f]+)?>$/) refreshes++
                else if (code[i] !~ /<core::(panicking::|slice::index::slice_[a-z_]*fail)/ && code[i] !~ /<ringway::(layout::(line::Line<P>::search_owner|auto::crowd_owner)|table::pinned::find_one)/ && name !~ /^control/)
                    fail("calls: " code[i])
            }
        }
        # The last of the leading jumps that goes to the call of refresh.
        for (i = 1; i <= count && i <= 40; i++) {
            if (code[i] ~ /^push/) pushes++
            split(code[i], parts, /[ \t]+/)
            if (parts[1] ~ /^j/ && parts[1] != "jmp" && (parts[2] in at) && leads_to(at[parts[2]]) ~ /::refresh/) checked = i - pushes
        }
        if (name ~ /^control/) { if (!locked) fail("has no locked instruction, though it counts: the check is blind") }
        else if (locked) fail("has a locked instruction or a fence: " code[locked])
        if (name ~ /^lookup_reader/) {
            if (refreshes != 1) fail("calls refresh " refreshes " times, not once")
            else if (!checked) fail("reaches refresh by no jump of its first 40 instructions")
            else if (checked > most) fail(checked " instructions before the search, at most " most " may be")
            else printf "%-22s %d instructions, %d of them before the search\n", name, count, checked
        } else if (name ~ /^lookup_static/) {
            if (refreshes) fail("is not meant to know of a publisher")
            printf "%-22s %d instructions\n", name, count
        }
        delete at
    }

    END {
        wanted = split("lookup_reader_line lookup_reader_sorted lookup_reader_auto lookup_reader_key lookup_static_line control_count", names, " ")
        for (i = 1; i <= wanted; i++) if (!(names[i] in seen)) { print names[i] ": not found in the binary"; bad = 1 }
        exit bad
    }
'
