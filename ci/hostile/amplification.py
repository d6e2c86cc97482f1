#!/usr/bin/env python3
"""Checks that a client whose packets yield much output costs no other client's hello, live.

    sudo ci/hostile/amplification.py --bin target/release/huginn-net [--seconds 10] [--flood NAME] [--mbits 5] [--hellos 200]

A sensor with the default options listens to one end of a veth pair. The other end sends a flood of floods.py (by default HTTP/2
requests of 18 bytes that index a header of 3.9 kB) with 5 Mbit/s, and at the same time 200 ClientHellos in a second, each with a
name and an address of its own. The exit status is 1 unless the sensor reports every name and loses no packet and no line.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import floods  # noqa: E402
import messages  # noqa: E402
from network import enter, run  # noqa: E402

PREFIX = f"amplification-{os.getpid()}"
SENDER, SENSOR = f"{PREFIX}-sender", f"{PREFIX}-sensor"
OUTSIDE, INSIDE = "outside", "inside"
ETHERNET = bytes.fromhex("02000000000b02000000000a0800")
# Clients of the hellos have the addresses from 10.128.0.0 on; those of floods.py begin at 10.0.0.0.
FIRST_CLIENT = 1 << 23
# Seconds to start, and to write the last events.
PATIENCE = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="the program huginn-net")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--flood", default="hpack-one-index", choices=[name for name, flood in floods.FLOODS.items() if flood])
    parser.add_argument("--mbits", type=float, default=5, help="Mbit/s of the flood")
    parser.add_argument("--hellos", type=int, default=200, help="hellos in a second")
    arguments = parser.parse_args()
    if os.getuid() != 0 or not shutil.which("ip"):
        sys.exit("network namespaces need root and iproute2")
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        cable()
        sys.exit(not check(arguments, folder))
    finally:
        enter(home)
        for namespace in (SENDER, SENSOR):
            subprocess.run(["ip", "netns", "del", namespace], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder)


def cable():
    """Two namespaces with a veth pair, on which only this program sends."""
    for namespace in (SENDER, SENSOR):
        run(f"ip netns add {namespace}")
        run(f"ip netns exec {namespace} sysctl -qw net.ipv6.conf.default.disable_ipv6=1")
    run(f"ip link add {OUTSIDE} netns {SENDER} type veth peer name {INSIDE} netns {SENSOR}")
    for namespace, interface in ((SENDER, OUTSIDE), (SENSOR, INSIDE)):
        run(f"ip -n {namespace} link set {interface} up")


def check(arguments, folder):
    """Sends all packets to a sensor; prints figures; returns whether the sensor reported what it must."""
    flood = flood_schedule(arguments)
    names = [f"{i:06}.hello.test" for i in range(arguments.seconds * arguments.hellos)]
    hello = messages.hello(names[0])
    hellos = [
        (i / arguments.hellos, frame)
        for i, name in enumerate(names)
        for frame in hello_frames(i, hello.replace(names[0].encode(), name.encode()))
    ]
    output, errors = os.path.join(folder, "events.json"), os.path.join(folder, "stderr")
    with open(errors, "wb") as stderr:
        sensor = subprocess.Popen(
            ["ip", "netns", "exec", SENSOR, arguments.bin, "live", "-i", INSIDE, "--format", "json", "--stats", "-o", output], stderr=stderr
        )
    wait_until(lambda: "huginn-net: watching" in said(errors), sensor, errors)
    enter(f"/run/netns/{SENDER}")
    sent = send(sorted(flood + hellos, key=lambda item: item[0]))
    written = lambda: os.path.getsize(output)
    try:
        wait_until(lambda: settled(written), sensor, errors)
    finally:
        sensor.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(sensor.pid, 0)
        sensor.returncode = os.waitstatus_to_exitcode(status)
    with open(output, encoding="utf-8") as f:
        events = [line for line in f if '"event":"tls_client"' in line]
    found = {json.loads(line).get("sni") for line in events}
    counters = json.loads([line for line in said(errors).splitlines() if '"event":"counters"' in line][-1])
    missing = [name for name in names if name not in found]
    dropped = sum(interface["kernel_dropped"] for interface in counters["capture"].values()) + counters["segments_dropped"]
    unwritten = counters["output"]["dropped_lines"]
    flood_bytes, seconds = sum(len(frame) for _, frame in flood), sent["seconds"]
    print(f"flood           {arguments.flood}, {flood_bytes * 8 / seconds / 1e6:.2f} Mbit/s for {seconds:.1f} s, {len(flood)} packets")
    print(f"hellos          {len(names) - len(missing)} of {len(names)} reported, {len(names) / seconds:.0f} a second")
    print(f"packets         {sent['packets']} sent, {counters['frames']} analysed, {dropped} dropped")
    print(f"output          {written() / 1e6:.1f} MB, {written() / seconds / 1e6:.1f} MB/s, {written() / sent['bytes']:.1f} bytes for a byte; {unwritten} lines not written")
    print(f"suppressed      {json.dumps(counters.get('events_suppressed'))}")
    print(f"CPU             {100 * (usage.ru_utime + usage.ru_stime) / seconds:.0f} % of a processor, {usage.ru_maxrss / 1024:.0f} MiB")
    faults = {
        f"hellos not reported, the first one is {missing[:1]}": len(missing),
        "packets dropped": dropped,
        "packets not analysed": sent["packets"] - counters["frames"],
        "lines not written": unwritten,
        f"exit status {sensor.returncode}": sensor.returncode,
    }
    for fault, count in faults.items():
        if count:
            print(f"FAILED: {count} {fault}")
    return not any(faults.values())


def flood_schedule(arguments):
    """The frames of the flood with their times, in seconds."""
    schedule, bits = [], 0
    packets = 1
    while bits < arguments.mbits * 1e6 * arguments.seconds:
        packets *= 2
        schedule, bits = [], 0
        for packet in floods.FLOODS[arguments.flood](10_000 * packets):
            at = bits / (arguments.mbits * 1e6)
            if at >= arguments.seconds:
                break
            schedule.append((at, ETHERNET + packet))
            bits += 8 * (len(ETHERNET) + len(packet))
    return schedule


def hello_frames(number, hello):
    """A handshake, and the hello in segments."""
    client, port = FIRST_CLIENT + number, 1024 + number % 60000
    return [ETHERNET + packet for packet in floods.stream(client, port, 443, hello)]


def send(schedule):
    """Sends each frame at its time. Returns what was sent, and the seconds that it took."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((OUTSIDE, 0))
        start = time.monotonic()
        for at, frame in schedule:
            if (early := start + at - time.monotonic()) > 0.0005:
                time.sleep(early)
            sender.send(frame)
        seconds = time.monotonic() - start
    return {"packets": len(schedule), "bytes": sum(len(frame) for _, frame in schedule), "seconds": seconds}


def settled(written):
    """Whether the output does not grow for half a second."""
    before = written()
    time.sleep(0.5)
    return written() == before


def wait_until(condition, sensor, errors):
    until = time.monotonic() + PATIENCE
    while not condition():
        if sensor.poll() is not None or time.monotonic() > until:
            sys.exit(f"the sensor does not get ready: {said(errors)[-500:]}")
        time.sleep(0.05)


def said(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


if __name__ == "__main__":
    main()
