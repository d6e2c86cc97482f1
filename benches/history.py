#!/usr/bin/env python3
"""Measures whole runs of several revisions of the program in turn, for history.md.

history.py CAPTURE NAME=PROGRAM...

Prints a row for each program: processor time and peak memory of whole runs over a large capture file, median of some runs,
time of a run over a small capture, and the length of the program.
"""

import os
import statistics
import sys

sys.dont_write_bytecode = True
from whole_runs import RUNS  # noqa: E402

REPETITIONS = 9
SMALL = os.path.join(os.path.dirname(__file__), "../captures/tls/tls-curl/tls-curl.pcap")


def main() -> None:
    capture, *programs = sys.argv[1:]
    programs = dict(named.split("=", 1) for named in programs)
    commands = {
        (name, run): [program, "pcap", "-w", "1", *options, path]
        for name, program in programs.items()
        for run, options, path in [*((run, options, capture) for run, options in RUNS.items()), ("small", [], SMALL)]
    }
    found = {key: [] for key in commands}
    for _ in range(REPETITIONS):
        for key, command in commands.items():
            found[key].append(measure(command))
    columns = [*(f"{run}, s" for run in RUNS), "memory of JSON, MB", "a small capture, ms", "program, MB"]
    print("| revision |", " | ".join(columns), "|")
    print("|---|", "|".join("--:" for _ in columns), "|", sep="")
    for name, program in programs.items():
        times = [f"{statistics.median(time for time, _ in found[name, run]):.3f}" for run in RUNS]
        memory = statistics.median(peak for _, peak in found[name, "JSON"]) / 1e6
        small = statistics.mean(time for time, _ in found[name, "small"]) * 1e3
        size = os.path.getsize(program) / 1e6
        print(f"| {name} |", " | ".join([*times, f"{memory:.0f}", f"{small:.1f}", f"{size:.1f}"]), "|")


def measure(command: list[str]) -> tuple[float, int]:
    """Processor time in seconds, and peak of resident memory in bytes: at least that of this script."""
    null = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    os.close(null)
    if status != 0:
        sys.exit(f"{command}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


main()
