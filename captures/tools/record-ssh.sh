#!/usr/bin/env bash
# Records SSH between real programs, each capture in its own network namespaces.
#
#   captures/tools/record-ssh.sh          record all captures again
#   captures/tools/record-ssh.sh NAME...  record only these
#   captures/tools/record-ssh.sh --list   list the names
#
# The requirements and addresses of record.sh apply. The script also needs Go and pip, with which it downloads and builds
# programs in a temporary folder, outside the namespaces. It keeps only the first packets of every flow: the connections
# end after the key exchange, without a login. OpenSSH and Dropbear of Debian trixie run beside the system, from the folder of
# record-clients.py.
set -euo pipefail

readonly PACKAGES="curl dropbear-bin ethtool gcc iproute2 libssh-dev openssh-client openssh-server putty-tools python3
    python3-venv socat tcpdump tinysshd"
readonly PROGRAMS="curl dbclient dropbear dropbearkey ethtool gcc go ip plink python3 socat ss ssh ssh-keygen
    ssh-keyscan sshd tcpdump tinysshd tinysshd-makekey"
export PYTHONDONTWRITEBYTECODE=1

readonly NAMES="ssh-openssh ssh-dropbear ssh-libssh ssh-libssh2 ssh-python ssh-go ssh-putty ssh-tinyssh
    ssh-small-segments ssh-endings ssh-lines ssh-negotiation ssh-guesses ssh-weak"

here=$(cd "$(dirname "$0")" && pwd)
programs=$here/ssh-programs
. "$here/layout.sh"
. "$here/lab.sh"

main() {
    if [ "${1:-}" = --list ]; then
        printf '%s\n' $NAMES
        return
    fi
    lab_start
    mkdir -p /run/sshd # for the privilege separation of sshd
    local name
    for name in ${*:-$NAMES}; do
        echo "== $name"
        lab_up_as_wired
        "record_${name//-/_}"
        lab_down
    done
}

# try COMMAND...: runs a client and ignores its failing login.
try() { client timeout 10 "$@" >"$tmp/client.log" 2>&1 </dev/null || true; }

# serve PORT COMMAND...: starts a server, which runs until lab_down.
serve() {
    local port=$1
    shift
    server "$@" >"$tmp/server-$port.log" 2>&1 &
    until [ -n "$(server ss -Hlnt "sport = :$port")" ]; do
        kill -0 $! || { cat "$tmp/server-$port.log" && return 1; }
        sleep 0.05
    done
}

# start: starts recording the client's interface. keep NAME PACKETS: stops, and keeps the first packets of every flow.
start() { record "$tmp/whole.pcap" $CLIENT_NS hn-a tcp; }
keep() {
    stop_recording
    python3 "$here/trim.py" "$tmp/whole.pcap" "$(capture "$1.pcap")" "$2"
}

# openssh PORT [OPTION...]: starts OpenSSH's server.
openssh() {
    local port=$1
    shift
    [ -e "$tmp/host_key" ] || ssh-keygen -q -t ed25519 -N '' -f "$tmp/host_key"
    printf '%s\n' "Port $port" "HostKey $tmp/host_key" "PidFile none" "$@" >"$tmp/sshd-$port.conf"
    serve "$port" "$(command -v sshd)" -D -f "$tmp/sshd-$port.conf"
}

dropbear_server() { serve "$1" dropbear -F -E -r "$(dropbear_key)" -p "$1" -P "$tmp/dropbear.pid"; }

# Makes a host key of Dropbear, and prints its path.
dropbear_key() {
    [ -e "$tmp/dropbear_key" ] || dropbearkey -t ed25519 -f "$tmp/dropbear_key" >/dev/null 2>&1
    echo "$tmp/dropbear_key"
}

# ssh_to ADDRESS [ARGUMENT...]: runs OpenSSH's client.
ssh_to() {
    local address=$1
    shift
    try ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "$@" "nobody@$address" true
}

dbclient_to() { try env HOME="$tmp" dbclient -y -y -p "$1" -o BatchMode=yes nobody@$SERVER4 true; }
plink_to() { try env HOME="$tmp" plink -batch -P "$1" nobody@$SERVER4 true; }

record_ssh_openssh() {
    openssh 22
    openssh 2222 "KexAlgorithms ecdh-sha2-nistp256" "Ciphers aes128-ctr,aes256-ctr" "MACs hmac-sha2-256" \
        "Compression no" "VersionAddendum none"
    start
    ssh_to $SERVER4
    ssh_to $SERVER6 -C
    ssh_to $SERVER4 -o KexAlgorithms=diffie-hellman-group14-sha256 -o Ciphers=aes128-cbc,3des-cbc -o MACs=hmac-sha1
    ssh_to $SERVER4 -p 2222
    try ssh-keyscan -t ed25519 $SERVER4
    keep ssh-openssh 14
}

record_ssh_dropbear() {
    dropbear_server 22
    openssh 2222
    start
    dbclient_to 22
    dbclient_to 2222
    ssh_to $SERVER4
    keep ssh-dropbear 14
}

record_ssh_libssh() {
    gcc -o "$tmp/libssh" "$programs/client.c" -lssh
    openssh 22
    start
    try env HOME="$tmp" "$tmp/libssh" $SERVER4 22
    keep ssh-libssh 14
}

record_ssh_libssh2() {
    openssh 22
    start
    try curl -k sftp://nobody:x@$SERVER4/
    try curl -k --compressed-ssh scp://nobody:x@$SERVER4/x
    keep ssh-libssh2 14
}

record_ssh_python() {
    python_venv asyncssh paramiko
    openssh 22
    serve 2201 "$tmp/venv/bin/python" "$programs/ssh_python.py" paramiko-server 2201
    serve 2202 "$tmp/venv/bin/python" "$programs/ssh_python.py" asyncssh-server 2202
    start
    try "$tmp/venv/bin/python" "$programs/ssh_python.py" paramiko $SERVER4 22
    try "$tmp/venv/bin/python" "$programs/ssh_python.py" asyncssh $SERVER4 22
    ssh_to $SERVER4 -p 2201
    ssh_to $SERVER4 -p 2202
    keep ssh-python 14
}

# python_venv PACKAGE...
python_venv() {
    [ -e "$tmp/venv" ] || python3 -m venv "$tmp/venv"
    "$tmp/venv/bin/pip" install -q "$@"
}

record_ssh_go() {
    go_program
    openssh 22
    serve 2222 "$tmp/go/ssh" serve :2222
    start
    try "$tmp/go/ssh" get $SERVER4:22
    ssh_to $SERVER4 -p 2222
    keep ssh-go 14
}

go_program() {
    mkdir -p "$tmp/go"
    cp "$programs/ssh.go" "$tmp/go"
    (cd "$tmp/go" && go mod init ssh && go mod tidy && go build -o ssh) >"$tmp/go.log" 2>&1
}

record_ssh_putty() {
    openssh 22
    dropbear_server 2222
    start
    plink_to 22
    plink_to 2222
    keep ssh-putty 14
}

record_ssh_tinyssh() {
    serve 22 socat TCP-LISTEN:22,reuseaddr,fork EXEC:"tinysshd $(tinyssh_keys)"
    start
    ssh_to $SERVER4
    keep ssh-tinyssh 14
}

# Makes host keys of TinySSH, and prints their folder.
tinyssh_keys() {
    [ -e "$tmp/tinyssh" ] || tinysshd-makekey "$tmp/tinyssh" >/dev/null
    echo "$tmp/tinyssh"
}

record_ssh_small_segments() {
    openssh 22
    ip -n $CLIENT_NS link set hn-a mtu 300
    start
    ssh_to $SERVER4
    dbclient_to 22
    keep ssh-small-segments 30
}

# Sides that close before their SSH_MSG_KEXINIT, or send something else; complete flows.
record_ssh_endings() {
    openssh 22
    start
    local what
    for what in banner version1 http identify bytes; do
        try python3 "$programs/dialogues.py" $what $SERVER4 22
    done
    keep ssh-endings 40
}

# Lines of text before the identification string of the server.
record_ssh_lines() {
    openssh 2222
    serve 22 python3 "$programs/dialogues.py" lines 22 127.0.0.1 2222
    start
    ssh_to $SERVER4
    plink_to 22
    keep ssh-lines 18
}

# Connections of OpenSSH, and NAME.kex with what `ssh -vvv` prints of each: key exchange method, host key algorithm, then
# cipher, MAC and compression of the client and of the server, and whether key exchange is strict. A dash is what it does not
# print.
record_ssh_negotiation() {
    local ssh10
    ssh10=$(trixie openssh-client usr/bin/ssh)
    openssh 22
    openssh 2201 "KexAlgorithms ecdh-sha2-nistp256" "Ciphers aes128-ctr,aes256-ctr" "MACs hmac-sha2-256" "Compression no"
    newer_dropbear_server 2202
    serve 2203 socat TCP-LISTEN:2203,reuseaddr,fork EXEC:"tinysshd $(tinyssh_keys)"
    start
    {
        negotiate ssh 22
        negotiate ssh 22 -C -c aes256-ctr -m umac-128-etm@openssh.com
        negotiate ssh 22 -c aes128-gcm@openssh.com -o KexAlgorithms=diffie-hellman-group14-sha256
        negotiate ssh 22 -c 3des-cbc
        negotiate ssh 2201 -m hmac-sha2-512,hmac-sha2-256
        negotiate "$ssh10" 22
        negotiate "$ssh10" 2202
        negotiate "$ssh10" 2202 -c aes128-ctr -m hmac-sha2-256
        negotiate "$ssh10" 2203
    } >"$(capture ssh-negotiation.kex)"
    keep ssh-negotiation 14
}

# negotiate SSH PORT [ARGUMENT...]: runs an OpenSSH client, and prints what it says about the key exchange.
negotiate() {
    local ssh=$1 port=$2
    shift 2
    try $ssh -vvv -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p "$port" "$@" \
        nobody@$SERVER4 true
    tr -d '\r' <"$tmp/client.log" | awk -v OFS='\t' '
        function direction() { return $5 OFS $7 OFS $9 }
        BEGIN { kex = key = "-"; client = server = "-" OFS "-" OFS "-"; strict = "no" }
        /: will use strict KEX ordering/ { strict = "yes" }
        /^debug1: kex: algorithm: / { kex = $4 }
        /^debug1: kex: host key algorithm: / { key = $6 }
        /^debug1: kex: client->server cipher: / { client = direction() }
        /^debug1: kex: server->client cipher: / { server = direction() }
        END { print kex, key, client, server, strict }'
}

# Methods that are no longer safe: a server that agrees on them, and one that offers them to a client that prefers others.
record_ssh_weak() {
    local weak=("KexAlgorithms +diffie-hellman-group1-sha1,diffie-hellman-group14-sha1" "HostKeyAlgorithms +ssh-rsa"
        "Ciphers +3des-cbc,aes128-cbc" "MACs +hmac-md5,hmac-sha1-96" "HostKey $tmp/rsa_key")
    ssh-keygen -q -t rsa -b 2048 -N '' -f "$tmp/rsa_key"
    openssh 22 "${weak[@]}"
    openssh 2201 "${weak[@]}"
    openssh 2202
    start
    ssh_to $SERVER4 -o KexAlgorithms=diffie-hellman-group1-sha1 -o HostKeyAlgorithms=ssh-rsa -c 3des-cbc -m hmac-md5
    ssh_to $SERVER4 -o KexAlgorithms=diffie-hellman-group14-sha1 -c aes128-cbc -m hmac-sha1-96
    ssh_to $SERVER4 -p 2201
    ssh_to $SERVER4 -p 2202
    keep ssh-weak 14
}

# Dropbear clients, which guess the first packet of the key exchange. Complete key exchanges: a wrong guess sends two packets.
record_ssh_guesses() {
    newer_dropbear_server 22
    openssh 2201
    openssh 2202 "KexAlgorithms curve25519-sha256,ecdh-sha2-nistp256"
    openssh 2203 "KexAlgorithms ecdh-sha2-nistp256"
    start
    dbclient_to 22
    dbclient_to 2201
    dbclient_to 2202
    dbclient_to 2203
    keep ssh-guesses 14
}

# newer_dropbear_server PORT: by socat, because the daemon of this version executes itself again, which fails beside the system.
newer_dropbear_server() {
    printf '#!/bin/sh\nexec %s -i -r %s\n' "$(trixie dropbear-bin usr/sbin/dropbear)" "$(dropbear_key)" >"$tmp/dropbear"
    chmod +x "$tmp/dropbear"
    serve "$1" socat "TCP-LISTEN:$1,reuseaddr,fork" EXEC:"$tmp/dropbear"
}

main "$@"
