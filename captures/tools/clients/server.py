"""The TLS server that recorded clients connect to. It keeps the first bytes of each client, layer by layer."""

import atexit
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import threading
import time
import warnings
from dataclasses import dataclass

# Clients omit server_name for a name without a dot.
NAME = "www.example.test"
TIMEOUT = 10  # seconds that a client may be silent
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# PostgreSQL's SSLRequest: length, and the code 80877103.
POSTGRES_SSL_REQUEST = struct.pack("!II", 8, 80877103)
# Options of Linux (tcp(7), linux/tcp.h): the listener keeps the SYN of each connection.
TCP_SAVE_SYN, TCP_SAVED_SYN = 27, 28
DATA, HEADERS, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 4, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
# Browsers request the style, the image, the audio and the data, too; each over a connection of its own.
PAGE = (b"<!doctype html><title>ok</title><link rel=stylesheet href=/style><img src=/image>"
        b"<audio src=/audio preload=auto></audio><script>fetch('/data')</script>\n")
CONTENT_TYPE = b"\x0f\x10\x09text/html"


@dataclass
class RecordedConnection:
    """What one client sent: the headers of its SYN, its ClientHello, and the decrypted head of its first request. With
    HTTP/2 that is everything up to the end of the first field block."""

    syn: bytes
    hello: bytes
    http: bytes


def make_certificate(path, name, *options):
    """Writes a certificate, and its key to another file, whose path it returns."""
    key = path.with_suffix(".key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}", *options,
         "-keyout", key, "-out", path],
        check=True, stderr=subprocess.DEVNULL)
    return key


class Server(socketserver.ThreadingTCPServer):
    """Answers HTTP/1.1 and HTTP/2 requests over every TLS version that this OpenSSL has. UDP sockets of the
    same port receive QUIC and do not answer: the client's first packets are enough."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folder, protocols=("h2", "http/1.1")):
        # Firefox accepts no certificate that is its own authority.
        self.certificate, leaf = folder / "authority.pem", folder / "certificate.pem"
        authority_key = make_certificate(self.certificate, "authority")
        key = make_certificate(leaf, NAME, "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1", "-addext",
                               "basicConstraints=CA:FALSE", "-CA", self.certificate, "-CAkey", authority_key)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.context.minimum_version = ssl.TLSVersion.TLSv1
        self.context.set_ciphers("ALL:@SECLEVEL=0")
        self.context.load_cert_chain(leaf, key)
        self.context.set_alpn_protocols(protocols)
        self.connections = []
        super().__init__(("127.0.0.1", 0), Connection)
        self.socket.setsockopt(socket.IPPROTO_TCP, TCP_SAVE_SYN, 1)
        self.port = self.server_address[1]
        self.quic = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
        for udp, address in zip(self.quic, ["127.0.0.1", "::1"]):
            udp.bind((address, self.port))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass


class Sshd:
    """OpenSSH's server, which accepts no login."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        os.makedirs("/run/sshd", exist_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", folder / "host_key"], check=True)
        (folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {folder}/host_key\nPidFile none\nMaxStartups 100\n")
        self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", folder / "sshd_config"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.process.terminate)
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            time.sleep(0.1)


class Connection(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.settimeout(TIMEOUT)
        if self.request.recv(8, socket.MSG_PEEK) == POSTGRES_SSL_REQUEST:
            self.request.recv(8)
            self.request.sendall(b"S")
        syn = self.request.getsockopt(socket.IPPROTO_TCP, TCP_SAVED_SYN, 256)
        hello = peek_hello(self.request)
        try:
            stream = self.server.context.wrap_socket(self.request, server_side=True)
        except (OSError, ssl.SSLError):
            return
        with stream:
            answer = answer_http2 if stream.selected_alpn_protocol() == "h2" else answer_http1
            answer(stream, lambda http: self.server.connections.append(RecordedConnection(syn, hello, http)))


def peek_hello(connection):
    """The TLS records of the ClientHello, which stay in the connection."""
    end_of_wait = time.monotonic() + TIMEOUT
    while True:
        data = connection.recv(65536, socket.MSG_PEEK)
        at, handshake = 0, b""
        while at + 5 <= len(data) and data[at] == 22:
            end = at + 5 + int.from_bytes(data[at + 3 : at + 5], "big")
            handshake += data[at + 5 : end]
            at = end
        is_complete = len(handshake) >= 4 and len(handshake) >= 4 + int.from_bytes(handshake[1:4], "big")
        if not data or data[0] != 22 or is_complete or time.monotonic() > end_of_wait:
            return data[:at]
        time.sleep(0.01)


def answer_http2(stream, record):
    received = stream.recv(65536)
    stream.sendall(frame(SETTINGS, 0, 0))
    while (request := first_request(received)) is None:
        more = stream.recv(65536)
        if not more:
            return
        received += more
    end, identifier = request
    record(received[:end])
    # 0x88 is ":status: 200", and 31 "content-type", in HPACK's static table (RFC 7541, Appendix A).
    answer = frame(SETTINGS, ACK, 0) + frame(HEADERS, END_HEADERS, identifier, b"\x88" + CONTENT_TYPE)
    stream.sendall(answer + frame(DATA, END_STREAM, identifier, PAGE))
    stream.recv(65536)
    stream.sendall(frame(GOAWAY, 0, 0, struct.pack("!II", identifier, 0)))


def answer_http1(stream, record):
    head = b""
    while b"\r\n\r\n" not in head:
        more = stream.recv(65536)
        if not more:
            return
        head += more
    record(head[: head.index(b"\r\n\r\n") + 4])
    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(PAGE), PAGE))


def frame(kind, flags, stream, payload=b""):
    """An HTTP/2 frame (RFC 9113, section 4.1)."""
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def first_request(data):
    """The end of the first complete field block and its stream, or None."""
    at = len(PREFACE)
    while at + 9 <= len(data):
        length = int.from_bytes(data[at : at + 3], "big")
        kind, flags, stream = struct.unpack("!BBI", data[at + 3 : at + 9])
        at += 9 + length
        if at <= len(data) and kind in (HEADERS, CONTINUATION) and flags & END_HEADERS:
            return at, stream
    return None
