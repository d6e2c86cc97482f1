#!/usr/bin/env python3
"""Runs Suricata 8 with the lists of `db export` over captures, and compares the clients that its alerts name with those of our events.

Usage: suricata-alerts.py PROGRAM SURICATA CAPTURE...

A capture is a file or a folder with files. The rules of the datasets are those of docs/lists.md, beside one rule for each JA4. Fails if
Suricata refuses a rule, if an alert names other clients than our event with the same fingerprint, or if a fingerprint that Suricata
logs and the list has is without an alert.
"""

import collections
import importlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
beside = importlib.import_module("compare-suricata")

# By rule: protocol, kind of fingerprint, buffer, path in EVE.
DATASETS = [
    ("tls", "ja4", "ja4.hash", "tls.ja4"),
    ("quic", "ja4", "ja4.hash", "quic.ja4"),
    ("tls", "ja3", "ja3.hash", "tls.ja3.hash"),
    ("ssh", "hassh", "ssh.hassh", "ssh.client.hassh.hash"),
]
FIRST_SID = 1_000_001


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, suricata, *places = sys.argv[1:]
    captures = [path for place in map(pathlib.Path, places) for path in beside.files(place)]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "suricata.yaml").write_text(beside.CONFIGURATION.replace("types:", "types:\n        - alert"))
        lists = {kind: export(program, kind, "suricata-dataset") for _, kind, _, _ in DATASETS}
        for kind, text in lists.items():
            (folder / kind).write_text(text)
        rules = export(program, "ja4", "suricata-rules", "--first-sid", str(FIRST_SID))
        # Every connection has its alert here, and the configuration has no file of classes.
        rules = re.sub("threshold:[^;]*; classtype:[^;]*; ", "", rules)
        for sid, (protocol, kind, buffer, _) in enumerate(DATASETS):
            dataset = f"isset,{kind},type string,load {folder / kind},format ndjson,value_key {kind},context_key client"
            rules += f'alert {protocol} any any -> any any (msg:"known"; {buffer}; dataset:{dataset}; sid:{sid + 1}; rev:1;)\n'
        (folder / "rules").write_text(rules)
        command = [suricata, "-c", folder / "suricata.yaml", "-S", folder / "rules", "-k", "none", "--runmode", "single", "-l", folder]
        listed = {json.loads(line)[kind] for kind, text in lists.items() for line in text.splitlines()}
        for capture in captures:
            check(capture, suricatas([*command, "-r", capture], folder / "eve.json"), ours(program, capture), listed, counts)
    for what, number in sorted(counts.items()):
        print(f"{number} {what}")


def export(program, kind, to, *options):
    command = [program, "db", "export", "--kind", kind, "--to", to, *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def suricatas(command, log):
    log.unlink(missing_ok=True)
    ran = subprocess.run(command, capture_output=True, check=False, text=True)
    if refused := [line for line in (ran.stdout + ran.stderr).splitlines() if "rule" in line and line.startswith(("E:", "W:"))]:
        sys.exit("\n".join(refused))
    return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


def ours(program, capture):
    """The names of each fingerprint in our events; a JA3 has none there."""
    ran = subprocess.run([program, "pcap", "-q", "--format", "json", capture], capture_output=True, check=False)
    events = [event for event in map(json.loads, ran.stdout.splitlines()) if event.get("software")]
    return {event[kind]: event["software"] for event in events for kind in ("ja4", "hassh") if kind in event}


def check(capture, events, names, listed, counts):
    named, logged = set(), set()
    for event in events:
        if event["event_type"] != "alert":
            logged |= {beside.value_of(event, path) for _, _, _, path in DATASETS}
        elif event["alert"]["signature_id"] >= FIRST_SID:
            counts["alerts of rules for one JA4"] += 1
        else:
            protocol, kind, _, _ = DATASETS[event["alert"]["signature_id"] - 1]
            client = event["alert"]["context"]["client"]
            software = names.get(client[kind])
            if software and any(client[field] != software[field] for field in ("library", "application", "versions", "candidates")):
                sys.exit(f"{capture}: the alert names {client}, the event {software}")
            named.add(client[kind])
            counts[f"alerts of {protocol} by {kind}"] += 1
            counts["of them with the name of our event"] += bool(software)
    if missing := (logged & listed) - named:
        sys.exit(f"{capture}: no alert names {missing}")


if __name__ == "__main__":
    main()
