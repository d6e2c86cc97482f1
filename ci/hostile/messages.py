"""What clients say in attempts.py: hellos, requests, HTTP/2 frames, with a name in each."""

import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HANDSHAKE, CHANGE_CIPHER_SPEC, ALERT = 22, 20, 21


class Handshake:
    """OpenSSL's handshake with a server name. It accepts every certificate."""

    def __init__(self, name, maximum=ssl.TLSVersion.TLSv1_3, alpn=("http/1.1",)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = maximum
        if alpn:
            context.set_alpn_protocols(list(alpn))
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = context.wrap_bio(self.incoming, self.outgoing, server_hostname=name)

    def take(self, received=b""):
        """The client's next flight, after bytes of the server."""
        self.incoming.write(received)
        try:
            self.client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()


def hello(name, **how):
    """The record with OpenSSL's ClientHello for a server name."""
    return Handshake(name, **how).take()


def message(name, padding=0, session=None, **how):
    """The ClientHello without its record; with extensions of no meaning, `padding` bytes in all."""
    body = hello(name, **how)[5:]
    at = 4 + 2 + 32
    old = body[at + 1 : at + 1 + body[at]]
    body = body[: at] + (bytes([len(session)]) + session if session is not None else bytes([len(old)]) + old) + body[at + 1 + len(old) :]
    after = at + 1 + body[at]
    after += 2 + struct.unpack("!H", body[after : after + 2])[0]
    after += 1 + body[after]
    extensions = body[after + 2 :]
    kind = 0xFE00
    while padding > 0:
        size = min(padding, 30000)
        extensions = struct.pack("!HH", kind, size) + b"\0" * size + extensions
        padding, kind = padding - size, kind + 1
    body = body[4:after] + struct.pack("!H", len(extensions)) + extensions
    return b"\x01" + struct.pack("!I", len(body))[1:] + body


def records(content, size, *, version=0x0301, between=b""):
    """The handshake message in records of at most `size` bytes, with `between` in front of all but the first."""
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    return between.join(struct.pack("!BHH", HANDSHAKE, version, len(piece)) + piece for piece in pieces)


def request(name, *, method=b"GET", target=b"/", version=b"HTTP/1.1", headers=b"", end=b"\r\n"):
    text = name.encode()
    lines = [method + b" " + target + b" " + version, b"Host: " + text, b"User-Agent: " + text, *headers.split(b"\n")]
    return end.join(line for line in lines if line) + end + end


def frame(kind, flags, stream, payload=b""):
    """RFC 9113, section 4.1."""
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def integer(value, bits, first=0):
    """RFC 7541, section 5.1."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = bytes([first | most]), value - most
    while value >= 128:
        out, value = out + bytes([value % 128 | 128]), value // 128
    return out + bytes([value])


def text(value):
    """RFC 7541, section 5.2, without Huffman codes."""
    return integer(len(value), 7) + value


def literal(name, value, first=0):
    """A literal with a new name (RFC 7541, section 6.2), without indexing unless the first byte says so."""
    return bytes([first]) + text(name) + text(value)


def block(name, more=()):
    """A header block: GET, http, /, the name as authority and User-Agent."""
    text = name.encode()
    fields = [(b":authority", text), *more, (b"user-agent", text)]
    return b"\x82\x86\x84" + b"".join(literal(*field) for field in fields)


def http2(name, *, settings=b"", before=b"", stream=1, pieces=1, padded=0, priority=False, more=()):
    """A connection with one request; its header block in `pieces` frames."""
    content = block(name, more)
    size = -(-len(content) // pieces)
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    head, flags = parts[0], 1 | (4 if len(parts) == 1 else 0)
    if priority:
        head, flags = struct.pack("!IB", 0, 16) + head, flags | 0x20
    if padded:
        head, flags = bytes([padded]) + head + b"\0" * padded, flags | 8
    frames = frame(1, flags, stream, head)
    for i, part in enumerate(parts[1:], 2):
        frames += frame(9, 4 if i == len(parts) else 0, stream, part)
    return PREFACE + frame(4, 0, 0, settings) + before + frames
