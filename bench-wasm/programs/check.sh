#!/usr/bin/env bash
# Compiles every program natively and compares its output with what is recorded in expected/, for the sizes of tests
# and of benchmarks. Cases that trap are left out: in C they are undefined. CC names the compiler.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
failed=0

for source in *.c; do
    "${CC:-cc}" -O2 -w "$source" -o "$work/${source%.c}" -lm
done

# check RECORD ARGUMENTS
check() {
    local status=0 args=()
    [[ $2 == - ]] || read -ra args <<< "$2"
    "$work/$program" "${args[@]}" > "$work/output" || status=$?
    if [[ $status != "$code" ]]; then
        echo "$name: exit code $status instead of $code"
        failed=1
    fi
    diff -u "expected/$1.txt" "$work/output" || failed=1
}

while IFS=$'\t' read -r name program test_args bench_args code _; do
    [[ $name != '#'* && $name != case && $code != 134 ]] || continue
    check "$name" "$test_args"
    [[ $bench_args == - ]] || check "$name.bench" "$bench_args"
done < manifest.tsv
[[ $failed != 0 ]] || echo "all outputs as expected"
exit $failed
