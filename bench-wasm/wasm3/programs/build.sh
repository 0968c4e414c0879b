#!/usr/bin/env bash
# Compiles the programs of this folder to WASI modules, which are committed beside their sources: `errors` (C++ exceptions)
# and `jumps` (setjmp) in the older encoding of exceptions and in that of WebAssembly 3.0 (`…-3.0.wasm`), and `threads`
# (-pthread), `words` (Kotlin) and `tree` (MoonBit) with garbage collection. Lua, whose source is a package's, goes to
# bench-wasm/downloads, which git ignores.
#
# clang, its linker and the sources of libc++abi and libunwind come from a package of PyPI, headers of the C and C++
# libraries and their compiled code from what scripts/setup installs. `threads` needs a wasi-libc with threads, which no
# package has: THREADS_SYSROOT names the folder of one, built from its sources with TARGET_TRIPLE=wasm32-wasip1-threads.
#
# Usage: build.sh [OUTPUT_FOLDER]     TOOLS names a folder that keeps the package from run to run
set -euo pipefail
out=$(realpath "${1:-$(dirname "$0")}")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
tools=$(realpath -m "${TOOLS:-$work/tools}")
zig=$tools/ziglang/zig
if [[ ! -f $zig ]]; then
    mkdir -p "$tools"
    python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$work" ziglang==0.17.1
    python3 -m zipfile -e "$work"/ziglang-*.whl "$tools"
    chmod +x "$zig"
fi

lib=$tools/ziglang/lib
resources=/usr/lib/llvm-19/lib/clang/19
c=("$zig" clang --target=wasm32-wasip1 --sysroot=/usr -isystem /usr/include/wasm32-wasi -resource-dir "$resources"
    -O2 -DNDEBUG -Wall -Wextra)
link=(clang-19 --target=wasm32-wasi --sysroot=/usr)

# tag NAME: an object file that defines the tag of an exception that carries an address.
tag() {
    printf '\t.tagtype\t%s i32\n\t.globl\t%s\n%s:\n' "$1" "$1" "$1" > "$work/$1.s"
    "$zig" clang --target=wasm32-wasip1 -mexception-handling -c "$work/$1.s" -o "$work/$1.o"
}

# errors OUTPUT FLAGS...
errors() {
    local objects=$work/errors source
    rm -rf "$objects" && mkdir "$objects"
    local cxx=("${c[@]}" -fwasm-exceptions -fexceptions "${@:2}"
        -I"$lib/libunwind/include" -I"$lib/libcxxabi/include" -I"$lib/libcxx/src"
        -I/usr/lib/llvm-19/include/wasm32-wasi/c++/v1)
    local abi=(-w -std=c++23 -D_LIBCXXABI_BUILDING_LIBRARY -DLIBCXXABI_BUILDING_LIBRARY -D_LIBCXXABI_HAS_NO_THREADS
        -D_LIBCPP_BUILDING_LIBRARY -DLIBCXXABI_NON_DEMANGLING_TERMINATE -DLIBCXXABI_SILENT_TERMINATE)
    for source in cxa_exception cxa_personality cxa_exception_storage cxa_handlers cxa_default_handlers private_typeinfo \
        stdlib_exception stdlib_typeinfo stdlib_stdexcept cxa_aux_runtime cxa_virtual abort_message fallback_malloc; do
        "${cxx[@]}" "${abi[@]}" -c "$lib/libcxxabi/src/$source.cpp" -o "$objects/$source.o"
    done
    "${c[@]}" -fwasm-exceptions "${@:2}" -w -I"$lib/libunwind/include" -I"$lib/libunwind/src" -D_LIBUNWIND_HIDE_SYMBOLS \
        -D_LIBUNWIND_HAS_NO_THREADS -Dthread_local= -c "$lib/libunwind/src/Unwind-wasm.c" -o "$objects/unwind.o"
    "${cxx[@]}" -std=c++20 -c errors.cpp -o "$objects/errors.o"
    "${link[@]}" --driver-mode=g++ "$objects"/*.o "$work/__cpp_exception.o" -lc-printscan-no-floating-point \
        -Wl,--strip-debug -o "$1"
}

# jumps OUTPUT FLAGS...
jumps() {
    local jumping=("${c[@]}" -Iinclude -mexception-handling -mllvm -wasm-enable-sjlj "${@:2}")
    "${jumping[@]}" -c jumps.c -o "$work/jumps.o"
    "${jumping[@]}" -c setjmp.c -o "$work/setjmp.o"
    "${link[@]}" "$work"/{jumps,setjmp,__c_longjmp}.o -lc-printscan-no-floating-point -Wl,--strip-debug -o "$1"
}

# lua OUTPUT: the source is that of a crate.
lua() {
    local folder=$work/lua source objects=()
    mkdir -p "$folder/src" && touch "$folder/src/lib.rs"
    printf '[package]\nname = "lua"\nedition = "2024"\n[dependencies]\nlua-src = "=551.1.0"\n[workspace]\n' > "$folder/Cargo.toml"
    source=$(cargo metadata --quiet --format-version 1 --manifest-path "$folder/Cargo.toml" |
        python3 -c 'import json, sys
packages = json.load(sys.stdin)["packages"]
print(next(p["manifest_path"] for p in packages if p["name"] == "lua-src").removesuffix("Cargo.toml"))')lua-5.4.9
    local jumping=("${c[@]}" -w -Iinclude -I"$source" -mexception-handling -mllvm -wasm-enable-sjlj -D_WASI_EMULATED_SIGNAL
        -D_WASI_EMULATED_PROCESS_CLOCKS -include include/lua_system.h)
    for file in "$source"/*.c lua.c setjmp.c; do
        case ${file##*/} in luac.c | onelua.c | ltests.c) continue ;; esac
        "${jumping[@]}" -c "$file" -o "$folder/${file##*/}.o"
    done
    "${link[@]}" "$folder"/*.o "$work/__c_longjmp.o" -lwasi-emulated-signal -lwasi-emulated-process-clocks \
        -Wl,--strip-debug -Wl,-z,stack-size=262144 -o "$1"
}

# kotlin OUTPUT: the compiler and the optimiser that its own build tool runs behind it are packages of npm. Needs Java.
kotlin() {
    local folder=$work/kotlin packages=$tools/kotlin
    if [[ ! -d $packages/node_modules ]]; then
        mkdir -p "$packages"
        npm install --silent --no-save --prefix "$packages" kotlin-compiler@2.4.20 binaryen@132.0.0
    fi
    local compiler=$packages/node_modules/kotlin-compiler
    local compile=(bash "$compiler/bin/kotlinc-wasm" -Xwasm-target=wasm-wasi
        -libraries "$compiler/lib/kotlin-stdlib-wasm-wasi.klib" -ir-output-name words)
    "${compile[@]}" -nopack -ir-output-dir "$folder/klib" words.kt
    "${compile[@]}" -Xir-produce-js -Xir-dce -Xinclude="$folder/klib" -ir-output-dir "$folder"
    "$packages/node_modules/.bin/wasm-opt" --enable-gc --enable-reference-types --enable-exception-handling \
        --enable-bulk-memory --enable-nontrapping-float-to-int --closed-world --type-ssa -O3 --gufa -O3 --type-merging -Oz \
        -g "$folder/words.wasm" -o "$1"
}

# moonbit OUTPUT
moonbit() {
    local packages=$tools/moonbit
    if [[ ! -d $packages/node_modules ]]; then
        mkdir -p "$packages"
        npm install --silent --no-save --prefix "$packages" @moonbit/moonc-worker@0.1.202605123
    fi
    node moonbit.cjs "$packages/node_modules/@moonbit/moonc-worker/moonc-worker.js" wasm-gc "$1"
}

tag __cpp_exception
tag __c_longjmp
for encoding in older 3.0; do
    suffix=-3.0 legacy=false
    [[ $encoding == 3.0 ]] || suffix='' legacy=true
    errors "$out/errors$suffix.wasm" -mllvm -wasm-use-legacy-eh=$legacy
    jumps "$out/jumps$suffix.wasm" -mllvm -wasm-use-legacy-eh=$legacy
done
kotlin "$out/words.wasm"
moonbit "$out/tree.wasm"
mkdir -p ../../downloads
lua "$(realpath ../../downloads)/lua.wasm"
if [[ -n ${THREADS_SYSROOT:-} ]]; then
    threads=$THREADS_SYSROOT/lib/wasm32-wasip1-threads
    "$zig" clang --target=wasm32-wasip1-threads --sysroot="$THREADS_SYSROOT" -resource-dir "$resources" -O2 -Wall -Wextra \
        -pthread -c threads.c -o "$work/threads.o"
    "$zig" wasm-ld -m wasm32 -L "$threads" "$threads/crt1-command.o" "$work/threads.o" -lc \
        "$resources/lib/wasi/libclang_rt.builtins-wasm32.a" --shared-memory --import-memory --export-memory \
        --max-memory=16777216 --strip-debug -o "$out/threads.wasm"
fi
chmod 644 "$out"/*.wasm
