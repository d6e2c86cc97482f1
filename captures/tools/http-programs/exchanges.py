"""Makes unusual exchanges: exchanges.py pipelined|bodies|upgrades HOST PORT, or serve PORT."""

import socket
import sys

REQUESTS = {
    "pipelined": [
        b"GET / HTTP/1.1\r\nHost: a.example.test\r\nUser-Agent: pipeline/1\r\n\r\n"
        b"GET /missing HTTP/1.1\r\nHost: b.example.test\r\nUser-Agent: pipeline/2\r\n\r\n"
        b"POST / HTTP/1.1\r\nHost: c.example.test\r\nUser-Agent: pipeline/3\r\nContent-Length: 18\r\n\r\n"
        b"GET / HTTP/1.1\r\n\r\n"
        b"GET / HTTP/1.1\r\nHost: d.example.test\r\nUser-Agent: pipeline/4\r\n\r\n"
        b"HEAD / HTTP/1.1\r\nHost: e.example.test\r\nUser-Agent: pipeline/5\r\nConnection: close\r\n\r\n"
    ],
    "bodies": [
        b"GET /chunked HTTP/1.1\r\nHost: a.example.test\r\n\r\n",
        b"GET /early HTTP/1.1\r\nHost: b.example.test\r\n\r\n",
        b"GET /empty HTTP/1.1\r\nHost: c.example.test\r\n\r\n",
        b"HEAD /length HTTP/1.1\r\nHost: d.example.test\r\n\r\n",
        b"POST /length HTTP/1.1\r\nHost: e.example.test\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5;name=value\r\nGET /\r\n3\r\n\r\n\r\r\n0\r\nX-Trailer: GET / HTTP/1.1\r\n\r\n",
        b"GET http://f.example.test/unchanged HTTP/1.1\r\nHost: f.example.test\r\n\r\n",
        b"GET /binary HTTP/1.1\nHost: g.example.test\nX-Folded: one\n two\n\n",
        b"GET /until-close HTTP/1.1\r\nHost: h.example.test\r\n\r\n",
    ],
    "upgrades": [
        b"GET /websocket HTTP/1.1\r\nHost: a.example.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        b"GET /no HTTP/1.1\r\nHost: this.is.no.request\r\n\r\n",
    ],
}

HEAD = "HTTP/1.1 {}\r\nServer: exchanges/1\r\n"
RESPONSES = {
    b"/chunked": HEAD.format("200 OK") + "Transfer-Encoding: chunked\r\n\r\n"
    "8;x=y\r\nHTTP/1.1\r\n2\r\n\r\n\r\n0\r\nX-Trailer: 1\r\n\r\n",
    b"/early": HEAD.format("103 Early Hints")
    + "Link: </a.css>\r\n\r\n"
    + HEAD.format("200 OK")
    + "Content-Length: 2\r\n\r\nok",
    b"/empty": HEAD.format("204 No Content") + "\r\n",
    b"/length": HEAD.format("200 OK") + "Content-Length: 21\r\n\r\n",
    b"/unchanged": HEAD.format("304 Not Modified") + "Content-Length: 99\r\n\r\n",
    b"/binary": HEAD.format("200 OK") + "Content-Length: 24\r\n\r\n\0\1\2\r\n\r\nHTTP/1.1 200 OK\r\n",
    b"/until-close": HEAD.format("200 OK") + "Connection: close\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"/websocket": HEAD.format("101 Switching Protocols")
    + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02hi",
}


def send_requests(requests, host, port):
    with socket.create_connection((host, port)) as connection:
        connection.settimeout(0.4)
        for request in requests:
            connection.sendall(request)
            read_all(connection)


def read_all(connection):
    """Reads until the peer is silent or closes."""
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
    except TimeoutError:
        pass
    return data


def serve(port):
    with socket.create_server(("", port)) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                answer_all(connection)


def answer_all(connection):
    """Treats each read as one request; the body of a PUT may follow later."""
    connection.settimeout(5)
    while data := connection.recv(65536):
        method, target = data.split(b" ", 2)[:2]
        path = b"/" + target.split(b"/", 3)[3] if b"://" in target else target
        if b"Expect: 100-continue" in data:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if method == b"PUT":
            connection.settimeout(0.2)
            read_all(connection)
        response = RESPONSES.get(path, b"")
        if response:
            body = b"HTTP/1.1 404 No\r\n\r\nxx" if path == b"/length" and method != b"HEAD" else b""
            connection.sendall(response.encode("latin-1") + body)
        if path == b"/until-close" or method == b"PUT":
            return


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    send_requests(REQUESTS[sys.argv[1]], sys.argv[2], int(sys.argv[3]))
