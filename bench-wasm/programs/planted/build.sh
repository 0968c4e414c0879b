#!/usr/bin/env bash
# Compiles the programs of this folder, each with one problem in the line that is marked PLANTED, to WASI modules with line
# tables, which are committed beside their sources. Usage: build.sh [OUTPUT_FOLDER]
# Needs what scripts/setup installs, and a rustc with a WASI target: RUSTC names one, RUST_TARGET the target.
set -euo pipefail
out=$(realpath "${1:-$(dirname "$0")}")
cd "$(dirname "$0")"
clang=${CLANG:-clang++-19}
object=$(mktemp --suffix=.o)
trap 'rm "$object"' EXIT
common=(--target=wasm32-wasi --sysroot=/usr -fno-exceptions -Wall -Wno-unused-command-line-argument -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=.)

# In two steps, or clang has Binaryen take the lines away.
for source in *.cpp; do
    "$clang" "${common[@]}" -O2 -gline-tables-only -c "$source" -o "$object"
    "$clang" "${common[@]}" "$object" -o "$out/${source%.cpp}.wasm"
    chmod 644 "$out/${source%.cpp}.wasm"
done
"${RUSTC:-rustc}" --target "${RUST_TARGET:-wasm32-wasi}" -O -C debuginfo=1 -C lto=fat -C linker="${RUST_LINKER:-wasm-ld}" --remap-path-prefix "$PWD=." dedup.rs -o "$out/dedup.wasm"
# What neither lines nor inlined frames need.
for module in "$out"/*.wasm; do
    "${OBJCOPY:-llvm-objcopy}" --remove-section .debug_loc --remove-section .debug_pubnames --remove-section .debug_pubtypes "$module"
done
chmod 644 "$out"/*.wasm
