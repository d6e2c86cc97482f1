#!/usr/bin/env python3
"""Queries hosts through p0f's API: p0f_query.py SOCKET ADDRESS..."""
import ipaddress
import socket
import struct
import sys

QUERY, ANSWER = 0x50304601, 0x50304602
FOUND, NO_MATCH = 0x10, 0x20
LENGTH = 232


def text(field):
    return field.split(b"\0")[0].decode()


with socket.socket(socket.AF_UNIX) as connection:
    connection.settimeout(10)
    connection.connect(sys.argv[1])
    for name in sys.argv[2:]:
        address = ipaddress.ip_address(name)
        connection.sendall(struct.pack("=IB16s", QUERY, address.version, address.packed))
        answer = b""
        while len(answer) < LENGTH:
            part = connection.recv(LENGTH - len(answer))
            if not part:
                sys.exit("the socket was closed")
            answer += part
        magic, status = struct.unpack_from("=II", answer)
        if magic != ANSWER:
            sys.exit(f"not an answer: {magic:#x}")
        if status == FOUND:
            # Texts of 32 bytes follow nine numbers of four bytes, one of two and two of one.
            os_name, _, http_name = (text(answer[at : at + 32]) for at in (40, 72, 104))
            print(f"{name}: {os_name}, {http_name}")
        else:
            print(f"{name}: {'unknown' if status == NO_MATCH else status}")
