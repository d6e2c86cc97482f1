"""Lists the heads of HTTP that tshark shows in a capture, decrypted or not: heads.py TSHARK... CAPTURE.

A line for each head of HTTP/1, HTTP/2 and HTTP/3, sorted: source, port, version, method or status, host, target, and the names of the
fields in their order, in lower case, each once. Older versions of tshark read no HTTP/3: 4.4 does.
"""

import json
import subprocess
import sys

DISPLAY = "http.request or http.response or http2.headers or http3.headers.count"


def as_list(value):
    return value if isinstance(value, list) else [] if value is None else [value]


def row(version, first, host, target, names):
    return [version, first, host or "-", target or "-", ",".join(dict.fromkeys(name.lower() for name in names)) or "-"]


def of_http1(layer):
    for line in layer.values():
        if isinstance(line, dict) and ("http.request.method" in line or "http.response.code" in line):
            fields = as_list(layer.get("http.request.line")) + as_list(layer.get("http.response.line"))
            names = [field.split(":", 1)[0] for field in fields]
            first = line.get("http.request.method") or line["http.response.code"]
            yield row("1", first, layer.get("http.host"), line.get("http.request.uri"), names)


def of_fields(version, fields):
    pairs = [next(((field[name], field.get(value, "")) for name, value in FIELDS if name in field), None) for field in fields]
    values = dict(reversed([pair for pair in pairs if pair]))
    if first := values.get(":method") or values.get(":status"):
        names = [name for name, _ in pairs if not name.startswith(":")]
        yield row(version, first, values.get(":authority"), values.get(":path"), names)


FIELDS = [("http2.header.name", "http2.header.value"), ("http3.header.header.name", "http3.headers.header.value")]


def heads(layers):
    for layer in as_list(layers.get("http")):
        yield from of_http1(layer)
    for layer in as_list(layers.get("http2")):
        for stream in as_list(layer.get("http2.stream")):
            yield from of_fields("2", as_list(stream.get("http2.header")))
    for layer in as_list(layers.get("http3")):
        for stream in as_list(layer.get("http3.stream")):
            for frame in as_list(stream.get("http3.frame")) if isinstance(stream, dict) else []:
                yield from of_fields("3", as_list(frame.get("http3.headers.header")))


command = [*sys.argv[1:-1], "-r", sys.argv[-1], "-2", "-Y", DISPLAY, "-T", "json", "--no-duplicate-keys", "-J",
           "ip ipv6 tcp udp http http2 http3"]
output = subprocess.run(command, capture_output=True, check=True).stdout
lines = []
for packet in json.loads(output):
    layers = packet["_source"]["layers"]
    source = layers.get("ip", {}).get("ip.src") or layers["ipv6"]["ipv6.src"]
    port = layers.get("tcp", {}).get("tcp.srcport") or layers["udp"]["udp.srcport"]
    lines += ["\t".join([source, port, *head]) for head in heads(layers)]
print("\n".join(sorted(lines)))
