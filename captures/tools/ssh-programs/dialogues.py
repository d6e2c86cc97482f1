"""Connections that begin like SSH and continue differently, and lines before an identification string.

    dialogues.py banner HOST PORT     reads the identification string of the server, and closes
    dialogues.py version1 HOST PORT   identifies as SSH version 1, which the server rejects
    dialogues.py http HOST PORT       sends an HTTP request
    dialogues.py identify HOST PORT   sends an identification string, reads, and closes without SSH_MSG_KEXINIT
    dialogues.py bytes HOST PORT      sends an identification string with bytes that are not UTF-8, reads, and closes
    dialogues.py lines PORT HOST PORT serves two lines of text, then forwards the bytes of the server at HOST
"""

import contextlib
import socket
import sys
import threading

FIRST = {
    "banner": b"",
    "version1": b"SSH-1.5-huginn\r\n",
    "http": b"GET / HTTP/1.0\r\n\r\n",
    "identify": b"SSH-2.0-huginn scan\r\n",
    "bytes": b"SSH-2.0-caf\xe9_\xff \\x41\r\n",
}


def client(first, host, port):
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        if first:
            connection.sendall(first)
        with contextlib.suppress(TimeoutError):
            connection.settimeout(0.5)
            while connection.recv(4096) and first:
                pass


def pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def lines(port, host, host_port):
    listener = socket.create_server(("", int(port)))
    while True:
        outer, _ = listener.accept()
        outer.sendall(b"Authorised use only.\r\nConnections are recorded.\r\n")
        inner = socket.create_connection((host, int(host_port)))
        threading.Thread(target=pump, args=(outer, inner), daemon=True).start()
        threading.Thread(target=pump, args=(inner, outer), daemon=True).start()


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "lines":
        lines(*arguments)
    else:
        client(FIRST[what], *arguments)
