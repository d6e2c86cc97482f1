#!/usr/bin/env python3
"""Servers of evasion.py that nginx lacks: SMTP with STARTTLS, and a proxy whose CONNECT leads to a TLS server.

Arguments: the folder with key.pem and cert.pem, in which servers.log gets the server name of each hello that OpenSSL accepted;
the port of SMTP; the port of the proxy.
"""

import socket
import ssl
import sys
import threading

FOLDER, SMTP, CONNECT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{FOLDER}/cert.pem", f"{FOLDER}/key.pem")
    context.sni_callback = lambda _, name, __: note(name)
    listeners = []
    for port, talk in ((SMTP, smtp), (CONNECT, proxy)):
        listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
        listeners.append(threading.Thread(target=accept, args=(listener, talk, context)))
    note("listening")
    for listener in listeners:
        listener.start()


def note(name):
    with open(f"{FOLDER}/servers.log", "a", encoding="ascii") as f:
        print(name, file=f, flush=True)


def accept(listener, talk, context):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, talk, context), daemon=True).start()


def serve(connection, talk, context):
    try:
        talk(connection)
        context.wrap_socket(connection, server_side=True).recv(1)
    except OSError:
        connection.close()


def smtp(connection):
    """RFC 5321 and RFC 3207, as far as a client needs them before TLS."""
    connection.sendall(b"220 evasion.test\r\n")
    line = b""
    while line.upper() != b"STARTTLS\r\n":
        line = read_line(connection)
        connection.sendall(b"250-evasion.test\r\n250 STARTTLS\r\n" if line[:4].upper() == b"EHLO" else b"250 OK\r\n")


def proxy(connection):
    """RFC 9110, section 9.3.6. The tunnel ends here."""
    while read_line(connection) != b"\r\n":
        pass
    connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")


def read_line(connection):
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            raise OSError("closed")
        line += byte
    return line


if __name__ == "__main__":
    main()
