#!/usr/bin/env bash
# Compiles the program of this folder to a WASI module, which is committed beside its source.
# Needs what scripts/setup installs. CLANG names another compiler.
set -euo pipefail
cd "$(dirname "$0")"
clang=${CLANG:-clang-19}
object=$(mktemp --suffix=.o)
trap 'rm "$object"' EXIT
common=(--target=wasm32-wasi --sysroot=/usr -Wall -Wextra -ffile-prefix-map="$PWD=.")
# In two steps, or clang has Binaryen inline the walk.
"$clang" "${common[@]}" -O2 -c lists.c -o "$object"
"$clang" "${common[@]}" -Wl,--strip-debug -lc-printscan-no-floating-point "$object" -o lists.wasm
chmod 644 lists.wasm
