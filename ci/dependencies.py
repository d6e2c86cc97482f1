#!/usr/bin/env python3
"""Checks docs/dependencies.md against Cargo.lock: dependencies.py [--write]

Each crate that the shipped crates use has a row with a reason, and no other has. --write adds rows without a reason and
removes rows; the reasons are written by hand.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "dependencies.md"
# Not shipped: load generators and measurements.
OURS_ONLY = {"huginn-lab", "huginn-net-benches"}
HEAD = "| crate | for |\n|---|---|\n"
ROW = re.compile(r"^\| `([^`]+)` \| (.*?) \|$", re.MULTILINE)


def main() -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT))
    packages = {package["id"]: package for package in metadata["packages"]}
    names = set()
    for node in metadata["resolve"]["nodes"]:
        user = packages[node["id"]]["name"]
        if node["id"] not in metadata["workspace_members"] or user in OURS_ONLY:
            continue
        for dependency in node["deps"]:
            package = packages[dependency["pkg"]]
            is_shipped = any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])
            if package["source"] and is_shipped:
                names.add(package["name"])
    page = PAGE.read_text()
    # The table ends the page.
    begin = page.index(HEAD) + len(HEAD)
    reasons = dict(ROW.findall(page[begin:]))
    if "--write" in sys.argv:
        table = [f"| `{name}` | {reasons.get(name, '')} |" for name in sorted(names)]
        PAGE.write_text(page[:begin] + "\n".join(table) + "\n")
        return
    problems = [f"no row for {name}" for name in sorted(names) if name not in reasons]
    problems += [f"no reason for {name}" for name in sorted(names) if name in reasons and not reasons[name].strip()]
    problems += [f"a row for {name}, which nothing uses" for name in reasons if name not in names]
    if problems:
        sys.exit("docs/dependencies.md: " + "; ".join(problems) + " (ci/dependencies.py --write)")
    print(f"{len(names)} dependencies have reasons")


main()
