#!/usr/bin/env bash
# Compiles the benchmark programs of this folder to WASI modules, which are committed beside their sources.
# The same clang and wasi-libc give the same bytes. Usage: build.sh [OUTPUT_FOLDER]
# Needs what scripts/setup installs. CLANG names another compiler.
set -euo pipefail
out=$(realpath "${1:-$(dirname "$0")}")
cd "$(dirname "$0")"
clang=${CLANG:-clang-19}
common=(--target=wasm32-wasi --sysroot=/usr -O2 -Wall -Wextra -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=.)

for source in *.c; do
    name=${source%.c}
    flags=("-Wl,--strip-debug") # keeps the name section
    printf=(-lc-printscan-no-floating-point) # a smaller printf, for those that print integers only
    case $name in
        crash | interp | json) flags=(-g) ;; # line tables, for tests
        mandelbrot) flags+=(-msimd128) ;;
        nbody) printf=() ;;
    esac
    "$clang" "${common[@]}" "${flags[@]}" "$source" "${printf[@]}" -o "$out/$name.wasm"
    chmod 644 "$out/$name.wasm"
done
