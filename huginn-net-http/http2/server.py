"""An HTTP/2 server that records the bytes of a client: server.py PORT FILE [CERTIFICATE KEY].

With a certificate, the server speaks TLS and records the decrypted bytes. Without one, it accepts prior knowledge and
upgrades. FILE gets all bytes of the first connection that has a request.
"""

import socket
import ssl
import struct
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, ACK, END_STREAM, END_HEADERS = 1, 4, 1, 1, 4
UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
PAGE = b"<!doctype html><title>page</title>"


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    context = None
    if len(sys.argv) > 3:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        context.set_alpn_protocols(["h2"])
    received = b""
    while not received:
        connection, _ = listener.accept()
        try:
            connection.settimeout(5)
            if context:
                connection = context.wrap_socket(connection, server_side=True)
            received = serve(connection)
        except OSError:
            pass  # a client rejected the certificate, or record.sh tested whether the port is open
        connection.close()
    with open(sys.argv[2], "wb") as file:
        file.write(received)


def serve(connection):
    """Answers requests until the client is silent for 1.5 s. Returns its bytes, or none if it sent no request."""
    received, answered = b"", set()
    while True:
        try:
            piece = connection.recv(65536)
        except TimeoutError:
            piece = b""
        if not piece:
            return received if answered else b""
        first = not received
        received += piece
        if first:
            if not received.startswith(PREFACE[:3]):
                connection.sendall(UPGRADED)
                answered.add(0)
            connection.sendall(frame(SETTINGS, 0, 0, b"") + frame(SETTINGS, ACK, 0, b""))
            if answered:
                connection.sendall(answer(1))
        for stream in requests(received):
            if stream not in answered:
                answered.add(stream)
                connection.sendall(answer(stream))
        if answered:
            connection.settimeout(1.5)


def requests(received):
    """Yields the stream of each request received so far."""
    _, _, data = received.partition(PREFACE)
    while len(data) >= 9:
        end = 9 + int.from_bytes(data[:3], "big")
        if data[3] == HEADERS and len(data) >= end:
            yield int.from_bytes(data[5:9], "big")
        data = data[end:]


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def answer(stream):
    """Builds a response with status 200 and type text/html."""
    fields = b"\x88\x5f\x09text/html"
    return frame(HEADERS, END_HEADERS, stream, fields) + frame(0, END_STREAM, stream, PAGE)


main()
