"""SSH clients of Python, whose login fails: ssh.py PACKAGE HOST PORT"""

import socket
import sys

package, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if package == "paramiko":
    import paramiko

    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    client.connect(host, port, "user", "word", allow_agent=False, look_for_keys=False)
else:
    from ssh2.session import Session

    session = Session()
    session.handshake(socket.create_connection((host, port)))
