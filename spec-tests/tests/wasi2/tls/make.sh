#!/usr/bin/env bash
# Makes the certificates that tests of HTTPS need: an authority, and a server on 127.0.0.1 and localhost that it vouches for.
# They hold for a hundred years, and protect nothing.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
openssl req -x509 "${key[@]}" -keyout "$work/authority.key" -out authority.pem -days 36500 -subj '/CN=wprof tests' \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
openssl req "${key[@]}" -keyout server.key -out "$work/server.csr" -subj '/CN=localhost'
printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n' >"$work/extensions"
openssl x509 -req -in "$work/server.csr" -CA authority.pem -CAkey "$work/authority.key" -days 36500 \
    -extfile "$work/extensions" -out server.pem
