#!/usr/bin/env python3
"""Prints the software bill of materials of the program, CycloneDX 1.5 as JSON: sbom.py TARGET [FEATURE...]

TARGET is a triple such as x86_64-unknown-linux-gnu. The list has the crates that are compiled into the program and those that build scripts
and macros need, as `cargo metadata` resolves them from Cargo.lock, each with licence, package URL and the SHA-256 of the registry. The same commit
gives the same bytes. It takes no time and needs no tool, so that every artifact has one.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "huginn-net-cli"


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    target, features = sys.argv[1], [f"{PROGRAM}/{feature}" for feature in sys.argv[2:]]
    command = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"]
    metadata = json.loads(subprocess.check_output([*command, f"--features={','.join(features)}"], cwd=ROOT))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    program = next(id for id, package in packages.items() if package["name"] == PROGRAM)
    checksums = {
        (name, version): checksum
        for name, version, checksum in re.findall(
            r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"', (ROOT / "Cargo.lock").read_text()
        )
    }
    found, pending = {}, [program]
    while pending:
        id = pending.pop()
        if id not in found:
            found[id] = sorted(dependency["pkg"] for dependency in nodes[id]["deps"] if is_used(dependency))
            pending += found[id]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or commit_time())
    stamp = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    ids = sorted(found, key=lambda id: reference(packages[id]))
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": stamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(packages[program], checksums, "application"),
            "properties": [{"name": "cdx:rustc:sbom:target:triple", "value": target}],
        },
        "components": [component(packages[id], checksums, "library") for id in ids if id != program],
        "dependencies": [
            {"ref": reference(packages[id]), "dependsOn": sorted(reference(packages[other]) for other in found[id])}
            for id in ids
        ],
    }
    print(json.dumps(bom, indent=1))


def is_used(dependency: dict) -> bool:
    return any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])


def reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict, checksums: dict, kind: str) -> dict:
    found = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
        "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
    }
    if package["description"]:
        found["description"] = " ".join(package["description"].split())
    if checksum := checksums.get((package["name"], package["version"])):
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if (address := package["repository"] or "").startswith("https://"):
        found["externalReferences"] = [{"type": "vcs", "url": address}]
    return found


def commit_time() -> str:
    return subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True)


if __name__ == "__main__":
    main()
