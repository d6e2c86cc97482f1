#!/usr/bin/python3
"""Socket operations for record.sh that curl does not offer."""

import ctypes
import fcntl
import os
import select
import socket
import struct
import sys
import time

REQUEST = b"GET / HTTP/1.1\r\nHost: www.example.test\r\nUser-Agent: sockets\r\nConnection: %s\r\n\r\n"


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def connect(address, source_port=0):
    s = socket.socket(family(address), socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.settimeout(5)
    s.bind(("", source_port))
    s.connect((address, 80))
    return s


def fast_open(address):
    """Sends the request in the SYN (RFC 7413)."""
    s = socket.socket(family(address), socket.SOCK_STREAM)
    s.settimeout(5)
    s.sendto(REQUEST % b"close", socket.MSG_FASTOPEN, (address, 80))
    while s.recv(4096):
        pass


def reuse(address):
    """Makes three connections from one source port. A reset ends the first two."""
    for last in (False, False, True):
        s = connect(address, 40000)
        s.sendall(REQUEST % b"keep-alive")
        s.recv(4096)
        if not last:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()


def slow(address):
    """Sends two requests, each after a pause that suffices to measure the timestamp clock."""
    s = connect(address)
    for how in (b"keep-alive", b"close"):
        time.sleep(0.4)
        s.sendall(REQUEST % how)
        s.recv(4096)
    s.close()


def dscp(address):
    """Sends a request marked expedited forwarding (RFC 3246): TOS 0xb8."""
    s = socket.socket(family(address), socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xB8)
    s.settimeout(5)
    s.connect((address, 80))
    s.sendall(REQUEST % b"close")
    while s.recv(4096):
        pass


def long_request(address):
    """Sends a datagram and a TCP request, both longer than the path MTU."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.sendto(bytes(range(250)) * 6, (address, 9))
    s = connect(address)
    s.sendall((REQUEST % b"close").replace(b"/ ", b"/long.txt ", 1))
    while s.recv(4096):
        pass


def join_tuns(namespace_a, namespace_b, name):
    """Opens a tun device in each of two namespaces and carries packets between them."""
    libc = ctypes.CDLL(None, use_errno=True)
    tuns = []
    for namespace in (namespace_a, namespace_b):
        with open(f"/run/netns/{namespace}") as f:
            if libc.setns(f.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        tun = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", name.encode(), 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
        tuns.append(tun)
    while True:
        for ready in select.select(tuns, [], [])[0]:
            other = tuns[1] if ready == tuns[0] else tuns[0]
            try:
                os.write(other, os.read(ready, 65536))
            except OSError:
                pass  # the other end is not up yet


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
