"""HTTP/3 with aioquic: h3.py serve CERTIFICATE KEY PORT, or h3.py get VERSION URL [update] [0rtt].

The client sends three requests, the second with a body, and logs its keys to the file that SSLKEYLOGFILE names. `update` changes
the keys and the connection id between them; `0rtt` opens a second connection with its first request as 0-RTT data.
"""

import asyncio
import os
import ssl
import sys
from urllib.parse import urlparse

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.asyncio.client import connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated


class Server(QuicConnectionProtocol):
    http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for found in self.http.handle_event(event) if self.http else []:
            if isinstance(found, (HeadersReceived, DataReceived)) and found.stream_ended:
                stream = found.stream_id
                self.http.send_headers(stream, [(b":status", b"103"), (b"link", b"</a.css>; rel=preload")])
                self.http.send_headers(stream, [(b":status", b"200"), (b"server", b"aioquic"), (b"x-stream", b"%d" % stream)])
                self.http.send_data(stream, b"A page.\n" * 4000, end_stream=True)
                self.transmit()


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.done = asyncio.Event()

    def quic_event_received(self, event):
        for found in self.http.handle_event(event):
            if isinstance(found, DataReceived) and found.stream_ended:
                self.done.set()

    async def request(self, method, url, body=b""):
        stream = self._quic.get_next_available_stream_id()
        target = url.path + ("?" + url.query if url.query else "")
        head = [(":method", method), (":authority", url.netloc), (":scheme", "https"), (":path", target)]
        head += [("user-agent", "aioquic"), ("accept", "*/*"), ("x-name", "value"), ("accept-language", "de")]
        head = [(name.encode(), value.encode()) for name, value in head]
        self.http.send_headers(stream, head, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.transmit()
        await self.done.wait()
        self.done.clear()


async def get(version, url, *flags):
    version, url, tickets = int(version, 16), urlparse(url), []
    await exchange(version, url, flags, tickets)
    if "0rtt" in flags:
        await exchange(version, url._replace(path=url.path + "-0rtt"), flags, tickets)


async def exchange(version, url, flags, tickets):
    early = bool(tickets)
    configuration = QuicConfiguration(
        alpn_protocols=H3_ALPN, original_version=version, supported_versions=[version], verify_mode=ssl.CERT_NONE,
        secrets_log_file=open(os.environ["SSLKEYLOGFILE"], "a"), session_ticket=tickets[-1] if early else None,
    )
    async with connect(url.hostname, url.port or 443, configuration=configuration, create_protocol=Client,
                       session_ticket_handler=tickets.append, wait_connected=not early) as client:
        await client.request("GET", url)
        if "update" in flags:
            client.request_key_update()
        await client.request("POST", url._replace(path="/data", query="a=1"), b"text" * 3000)
        if "update" in flags:
            client.change_connection_id()
        await client.request("GET", url._replace(path="/last"))


async def main(command, *arguments):
    if command == "get":
        return await get(*arguments)
    certificate, key, port = arguments
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False, supported_versions=[0x6B3343CF, 1])
    configuration.load_cert_chain(certificate, key)
    tickets = {}
    await serve("0.0.0.0", int(port), configuration=configuration, create_protocol=Server,
                session_ticket_fetcher=lambda name: tickets.pop(name, None),
                session_ticket_handler=lambda ticket: tickets.__setitem__(ticket.ticket, ticket))
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
