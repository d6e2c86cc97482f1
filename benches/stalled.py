#!/usr/bin/env python3
"""Opens connections that do nothing: stalled.py idle|hello PORT COUNT

`idle` completes the TLS handshake and sends nothing; `hello` sends a ClientHello of 16 KiB without its last byte. Prints a
line when all are open, and closes them at the end of its input.
"""
import asyncio
import resource
import ssl
import sys

# A handshake record of 16 KiB with a ClientHello that fills it.
HELLO = b"\x16\x03\x01\x40\x00" + b"\x01\x00\x3f\xfc\x03\x03" + bytes(16384 - 6)


TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE
TLS.set_alpn_protocols(["h2"])


async def idle(port, gate):
    async with gate:
        return await asyncio.open_connection("127.0.0.1", port, ssl=TLS)


async def hello(port, gate):
    async with gate:
        streams = await asyncio.open_connection("127.0.0.1", port)
        streams[1].write(HELLO[:-1])
        await streams[1].drain()
        return streams


async def main(kind, port, count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    # So many handshakes at a time.
    gate = asyncio.Semaphore(50)
    connections = await asyncio.gather(*[kind(port, gate) for _ in range(count)])
    await asyncio.sleep(1)
    print(len(connections), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main({"idle": idle, "hello": hello}[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])))
