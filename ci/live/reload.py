#!/usr/bin/env python3
"""Reloads a watch list of a million entries under load, and measures when victims are named: ci/live/reload.py PROGRAM [OPTION]...

  --offload  keep segmentation offload of the interfaces: frames of up to 64 KiB
  --idle     no load beside the victims
  --still    no SIGHUP, for comparison
  --short    short connections, one request each, by ab, beside a load of at most 5.7 Gbps

Other options are those of `live`. Runs as root, in two network namespaces: nginx serves 256 KiB to h2load for 15 s, every 3 s a SIGHUP makes
the program read configuration, database and list again, and 56 clients, each with an address of its own, ask a server for a watched name. The
second SIGHUP finds a list with an invalid line, the third one a configuration that needs a restart. Prints the rate, the reloads, the time from each
victim's packet to its line on standard error, and what was lost: frames, events, connections of ab without their request, victims without an
event, a match or a line. Needs Debian's apache2-utils, ethtool, iproute2, nginx-light and nghttp2-client.
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
# 16 clients that ask for 256 KiB: up to 5.7 Gbps.
REQUESTS_PER_CLIENT = 170
NAME = "c2.evil.example"
SIGNATURES = Path(__file__).parents[2] / "huginn-net-db" / "signatures"
NOTICE = re.compile(r"huginn-net: (\S+)Z \w+ match: (\S+):\d+ ->")

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
server { listen ADDRESS:8080; root FOLDER; } server { listen ADDRESS:8081; keepalive_timeout 0; location / { return 204; } } }
"""


def main():
    program, options = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    own = ("--offload", "--idle", "--still", "--short")
    has_offload, is_idle, is_still, has_short = (option in options for option in own)
    options = [option for option in options if option not in own]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        started = []
        try:
            connect(has_offload)
            measure(program, options, is_idle, is_still, has_short, Path(folder), started)
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


def measure(program, options, is_idle, is_still, has_short, folder, started):
    watch_list = folder / "list.csv"
    write_list(watch_list)
    (folder / "256k").write_bytes(os.urandom(1 << 18))
    (folder / "nginx.conf").write_text(NGINX.replace("FOLDER", str(folder)).replace("ADDRESS", ADDRESS))
    start(SERVER, ["nginx", "-c", folder / "nginx.conf"], started, stdout=subprocess.DEVNULL)
    start(SERVER, [sys.executable, "-c", SERVE_HELLOS], started)
    events, config, database = folder / "events.json", folder / "live.toml", folder / "p0f.fp"
    database.write_text("".join(path.read_text() for path in sorted(SIGNATURES.glob("*.fp"))))
    config.write_text(
        f"interface = 'rl-b'\nfingerprints = '{watch_list}'\ndb = '{database}'\nformat = 'json'\noutput = '{events}'\nstats = true\n"
        "events = ['http_request', 'tls_client']\n"
        # ab is one host with some 10,000 connections a second, of six events each.
        "max-events-per-host = 1000000\nmax-bytes-per-host = 1000000000\n"
    )
    live = [program, "live", "--config", config, *options]
    sensor = start(SERVER, live, started, stderr=subprocess.PIPE, text=True)
    delays, reloads, refused, counters = {}, [], [], {}
    is_ready = threading.Event()

    def read():
        for line in sensor.stderr:
            now = time.time()
            if notice := NOTICE.match(line):
                at = datetime.fromisoformat(notice[1]).replace(tzinfo=timezone.utc).timestamp()
                delays.setdefault(notice[2], 1000 * (now - at))
            elif "stay as they were" in line or "stays as it was" in line:
                refused.append(line)
            elif "databases read again" in line or "configuration read again" in line:
                pass
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
        # Short connections get processor time only if the others leave some.
        rate = ["--rps", REQUESTS_PER_CLIENT] if has_short else []
        load = ["h2load", "--h1", "-D", SECONDS, "-c", 16, "-t", 1, *rate, f"http://{ADDRESS}:8080/256k"]
        start(CLIENT, load, started, stdout=subprocess.DEVNULL)
    if has_short:
        load = ["ab", "-q", "-s", 5, "-t", SECONDS, "-n", 10_000_000, "-c", 8, f"http://{ADDRESS}:8081/"]
        short = start(CLIENT, load, started, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    victims = start(CLIENT, [sys.executable, "-c", SEND_HELLOS], started)
    signals, good_config = 0, config.read_text()
    while time.time() - begin < SECONDS:
        time.sleep(3)
        if is_still:
            continue
        signals += 1
        if signals == 2:
            watch_list.rename(folder / "good.csv")
            watch_list.write_text("not a value\n")
        if signals == 3:
            watch_list.unlink()
            (folder / "good.csv").rename(watch_list)
            config.write_text(good_config + "snaplen = 96\n")
        if signals == 4:
            # From here on, another filter.
            config.write_text(good_config + "exclude-port = 9\n")
        # `ip netns exec` becomes the program.
        os.kill(sensor.pid, signal.SIGHUP)
        wait_for = {2: "watch lists stay", 3: "at a restart only"}.get(signals, "")
        while wait_for and not any(wait_for in line for line in refused) and time.time() - begin < 3 * SECONDS:
            time.sleep(0.05)
    gbps = (sent_bytes() - sent) * 8 / (time.time() - begin) / 1e9
    victims.wait()
    connections = int(re.search(r"Complete requests: +(\d+)", short.communicate()[0])[1]) if has_short else 0
    time.sleep(3)
    sensor.terminate()
    sensor.wait()
    reader.join()
    times = sorted(delays.values())
    median, most = (round(times[len(times) // 2], 1), round(times[-1], 1)) if times else (None, None)
    capture = counters["capture"]["rl-b"]
    print(f"{gbps:.1f} Gbps sent; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{signals} SIGHUP, {len(reloads)} reloads of the list: {', '.join(reloads)}; {counters.get('reloads')}")
    print(f"{len(times)} of 56 victims named, after {median} ms (median), {most} ms at most")
    hellos, matches, requests = set(), set(), 0
    for line in events.open():
        event = json.loads(line)
        if event["event"] == "http_request":
            requests += event["server"]["port"] == 8081
        elif event["event"] in ("tls_client", "match"):
            (hellos if event["event"] == "tls_client" else matches).add(event["client"]["ip"])
    if has_short:
        print(f"{connections} connections of ab ({connections / SECONDS:.0f}/s), {requests} requests in events")
    lost = {"kernel": capture["kernel_dropped"], "workers": counters["segments_dropped"]}
    lost |= {"events": counters["output"]["dropped_lines"], "flows": counters["flows"]["evicted"]}
    lost |= {"requests": max(0, connections - requests)}
    lost |= {"victims without ClientHello": 56 - len(hellos), "without match": 56 - len(matches)}
    lost |= {"messages": counters.get("messages", {}).get("dropped_lines", 0)}
    print(f"{capture['received']} frames received; lost: {lost}")
    if len(times) != 56 or any(lost.values()) or not is_still and len(refused) != 2:
        print("".join(refused))
        sys.exit(1)


def sent_bytes():
    path = "/sys/class/net/rl-b/statistics/tx_bytes"
    return int(subprocess.check_output(["ip", "netns", "exec", SERVER, "cat", path]))


if __name__ == "__main__":
    main()
