#!/usr/bin/env bash
# Makes the certificates of the tests, and writes what OpenSSL reads in them to `expected.tsv`: certificate, field, value.
# Keys and hashes differ with each run. `make.sh expected` only reads the certificates that exist.
set -euo pipefail
cd "$(dirname "$0")"

readonly SAN="subjectAltName=DNS:www.example.com,DNS:*.example.org,IP:192.0.2.1,IP:2001:db8::1,email:user@example.net,URI:https://example.net/path"
# RFC 4514 with characters beyond ASCII unescaped.
readonly NAMES="RFC2253,-esc_msb,utf8"
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT

main() {
    [ "${1:-}" = expected ] || make
    local der
    for der in *.der; do
        expected "${der%.der}"
    done >expected.tsv
}

make() {
    rm -f ./*.der
    self p256 "ec -pkeyopt ec_paramgen_curve:P-256" -subj "/C=DE/O=Example, Inc./CN=www.example.com" -addext "$SAN"
    self p384 "ec -pkeyopt ec_paramgen_curve:P-384" -subj "/CN=p384.example" -sha384
    self p521 "ec -pkeyopt ec_paramgen_curve:P-521" -subj "/CN=p521.example" -sha512
    self secp256k1 "ec -pkeyopt ec_paramgen_curve:secp256k1" -subj "/CN=secp256k1.example"
    self ed25519 ed25519 -subj "/CN=ed25519.example"
    self ed448 ed448 -subj "/CN=ed448.example"
    self rsa-pss "rsa-pss -pkeyopt rsa_keygen_bits:2048" -subj "/CN=pss.example"
    self rsa1023 "rsa -pkeyopt rsa_keygen_bits:1023" -subj "/CN=rsa1023.example" -sha1
    dsa
    escapes
    self several-values "$(curve)" -multivalue-rdn -subj "/DC=example/CN=one+OU=two/CN=last/serialNumber=7"
    self no-name "$(curve)" -subj "/"
    self serial-20 "$(curve)" -subj "/CN=s" -set_serial 0xfedcba98765432100123456789abcdef01234567
    self serial-64 "$(curve)" -subj "/CN=s" -set_serial "0x$(printf '7f%.0s' {1..64})"
    self serial-negative "$(curve)" -subj "/CN=s" -set_serial -500
    self serial-zero "$(curve)" -subj "/CN=s" -set_serial 0
    strings bmp 0x800
    strings t61 0x4
    strings universal 0x100
    strings utf8 0x2000
    unknown_attribute
    self ca-false "$(curve)" -subj "/CN=leaf.example" -addext basicConstraints=critical,CA:FALSE
    issued
    dates utc 500101000000Z 491231235959Z
    dates generalized 19491231235959Z 99991231235959Z
    dates first 10000101000000Z 20500101000000Z
}

curve() {
    echo "ec -pkeyopt ec_paramgen_curve:P-256"
}

# self NAME ALGORITHM [OPTION..]: a certificate signed with its own key.
self() {
    local name=$1 algorithm=$2
    shift 2
    # shellcheck disable=SC2086 # words of the algorithm
    openssl genpkey -algorithm $algorithm -out "$work/$name.key" 2>/dev/null
    openssl req -x509 -new -utf8 -key "$work/$name.key" -days 3650 -outform DER -out "$name.der" "$@" 2>/dev/null
}

dsa() {
    openssl dsaparam -genkey -out "$work/dsa.key" 2048 2>/dev/null
    openssl req -x509 -new -key "$work/dsa.key" -days 3650 -outform DER -out dsa.der -subj /CN=dsa.example
}

# strings NAME MASK: a name in one type of string.
strings() {
    printf '[req]\ndistinguished_name = name\nprompt = no\nutf8 = yes\nstring_mask = MASK:%s\n[name]\nO = %s\nCN = %s\n' \
        "$2" "Käse & Öl" "straße.example" >"$work/$1.cnf"
    self "$1" "$(curve)" -config "$work/$1.cnf"
}

# Characters that RFC 4514 escapes, a control character (tab) and one beyond the Basic Multilingual Plane.
escapes() {
    printf '[req]\ndistinguished_name = name\nprompt = no\nutf8 = yes\nstring_mask = utf8only\n[name]\nO = %s\nOU = %s\nCN = %s\nemailAddress = x@example.com\n' \
        "'#1; <a>+\"b\", \\\\ '" "' two  spaces '" 'a=b\t😀' >"$work/escapes.cnf"
    self escapes "$(curve)" -config "$work/escapes.cnf"
}

unknown_attribute() {
    printf 'oid_section = oids\n[oids]\nown = 1.3.6.1.4.1.32473.1\n[req]\ndistinguished_name = name\nprompt = no\n[name]\nown = value\nCN = unknown.example\n' \
        >"$work/unknown.cnf"
    self unknown-attribute "$(curve)" -config "$work/unknown.cnf"
}

# A chain of an authority and a server, and a certificate of version 1.
issued() {
    self authority "rsa -pkeyopt rsa_keygen_bits:2048" -subj "/C=DE/O=Authority/CN=Root" \
        -addext basicConstraints=critical,CA:TRUE
    openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:2048 -out "$work/rsa2048.key" 2>/dev/null
    openssl req -new -key "$work/rsa2048.key" -subj "/CN=rsa.example" -out "$work/rsa.csr"
    openssl x509 -inform DER -in authority.der -out "$work/authority.pem"
    sign rsa2048 -extfile <(echo "$SAN")
    sign version-1
}

# sign NAME [OPTION..]
sign() {
    local name=$1
    shift
    openssl x509 -req -in "$work/rsa.csr" -CA "$work/authority.pem" -CAkey "$work/authority.key" -days 3650 \
        -set_serial 0x1001 -outform DER -out "$name.der" "$@" 2>/dev/null
}

# dates NAME FROM TO
dates() {
    mkdir -p "$work/ca"
    : >"$work/ca/index"
    printf '[ca]\ndefault_ca = own\n[own]\ndatabase = %s\nnew_certs_dir = %s\nrand_serial = yes\npolicy = any\n[any]\ncommonName = supplied\n' \
        "$work/ca/index" "$work/ca" >"$work/ca.cnf"
    openssl ca -batch -notext -config "$work/ca.cnf" -in "$work/rsa.csr" -cert "$work/authority.pem" \
        -keyfile "$work/authority.key" -md sha256 -startdate "$2" -enddate "$3" -out "$work/dates.pem" 2>/dev/null
    openssl x509 -in "$work/dates.pem" -outform DER -out "dates-$1.der"
}

# expected NAME: what OpenSSL reads.
expected() {
    local text
    read_certificate() {
        openssl x509 -inform DER -in "$name.der" -noout "$@"
    }
    local name=$1
    text=$(read_certificate -text -nameopt "$NAMES")
    field sha256 "$(read_certificate -fingerprint -sha256 | sed 's/.*=//; s/://g' | tr A-F a-f)"
    field sha1 "$(read_certificate -fingerprint -sha1 | sed 's/.*=//; s/://g' | tr A-F a-f)"
    field serial "$(read_certificate -serial | tr -d '\\\n' | sed 's/.*=//' | tr A-F a-f)"
    field subject "$(read_certificate -subject -nameopt "$NAMES" | sed 's/^subject=//')"
    field issuer "$(read_certificate -issuer -nameopt "$NAMES" | sed 's/^issuer=//')"
    field not_before "$(read_certificate -startdate -dateopt iso_8601 | sed 's/.*=//; s/ /T/')"
    field not_after "$(read_certificate -enddate -dateopt iso_8601 | sed 's/.*=//; s/ /T/')"
    field version "$(sed -n 's/^ *Version: \([0-9]\) .*/\1/p' <<<"$text")"
    field signature_algorithm "$(sed -n 's/^    Signature Algorithm: //p' <<<"$text")"
    field key_algorithm "$(sed -n 's/^ *Public Key Algorithm: //p' <<<"$text")"
    field key_bits "$(sed -n 's/^ *\(RSA \)\?Public-Key: (\([0-9]*\) bit)/\2/p; s/^ *RSA-PSS Public-Key: (\([0-9]*\) bit)/\1/p; s/^ *DSA Public-Key: (\([0-9]*\) bit)/\1/p' <<<"$text" | head -1)"
    field curve "$(sed -n 's/^ *ASN1 OID: //p' <<<"$text")"
    field names "$(sed -n '/Subject Alternative Name:/{n;s/^ *//p}' <<<"$text")"
    field ca "$(sed -n 's/^ *\(CA:TRUE\|CA:FALSE\).*/\1/p' <<<"$text")"
    openssl x509 -inform DER -in "$name.der" -out "$work/one.pem"
    field self_signed "$(openssl verify -check_ss_sig -no_check_time -auth_level 0 -CAfile "$work/one.pem" "$work/one.pem" >/dev/null 2>&1 && echo true || echo false)"
}

# field KEY VALUE
field() {
    printf '%s\t%s\t%s\n' "$name" "$1" "$2"
}

main "$@"
