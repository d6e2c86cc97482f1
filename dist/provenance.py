#!/usr/bin/env python3
"""Prints where archives come from, as an in-toto statement with SLSA provenance 1.0: provenance.py ARCHIVE...

It names the archives by their SHA-256, the commit and the compiler that they were built from and with, and the script that built them. BUILDER_ID
is a URI of the machine or service that vouches for it, SOURCE the address of the repository; without these they are local. The same
build gives the same bytes. SHA256SUMS is signed, and has the sum of this file, too.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main() -> None:
    archives = [pathlib.Path(name) for name in sys.argv[1:]]
    if not archives:
        sys.exit(__doc__)
    source = os.environ.get("SOURCE", "file:huginn-net")
    lock = hashlib.sha256((ROOT / "Cargo.lock").read_bytes()).hexdigest()
    definition = {
        "buildType": f"{source}/dist/build-static.sh",
        "externalParameters": {"command": "dist/build-static.sh", "archives": [archive.name for archive in archives]},
        "resolvedDependencies": [
            {"uri": f"git+{source}", "digest": {"gitCommit": line("git", "rev-parse", "HEAD")}},
            {"uri": "file:Cargo.lock", "digest": {"sha256": lock}},
            {"uri": f"pkg:generic/rust@{line('rustc', '--version').split()[1]}"},
        ],
    }
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": archive.name, "digest": {"sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}}
            for archive in archives
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": definition,
            "runDetails": {"builder": {"id": os.environ.get("BUILDER_ID", "file:local")}},
        },
    }
    # A build of files that are not committed does not come from the commit.
    if line("git", "status", "--porcelain", "--untracked-files=no"):
        definition["internalParameters"] = {"uncommitted": True}
    print(json.dumps(statement, indent=1))


def line(*command: str) -> str:
    return subprocess.check_output(command, cwd=ROOT, text=True).strip()


if __name__ == "__main__":
    main()
