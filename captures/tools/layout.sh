# Paths of captures and goldens: captures/PROTOCOL/NAME/NAME.EXT. Sourced by the other scripts.

captures=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly captures

# protocol NAME: prints the folder of the protocol that a new capture of this name belongs to.
protocol() {
    case $1 in
    dtls-* | hosts-* | http-* | quic-* | ssh-* | starttls-* | tls-*) echo "${1%%-*}" ;;
    attack-*) echo attacks ;;
    h2c) echo http ;;
    cooked-* | labelled-* | loopback | made-* | mixed-links | nflog | raw-* | two-interfaces | vxlan-kernel) echo links ;;
    *) echo tcp ;;
    esac
}

# capture FILE: prints the path of a capture or golden, such as tls-go.pcap, and makes its folder.
capture() {
    local name=${1%%.*} folder
    folder=$captures/$(protocol "$name")/$name
    mkdir -p "$folder"
    echo "$folder/$1"
}
