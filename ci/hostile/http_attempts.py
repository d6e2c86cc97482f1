#!/usr/bin/env python3
"""Sends requests that hide from a parser to nginx and Apache httpd, and compares what they accept with what the program reports.

usage: ci/hostile/http_attempts.py PROGRAM [--list] [--only NAME] [--keep FOLDER]

Each attempt is a list of pieces that a client sends over a plain TCP socket of the loopback interface. The name of the resource,
or a header, holds a word that only this attempt has. A server accepted the attempt if its access log has the word in a parsed
field. The pieces and the answers become a capture, which the program reads: an accepted attempt must be reported (a request has
the word) or flagged (a blind spot of HTTP or of suppressed events, a head that was cut, or a conflict). Exit status 1 if one is neither.

Needs nginx; Apache httpd (apache2) is used if it is installed.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from messages import PREFACE, frame, integer, literal  # noqa: E402
from raw import checksum  # noqa: E402

REJECTED = {"400", "408", "413", "414", "417", "431", "494", "505"}
ANSWER_TIMEOUT = 0.15  # seconds


# Attempts.


def h1_attempts():
    """Yields name and pieces of HTTP/1 requests. `{w}` is the word of the attempt."""
    get, end = b"GET /{w} HTTP/1.1\r\n", b"Host: x\r\n\r\n"
    yield "plain", [get + end]
    for count in (1, 2, 4, 5, 9, 40, 300, 3000):
        yield f"crlf-before-{count}", [b"\r\n" * count + get + end]
    yield "lf-before-20", [b"\n" * 20 + get + end]
    yield "cr-before-20", [b"\r" * 20 + get + end]
    yield "crlf-before-own-segment", [b"\r\n" * 5, get + end]
    yield "blanks-before", [b"  " + get + end]
    yield "tab-before", [b"\t" + get + end]
    for length in (20, 24, 25, 32, 60, 300, 4000, 7000):
        yield f"method-{length}", [b"A" * length + b" /{w} HTTP/1.1\r\n" + end]
    for method in (b"hidden", b"Get", b"A-B_C", b"A", b"PRI", b"G3T", b"GET!", b"PROPFIND", b"CONNECT", b"TRACE", b"PROXY"):
        yield f"method-{method.decode()}", [method + b" /{w} HTTP/1.1\r\n" + end]
    yield "bare-lf", [b"GET /{w} HTTP/1.1\nHost: x\n\n"]
    yield "bare-lf-mixed", [b"GET /{w} HTTP/1.1\nHost: x\r\nA: b\n\r\n"]
    yield "bare-cr", [b"GET /{w} HTTP/1.1\rHost: x\r\r"]
    yield "cr-cr-lf", [b"GET /{w} HTTP/1.1\r\r\nHost: x\r\n\r\n"]
    yield "cr-in-head", [b"GET / HTTP/1.1\r\nHost: x\r\n\rUser-Agent: {w}\r\n\r\n"]
    yield "blanks-between-2", [b"GET  /{w}  HTTP/1.1\r\n" + end]
    yield "blanks-between-100", [b"GET" + b" " * 100 + b"/{w}" + b" " * 100 + b"HTTP/1.1\r\n" + end]
    yield "blanks-after-version", [b"GET /{w} HTTP/1.1   \r\n" + end]
    yield "tabs-between", [b"GET\t/{w}\tHTTP/1.1\r\n" + end]
    yield "vertical-tab-between", [b"GET\x0b/{w}\x0bHTTP/1.1\r\n" + end]
    yield "form-feed-between", [b"GET\x0c/{w} HTTP/1.1\r\n" + end]
    yield "blank-in-target", [b"GET /a {w} HTTP/1.1\r\n" + end]
    yield "control-in-target", [b"GET /\x01\x1b{w} HTTP/1.1\r\n" + end]
    yield "high-bytes-in-target", [b"GET /\xff\xfe{w} HTTP/1.1\r\n" + end]
    for version in ("1.0", "1.2", "1.9", "1.10", "1.15", "1.99", "1.100", "1.01", "01.1", "1.0.8", "1.", "1", "2.0", "0.9", "3.0"):
        yield f"version-{version}", [f"GET /{{w}} HTTP/{version}\r\n".encode() + end]
    yield "version-lower-case", [b"GET /{w} http/1.1\r\n" + end]
    yield "version-other-name", [b"GET /{w} HTCPCP/1.0\r\n" + end]
    yield "http09", [b"GET /{w}\r\n"]
    yield "http09-bare-lf", [b"GET /{w}\n"]
    yield "http09-with-head", [b"GET /{w}\r\nHost: x\r\n\r\n"]
    yield "http09-other-method", [b"HIDDEN /{w}\r\n"]
    yield "http09-post", [b"POST /{w}\r\n"]
    yield "http09-blanks", [b"GET   /{w}   \r\n"]
    yield "http09-split", [b"GET /", b"{w}\r", b"\n"]
    yield "http09-blank-lines", [b"\r\n\r\nGET /{w}\r\n"]
    yield "http09-absolute", [b"GET http://x/{w}\r\n"]
    yield "absolute-form", [b"GET http://x/{w} HTTP/1.1\r\n" + end]
    yield "absolute-form-upper", [b"GET HTTP://X/{w} HTTP/1.1\r\n" + end]
    yield "absolute-form-https", [b"GET https://x/{w} HTTP/1.1\r\n" + end]
    yield "absolute-form-odd-scheme", [b"GET abc+d://x/{w} HTTP/1.1\r\n" + end]
    yield "authority-form", [b"GET {w}:80 HTTP/1.1\r\n" + end]
    yield "asterisk-form", [b"OPTIONS * HTTP/1.1\r\nHost: x\r\nUser-Agent: {w}\r\n\r\n"]
    yield "no-slash", [b"GET {w} HTTP/1.1\r\n" + end]
    yield "encoded-target", [b"GET /%2e%2e/%00/{w} HTTP/1.1\r\n" + end]
    yield "backslash-target", [b"GET /a\\..\\{w} HTTP/1.1\r\n" + end]
    yield "target-8000", [b"GET /{w}" + b"a" * 7900 + b" HTTP/1.1\r\n" + end]
    agent = b"User-Agent: {w}\r\n"
    start = b"GET / HTTP/1.1\r\nHost: x\r\n"
    yield "blank-before-colon", [start + b"User-Agent : {w}\r\n\r\n"]
    yield "tab-before-colon", [start + b"User-Agent\t: {w}\r\n\r\n"]
    yield "no-blank-after-colon", [start + b"User-Agent:{w}\r\n\r\n"]
    yield "tab-after-colon", [start + b"User-Agent:\t{w}\t\r\n\r\n"]
    yield "obs-fold-blank", [start + b"User-Agent:\r\n {w}\r\n\r\n"]
    yield "obs-fold-tab", [start + b"User-Agent: a\r\n\t{w}\r\n\r\n"]
    yield "obs-fold-first-line", [b"GET / HTTP/1.1\r\n Host: x\r\nUser-Agent: {w}\r\n\r\n"]
    yield "header-lower-case", [start + b"user-agent: {w}\r\n\r\n"]
    yield "header-upper-case", [start + b"USER-AGENT: {w}\r\n\r\n"]
    yield "header-twice", [start + b"User-Agent: a\r\n" + agent + b"\r\n"]
    yield "header-without-colon", [start + b"abc\r\n" + agent + b"\r\n"]
    yield "header-without-name", [start + b": abc\r\n" + agent + b"\r\n"]
    yield "header-odd-name", [start + b"a@b: c\r\n" + agent + b"\r\n"]
    yield "header-high-bytes", [start + b"\xff\xfe: c\r\n" + agent + b"\r\n"]
    yield "header-nul", [start + b"A: b\x00c\r\n" + agent + b"\r\n"]
    yield "header-control", [start + b"A: \x01\x1b\r\n" + agent + b"\r\n"]
    yield "header-bare-cr", [start + b"A: b\rc\r\n" + agent + b"\r\n"]
    for count in (99, 101, 255, 257, 300, 1000, 3000):
        lines = b"".join(b"a%d: b\r\n" % n for n in range(count))
        yield f"headers-{count}", [get + b"Host: x\r\n" + lines + b"\r\n"]
        if count > 200:
            yield f"headers-{count}-agent-last", [start + lines + agent + b"\r\n"]
    for kib in (7, 30, 60, 70, 200, 700):
        lines = b"".join(b"a%d: %s\r\n" % (n, b"b" * 7900) for n in range(kib // 8 + 1))
        yield f"head-{kib}k", [get + b"Host: x\r\n" + lines + b"\r\n"]
        yield f"head-{kib}k-pipelined", [b"GET / HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n" + get + end]
    yield "byte-by-byte", [bytes([byte]) for byte in b"GET /{w} HTTP/1.1\r\nHost: x\r\n\r\n"]
    yield "split-in-method", [b"GE", b"T /{w} HTTP/1.1\r\n" + end]
    yield "split-in-crlf", [b"GET /{w} HTTP/1.1\r", b"\nHost: x\r\n\r", b"\n"]
    yield "split-long-method", [b"A" * 30, b"A" * 30 + b" /{w} HTTP/1.1\r\n" + end]
    yield "pipelined-2", [start + b"\r\n" + get + end]
    yield "pipelined-100", [(start + b"\r\n") * 90 + get + end]
    yield "crlf-after-body", [b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi\r\n" + get + end]
    yield "pipelined-http09-last", [start + b"\r\n" + b"GET /{w}\r\n"]
    post = b"POST / HTTP/1.1\r\nHost: x\r\n"
    chunked = post + b"Transfer-Encoding: chunked\r\n\r\n"
    next_request = get + end
    for name, body in (
        ("plain", b"2\r\nhi\r\n0\r\n\r\n"),
        ("extension", b"2;a=b\r\nhi\r\n0;c\r\n\r\n"),
        ("extension-quoted", b'2;a="\r"\r\nhi\r\n0\r\n\r\n'),
        ("extension-long", b"2;" + b"a" * 3000 + b"\r\nhi\r\n0\r\n\r\n"),
        ("extension-lf", b"2;a\nhi\r\n0\r\n\r\n"),
        ("upper-hex", b"A\r\n0123456789\r\n0\r\n\r\n"),
        ("zeros", b"000000000002\r\nhi\r\n000\r\n\r\n"),
        ("many-zeros", b"0" * 40 + b"2\r\nhi\r\n0\r\n\r\n"),
        ("blank-after", b"2 \r\nhi\r\n0\r\n\r\n"),
        ("tab-after", b"2\t\r\nhi\r\n0\r\n\r\n"),
        ("blank-before", b" 2\r\nhi\r\n0\r\n\r\n"),
        ("bare-lf", b"2\nhi\n0\n\n"),
        ("trailers", b"2\r\nhi\r\n0\r\nA: b\r\nC: d\r\n\r\n"),
        ("0x", b"0x2\r\nhi\r\n0\r\n\r\n"),
        ("minus", b"-2\r\nhi\r\n0\r\n\r\n"),
        ("one-byte-chunks", b"1\r\na\r\n" * 200 + b"0\r\n\r\n"),
        ("lf-after-data", b"2\r\nhi\n0\r\n\r\n"),
    ):
        yield f"chunk-{name}", [chunked + body + next_request]
    for name, lines in (
        ("upper-case", b"TRANSFER-ENCODING: CHUNKED\r\n"),
        ("blanks", b"Transfer-Encoding:   chunked  \r\n"),
        ("blank-before-colon", b"Transfer-Encoding : chunked\r\n"),
        ("tab", b"Transfer-Encoding:\tchunked\r\n"),
        ("fold", b"Transfer-Encoding:\r\n chunked\r\n"),
        ("twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        ("identity", b"Transfer-Encoding: identity\r\n"),
        ("identity-chunked", b"Transfer-Encoding: identity, chunked\r\n"),
        ("gzip-chunked", b"Transfer-Encoding: gzip, chunked\r\n"),
        ("comma", b"Transfer-Encoding: ,chunked\r\n"),
        ("quoted", b'Transfer-Encoding: "chunked"\r\n'),
        ("xchunked", b"Transfer-Encoding: xchunked\r\n"),
        ("length-too", b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"),
        ("length-after", b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"),
        ("vertical-tab", b"Transfer-Encoding: \x0bchunked\r\n"),
    ):
        yield f"coding-{name}", [post + lines + b"\r\n2\r\nhi\r\n0\r\n\r\n" + next_request]
    yield "coding-http10", [b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next_request]
    for name, value in (
        ("plus", b"+2"), ("minus", b"-2"), ("zeros", b"0002"), ("blanks", b"  2  "), ("twice-in-one", b"2, 2"), ("hex", b"0x2"),
        ("empty", b""), ("huge", b"99999999999999999999"), ("comma", b"2,"), ("dot", b"2.0"), ("blank-inside", b"2 2"),
    ):
        yield f"length-{name}", [post + b"Content-Length: " + value + b"\r\n\r\nhi" + next_request]
    yield "length-twice", [post + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi" + next_request]
    yield "length-differs", [post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi" + next_request]
    yield "length-of-get", [start + b"Content-Length: 2\r\n\r\nhi" + next_request]
    yield "length-body-is-request", [post + b"Content-Length: 20\r\n\r\nGET /no HTTP/1.1\r\n\r\n" + next_request]
    yield "expect-continue", [post + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", b"hi" + next_request]
    yield "expect-continue-no-wait", [post + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi" + next_request]
    yield "expect-continue-many", [(post + b"Expect: 100-continue\r\nContent-Length: 0\r\n\r\n") * 20 + next_request]
    yield "expect-odd", [post + b"Expect: 200-ok\r\nContent-Length: 2\r\n\r\nhi" + next_request]
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    yield "upgrade-h2c", [get + b"Host: x\r\n" + upgrade + b"\r\n"]
    yield "upgrade-h2c-pipelined", [start + upgrade + b"\r\n" + next_request]
    yield "upgrade-websocket-refused", [start + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", next_request]
    yield "upgrade-unknown", [start + b"Connection: Upgrade\r\nUpgrade: foo/9, HTTP/1.1\r\n\r\n", next_request]
    yield "connect-refused", [b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", next_request]
    yield "connection-close-then-more", [start + b"Connection: close\r\n\r\n" + next_request]
    yield "head-then-get", [b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" + next_request]
    yield "proxy-line-as-method", [b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n" + next_request]
    yield "preface-in-http1", [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + next_request]
    yield "preface-lookalike", [b"PRI /{w} HTTP/1.1\r\n" + end]
    yield "unreadable-then-next", [b"GET / HTTP/1.0.8\r\nHost: x\r\n\r\n", next_request]


SETTINGS = frame(4, 0, 0, b"")
END_STREAM, END_HEADERS, PADDED, PRIORITY = 1, 4, 8, 32
# Placeholders of the word. That of HTTP/2 has the length of the word, which the lengths of strings and frames count.
H1_WORD, WORD = b"{w}", b"hidden---"


def block(*fields, path=b"/" + WORD):
    """GET, http, an authority and a path."""
    return b"\x82\x86" + literal(b":path", path) + literal(b":authority", b"x") + b"".join(fields)


def h2_attempts():
    """Yields name and pieces of HTTP/2 connections by prior knowledge."""
    whole = END_STREAM | END_HEADERS
    start = PREFACE + SETTINGS
    plain = frame(1, whole, 1, block())
    yield "h2-plain", [start + plain]
    yield "h2-pieces", [start[:10], start[10:30], start[30:] + plain[:5], plain[5:]]
    yield "h2-padded", [start + frame(1, whole | PADDED, 1, b"\x05" + block() + bytes(5))]
    yield "h2-padded-most", [start + frame(1, whole | PADDED, 1, b"\xff" + block() + bytes(255))]
    yield "h2-priority", [start + frame(1, whole | PRIORITY, 1, b"\x80\0\0\0\xff" + block())]
    yield "h2-padded-priority", [start + frame(1, whole | PRIORITY | PADDED, 1, b"\x02\0\0\0\0\x10" + block() + bytes(2))]
    fields = block(literal(b"a", b"b" * 50))
    yield "h2-continuation", [start + frame(1, END_STREAM, 1, fields[:10]) + frame(9, END_HEADERS, 1, fields[10:])]
    yield "h2-continuation-empty", [start + frame(1, END_STREAM, 1, b"") + frame(9, 0, 1, b"") * 20 + frame(9, END_HEADERS, 1, fields)]
    split = b"".join(frame(9, 0, 1, fields[n : n + 1]) for n in range(1, len(fields)))
    yield "h2-continuation-bytes", [start + frame(1, END_STREAM, 1, fields[:1]) + split + frame(9, END_HEADERS, 1, b"")]
    yield "h2-continuation-padded", [
        start + frame(1, END_STREAM | PADDED, 1, b"\x03" + fields[:10] + bytes(3)) + frame(9, END_HEADERS, 1, fields[10:])
    ]
    for kind in (10, 11, 0x42, 0xFF):
        yield f"h2-unknown-frame-{kind}", [start + frame(kind, 0xFF, 0, b"x" * 40) + plain]
    yield "h2-unknown-frame-stream", [start + frame(0x42, 0, 1, b"x") * 10 + plain]
    yield "h2-unknown-frame-long", [start + frame(0x42, 0, 0, b"x" * 16384) + plain]
    yield "h2-ping-first", [start + frame(6, 0, 0, b"12345678") + plain]
    yield "h2-priority-frames", [start + b"".join(frame(2, 0, n, b"\0\0\0\0\x10") for n in range(3, 203, 2)) + frame(1, whole, 203, block())]
    yield "h2-window-update", [start + frame(8, 0, 0, b"\0\0\xff\xff") + plain]
    yield "h2-reserved-bit", [start + frame(1, whole, 0x80000001, block())]
    yield "h2-all-flags", [start + frame(1, 0xD2 | whole, 1, block())]
    yield "h2-stream-high", [start + frame(1, whole, 0x7FFFFFFF, block())]
    yield "h2-settings-many", [PREFACE + frame(4, 0, 0, b"\xf0\0\0\0\0\1" * 500) + plain]
    yield "h2-settings-odd", [PREFACE + frame(4, 0, 0, b"\0\0\0\0\0\0\x0a\x0a\xff\xff\xff\xff") + plain]
    yield "h2-settings-twice", [start + SETTINGS * 5 + plain]
    yield "h2-no-settings", [PREFACE + plain]
    yield "h2-crlf-before", [b"\r\n" + start + plain]
    yield "h2-table-size-0", [start + frame(1, whole, 1, b"\x20" + block())]
    yield "h2-table-size-4096", [start + frame(1, whole, 1, integer(4096, 5, 0x20) + block())]
    yield "h2-table-size-twice", [start + frame(1, whole, 1, b"\x20" + integer(4096, 5, 0x20) + block())]
    yield "h2-table-size-large", [start + frame(1, whole, 1, integer(65536, 5, 0x20) + block())]
    yield "h2-table-size-late", [start + frame(1, whole, 1, block() + b"\x20")]
    indexed = literal(b"user-agent", WORD, 0x40)
    yield "h2-indexed-later", [start + frame(1, whole, 1, block(indexed, path=b"/")) + frame(1, whole, 3, b"\x82\x86\x84\xbe" + literal(b":authority", b"x"))]
    yield "h2-never-indexed", [start + frame(1, whole, 1, block(literal(b"user-agent", WORD, 0x10), path=b"/"))]
    yield "h2-pseudo-last", [start + frame(1, whole, 1, literal(b"a", b"b") + block())]
    yield "h2-pseudo-unknown", [start + frame(1, whole, 1, b"\x82\x86" + literal(b":foo", b"b") + block()[2:])]
    yield "h2-upper-case-name", [start + frame(1, whole, 1, block(literal(b"User-Agent", WORD), path=b"/"))]
    yield "h2-long-method", [start + frame(1, whole, 1, literal(b":method", b"A" * 300) + block()[1:])]
    yield "h2-connection-header", [start + frame(1, whole, 1, block(literal(b"connection", b"close")))]
    yield "h2-no-authority", [start + frame(1, whole, 1, b"\x82\x86" + literal(b":path", b"/" + WORD) + literal(b"host", b"x"))]
    for count in (100, 257, 600, 900):
        lines = b"".join(literal(b"a%d" % n, b"b") for n in range(count))
        yield f"h2-headers-{count}", [start + frame(1, whole, 1, block(lines))]
        yield f"h2-headers-{count}-agent-last", [start + frame(1, whole, 1, block(lines, literal(b"user-agent", WORD), path=b"/"))]
    # One field of 4000 bytes in the table, which later heads repeat.
    big = literal(b"a", b"b" * 3900, 0x40)
    repeat = b"\x82\x86\x84" + literal(b":authority", b"x")
    many = b"".join(frame(1, whole, 3 + 2 * n, repeat + b"\xbe") for n in range(60))
    yield "h2-indexed-large", [start + frame(1, whole, 1, block(big, path=b"/")) + many + frame(1, whole, 201, block(b"\xbe"))]
    yield "h2-indexed-short", [
        start + frame(1, whole, 1, block(big, path=b"/")) + b"".join(frame(1, whole, 3 + 2 * n, b"\x82\x86\x84\xbe") for n in range(60))
        + frame(1, whole, 201, block())
    ]
    yield "h2-list-28k", [start + frame(1, whole, 1, block(big, b"\xbe" * 6))]
    yield "h2-list-120k", [start + frame(1, whole, 1, block(big, b"\xbe" * 30))]
    yield "h2-list-120k-next", [start + frame(1, whole, 1, block(big, b"\xbe" * 30, path=b"/")) + frame(1, whole, 3, block())]
    yield "h2-after-data", [start + frame(1, END_HEADERS, 1, b"\x83" + block(path=b"/")[1:]) + frame(0, PADDED | 1, 1, b"\x03hi\0\0\0") + frame(1, whole, 3, block())]
    yield "h2-trailers", [
        start + frame(1, END_HEADERS, 1, b"\x83" + block(path=b"/")[1:]) + frame(0, 0, 1, b"hi") + frame(1, whole, 1, literal(b"a", b"b")) + frame(1, whole, 3, block())
    ]
    yield "h2-goaway-then-more", [start + frame(7, 0, 0, bytes(8)) + plain]
    yield "h2-reset-then-more", [start + frame(1, END_HEADERS, 1, block(path=b"/")) + frame(3, 0, 1, bytes(4)) + frame(1, whole, 3, block())]
    yield "h2-long-path", [start + frame(1, whole, 1, block(path=b"/" + WORD + b"a" * 7000))]


# Servers.


class Nginx:
    def __init__(self, folder):
        self.log = folder / "nginx.log"
        self.h1, self.h2 = free_port(), free_port()
        config = folder / "nginx.conf"
        config.write_text(f"""
            daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx-error.log; worker_rlimit_nofile 4096;
            events {{ worker_connections 512; }}
            http {{
              log_format t '$status|$uri|$http_user_agent|$host|$request_method';
              access_log {self.log} t;
              client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
              uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
              keepalive_requests 100000;
              server {{ listen 127.0.0.1:{self.h1}; listen 127.0.0.1:{self.h2} http2; location / {{ return 200 ok; }} }}
            }}""")
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([program, "-p", folder, "-c", config], stderr=subprocess.DEVNULL)
        wait_for(self.h1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Apache:
    MODULES = Path("/usr/lib/apache2/modules")

    def __init__(self, folder):
        self.log = folder / "apache.log"
        self.h1, self.h2 = free_port(), None
        (folder / "root").mkdir()
        (folder / "root" / "index.html").write_text("ok")
        modules = ["mpm_event", "authz_core", "dir"]
        load = "\n".join(f"LoadModule {name}_module {self.MODULES}/mod_{name}.so" for name in modules)
        config = folder / "apache.conf"
        config.write_text(f"""
            {load}
            ServerRoot {folder}
            ServerName x
            PidFile {folder}/apache.pid
            Mutex file:{folder}
            DefaultRuntimeDir {folder}
            Listen 127.0.0.1:{self.h1}
            User www-data
            Group www-data
            DocumentRoot {folder}/root
            TraceEnable on
            MaxKeepAliveRequests 0
            ErrorLog {folder}/apache-error.log
            LogFormat "%>s|%U|%{{User-Agent}}i|%{{Host}}i|%m" t
            CustomLog {self.log} t
            """)
        program = shutil.which("apache2") or "/usr/sbin/apache2"
        self.process = subprocess.Popen([program, "-f", config, "-DFOREGROUND"], stderr=subprocess.DEVNULL)
        wait_for(self.h1)

    @classmethod
    def is_installed(cls):
        return bool(shutil.which("apache2") or Path("/usr/sbin/apache2").exists()) and cls.MODULES.exists()

    stop = Nginx.stop


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"no server on port {port}")


def exchange(port, pieces):
    """Sends the pieces and returns all data in order: (sender, bytes)."""
    data = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_open = True
        for piece in pieces:
            try:
                connection.sendall(piece)
            except OSError:
                is_open = False
            data.append(("client", piece))
            if len(pieces) > 8:
                continue
            is_open = is_open and receive(connection, data)
        receive(connection, data)
    return data


def receive(connection, data):
    """Collects what the server sends; false if it closed the connection."""
    connection.settimeout(ANSWER_TIMEOUT)
    while True:
        try:
            piece = connection.recv(1 << 16)
        except TimeoutError:
            return True
        except OSError:
            return False
        if not piece:
            return False
        data.append(("server", piece))


# Captures.


def capture(path, data):
    """Writes a connection as a capture: SYN, SYN+ACK, ACK, one segment or more for each piece, FIN."""
    packets, sequence = [], {"client": 1000, "server": 5000}

    def segment(sender, flags, payload=b"", options=b""):
        other = "server" if sender == "client" else "client"
        ports = (40000, 80) if sender == "client" else (80, 40000)
        addresses = [bytes([198, 51, 100, 1]), bytes([198, 51, 100, 2])]
        if sender == "server":
            addresses.reverse()
        length = 20 + len(options)
        ack = sequence[other] if flags != 2 else 0
        tcp = struct.pack(">HHIIBBHHH", *ports, sequence[sender], ack, length << 2, flags, 64240, 0, 0) + options + payload
        pseudo = b"".join(addresses) + struct.pack(">BBH", 0, 6, len(tcp))
        tcp = tcp[:16] + struct.pack(">H", checksum(pseudo + tcp)) + tcp[18:]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), len(packets) + 1, 0x4000, 64, 6, 0) + b"".join(addresses)
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        packets.append(bytes(12) + b"\x08\0" + ip + tcp)
        sequence[sender] += len(payload) + (flags & 3 != 0)

    options = bytes([2, 4, 5, 0xB4, 1, 1, 4, 2])
    segment("client", 2, options=options)
    segment("server", 0x12, options=options)
    segment("client", 0x10)
    for sender, payload in data:
        for start in range(0, len(payload), 1460):
            segment(sender, 0x18, payload[start : start + 1460])
        segment("server" if sender == "client" else "client", 0x10)
    segment("client", 0x11)
    segment("server", 0x11)
    segment("client", 0x10)
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1))
        for number, packet in enumerate(packets):
            out.write(struct.pack("<IIII", 1_700_000_000, number * 10, len(packet), len(packet)) + packet)


def analysis(program, path, word):
    """Whether the program reports the request, and whether it flags the connection."""
    run = subprocess.run([program, "pcap", "--format", "json", "--stats", "-q", path], capture_output=True, timeout=60, check=True)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    stats = next(json.loads(line) for line in run.stderr.splitlines() if line.startswith(b"{"))
    reported = any(event["event"] == "http_request" and word in json.dumps(event).lower() for event in events)
    flags = [spot["name"] for spot in stats["blind_spots"] if spot["name"].startswith(("http", "events_suppressed"))]
    flags += [mark for mark in ("head_cut", "conflict") if any(mark in event for event in events)]
    return reported, flags


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program", type=Path)
    arguments.add_argument("--list", action="store_true", help="print every attempt, not only the missed ones")
    arguments.add_argument("--only", help="run the attempts whose name contains this")
    arguments.add_argument("--keep", type=Path, help="keep the captures in this folder")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostile-http-") as folder:
        folder = Path(folder)
        folder.chmod(0o755)
        captures = options.keep or folder
        captures.mkdir(exist_ok=True)
        servers = [Nginx(folder)] + ([Apache(folder)] if Apache.is_installed() else [])
        try:
            sys.exit(attempt_all(options, servers, captures))
        finally:
            for server in servers:
                server.stop()


def attempt_all(options, servers, captures):
    attempts = [("h1", *attempt) for attempt in h1_attempts()] + [("h2", *attempt) for attempt in h2_attempts()]
    attempts = [attempt for attempt in attempts if (options.only or "") in attempt[1]]
    done = []
    for number, (protocol, name, pieces) in enumerate(attempts):
        word = f"hidden{number:03}"
        pieces = with_word(pieces, word.encode())
        for server in servers:
            port = server.h1 if protocol == "h1" else server.h2
            if port:
                done.append((server, name, word, exchange(port, pieces)))
    time.sleep(0.5)
    logs = {server: server.log.read_text("utf-8", "replace").lower().splitlines() for server in servers}
    count = {"attempts": len(done), "accepted": 0, "reported": 0, "flagged": 0, "missed": 0}
    for server, name, word, data in done:
        kind = type(server).__name__.lower()
        lines = [line for line in logs[server] if word in line]
        accepted = any(line.split("|")[0] not in REJECTED for line in lines)
        path = captures / f"{name}-{kind}.pcap"
        capture(path, data)
        reported, flags = analysis(options.program, path, word)
        missed = accepted and not reported and not flags
        count["accepted"] += accepted
        count["reported"] += accepted and reported
        count["flagged"] += accepted and not reported and bool(flags)
        count["missed"] += missed
        if options.list or missed:
            verdict = "MISSED" if missed else "ok"
            print(f"{verdict:6} {kind:6} {name:32} {'accepted' if accepted else 'rejected'} "
                  f"{'reported' if reported else 'hidden':8} {','.join(flags)}")
    print(", ".join(f"{number} {what}" for what, number in count.items()))
    return 1 if count["missed"] else 0


def with_word(pieces, word):
    """Replaces the placeholder, which no two pieces share unless each piece is a byte."""
    if all(len(piece) == 1 for piece in pieces):
        return [bytes([byte]) for byte in b"".join(pieces).replace(H1_WORD, word)]
    return [piece.replace(H1_WORD, word).replace(WORD, word) for piece in pieces]


if __name__ == "__main__":
    main()
