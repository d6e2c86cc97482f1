#!/usr/bin/env python3
"""Sends names to real servers in ways that observers misread, and checks that Huginn-Net reports what the servers accepted.

    sudo ci/hostile/evasion.py --bin target/release/huginn-net [--save FOLDER] [--only TEXT] [--every N]
    ci/hostile/evasion.py --bin target/release/huginn-net --replay FOLDER

The first form makes network namespaces with a client, a router, and a server with nginx and OpenSSL, and QUIC with aioquic if
--quic-python names a Python that has it. It records each attempt at the client's side of the router. The servers' logs say which
name was accepted. An attempt may mark a pause: its capture then comes once for each of PAUSES, with later times after the mark, and the
events of the exchange must be reported, too. --save keeps a capture for each attempt, and truth.jsonl, which the second form analyses without a network.

An accepted name is reported if an event holds it. Else it is flagged on the connection if an event of the connection says `conflict`, or its event
`connection` has `blind_spots` that those of plain connections lack; or only counted, by a blind spot of the analysis. The exit status is 1 if an accepted name is neither, unless hidden.txt lists the attempt, and if a plain
connection is flagged.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

# Seconds of packet time that a marked pause gets: more than the linger of an ended connection, and than the time of a half-closed one
# (docs/events.md#connection).
PAUSES = (4, 33)
# What a capture has in a pause: an ARP request of another host.
TICK = bytes.fromhex("ffffffffffff 02000000000e 0806 0001 0800 06 04 0001 02000000000e c0000209 000000000000 c000020a")
# Events of each exchange of an attempt with a pause.
EVENTS = {"tls": ("tls_client", "tls_server"), "http": ("http_request", "http_response")}
EVENTS["http2"] = EVENTS["http"]


def main():
    arguments = parse_arguments()
    if arguments.replay:
        sys.exit(judge(arguments, arguments.replay))
    with tempfile.TemporaryDirectory() as folder:
        saved = arguments.save or folder
        os.makedirs(saved, exist_ok=True)
        perform(arguments, saved)
        sys.exit(judge(arguments, saved) if arguments.bin else 0)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", help="the program huginn-net")
    parser.add_argument("--replay", metavar="FOLDER", help="analyse the captures of this folder; no network")
    parser.add_argument("--save", metavar="FOLDER", help="keep captures and truth.jsonl")
    parser.add_argument("--keep-logs", metavar="FOLDER", help="keep the servers' logs")
    parser.add_argument("--only", metavar="TEXT", help="attempts whose name contains this")
    parser.add_argument("--every", metavar="N", type=int, default=1, help="every Nth attempt of each kind")
    parser.add_argument("--quic-python", metavar="PROGRAM", help="a Python with aioquic")
    parser.add_argument("--workers", default="1", help="value of -w")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON Lines")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for every attempt")
    arguments = parser.parse_args()
    if arguments.replay and not arguments.bin:
        parser.error("--replay needs --bin")
    return arguments


def perform(arguments, folder):
    """Runs the attempts; writes their captures and truth.jsonl."""
    import network
    from attempts import ATTEMPTS, Client
    from raw import PAUSE, Link

    seen, chosen = collections.Counter(), []
    quic = quic_attempts(arguments.quic_python) if arguments.quic_python else []
    for number, entry in enumerate(ATTEMPTS + quic):
        seen[entry[1]] += 1
        if (arguments.only or "") in entry[0] and (seen[entry[1]] - 1) % arguments.every == 0:
            chosen.append((number, *entry))
    net = network.Network(arguments.quic_python)
    try:
        net.open()
        whole = net.file("all.pcap")
        stop = net.record(whole)
        link = Link()
        quic_client = None
        answers = {}
        if quic:
            command = [arguments.quic_python, f"{HERE}/quic_attempts.py"]
            quic_client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number, name, _, version, app, function in chosen:
            try:
                if app == "quic":
                    print(function, version, number, file=quic_client.stdin, flush=True)
                    quic_client.stdout.readline()
                else:
                    answers[number] = function(Client(number, version, app, link))
            except OSError as error:
                print(f"{name}: {error}", file=sys.stderr)
        if quic_client:
            quic_client.communicate()
        stop()
        accepted = net.accepted()
        files = split(whole, {address: number for number, entry in ((n, e) for n, *e in chosen) for address in addresses(network, number, entry[2])}, chosen, folder, PAUSE)
        with open(os.path.join(folder, "truth.jsonl"), "w", encoding="ascii") as f:
            for number, name, kind, _, app, _ in chosen:
                events = EVENTS[app] * (answers.get(number) or 0) if kind == "paused" else ()
                if "before-finished" in name and events:
                    events += ("tls_handshake",)
                for file in files[number]:
                    print(json.dumps({"file": file, "kind": kind, "accepted": sorted(accepted[number]), "events": events}), file=f)
    finally:
        net.close(arguments.keep_logs)


def quic_attempts(python):
    names = subprocess.run([python, f"{HERE}/quic_attempts.py", "--list"], capture_output=True, text=True, check=True).stdout.split()
    return [
        (f"quic-{name}-{version}", "control" if name == "control" else "quic", version, "quic", name) for version in (4, 6) for name in names
    ]


def addresses(network, number, version):
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    return [socket.inet_pton(family, network.client_address(version, stack, number)) for stack in (network.PLAIN, network.RAW)]


def split(whole, owners, chosen, folder, pause):
    """Divides the capture by the client's address; each packet belongs to one attempt. Returns the files of each attempt."""
    names = {number: name for number, name, *_ in chosen}
    with open(whole, "rb") as f:
        data = f.read()
    head, at, parts = data[:24], 24, collections.defaultdict(list)
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        record, packet = data[at : at + 16 + length], data[at + 16 : at + 16 + length]
        at += 16 + length
        kind = packet[12:14]
        if kind == struct.pack("!H", pause):
            parts[owners[packet[14:]]].append(record[:8])
            continue
        packet = packet[18:] if kind == b"\x81\0" else packet[14:]
        # By the source first: an ICMP message of the router goes to the client that it is about.
        ends = (packet[12:16], packet[16:20]) if kind == b"\x08\0" or len(packet) > 0 and packet[0] >> 4 in (4, 5) else (packet[8:24], packet[24:40])
        for end in ends:
            if end in owners:
                parts[owners[end]].append(record)
                break
    files = collections.defaultdict(list)
    for number, name in names.items():
        has_pause = any(len(record) == 8 for record in parts[number])
        for seconds in PAUSES if has_pause else (0,):
            files[number].append(f"{name}-{seconds}s.pcap" if has_pause else f"{name}.pcap")
            with open(os.path.join(folder, files[number][-1]), "wb") as f:
                f.write(head + b"".join(with_pauses(parts[number], seconds)))
    return files


def with_pauses(records, seconds):
    """The records of a capture with its pauses. A record that is only a time marks a pause: later ones get later times, and an ARP
    request of another host comes each second."""
    late = 0
    for record in records:
        at, micros = struct.unpack_from("<II", record)
        if len(record) > 8:
            yield struct.pack("<I", at + late) + record[4:]
            continue
        for second in range(1, seconds + 1):
            yield struct.pack("<IIII", at + late + second, micros, len(TICK), len(TICK)) + TICK
        late += seconds


def judge(arguments, folder):
    """Analyses the captures, prints a table; returns the exit status."""
    with open(os.path.join(folder, "truth.jsonl"), encoding="ascii") as f:
        truths = [json.loads(line) for line in f]
    truths = [truth for truth in truths if (arguments.only or "") in truth["file"]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda truth: analyse(arguments, folder, truth), truths))
    usual = {name for truth, result in zip(truths, results) if truth["kind"] == "control" for name in result["blind_spots"] + result["on_connection"]}
    with open(os.path.join(HERE, "hidden.txt"), encoding="ascii") as f:
        known = set(f.read().split())
    table, status = collections.defaultdict(collections.Counter), 0
    lines = []
    for truth, result in zip(truths, results):
        kind, verdict = truth["kind"], verdict_of(truth, result, usual)
        wrong = verdict == "hidden" and truth["file"][:-5] not in known or result["failure"] or kind == "control" and (verdict != "reported" or result["conflict"])
        status |= bool(wrong)
        for row in (kind, "total"):
            if row == "total" and kind == "control":
                continue
            count = table[row]
            count["attempts"] += 1
            count["accepted"] += bool(truth["accepted"])
            count[verdict] += 1
            if truth["accepted"]:
                count["conflict said"] += result["conflict"]
        line = {"file": truth["file"], "accepted": truth["accepted"], "verdict": verdict, "conflict": result["conflict"], "failure": result["failure"],
                "flags": sorted(set(result["blind_spots"]) - usual), "on_connection": sorted(set(result["on_connection"]) - usual)}
        lines.append(line)
        if arguments.verbose or wrong:
            print(f"{'WRONG  ' if wrong else ''}{truth['file'][:-5]}: {verdict}; accepted {', '.join(truth['accepted']) or 'nothing'}; "
                  f"conflict {result['conflict']}; blind spots {', '.join(line['flags']) or 'none'}; of the connection {', '.join(line['on_connection']) or 'none'}{'; ' + result['failure'] if result['failure'] else ''}")
    columns = ("attempts", "accepted", "reported", "on connection", "counted", "hidden", "conflict said")
    print(f"{'kind':<10}" + "".join(f"{column:>15}" for column in columns))
    for row in sorted(table, key=lambda row: (row == "total", row)):
        print(f"{row:<10}" + "".join(f"{table[row][column]:>15}" for column in columns))
    if arguments.json:
        with open(arguments.json, "w", encoding="ascii") as f:
            for line in lines:
                print(json.dumps(line), file=f)
    return status


def analyse(arguments, folder, truth):
    command = [arguments.bin, "pcap", "--format", "json", "--stats", "--connections", "-w", arguments.workers, os.path.join(folder, truth["file"])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return {"events": "", "conflict": False, "blind_spots": [], "on_connection": [], "failure": "no end after 60 s"}
    stats = next((json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"frames"')), {})
    connections = [line for line in done.stdout.splitlines() if '"event":"connection"' in line]
    failure = "" if done.returncode == 0 and stats else f"exit status {done.returncode}: {done.stderr[-300:]}"
    return {
        "events": done.stdout,
        "conflict": '"conflict":' in done.stdout,
        "blind_spots": [spot["name"] for spot in stats.get("blind_spots", [])],
        "on_connection": [name for line in connections for name in json.loads(line).get("blind_spots", [])],
        "failure": failure,
    }


def verdict_of(truth, result, usual):
    """The first that holds; those after `reported` were not reported."""
    if not truth["accepted"]:
        return "refused"
    expected = truth["accepted"] + [f'"event":"{kind}"' for kind in truth.get("events", ())]
    if all(result["events"].count(text) >= expected.count(text) for text in expected):
        return "reported"
    if result["conflict"] or set(result["on_connection"]) - usual:
        return "on connection"
    if set(result["blind_spots"]) - usual:
        return "counted"
    return "hidden"


if __name__ == "__main__":
    main()
