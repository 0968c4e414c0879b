#!/usr/bin/env bash
# Compares the fuel that our event counter counts with what Wasmtime consumes, program by program, to the unit.
#
# Usage: fuel.sh [--record] own|real DIR
#   DIR       the folder with the programs `wprof-run` and `peer`, such as target/release
#   --record  also write what Wasmtime consumes to expected/fuel.tsv, for the tests
# Exit code 1 if any two differ. Both print to standard error; a program of which the fuel differs between two runs of
# Wasmtime itself (it uses random numbers) is reported as such and not compared.
set -euo pipefail

record=no
[[ ${1:-} != --record ]] || { record=yes && shift; }
table=${1:?own or real} runners=$(cd "${2:?folder of wprof-run and peer}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
case $table in
    own) folder=programs ;;
    real) folder=inputs ;;
    *) echo "fuel.sh: which table: own or real?" >&2 && exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# fuel OUT COMMAND...: runs all cases, and writes "case<TAB>fuel" to OUT. The case is the name of the folder /out.
fuel() {
    local out=$1
    shift
    cat > "$work/runner" << 'EOF'
#!/usr/bin/env bash
for arg; do [[ $arg != *::/out ]] || { name=${arg%::/out} && name=${name##*/}; }; done
status=0
"${COMMAND[@]}" "$@" 2> >(tee >(sed -nE 's/^fuel( |: .*run )([0-9]+)$/\2/p' > "$FUEL") >&2) || status=$?
sleep 0.05
printf '%s\t%s\t%s\n' "$name" "$(cat "$FUEL")" "$status" >> "$OUT"
exit "$status"
EOF
    sed -i "2i COMMAND=($(printf '%q ' "$@")) FUEL=$(printf '%q' "$work/fuel") OUT=$(printf '%q' "$out")" "$work/runner"
    chmod +x "$work/runner"
    : > "$out"
    "$here/verify.sh" "$table" "$work/runner" > /dev/null || true
}

fuel "$work/wasmtime" "$runners/peer" fuel
fuel "$work/again" "$runners/peer" fuel
fuel "$work/ours" "$runners/wprof-run" run --events fuel
failed=0
while IFS=$'\t' read -r name theirs status _ again _ _ ours _; do
    if [[ -z $theirs || $theirs != "$again" ]]; then
        printf '%-16s %15s %15s  differs between runs\n' "$name" "$theirs" "$again"
        continue
    fi
    verdict=equal
    if [[ $status == 134 && $theirs -lt $ours ]]; then
        verdict='a trap: Wasmtime has lost the fuel since its last call'
    elif [[ $theirs != "$ours" ]]; then
        verdict=DIFFERENT failed=1
    fi
    printf '%-16s %15s %15s  %s\n' "$name" "$theirs" "$ours" "$verdict"
    [[ $record == no || $status == 134 ]] || printf '%s\t%s\n' "$name" "$theirs" >> "$work/record"
done < <(paste "$work/wasmtime" "$work/again" "$work/ours")
if [[ $record == yes ]]; then
    { echo "# Fuel that Wasmtime 48 consumes at its default costs, for the test arguments: case, fuel. Made by ../fuel.sh."
      cat "$work/record"; } > "$here/$folder/expected/fuel.tsv"
fi
exit $failed
