#!/usr/bin/env python3
"""Measures whole runs of the program over a capture file, for budget.sh.

whole_runs.py PROGRAM CAPTURE

Prints a number and the name of its row on each line. Cachegrind counts instructions and misses of caches with the sizes
below, DHAT allocations. Needs valgrind.
"""

import re
import subprocess
import sys
import tempfile

RUNS = {
    "JSON": ["--format", "json"],
    "human lines": [],
    "JSON, TLS alone": ["--format", "json", "--protocols", "tls"],
}
# Size in bytes, associativity and line length: first-level caches of 32 and 48 KiB, and a last-level cache of 2 MiB.
CACHES = ["--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64"]

def main() -> None:
    program, capture = sys.argv[1:]
    for name, options in RUNS.items():
        command = [program, "pcap", "-w", "1", *options, capture]
        for value, measure in [*cachegrind(command), *dhat(command)]:
            print(f"{value} whole run, {name}: {measure}", flush=True)


def cachegrind(command: list[str]) -> list[tuple[int, str]]:
    """Instructions, and misses of the caches, in thousands."""
    options = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null", *CACHES]
    text = valgrind(options, command)
    instructions, first_code, first_data, last = (
        number(text, name) for name in ("I *refs", "I1 *misses", "D1 *misses", "LL *misses")
    )
    return [
        (instructions // 1000, "thousand instructions"),
        ((first_code + first_data) // 1000, "thousand misses of the first cache"),
        (last // 1000, "thousand misses of the last cache"),
    ]


def dhat(command: list[str]) -> list[tuple[int, str]]:
    """Allocations, their bytes, and the most bytes at one time, in thousands."""
    text = valgrind(["--tool=dhat", "--dhat-out-file=/dev/null"], command)
    allocated, most = number(text, "Total"), number(text, "At t-gmax")
    allocations = re.search(r"Total: .* in ([\d,]+) blocks", text)[1].replace(",", "")
    return [
        (int(allocations), "allocations"),
        (allocated // 1000, "thousand bytes allocated"),
        (most // 1000, "thousand bytes of memory at most"),
    ]


def valgrind(options: list[str], command: list[str]) -> str:
    """What valgrind reports of a run."""
    with tempfile.NamedTemporaryFile("r") as log:
        run = ["valgrind", f"--log-file={log.name}", *options, *command]
        subprocess.run(run, stdout=subprocess.DEVNULL, check=True)
        return log.read()


def number(text: str, name: str) -> int:
    """The number after a name and a colon."""
    return int(re.search(rf"{name}: +([\d,]+)", text)[1].replace(",", ""))


if __name__ == "__main__":
    main()
