#!/usr/bin/env bash
# Runs every case of a table in an engine, and compares exit code, standard output and output files with what is
# recorded; prints the wall time of each. Exit code 1 if anything differs.
#
# Usage: verify.sh [--bench] [--bless] [--only X] own|real RUNNER...
#   own      programs/manifest.tsv, our own programs
#   real     inputs/real.tsv, the programs that download.sh fetches
#   --bench  with the arguments for benchmarks instead of those for tests
#   --only X just the cases that the regular expression X matches in full
#   --bless  record what this engine does as expected, instead of comparing
# RUNNER is a command that takes [--dir HOST::GUEST] [--env KEY=VALUE] FILE ARGS, for example
#   verify.sh real target/release/wprof run -q --profile off
#   verify.sh own target/release/peer run
set -euo pipefail

die() {
    echo "verify.sh: $1" >&2
    exit 2
}

column=test bless=no only='.*'
while [[ ${1:-} == --* ]]; do
    case $1 in
        --bench) column=bench ;;
        --bless) bless=yes ;;
        --only) only=${2:?} && shift ;;
        *) die "no option $1" ;;
    esac
    shift
done
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
    own) table=$here/programs/manifest.tsv modules=$here/programs expected=$here/programs/expected ;;
    real) table=$here/inputs/real.tsv modules=$here/downloads expected=$here/inputs/expected ;;
    *) die "which table: own or real?" ;;
esac
shift
[[ $# -gt 0 ]] || die "which engine?"
[[ $column == test ]] || suffix=.bench
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
failed=0

complain() {
    echo "$name: $1"
    failed=1
}

# compare RECORD FILE: a record is the text itself, or the hash of what is long or binary.
compare() {
    local record=$1 file=$2 hash
    if [[ ! -f $file ]]; then
        complain "wrote no ${file##*/}"
    elif [[ $bless == yes ]]; then
        rm -f "$record" "$record.sha256"
        if [[ $(wc -c < "$file") -le 8192 ]] && iconv -f UTF-8 -t UTF-8 "$file" > /dev/null 2>&1; then
            cp "$file" "$record"
        else
            sha256sum < "$file" | cut -d' ' -f1 > "$record.sha256"
        fi
    elif [[ -f $record.sha256 ]]; then
        hash=$(sha256sum < "$file" | cut -d' ' -f1)
        [[ $hash == "$(cat "$record.sha256")" ]] || complain "${file##*/} differs"
    else
        diff -u "$record" "$file" || complain "${file##*/} differs"
    fi
}

# split FIELD: puts the words of a table's field into the array `words`; "-" is none.
split() {
    words=()
    [[ $1 == - ]] || read -ra words <<< "$1"
}

while IFS=$'\t' read -r name program test_args bench_args code _ env stdin outputs; do
    : "${env:=-}" "${stdin:=-}" "${outputs:=-}" # our own programs' table has no such columns
    [[ $name != '#'* && $name != case && $name =~ ^($only)$ ]] || continue
    args=$test_args
    [[ $column == test ]] || args=$bench_args
    [[ $column == test || $args != - ]] || continue
    if [[ ! -f $modules/$program.wasm ]]; then
        complain "no $program.wasm: run download.sh"
        continue
    fi
    out=$work/$name
    mkdir "$out"
    options=(--dir "$here/inputs::/in" --dir "$out::/out")
    split "$env"
    for variable in "${words[@]}"; do options+=(--env "$variable"); done
    input=/dev/null
    [[ $stdin == - ]] || input=$here/inputs/$stdin
    split "$args"
    status=0
    begin=$(date +%s%N)
    "$@" "${options[@]}" "$modules/$program.wasm" "${words[@]}" < "$input" > "$work/stdout" 2> "$work/stderr" || status=$?
    time=$((($(date +%s%N) - begin) / 1000000))
    if [[ $status != "$code" ]]; then
        complain "exit code $status instead of $code"
        tail -n 5 "$work/stderr"
    fi
    compare "$expected/$name${suffix:-}.txt" "$work/stdout"
    split "$outputs"
    for file in "${words[@]}"; do compare "$expected/$name${suffix:-}.$file" "$out/$file"; done
    printf '%-20s %6d ms\n' "$name" "$time"
done < "$table"
exit $failed
