#!/usr/bin/env python3
"""Compares --format eve with the EVE of Suricata 8, connection by connection.

Usage: compare-suricata.py PROGRAM SURICATA CAPTURE... [--list]

A capture is a file or a folder with files. Prints the table of docs/formats.md, and with --list what is not equal. Two differences are
known: Suricata reports the first hello alone when the server asks for another, and its JA4 has the hash of "EXTENSIONS_" for a hello
without signature algorithms, where JA4 is defined without the underscore.
"""

import collections
import hashlib
import ipaddress
import json
import pathlib
import subprocess
import sys
import tempfile

CONFIGURATION = """%YAML 1.1
---
outputs:
  - eve-log:
      enabled: yes
      filename: eve.json
      types:
        - tls: {custom: [sni, version, ja3, ja3s, ja4]}
        - ssh
        - quic
app-layer:
  protocols:
    tls: {enabled: yes, detection-ports: {dp: 443}, ja3-fingerprints: yes, ja4-fingerprints: yes}
    quic: {enabled: yes, ja3-fingerprints: yes, ja4-fingerprints: yes}
    ssh: {enabled: yes, hassh: yes}
stream: {midstream: true, checksum-validation: no, reassembly: {depth: 0}}
classification-file: /dev/null
reference-config-file: /dev/null
threshold-file: /dev/null
unix-command: {enabled: no}
"""

FIELDS = [
    "tls.ja4",
    "tls.ja3.hash",
    "tls.ja3s.hash",
    "tls.sni",
    "tls.version",
    "quic.ja4",
    "quic.ja3.hash",
    "quic.sni",
    "ssh.client.hassh.hash",
    "ssh.server.hassh.hash",
]


OUTCOMES = ["equal", "first hello alone", "underscore", "different", "Suricata alone", "huginn-net alone"]


def value_of(event, path):
    for name in path.split("."):
        event = event.get(name) if isinstance(event, dict) else None
    return event


def with_underscore(event):
    """The JA4 of a hello without signature algorithms as Suricata computes it."""
    raw = value_of(event, "huginn.ja4_r")
    if not raw or raw.count("_") != 2:
        return None
    head, suites, extensions = raw.split("_")
    digest = lambda text: hashlib.sha256(text.encode()).hexdigest()[:12] if text else "0" * 12
    return f"{head}_{digest(suites)}_{digest(extensions + '_')}"


def values_of(lines):
    """The values of each field by connection: a pair of endpoints in either order."""
    found = {field: collections.defaultdict(set) for field in [*FIELDS, "with underscore"]}
    for line in lines:
        event = json.loads(line)
        if event["event_type"] not in ("tls", "ssh", "quic") or "src_port" not in event:
            continue
        ends = [(str(ipaddress.ip_address(event[f"{end}_ip"])), event[f"{end}_port"]) for end in ("src", "dest")]
        for field in FIELDS:
            value = value_of(event, field)
            if isinstance(value, str) and value and value != "UNDETERMINED":
                found[field][tuple(sorted(ends))].add(value)
        if other := with_underscore(event):
            found["with underscore"][tuple(sorted(ends))].add(other)
    return found


def ours(program, capture):
    command = [program, "pcap", "-q", "--format", "eve", capture]
    return values_of(subprocess.run(command, capture_output=True, check=False).stdout.splitlines())


def suricatas(suricata, capture, folder):
    log = folder / "eve.json"
    log.unlink(missing_ok=True)
    command = [suricata, "-c", folder / "suricata.yaml", "-S", "/dev/null", "-k", "none", "--runmode", "single"]
    subprocess.run([*command, "-l", folder, "-r", capture], capture_output=True, check=False)
    return values_of(log.read_bytes().splitlines()) if log.exists() else None


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    if len(arguments) < 3:
        sys.exit(__doc__)
    program, suricata, *places = arguments
    captures = [path for place in map(pathlib.Path, places) for path in files(place)]
    counts = {field: collections.Counter() for field in FIELDS}
    unread = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "suricata.yaml").write_text(CONFIGURATION)
        for capture in captures:
            other = suricatas(suricata, capture, folder)
            if other is None:
                unread += 1
                continue
            own = ours(program, capture)
            for field in FIELDS:
                compare(capture, field, own, other[field], counts[field])
    print(f"{len(captures)} captures; Suricata cannot read {unread}\n")
    print(f"| field | {' | '.join(OUTCOMES)} |\n|---{'|--:' * len(OUTCOMES)}|")
    for field in FIELDS:
        row = [str(counts[field][name]) for name in OUTCOMES]
        print(f"| `{field}` | {' | '.join(row)} |")


def files(place):
    return sorted(path for path in place.rglob("*.pcap*") if path.is_file()) if place.is_dir() else [place]


def compare(capture, field, own, other, counts):
    for ends in own[field].keys() | other.keys():
        mine, theirs = own[field].get(ends), other.get(ends)
        if not mine or not theirs:
            outcome = "huginn-net alone" if mine else "Suricata alone"
        elif mine == theirs:
            outcome = "equal"
        elif theirs < mine:
            outcome = "first hello alone"
        elif field == "tls.ja4" and theirs <= mine | own["with underscore"].get(ends, set()):
            outcome = "underscore"
        else:
            outcome = "different"
        counts[outcome] += 1
        if "--list" in sys.argv and outcome != "equal":
            print(outcome, capture, field, ends, sorted(mine or ()), sorted(theirs or ()), sep="\t")


if __name__ == "__main__":
    main()
