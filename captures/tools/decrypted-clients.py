#!/usr/bin/python3
"""Writes the HTTP/2 and HTTP/3 fingerprints of programs in decrypted captures, as rows of the client database.

    captures/tools/decrypted-clients.py [--huginn-net PROGRAM]

Reads captures/http/http-decrypted-*, whose programs `record-decrypted.sh` names, and writes huginn-net-db/clients/decrypted-http2.tsv
and decrypted-http3.tsv. The rows have no version: what older versions send was not recorded, and newer ones may send the same.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "huginn-net-db" / "clients"
PROGRAM = ["library", "library_version", "application", "application_version", "imitates", "own_settings", "evidence", "date"]
# What a User-Agent contains: library, application, whether it has settings of its own, and where the program is from. Libraries have none:
# programs that use them may set others.
PROGRAMS = {
    r"Firefox/": ("NSS", "Firefox", "yes", "Debian firefox-esr 153.8.0esr-1~deb12u1"),
    r"Chrome/": ("BoringSSL", "Chromium", "yes", "Debian chromium 156.0.8078.79-1~deb12u1"),
    r"^quic-go HTTP/3": ("Go crypto/tls", "quic-go", "", "github.com/quic-go/quic-go v0.65.0, h3.go"),
    r"^aioquic$": ("aioquic", "Python aioquic", "", "PyPI aioquic==1.7.2, h3.py"),
    r"^h3$": ("rustls", "h3", "", "crates.io h3 0.0.8, quinn 0.11.12, h3.rs"),
}


def requests(program, capture):
    command = [program, "pcap", "--format", "json", "--events", "http_request", capture]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--huginn-net", default="huginn-net", help="the program")
    program = arguments.parse_args().huginn_net
    tables = {"decrypted-http2": (["akamai_hash", *PROGRAM, "akamai"], {}), "decrypted-http3": (["http3", *PROGRAM], {})}
    for capture in sorted(ROOT.glob("captures/http/http-decrypted-*/*.pcapng")):
        for event in requests(program, capture):
            known = [known for pattern, known in PROGRAMS.items() if re.search(pattern, event["user_agent"] or "")]
            # The tables of HTTP/2 have Chromium from their own recordings.
            if not known or not ("http3" in event or "akamai" in event and known[0][1] == "Firefox"):
                continue
            library, application, own_settings, evidence = known[0]
            columns, rows = tables["decrypted-http3" if "http3" in event else "decrypted-http2"]
            values = event | dict.fromkeys(PROGRAM, "") | {
                "library": library, "application": application, "own_settings": own_settings,
                "evidence": f"{evidence}, {capture.name}", "date": datetime.date.today().isoformat(),
            }
            rows.setdefault((values[columns[0]], application), "\t".join(values[column] for column in columns))
    for name, (columns, rows) in tables.items():
        (CLIENTS / f"{name}.tsv").write_text("\n".join(["\t".join(columns), *rows.values()]) + "\n")


main()
