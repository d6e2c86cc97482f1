"""Asks once over HTTP/3 with aioquic, without checking the certificate: proxy-http3.py ADDRESS NAME PATH."""

import asyncio
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)

    def quic_event_received(self, event):
        for found in self.http.handle_event(event):
            if isinstance(found, HeadersReceived):
                self.status = dict(found.headers)[b":status"]
        # The last frame may be one without a meaning (RFC 9114, section 7.2.8), which is not an event of HTTP/3.
        if isinstance(event, StreamDataReceived) and event.end_stream and event.stream_id == self.stream:
            self.answer.set_result(self.status)

    async def get(self, name, path, **more):
        self.stream = self._quic.get_next_available_stream_id()
        self.answer = asyncio.get_running_loop().create_future()
        names = {":method": "GET", ":scheme": "https", ":authority": name, ":path": path, "x-client-ja4": "forged"} | more
        headers = [(name.encode(), value.encode()) for name, value in names.items()]
        self.http.send_headers(self.stream, headers, end_stream=True)
        self.transmit()
        return await asyncio.wait_for(self.answer, 10)


async def main(address, name, path):
    configuration = QuicConfiguration(alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE, server_name=name)
    async with connect(address, 443, configuration=configuration, create_protocol=Client) as client:
        assert await client.get(name, path) == b"200"
        # The upstream would take the next request on its connection for the rest of this one.
        assert await client.get(name, "/longer", **{"content-length": "30"}) == b"400"


asyncio.run(main(*sys.argv[1:]))
