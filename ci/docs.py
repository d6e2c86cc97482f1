#!/usr/bin/env python3
"""Checks that the commands of README.md and docs/ print what the pages say: ci/docs.py PROGRAM [--write]

- Commands after `$ ` in a `console` block, with their output below them.
- An `sh` block with a `text` or `json` block directly after it.
- An event after "From `CAPTURE`:", with one field on each line.

`cargo` and `sudo` are not run, nor what prints nothing. --write replaces what differs.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
# Commands that write these events; `pcap` writes the others.
COMMANDS = {"connection": "pcap --connections", "finding": "pcap --findings", "host": "hosts", "fingerprint": "fingerprints --rare 100"}


def run(command, path):
    """Returns what a command prints."""
    environment = {**os.environ, "PATH": path + ":" + os.environ["PATH"], "COLUMNS": "", "NO_COLOR": "1"}
    ran = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return ran.stdout


def is_run(command):
    return not re.match(r"(cargo|sudo)\b", command)


def console(text, path):
    """Returns a `console` block with the output of its commands, and their number."""
    count = 0
    parts = re.split(r"^(?=\$ )", text, flags=re.M)
    for number, part in enumerate(parts):
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command += "\n" + more
        if command.startswith("$ ") and output.strip() and is_run(command[2:]):
            parts[number] = command + "\n" + run(command[2:], path).rstrip("\n") + output[len(output.rstrip("\n")) :]
            count += 1
    return "".join(parts), count


def event(text, capture, path):
    """Returns the event of a capture that an example shows: the one with its kind and its packet, address or value."""
    shown = json.loads(text)
    keys = [key for key in ("event", "packet", "ip", "kind", "value") if key in shown]
    command = COMMANDS.get(shown["event"], "pcap")
    lines = run(f"huginn-net {command} -q --format json {capture}", path).splitlines()
    for line in lines:
        found = json.loads(line)
        if all(found.get(key) == shown[key] for key in keys):
            fields = (f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in found.items())
            return "{\n" + ",\n".join(fields) + "\n}\n"
    sys.exit(f"{capture} has no event with {[shown[key] for key in keys]}")


def current(page, path):
    """Returns the text of a page with the output of today, and the number of commands that were run."""
    out, at, count, command = [], 0, 0, None
    for block in FENCE.finditer(page):
        between = page[at : block.start()]
        out.append(between)
        language, text = block.groups()
        source = re.search(r"From `([^`]+)`:\n\n$", between)
        new = text
        if language == "console":
            new, run_here = console(text, path)
            count += run_here
        elif language == "json" and source:
            new, count = event(text, source.group(1), path), count + 1
        elif language in ("text", "json") and command and not between.strip():
            new, count = run(command, path), count + 1
        command = text if language == "sh" and is_run(text) else None
        out.append(f"```{language}\n{new}```")
        at = block.end()
    return "".join(out) + page[at:], count


def main():
    program = os.path.abspath(sys.argv[1])
    failed, count = [], 0
    with tempfile.TemporaryDirectory() as path:
        os.symlink(program, os.path.join(path, "huginn-net"))
        for name in [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]:
            with open(name, encoding="utf-8") as file:
                page = file.read()
            new, run_here = current(page, path)
            count += run_here
            if new == page:
                continue
            if "--write" in sys.argv:
                with open(name, "w", encoding="utf-8") as file:
                    file.write(new)
            failed.append(os.path.relpath(name, ROOT))
            subprocess.run(["diff", "-u", "--label", failed[-1], "--label", "printed", name, "-"], input=new, text=True)
    print(f"{count} blocks", "" if not failed else f"differ: {', '.join(failed)}")
    # A mistake here must not pass as "nothing to check".
    sys.exit(bool(failed) or count < 20)


main()
