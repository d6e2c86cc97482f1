"""The servers, a client and the comparison of proxy.sh.

usage: proxy.py serve FOLDER | client URL | compare FOLDER

serve: port 8080 answers HTTP/1.1 and writes path and headers of each request to FOLDER/requests.json; port 8081 reads and
answers nothing; port 8444 writes the first bytes of a connection to FOLDER/pass-through.bin.
"""

import http.server
import json
import pathlib
import socketserver
import ssl
import struct
import sys
import threading
import urllib.request

PREFIX = "x-client-"
ADDRESS = "192.0.2.2"
# The field of an event for each header of a ClientHello and of a SYN.
TLS = {"ja4": "ja4", "ja4-r": "ja4_r", "ja4-o": "ja4_o", "ja4-ro": "ja4_ro", "ja4-stable": "ja4_stable", "ja4-stable-r": "ja4_stable_r",
       "ja3": "ja3", "ja3-hash": "ja3_hash"}
CLEAR = {"http-sig": "sig", "akamai": "akamai", "akamai-hash": "akamai_hash"}


def serve(folder):
    class Upstream(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            with open(folder / "requests.json", "a") as file:
                print(json.dumps({"path": self.path, "headers": self.headers.items()}), file=file)
            body = b"seen\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_OPTIONS = do_GET

        def log_message(self, *_):
            pass

    class Silent(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)

    class Record(socketserver.BaseRequestHandler):
        def handle(self):
            (folder / "pass-through.bin").write_bytes(self.request.recv(65536, 0))

    def start(port, handler, server=socketserver.ThreadingTCPServer):
        server.allow_reuse_address = True
        threading.Thread(target=server((ADDRESS, port), handler).serve_forever).start()

    start(8080, Upstream, http.server.ThreadingHTTPServer)
    start(8081, Silent)
    start(8444, Record)


def client(url):
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["http/1.1"])
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
    print(opener.open(url, timeout=10).read().decode(), end="")


def compare(folder):
    events = [json.loads(line) for line in open(folder / "events.json")]
    requests = {}
    for line in open(folder / "requests.json"):
        request = json.loads(line)
        headers = {}
        for name, value in request["headers"]:
            name = name.lower()
            assert name not in headers, f"{request['path']}: {name} twice"
            headers[name] = value
        requests[request["path"].strip("/")] = headers

    # The connections to the proxy, in their order: port 443 of the server.
    hellos = [event for event in events if event["event"] == "tls_client" and event["server"]["port"] == 443]
    clear = {event["path"].strip("/"): event for event in events if event["event"] == "http_request" and event["path"]}
    syns = {(event["client"]["ip"], event["client"]["port"]): event for event in events if event["event"] == "tcp_syn"}
    proxied = [path for path in requests if "clear" not in path and path != "favicon.ico"]
    # One connection after the other. Chromium opens more than it uses.
    assert proxied == ["curl-1", "curl-2", "curl-tls12", "curl-absolute", "*", "python-1", "aioquic-3", "go-3", "go-2",
                       "chromium-2", "chromium-3"], proxied
    assert requests["curl-absolute"]["host"] == "target.example", requests["curl-absolute"]
    assert "listed" not in requests["curl-absolute"], requests["curl-absolute"]
    compared = position = 0
    for path in proxied:
        headers = {name[len(PREFIX):]: value for name, value in requests[path].items() if name.startswith(PREFIX)}
        assert "forged" not in requests[path].values(), f"{path}: a forged header came through"
        while "chromium" in path and hellos[position]["ja4_ro"] != headers["ja4-ro"]:
            position += 1
        hello = hellos[position]
        position += 1
        assert (hello["protocol"] == "quic") == path.endswith("-3"), hello
        expected = {header: hello[field] for header, field in TLS.items()}
        syn = syns.get((hello["client"]["ip"], hello["client"]["port"])) if hello["protocol"] != "quic" else None
        assert syn or path.endswith("-3"), f"{path}: no SYN"
        expected["tcp-sig"] = syn["sig"] if syn else None
        label = syn["label"] if syn else None
        expected["tcp-system"] = " ".join(filter(None, [label["name"], label["flavor"]])) if label else None
        in_clear = clear.get(f"clear-{path}")
        if in_clear:
            expected |= {header: in_clear.get(field) for header, field in CLEAR.items()}
        for header, value in expected.items():
            assert headers.get(header) == value, f"{path}: {header} is {headers.get(header)}, the program says {value}"
            compared += 1
        if "curl" in path:
            assert "curl" in headers["client-name"], headers
        if "chromium" in path:
            assert headers.get("verdict") in ("consistent", "unknown", None), headers
        print(f"{path}: {headers['ja4']}, {headers.get('akamai')}, {headers.get('tcp-system')}, "
              f"{headers.get('client-name')}, {headers.get('verdict')}")
    assert {"clear-curl-1", "clear-curl-2", "clear-python-1"} <= set(clear), list(clear)
    check_pass_through(folder, events)
    check_http3_server(folder, events)
    print(f"{len(proxied)} requests, {compared} values equal those of the program")


def check_http3_server(folder, events):
    """Compares the answer of the example, which has the values of its client."""
    answer = dict(line.split(": ", 1) for line in (folder / "http3-server.txt").read_text().splitlines())
    (hello,) = [event for event in events if event["event"] == "tls_client" and event["server"]["port"] == 444]
    expected = {name: hello[field] for name, field in TLS.items()}
    assert {name: answer.get(name) for name in expected} == expected, answer
    print(f"http3_server: {answer}")


def check_pass_through(folder, events):
    """Compares the PROXY header, by the specification and without this project's parser."""
    data = (folder / "pass-through.bin").read_bytes()
    assert data[:13] == b"\r\n\r\n\0\r\nQUIT\n\x21" and data[13] == 0x11, data[:16]
    (length,) = struct.unpack(">H", data[14:16])
    assert data[16:24] == bytes([192, 0, 2, 1, 192, 0, 2, 2]) and data[26:28] == struct.pack(">H", 8443)
    kind, size = struct.unpack(">BH", data[28:31])
    assert kind == 0xE4 and 15 + size == length, (kind, size, length)
    fingerprint = json.loads(data[31 : 31 + size])
    (hello,) = [event for event in events if event["event"] == "tls_client" and event["server"]["port"] == 8443]
    # HAProxy refuses longer ones.
    assert size <= 1024, size
    assert {"ja4", "ja4_o", "ja4_stable", "ja3_hash"} <= set(fingerprint["tls"]), fingerprint["tls"]
    for field in TLS.values():
        assert fingerprint["tls"].get(field, hello[field]) == hello[field], field
    (syn,) = [event for event in events if event["event"] == "tcp_syn" and event["server"]["port"] == 8443]
    assert fingerprint["tcp"]["sig"] == syn["sig"], fingerprint["tcp"]
    rest = data[16 + length :]
    assert not rest or rest[:2] == b"\x16\x03", rest[:5]
    print(f"pass-through: {fingerprint['tls']['ja4']}, {fingerprint['tcp']['system']}")


if __name__ == "__main__":
    command, argument = sys.argv[1:]
    if command == "client":
        client(argument)
    else:
        {"serve": serve, "compare": compare}[command](pathlib.Path(argument))
