#!/usr/bin/env bash
# Breaks the publisher on purpose, one fault at a time, and demands that something notices.
#
#   mutants.sh                    every patch in mutants/, each against the model or test that it names
#   mutants.sh --quick            a few of them (CI)
#   mutants.sh NAME...            these
#   mutants.sh --each [NAME...]   every patch or these, each against every model: what the table in docs/mutants.md shows
#
# A patch begins with two lines. `Fault:` says what it breaks. `Found by:` says what has to fail then: a model's name; or
# `test FILE NAME`, a test of tests/FILE.rs, where no model can see it; or `nothing: REASON`, if it breaks no promise.
# Patches are applied to a copy, which also has a copy of crossbeam-epoch, as some break its fences. A patch that doesn't
# apply, doesn't build, or isn't noticed by what it names is a failure, and so is a model that fails without any fault.
#
# A model is explored at one preemption here, and if it is the one that the patch names and finds nothing, as in run.sh.
set -euo pipefail
cd "$(dirname "$0")"
here="$PWD"
root="$(dirname "$here")"

quick=(swap-relaxed refresh-load-relaxed no-pin no-defer no-second-count never-refresh limit-off-by-one finished-first)

work="${CARGO_TARGET_DIR:-$here/target}/mutants"
tree="$work/tree"
export RUST_BACKTRACE=0 CARGO_PROFILE_DEV_DEBUG=0
each=
case "${1:-}" in
    --quick) names=("${quick[@]}") ;;
    --each)
        each=1
        shift
        names=("$@")
        ;;
    *) names=("$@") ;;
esac
if [[ ${#names[@]} -eq 0 ]]; then
    mapfile -t names < <(cd mutants && printf '%s\n' *.patch | sed 's/\.patch$//')
fi

copy_tree() {
    rm -rf "$tree"
    mkdir -p "$tree/vendor"
    # -m: new times. cargo goes by them, and would take what a fault left behind for the original.
    tar -C "$root" --exclude=target --exclude=.git -cf - . | tar -C "$tree" -xmf -
    local manifest
    manifest="$(cargo metadata --format-version 1 --manifest-path "$here/Cargo.toml" |
        grep -o '"manifest_path":"[^"]*/crossbeam-epoch-0[^"]*/Cargo.toml"' | head -n 1 | cut -d '"' -f 4)"
    cp -r --no-preserve=all "$(dirname "$manifest")" "$tree/vendor/crossbeam-epoch"
    # A package below a workspace must be a workspace of its own.
    printf '\n[workspace]\n' >>"$tree/vendor/crossbeam-epoch/Cargo.toml"
    # A fault is built once and explored for seconds: what is ours isn't optimized here, what isn't is built once.
    printf '\n[profile.dev.package."*"]\nopt-level = 3\n[profile.dev.package.ringway]\nopt-level = 0\n' \
        >>"$tree/loom-tests/Cargo.toml"
    printf '\n[patch.crates-io.crossbeam-epoch]\npath = "../vendor/crossbeam-epoch"\n' >>"$tree/loom-tests/Cargo.toml"
}

# Builds the models as they are in the tree and prints the binary's path.
build_models() {
    (cd "$tree/loom-tests" &&
        CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_TARGET_DIR="$work/loom" RUSTFLAGS="--cfg ringway_loom --cfg crossbeam_loom" \
            cargo test --test models --no-run 2>"$work/build.log") || return 1
    sed -n 's/.*Executable .*(\(.*\))$/\1/p' "$work/build.log"
}

# Succeeds if the model does, which is explored as deep as the third argument says, or as in run.sh.
run_model() {
    local binary="$1" model="$2"
    [[ $model == *::* ]] || model="$model::$model"
    # A subshell, which a crash may end: some faults are use after free.
    (
        if [[ $# -eq 3 ]]; then export LOOM_MAX_PREEMPTIONS="$3"; fi
        "$binary" --exact "$model"
        exit "$?" # not the last command, so that it is the log that is told of a crash
    ) >"$work/model.log" 2>&1
}

run_test() {
    (cd "$tree" && CARGO_TARGET_DIR="$work/std" cargo test --all-features --test "$1" --no-run >"$work/build.log" 2>&1) || return 2
    (cd "$tree" && CARGO_TARGET_DIR="$work/std" cargo test --all-features --test "$1" "$2" >"$work/test.log" 2>&1) || return 1
    grep -q '^test result: ok\. [1-9]' "$work/test.log" || return 2
}

# The models whose code a fault is in or under; a file's only model goes by the file's name. The litmus has nothing of
# ringway's in it.
models() {
    "$1" --list 2>/dev/null | sed -n 's/: test$//p' | sed 's/^\(.*\)::\1$/\1/' | grep -v '^repin::'
}

failures=()
fail() {
    failures+=("$1")
    echo "FAILED $1"
}

mkdir -p "$work"
copy_tree
echo "without a fault"
if ! binary="$(build_models)"; then
    cat "$work/build.log" >&2
    exit 1
fi
mapfile -t all_models < <(models "$binary")
named=()
[[ -z $each ]] || named=("${all_models[@]}")
for name in "${names[@]}"; do
    found="$(sed -n 's/^Found by: //p' "mutants/$name.patch")"
    [[ $found == nothing:* ]] || named+=("$found")
done
while read -r model; do
    case $model in
        "test "*)
            read -r _ file test <<<"$model"
            run_test "$file" "$test" || fail "$model: fails without a fault, or doesn't exist"
            ;;
        *)
            [[ " ${all_models[*]} " == *" $model "* ]] || fail "$model: a patch names it, and there is no such model"
            run_model "$binary" "$model" 1 || fail "$model: fails without a fault"
            ;;
    esac
done < <(printf '%s\n' "${named[@]}" | sort -u)

: >"$work/table.tsv"
for name in "${names[@]}"; do
    patch="$here/mutants/$name.patch"
    fault="$(sed -n 's/^Fault: //p' "$patch")"
    found="$(sed -n 's/^Found by: //p' "$patch")"
    echo "$name: $fault"
    SECONDS=0
    if ! patch -d "$tree" -p1 -F0 -s --no-backup-if-mismatch <"$patch"; then
        fail "$name: the patch doesn't apply any more"
        copy_tree
        continue
    fi
    touch "$tree"/$(sed -n 's/^+++ b\///p' "$patch")
    if binary="$(build_models)"; then
        noticed=()
        candidates=()
        case $found in
            "test "* | nothing:*) ;;
            *) candidates=("$found") ;;
        esac
        [[ -z $each ]] || candidates=("${all_models[@]}")
        for model in "${candidates[@]}"; do
            run_model "$binary" "$model" 1 && { [[ $model != "$found" ]] || run_model "$binary" "$model"; } || noticed+=("$model")
        done
        case $found in
            "test "*)
                read -r _ file test <<<"$found"
                run_test "$file" "$test" && status=0 || status=$?
                case $status in
                    0) fail "$name: $found passes" ;;
                    1) noticed+=("$found") ;;
                    *) fail "$name: tests/$file.rs doesn't build, or has no test $test" ;;
                esac
                ;;
            nothing:*) [[ ${#noticed[@]} -eq 0 ]] || fail "$name: noticed by ${noticed[*]}, though said to break nothing" ;;
            *) [[ " ${noticed[*]} " == *" $found "* ]] || fail "$name: $found passes" ;;
        esac
        echo "    noticed by: ${noticed[*]:-nothing} (${SECONDS} s)"
        printf '%s\t%s\t%s\n' "$name" "$fault" "$(IFS=,; echo "${noticed[*]}")" >>"$work/table.tsv"
    else
        fail "$name: doesn't build"
        grep -m 5 -A 6 '^error' "$work/build.log" || true
    fi
    patch -d "$tree" -p1 -F0 -s -R --no-backup-if-mismatch <"$patch"
    touch "$tree"/$(sed -n 's/^+++ b\///p' "$patch")
done

if [[ ${#failures[@]} -ne 0 ]]; then
    printf '\nmutants: %s failures\n' "${#failures[@]}"
    printf '    %s\n' "${failures[@]}"
    exit 1
fi
echo "mutants: ${#names[@]} faults, each noticed by what its patch names"
