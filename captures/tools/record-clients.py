#!/usr/bin/python3
"""Records the TLS and HTTP/2 fingerprints of real programs in many versions, as rows of the client database.

    captures/tools/record-clients.py [--out FOLDER] GROUP...   record these groups
    captures/tools/record-clients.py --list                    list the groups
    captures/tools/record-clients.py --changes [--add]         print what today's versions send that the tables lack

Each client connects to a server of this script on 127.0.0.1, and tcpdump records the connection. The fingerprints are
those of `huginn-net pcap`, which the script builds. The server's name is in /etc/hosts while the script runs. A group writes FOLDER/GROUP.tsv (default: huginn-net-db/clients),
with one row for each distinct fingerprint of each client, and FOLDER/GROUP-http2.tsv, if its clients spoke HTTP/2.
docs/clients.md describes the columns. Clients come from package registries and go to ~/.cache/huginn-net-clients. --changes
records those programs whose newest version is not in the tables, in at most 29 minutes, and removes each download. Needs root
for tcpdump and apt-get.
"""

import argparse
import atexit
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE / "clients"))

import registries  # noqa: E402
from groups import GROUPS  # noqa: E402
from offers import offers  # noqa: E402
from registries import number  # noqa: E402
from server import NAME, PREFACE, Server, Sshd  # noqa: E402
from tables import Tables, write  # noqa: E402

PROGRAM = ["library", "library_version", "application", "application_version", "imitates", "own_settings", "evidence", "date"]
SSH = ["hassh", *PROGRAM]
TLS = ["ja4_stable", "ja4", "ja3_hash", *PROGRAM, "differs", "ja4_stable_r"]
HTTP2 = ["akamai_hash", *PROGRAM, "akamai"]
CLIENTS = ROOT / "huginn-net-db" / "clients"
PAGE = ROOT / "docs" / "clients.md"
# Seconds that one program and all of --changes may take.
PROGRAM_LIMIT, CHANGES_LIMIT = 480, 29 * 60
ASKED_AT_ONCE = 8


class Recorder:
    """Runs clients and returns the events of their connections."""

    def __init__(self, huginn_net):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.server, self.sshd = Server(self.folder), None
        self.huginn_net = huginn_net

    def record(self, client):
        """Returns the `tls_client` events with distinct stable JA4s or the `ssh_client` events with distinct HASSH, and the
        `http_request` events with distinct Akamai fingerprints."""
        protocol, fingerprint = ("ssh", "hassh") if client.protocol == "ssh" else ("tls", "ja4_stable")
        if protocol == "ssh" and not self.sshd:
            self.sshd = Sshd(self.folder)
        server = self.sshd if protocol == "ssh" else self.server
        capture = self.folder / "capture.pcap"
        dump = subprocess.Popen(
            ["tcpdump", "-Z", "root", "-i", "lo", "-U", "--immediate-mode", "-s", "0", "-w", capture,
             f"port {server.port}"],
            stderr=subprocess.PIPE, text=True)
        # tcpdump announces on its standard error that it listens.
        while "listening on" not in (line := dump.stderr.readline()):
            if not line:
                sys.exit("tcpdump does not start")
        self.server.connections.clear()
        try:
            status = run_client(client, server, self.folder)
            time.sleep(0.3)
        finally:
            dump.send_signal(signal.SIGINT)
            dump.wait()
        events = [event for event in self.events(protocol, capture) if event["event"] == f"{protocol}_client"]
        hellos = {event[fingerprint]: event for event in reversed(events) if event[fingerprint]}
        for hello in hellos.values():
            same = [event for event in events if event[fingerprint] == hello[fingerprint]]
            # Fields of random contents differ from the browser in some hellos only.
            differs = {field: None for event in same for field in (event.get("software") or {}).get("differs", [])}
            hello["differs"] = ",".join(differs)
        if not hellos:
            print(f"no hello ({status}): {client.evidence}", file=sys.stderr)
        return list(reversed(hellos.values())), self.akamai()

    def events(self, protocol, capture):
        command = [self.huginn_net, "pcap", "--format", "json", "--protocols", protocol, capture]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [json.loads(line) for line in output.splitlines()]

    def akamai(self):
        """The requests of the HTTP/2 connections, from their decrypted bytes in a capture of plain TCP."""
        capture = self.folder / "http2.pcap"
        found = {}
        for data in (connection.http for connection in list(self.server.connections) if connection.http.startswith(PREFACE)):
            write_connection(capture, data)
            for event in self.events("http", capture):
                if event["event"] == "http_request":
                    found[event["akamai"]] = event
        return list(found.values())


def write_connection(path, data):
    """Writes a capture of a TCP connection in which the client sends this data."""
    client, server, segments = 50000, 80, []
    position = 1000
    segments.append((position, 0x02, b""))
    position += 1
    for start in range(0, len(data), 1400):
        segments.append((position, 0x18, data[start : start + 1400]))
        position += len(data[start : start + 1400])
    with open(path, "wb") as out:
        # A pcap header with link type RAW (101).
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for number, flags, payload in segments:
            tcp = struct.pack("!HHIIBBHHH", client, server, number, 1, 0x50, flags, 65535, 0, 0) + payload
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
            out.write(struct.pack("<IIII", 0, 0, len(ip) + len(tcp), len(ip) + len(tcp)) + ip + tcp)


def run_client(client, server, folder):
    names = {"FOLDER": folder / "profile", "URL": f"https://{NAME}:{server.port}/", "PORT": server.port, "HOST": NAME, "CERTIFICATE": getattr(server, "certificate", "")}

    def replace(text):
        for name, value in names.items():
            text = str(text).replace(f"@{name}@", str(value))
        return text

    environment = os.environ | {name: replace(value) for name, value in client.environment.items()}
    command = list(map(replace, client.command))
    if not shutil.which(command[0]):
        return f"no program {command[0]}"
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", cwd=folder,
                               start_new_session=True)
    try:
        _, errors = process.communicate(timeout=client.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "killed after its time"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    if process.returncode:
        print(f"{client.evidence}: exit status {process.returncode}: {errors.strip().splitlines()[-1:]}", file=sys.stderr)
    return f"exit status {process.returncode}"


def report_imitations(client, hellos):
    """Names the fields in which a genuine client differs from what the database knows of its browser."""
    for hello in hellos:
        if hello["differs"]:
            print(f"{client.evidence}: not like {hello['software']['imitates']} in {hello['differs']}", file=sys.stderr)
            hello["differs"] = ""


def user_agent_version(requests):
    """The version in the User-Agent of Chromium."""
    for request in requests:
        found = re.search(r"Chrome/([0-9.]+)", request["user_agent"] or "")
        if found:
            return found[1]
    return ""


def add_host(name):
    """Lets a name resolve to 127.0.0.1 until the script ends."""
    hosts = pathlib.Path("/etc/hosts")
    before = hosts.read_text()
    if name not in before:
        atexit.register(hosts.write_text, before)
        hosts.write_text(f"{before.rstrip()}\n127.0.0.1 {name}\n")


def build_huginn_net():
    subprocess.run(["cargo", "build", "--quiet", "-p", "huginn-net-cli"], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "debug" / "huginn-net"


def rows_of(recorder, clients):
    """The rows of each client: those of its hellos, and those of its HTTP/2 requests."""
    # The version of each program: a connection over QUIC shows no User-Agent.
    versions = {}
    for client in clients:
        hellos, requests = recorder.record(client)
        if not client.imitates:
            report_imitations(client, hellos)
        program = {name: getattr(client, name) for name in PROGRAM if name != "date"} | {"date": datetime.date.today().isoformat()}
        program["own_settings"] = "yes" if client.own_settings else ""
        version = client.application_version or user_agent_version(requests)
        program["application_version"] = version or versions.get(client.evidence, "")
        versions[client.evidence] = program["application_version"]
        yield [event | program for event in hellos], [event | program for event in requests]


def record_group(recorder, group, folder):
    tls, http2 = [], []
    for hellos, requests in rows_of(recorder, GROUPS[group]()):
        tls += hellos
        http2 += requests
    write(folder / f"{group}.tsv", SSH if group == "ssh" else TLS, tls)
    if http2:
        write(folder / f"{group}-http2.tsv", HTTP2, http2)


class TimeLimit(Exception):
    pass


@contextlib.contextmanager
def time_limit(seconds):
    def stop(*_):
        raise TimeLimit(f"not done in {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def downloads():
    """A folder for the programs of registries, which is removed afterwards."""
    before = registries.CACHE
    before.mkdir(parents=True, exist_ok=True)
    registries.CACHE = pathlib.Path(tempfile.mkdtemp(dir=before))
    try:
        yield
    finally:
        # A compiler that was stopped may write for some more seconds.
        while registries.CACHE.exists():
            shutil.rmtree(registries.CACHE, ignore_errors=True)
            time.sleep(0.1)
        registries.CACHE = before


class Changes:
    """Records the programs whose newest version is not in the tables, and prints each change as it comes."""

    def __init__(self, again, add):
        self.again, self.add = again, add
        self.tables = Tables(CLIENTS)
        self.failures = []
        self.end = time.monotonic() + CHANGES_LIMIT

    def fail(self, offer, error):
        self.failures.append(offer.package.strip())
        print(f"failed: {offer.package.strip()}: {error}", file=sys.stderr, flush=True)

    def due(self):
        """Asks the registries and returns the programs to record, with their versions."""
        due, count = [], 0
        with downloads(), concurrent.futures.ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            for count, (offer, asked) in enumerate([(offer, pool.submit(offer.newest)) for offer in offers()], 1):
                try:
                    version, library = asked.result()
                except Exception as error:
                    self.fail(offer, error)
                    continue
                if version in self.tables.recorded(offer.package, library) and not self.again:
                    continue
                due.append((offer, version))
                recorded = max(self.tables.recorded(offer.package), key=number, default="nothing")
                print(f"{offer.package.strip()} recorded: {recorded}, offered: {version} {library and f'with library {library}'}".rstrip(), flush=True)
        print(f"{count} programs, to record: {len(due)}", flush=True)
        return due

    def record(self, recorder, offer, version):
        left = PROGRAM_LIMIT if self.again else min(PROGRAM_LIMIT, int(self.end - time.monotonic()))
        if left <= 0:
            self.fail(offer, "not reached")
            return
        tables = {f"{offer.group}.tsv": [], f"{offer.group}-http2.tsv": []}
        try:
            with downloads(), time_limit(left):
                for rows in rows_of(recorder, offer.clients(version)):
                    for line in self.tables.changes(sum(rows, [])):
                        print(line, flush=True)
                    for new, table in zip(rows, tables.values()):
                        table += new
            if not any(tables.values()):
                raise LookupError("no client said hello")
        except Exception as error:
            self.fail(offer, error)
        if self.add:
            self.tables.add(offer.package, tables)

    def count_rows(self):
        """Updates the number of recorded rows in docs/clients.md."""
        PAGE.write_text(re.sub(r"\| `recorded` \| [0-9]+ \|", f"| `recorded` | {self.tables.recorded_rows()} |", PAGE.read_text()))


def record_changes(options):
    # pip keeps no copies.
    os.environ["PIP_NO_CACHE_DIR"] = "1"
    changes = Changes(options.again, options.add)
    due = changes.due()
    if due:
        recorder = Recorder(options.huginn_net or build_huginn_net())
        for offer, version in due:
            changes.record(recorder, offer, version)
    if options.add:
        changes.count_rows()
    if changes.failures:
        sys.exit(f"not recorded: {', '.join(changes.failures)}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("groups", metavar="GROUP", nargs="*", choices=[[], *GROUPS])
    arguments.add_argument("--out", type=pathlib.Path, default=CLIENTS)
    arguments.add_argument("--huginn-net", type=pathlib.Path, help="the program; built if not given")
    arguments.add_argument("--list", action="store_true", help="list the groups")
    arguments.add_argument("--changes", action="store_true", help="record today's versions, and print what the tables lack")
    arguments.add_argument("--add", action="store_true", help="with --changes: add the rows to the tables")
    arguments.add_argument("--again", action="store_true", help="with --changes: record versions of the tables, too, without a limit of the whole")
    options = arguments.parse_args()
    if options.list:
        for name, group in GROUPS.items():
            print(f"{name:12} {group.__doc__}")
        return
    # Ends as after an error: children and files go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tempfile.tempdir:
        add_host(NAME)
        if options.changes:
            record_changes(options)
            return
        options.out.mkdir(parents=True, exist_ok=True)
        registries.CACHE.mkdir(parents=True, exist_ok=True)
        recorder = Recorder(options.huginn_net or build_huginn_net())
        for group in options.groups:
            record_group(recorder, group, options.out)


if __name__ == "__main__":
    main()
