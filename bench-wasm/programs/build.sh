#!/usr/bin/env bash
# Compiles the benchmark programs of this folder to WASI modules, which are committed beside their sources; so are those of
# docs/src/tutorials/programs, unless there is another OUTPUT_FOLDER.
# The same clang and wasi-libc give the same bytes. Usage: build.sh [OUTPUT_FOLDER]
# Needs what scripts/setup installs. CLANG names another compiler.
set -euo pipefail
out=$(realpath "${1:-$(dirname "$0")}")
cd "$(dirname "$0")"
clang=${CLANG:-clang-19}
object=$(mktemp --suffix=.o)
trap 'rm "$object"' EXIT
common=(--target=wasm32-wasi --sysroot=/usr -Wall -Wextra -Wno-unused-command-line-argument -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=.)

# compile SOURCE OUTPUT FLAGS...: in two steps, as clang has Binaryen strip names and lines when it optimises and links at
# once, where that is installed (--no-wasm-opt does not link at all).
compile() {
    "$clang" "${common[@]}" -O2 "${@:3}" -c "$1" -o "$object"
    "$clang" "${common[@]}" "${@:3}" "$object" -o "$2"
    chmod 644 "$2"
}

for source in *.c; do
    name=${source%.c}
    flags=("-Wl,--strip-debug") # keeps the name section
    printf=(-lc-printscan-no-floating-point) # a smaller printf, for those that print integers only
    case $name in
        crash | interp | json) flags=(-g) ;; # line tables, for tests
        mandelbrot) flags+=(-msimd128) ;;
        nbody) printf=() ;;
    esac
    compile "$source" "$out/$name.wasm" "${flags[@]}" "${printf[@]}"
done
[[ $# -eq 0 ]] || exit 0
cd ../../docs/src/tutorials/programs
for source in *.c; do
    compile "$source" "${source%.c}.wasm" -ffile-prefix-map="$PWD=." -g -lc-printscan-no-floating-point
done
