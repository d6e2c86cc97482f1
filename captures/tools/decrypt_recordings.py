#!/usr/bin/env python3
"""Writes recordings of single connections for the tests and examples of huginn-net-decrypt: what each side sends, and the key log.

    captures/tools/decrypt_recordings.py

Reads captures/http/http-decrypted-sessions with tshark.
"""

import pathlib
import re
import subprocess

root = pathlib.Path(__file__).resolve().parents[2]
capture = root / "captures/http/http-decrypted-sessions/http-decrypted-sessions.pcapng"
target = root / "huginn-net-decrypt/recordings"


def tshark(*arguments):
    command = ["tshark", "-r", capture, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def record(name, path):
    stream = tshark("-Y", f'http.request.uri=="{path}"', "-T", "fields", "-e", "tcp.stream").split()[0]
    rows = tshark("-Y", f"tcp.stream=={stream} and tcp.len>0", "-T", "fields", "-e", "tcp.srcport", "-e", "tcp.payload")
    sides = {"client": b"", "server": b""}
    for port, payload in (row.split("\t") for row in rows.splitlines()):
        sides["server" if port in ("443", "444") else "client"] += bytes.fromhex(payload)
    folder = target / name
    folder.mkdir(parents=True, exist_ok=True)
    for side, sent in sides.items():
        (folder / side).write_bytes(sent)
    random = sides["client"][11:43].hex()
    secrets = capture.read_bytes().decode("latin-1")
    lines = sorted(set(re.findall(rf"^[A-Z_0-9]+ {random} [0-9a-f]+$", secrets, re.MULTILINE)))
    (folder / "keys.log").write_text("\n".join(lines) + "\n")


record("tls12", "/new-tls1_2")
record("tls13", "/new-tls1_3")
record("early-data", "/early")
record("key-update", "/before-update")
