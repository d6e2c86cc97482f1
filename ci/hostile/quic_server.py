#!/usr/bin/env python3
"""QUIC server of evasion.py, with aioquic. Arguments: the folder with key.pem and cert.pem; the port.

quic.log in this folder gets the server name of each hello whose handshake went on.
"""

import asyncio
import sys

from aioquic import tls
from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration

FOLDER, PORT = sys.argv[1], int(sys.argv[2])


def note(name):
    with open(f"{FOLDER}/quic.log", "a", encoding="ascii") as f:
        print(name, file=f, flush=True)


def note_accepted_hellos():
    pull, handle, read = tls.pull_client_hello, tls.Context._server_handle_hello, []

    def noting_pull(buffer):
        hello = pull(buffer)
        read.append(hello.server_name)
        return hello

    def noting_handle(self, *arguments):
        read.clear()
        handle(self, *arguments)
        for name in read:
            note(name)

    tls.pull_client_hello, tls.Context._server_handle_hello = noting_pull, noting_handle


async def main():
    note_accepted_hellos()
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(f"{FOLDER}/cert.pem", f"{FOLDER}/key.pem")
    await serve("::", PORT, configuration=configuration)
    note("listening")
    await asyncio.Future()


if __name__ == "__main__":
    asyncio.run(main())
