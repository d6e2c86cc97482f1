#!/usr/bin/env python3
"""Reloads a watch list of a million entries under load, and measures when victims are named: ci/live/reload.py PROGRAM [OPTION]...

  --offload  keep segmentation offload of the interfaces: frames of up to 64 KiB
  --idle     no load beside the victims
  --still    no SIGHUP, for comparison

Other options are those of `live`. Runs as root, in two network namespaces: nginx serves 256 KiB to h2load for 15 s, every 3 s a SIGHUP makes
the program read its list again, and 56 clients, each with an address of its own, ask a server for a watched name. Prints the rate, the
reloads, the time from each victim's packet to its line on standard error, and the frames that were lost. Needs Debian's ethtool, iproute2,
nginx-light and nghttp2-client.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

SERVER, CLIENT = f"reload-s-{os.getpid()}", f"reload-c-{os.getpid()}"
ADDRESS = "192.0.2.254"
SECONDS = 15
NAME = "c2.evil.example"
NOTICE = re.compile(r"huginn-net: match (\S+)Z tls_client: (\S+):\d+ ->")

SERVE_HELLOS = f"""
import socket
server = socket.create_server(("{ADDRESS}", 8443))
while True:
    client, _ = server.accept()
    client.recv(4096)
    client.close()
"""
SEND_HELLOS = f"""
import socket, ssl, time
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
for host in range(2, 58):
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="{NAME}").do_handshake()
    except ssl.SSLWantReadError:
        pass
    client = socket.socket()
    client.bind((f"192.0.2.{{host}}", 0))
    client.connect(("{ADDRESS}", 8443))
    client.sendall(out.read())
    client.recv(100)
    client.close()
    time.sleep(0.25)
"""
NGINX = """worker_processes 1; daemon off; pid FOLDER/pid; error_log stderr crit;
events { worker_connections 1024; }
http { access_log off; sendfile on; keepalive_requests 1000000000; open_file_cache max=10;
server { listen ADDRESS:8080; root FOLDER; } }
"""


def main():
    program, options = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    has_offload, is_idle, is_still = (option in options for option in ("--offload", "--idle", "--still"))
    options = [option for option in options if option not in ("--offload", "--idle", "--still")]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        started = []
        try:
            connect(has_offload)
            measure(program, options, is_idle, is_still, Path(folder), started)
        finally:
            for process in started:
                # nginx ends its workers.
                process.terminate()
                process.wait()
            for namespace in (SERVER, CLIENT):
                subprocess.run(["ip", "netns", "del", namespace], check=False)


def connect(has_offload):
    """Two namespaces and a veth pair, with an address for each victim."""
    commands = [f"netns add {SERVER}", f"netns add {CLIENT}"]
    commands.append(f"link add rl-a netns {CLIENT} type veth peer name rl-b netns {SERVER}")
    commands += [f"-n {CLIENT} addr add 192.0.2.{host}/24 dev rl-a" for host in range(1, 58)]
    commands += [f"-n {SERVER} addr add {ADDRESS}/24 dev rl-b"]
    commands += [f"-n {CLIENT} link set rl-a up", f"-n {SERVER} link set rl-b up"]
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True)
    if not has_offload:
        for namespace, device in ((CLIENT, "rl-a"), (SERVER, "rl-b")):
            command = f"ip netns exec {namespace} ethtool -K {device} tso off gso off gro off"
            subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL)


def start(namespace, command, started, **arguments):
    process = subprocess.Popen(["ip", "netns", "exec", namespace, *map(str, command)], **arguments)
    started.append(process)
    return process


def write_list(path):
    """A million entries of several types."""
    with path.open("w") as out:
        out.write("type,value,label\n")
        out.writelines(f"host,h{n}.x{n % 977}.example,name {n % 100}\n" for n in range(400_000))
        out.writelines(f"domain,.d{n}.example,suffix {n % 100}\n" for n in range(200_000))
        out.writelines(f"ip,{11 + n % 100}.{n // 100 % 250}.{n // 25000 % 250}.9,address\n" for n in range(300_000))
        out.writelines(f"ja3_hash,{n:032x},ja3\n" for n in range(99_999))
        out.write(f"host,{NAME},c2\n")


def measure(program, options, is_idle, is_still, folder, started):
    watch_list = folder / "list.csv"
    write_list(watch_list)
    (folder / "256k").write_bytes(os.urandom(1 << 18))
    (folder / "nginx.conf").write_text(NGINX.replace("FOLDER", str(folder)).replace("ADDRESS", ADDRESS))
    start(SERVER, ["nginx", "-c", folder / "nginx.conf"], started, stdout=subprocess.DEVNULL)
    start(SERVER, [sys.executable, "-c", SERVE_HELLOS], started)
    live = [program, "live", "-i", "rl-b", "--fingerprints", watch_list, "--format", "json", "-o", folder / "events.json"]
    sensor = start(SERVER, [*live, "--stats", *options], started, stderr=subprocess.PIPE, text=True)
    delays, reloads, counters = {}, [], {}
    is_ready = threading.Event()

    def read():
        for line in sensor.stderr:
            now = time.time()
            if notice := NOTICE.match(line):
                at = datetime.fromisoformat(notice[1]).replace(tzinfo=timezone.utc).timestamp()
                delays.setdefault(notice[2], 1000 * (now - at))
            elif "read again in" in line:
                reloads.append(line.split("read again in ")[1].split(":")[0])
            elif '"capture":' in line:
                counters.update(json.loads(line[line.index("{"):]))
            elif "watching" in line:
                is_ready.set()
            else:
                print(line, end="")

    reader = threading.Thread(target=read)
    reader.start()
    if not is_ready.wait(30):
        sys.exit("the program does not start")
    begin, sent = time.time(), sent_bytes()
    if not is_idle:
        load = ["h2load", "--h1", "-D", SECONDS, "-c", 16, "-t", 1, f"http://{ADDRESS}:8080/256k"]
        start(CLIENT, load, started, stdout=subprocess.DEVNULL)
    victims = start(CLIENT, [sys.executable, "-c", SEND_HELLOS], started)
    signals = 0
    while time.time() - begin < SECONDS:
        time.sleep(3)
        if not is_still:
            # `ip netns exec` becomes the program.
            os.kill(sensor.pid, signal.SIGHUP)
            signals += 1
    gbps = (sent_bytes() - sent) * 8 / (time.time() - begin) / 1e9
    victims.wait()
    time.sleep(3)
    sensor.terminate()
    sensor.wait()
    reader.join()
    times = sorted(delays.values())
    median, most = (round(times[len(times) // 2], 1), round(times[-1], 1)) if times else (None, None)
    capture = counters["capture"]["rl-b"]
    print(f"{gbps:.1f} Gbps sent; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{signals} SIGHUP, {len(reloads)} reloads: {', '.join(reloads)}")
    print(f"{len(times)} of 56 victims named, after {median} ms (median), {most} ms at most")
    lost = {"kernel": capture["kernel_dropped"], "workers": counters["segments_dropped"]}
    print(f"{capture['received']} frames received; lost: {lost | {'events': counters['output']['dropped_lines']}}")
    if len(times) != 56 or any(lost.values()):
        sys.exit(1)


def sent_bytes():
    path = "/sys/class/net/rl-b/statistics/tx_bytes"
    return int(subprocess.check_output(["ip", "netns", "exec", SERVER, "cat", path]))


if __name__ == "__main__":
    main()
