#!/usr/bin/env bash
# Writes huginn-net-tls/src/names/cipher_suites.txt: numbers and names of IANA's registry "TLS Cipher Suites", as the crate
# tls-parser (MIT or Apache-2.0) ships it in scripts/tls-ciphersuites.txt.
#
#   ci/cipher-suites.sh            write the table
#   ci/cipher-suites.sh --check    write nothing; fail if the table differs
set -euo pipefail
cd "$(dirname "$0")/.."

readonly TABLE=huginn-net-tls/src/names/cipher_suites.txt

main() {
    local crate
    crate=$(cargo metadata --format-version 1 --locked |
        python3 -c 'import json, sys
packages = json.load(sys.stdin)["packages"]
print(next(p["manifest_path"] for p in packages if p["name"] == "tls-parser").rpartition("/")[0])')
    if [ "${1:-}" = --check ]; then
        table "$crate" | diff -u "$TABLE" -
    else
        table "$crate" >"$TABLE"
    fi
}

# table CRATE: the rows.
table() {
    sort "$1/scripts/tls-ciphersuites.txt" | sed -nE 's/^([0-9a-f]{4}):([A-Z0-9a-z_]+):.*/0x\1 \2/p'
}

main "$@"
