"""SSH clients and servers in Python, which end after the key exchange.

    ssh_python.py paramiko HOST PORT        a client with Paramiko
    ssh_python.py asyncssh HOST PORT        a client with AsyncSSH
    ssh_python.py paramiko-server PORT      a server with Paramiko
    ssh_python.py asyncssh-server PORT      a server with AsyncSSH
"""

import asyncio
import socket
import sys
import threading


def paramiko_client(host, port):
    import paramiko

    transport = paramiko.Transport((host, int(port)))
    transport.start_client(timeout=5)
    transport.close()


def paramiko_server(port):
    import paramiko

    key = paramiko.RSAKey.generate(2048)

    def serve(connection):
        transport = paramiko.Transport(connection)
        transport.add_server_key(key)
        try:
            transport.start_server(server=paramiko.ServerInterface())
            transport.join(5)
        except (EOFError, paramiko.SSHException):
            pass

    listener = socket.create_server(("", int(port)))
    while True:
        threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()


def asyncssh_client(host, port):
    import asyncssh

    async def run():
        try:
            await asyncssh.connect(host, int(port), username="nobody", password="", known_hosts=None, config=None)
        except asyncssh.Error:
            pass

    asyncio.run(run())


def asyncssh_server(port):
    import asyncssh

    async def run():
        key = asyncssh.generate_private_key("ssh-ed25519")
        await asyncssh.listen("", int(port), server_host_keys=[key])
        await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    {
        "paramiko": paramiko_client,
        "asyncssh": asyncssh_client,
        "paramiko-server": paramiko_server,
        "asyncssh-server": asyncssh_server,
    }[sys.argv[1]](*sys.argv[2:])
