"""A proxy over TLS that answers CONNECT: proxy.py CERTIFICATE KEY PORT."""

import asyncio
import ssl
import sys


async def copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


async def on_client(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    host, port = head.split()[1].decode().rsplit(":", 1)
    upstream = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 Connection established\r\nProxy-Agent: proxy.py\r\n\r\n")
    await asyncio.gather(copy(reader, upstream[1]), copy(upstream[0], writer), return_exceptions=True)


async def main(certificate, key, port):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(on_client, "0.0.0.0", int(port), ssl=context)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
