"""Makes a QUIC handshake with aioquic: h3.py NAME PORT VERSION... The first packet has the first version."""

import asyncio
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.quic.configuration import QuicConfiguration


async def main(name, port, *versions):
    numbers = [int(version, 16) for version in versions]
    configuration = QuicConfiguration(
        alpn_protocols=["h3"],
        original_version=numbers[0],
        supported_versions=numbers,
        verify_mode=ssl.CERT_NONE,
    )
    async with connect(name, int(port), configuration=configuration) as connection:
        await connection.ping()


asyncio.run(main(*sys.argv[1:]))
