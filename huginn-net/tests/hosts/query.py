#!/usr/bin/python3
"""Queries p0f 3.09b about the hosts of a capture during its replay: query.py SIGNATURES CAPTURE OUT.pcap OUT.p0f

Needs root. The script replays the capture at four times its speed on a link in its own network namespace. OUT.pcap has
the packets that p0f received. OUT.p0f has the answers before each SYN and at the end that differ from the previous ones:
    ./query.py signatures.fp rules.pcap query.pcap query.p0f
Each line has the number of packets that p0f had received, the address, and the fields of the answer.
"""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "captures" / "tools"))
from packets import read  # noqa: E402

SPEED = 4
ADDRESSES = [f"192.0.2.{n}" for n in range(1, 5)]
# Seconds before each query, so that p0f and tcpdump process all packets.
SETTLE_SECONDS = 0.06
# The query and the answer of p0f's API (README of p0f, section 4).
QUERY, ANSWER = struct.Struct("=IB4s12x"), struct.Struct("=IIIIIIIIIhBB32s32s32s32s32s32s")


def answer(client, address):
    client.sendall(QUERY.pack(0x50304601, 4, socket.inet_aton(address)))
    magic, status, *fields = ANSWER.unpack(client.recv(ANSWER.size, socket.MSG_WAITALL))
    assert magic == 0x50304602 and status in (0x10, 0x20), (magic, status)
    text = [field.split(b"\0")[0].decode() if isinstance(field, bytes) else str(field) for field in fields]
    return text if status == 0x10 else ["no match"]


def is_syn(frame):
    return frame[47] & 0x12 == 0x02


def replay(capture, client, lines):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind(("query0", 0))
    frames = list(read(capture))
    began, last = time.monotonic(), {}

    def query_all(count):
        time.sleep(SETTLE_SECONDS)
        for address in ADDRESSES:
            answered = answer(client, address)
            if last.get(address) != answered:
                lines.append("|".join([str(count), address, *answered]))
                last[address] = answered

    for count, (nanos, frame) in enumerate(frames):
        if count and is_syn(frame):
            query_all(count)
        time.sleep(max(0, began + (nanos - frames[0][0]) / 1e9 / SPEED - time.monotonic()))
        link.send(frame)
    query_all(len(frames))


def main(signatures, capture, out, answers):
    link = "ip link add query0 type veth peer name query1"
    quiet = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
    up = "; ".join(f"ip link set {name} arp off up" for name in ("query0", "query1"))
    subprocess.run(["sh", "-ec", f"{quiet}; {link}; {up}"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        # The name of this zone makes p0f parse every Date in the same way; see captures/tools/golden.sh.
        zone = {**os.environ, "TZ": "UTC0UTC0,M3.2.0,M11.1.0"}
        command = ["p0f", "-f", signatures, "-i", "query1", "-s", path]
        p0f = subprocess.Popen(command, env=zone, stdout=subprocess.DEVNULL)
        writer = subprocess.Popen(["tcpdump", "--immediate-mode", "-U", "-i", "query1", "-w", out])
        time.sleep(2)
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        lines = []
        replay(capture, client, lines)
        time.sleep(2)
        for process in (writer, p0f):
            process.send_signal(signal.SIGINT)
            process.wait()
    pathlib.Path(answers).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if "IN_QUERY_SPACE" not in os.environ:
        # Run in a new network namespace, which leaves the interfaces of the machine unchanged.
        os.environ["IN_QUERY_SPACE"] = "yes"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    main(*sys.argv[1:])
