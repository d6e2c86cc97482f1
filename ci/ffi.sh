#!/usr/bin/env bash
# Checks the C interface: the header, a C program with the shared and the static library, valgrind, the sanitizers of the C
# compiler, and the nginx module.
#
# usage: ci/ffi.sh HUGINN_NET
#
# HUGINN_NET is the program to compare the nginx module with. Needs root, and the packages g++ gcc make pkg-config valgrind
# nginx nginx-dev curl openssl procps tcpdump.
set -euo pipefail
huginn_net=$(realpath "$1")
cd "$(dirname "$0")/.."
readonly CBINDGEN=0.29.4
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
tmp=$(mktemp -d)
trap 'stop_nginx; rm -rf "$tmp"' EXIT

main() {
    check_header
    # The profile dev: without the optimisation across crates, which takes minutes.
    cargo build -p huginn-net-ffi
    make -s -j4 -C huginn-net-ffi install PROFILE=dev PREFIX="$tmp/usr"
    export PKG_CONFIG_PATH=$tmp/usr/lib/pkgconfig LD_LIBRARY_PATH=$tmp/usr/lib
    check_symbols
    check_soname
    check_stripped
    check_programs
    check_nginx
}

check_header() {
    [ "$(cbindgen --version 2>/dev/null)" = "cbindgen $CBINDGEN" ] ||
        cargo install --locked --debug "cbindgen@$CBINDGEN"
    (cd huginn-net-ffi && cbindgen --quiet --config cbindgen.toml --output "$tmp/huginn_net.h")
    diff -u huginn-net-ffi/include/huginn_net.h "$tmp/huginn_net.h"
}

# The shared library defines the functions of the header and nothing else.
check_symbols() {
    diff -u --label header --label library \
        <(grep -oE '\bhuginn_[a-z_]+\(' huginn-net-ffi/include/huginn_net.h | tr -d '(' | sort -u) \
        <(nm -D --defined-only "$tmp/usr/lib/libhuginn_net.so" | awk '{ print $3 }' | sort)
}

check_soname() {
    local soname
    soname=$(readelf -d "$tmp/usr/lib/libhuginn_net.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
    [ "$(readlink "$tmp/usr/lib/libhuginn_net.so")" = "$soname" ]
    grep -qF "\`$soname\`" docs/c.md
}

check_programs() {
    local flags=(-O1 -g -Wall -Wextra -Wpedantic -Wconversion -Werror) shared static
    shared=$(pkg-config --cflags --libs huginn-net)
    static=$(pkg-config --cflags --libs huginn-net-static)
    gcc -std=c99 "${flags[@]}" huginn-net-ffi/tests/c/test.c -o "$tmp/shared" $shared
    gcc -std=c99 "${flags[@]}" huginn-net-ffi/tests/c/test.c -o "$tmp/static" $static
    g++ -x c++ -std=c++11 "${flags[@]}" huginn-net-ffi/tests/c/test.c -x none -o "$tmp/cpp" $shared
    gcc -std=c99 "${flags[@]}" -fsanitize=address,undefined -fno-sanitize-recover=all \
        huginn-net-ffi/tests/c/test.c -o "$tmp/sanitized" $static
    check_page "${flags[@]}"

    local program
    for program in shared static cpp sanitized; do
        echo "== $program"
        "$tmp/$program" .
    done
    # The built-in databases live as long as the program. Their hash tables point into the middle of their memory, which
    # valgrind calls possibly lost.
    valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
        --error-exitcode=1 "$tmp/static" .
}

# Compiles the program of the page with warnings, and by the commands of the page.
check_page() {
    sed -n '/^```c$/,/^```$/p' docs/c.md | sed '1d;$d' >"$tmp/page.c"
    gcc -std=c99 -D_POSIX_C_SOURCE=200809L "$@" $(pkg-config --cflags huginn-net) -c "$tmp/page.c" -o "$tmp/page.o"
    sed -n 's/^\$ \(cc .*\)/\1/p' docs/c.md >"$tmp/page.sh"
    (mkdir "$tmp/page" && cd "$tmp/page" && cp ../page.c . && sh -e ../page.sh)
    local program
    for program in shared static; do
        [ "$("$tmp/page/$program" <huginn-net-tls/hellos/curl-openssl.bin)" = t13d3112h2_e8f1e7e78f70_b26ce05bbdd6 ]
    done
    ldd "$tmp/page/shared" | grep libhuginn_net >/dev/null
    ! ldd "$tmp/page/static" | grep libhuginn_net >/dev/null
}

# The installed libraries have no debug information.
check_stripped() {
    ! readelf -S -W "$tmp/usr/lib/libhuginn_net.so" "$tmp/usr/lib/libhuginn_net.a" 2>/dev/null | grep -F .debug_info
}

# Builds the module as Debian builds its own, and compares its variables with the events of a recording.
check_nginx() {
    mkdir "$tmp/nginx"
    cp -r /usr/share/nginx/src/. "$tmp/nginx"
    (
        cd "$tmp/nginx"
        . ./conf_flags
        bash ./configure "${NGX_CONF_FLAGS[@]}" --add-dynamic-module="$OLDPWD/examples/nginx" >configure.log 2>&1 ||
            { tail configure.log; exit 1; }
        make -s -f objs/Makefile modules >make.log 2>&1 || { tail -20 make.log; exit 1; }
    )
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
        -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
    sed -e "s|@MODULE@|$tmp/nginx/objs/ngx_http_huginn_module.so|" -e "s|@FOLDER@|$tmp|" \
        examples/nginx/nginx.conf >"$tmp/nginx.conf"
    nginx -c "$tmp/nginx.conf"
    tcpdump -q -i lo -U --immediate-mode -Z root -w "$tmp/nginx.pcap" 'tcp port 18443' 2>"$tmp/tcpdump.err" &
    timeout 20 sh -c 'until grep -q "listening on" "$1"; do sleep 0.1; done' sh "$tmp/tcpdump.err"
    local options
    for options in --http1.1 --http2 "--http1.1 --tls-max 1.2" "--http2 --ciphers ECDHE-ECDSA-AES256-GCM-SHA384"; do
        curl -sk --max-time 10 $options https://127.0.0.1:18443/ >>"$tmp/nginx.txt"
    done
    # The capture may lag behind.
    for _ in $(seq 50); do
        sleep 0.2
        ! events_equal >"$tmp/difference" || break
    done
    kill %tcpdump
    wait %tcpdump || true
    events_equal
    cat "$tmp/nginx.txt"
    remove_module
}

# Compares the text of each response with the events of its connection.
events_equal() {
    "$huginn_net" pcap -q --format json "$tmp/nginx.pcap" >"$tmp/nginx.json"
    diff -u --label nginx --label huginn-net "$tmp/nginx.txt" <(python3 ci/ffi.py "$tmp/nginx.json")
}

# Reloads the configuration without the module. OpenSSL still calls a function of it when a connection ends.
remove_module() {
    local worker answer
    sed -i -e '/^load_module/d' -e 's/return 200 .*/return 200 "no module";/' "$tmp/nginx.conf"
    worker=$(pgrep -P "$(cat "$tmp/nginx.pid")")
    nginx -c "$tmp/nginx.conf" -s reload
    timeout 20 sh -c 'while [ -e "/proc/$1" ]; do sleep 0.1; done' sh "$worker"
    for _ in 1 2; do
        answer=$(curl -sk --max-time 10 https://127.0.0.1:18443/)
        [ "$answer" = "no module" ]
    done
    sleep 0.3
    if grep 'exited on signal' "$tmp/error.log"; then
        return 1
    fi
}

stop_nginx() {
    [ ! -e "$tmp/nginx.pid" ] || kill "$(cat "$tmp/nginx.pid")"
}

main
