#!/usr/bin/env python3
"""Runs commands in turn, several times, and compares them.

usage: interleave.py [--before COMMAND] RUNS NAME COMMAND [NAME COMMAND]...

A shell runs each command. The command of --before runs before each of them and is not measured.

The script measures time, CPU time and peak memory (wait4(2); peaks below that of this script are not visible). If a
command prints the table of a bench, the script also compares its rows. It compares each command with the first: it
prints the median of the ratios of each run to the preceding run of the first command, and the spread of these ratios
without the lowest and highest tenth. If the spread contains 1, there is no difference.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--before', default='')
    arguments.add_argument('runs', type=int)
    arguments.add_argument('rest', nargs='+')
    arguments = arguments.parse_args()
    runs, rest = arguments.runs, arguments.rest
    commands = list(zip(rest[::2], rest[1::2]))
    measured = {name: [] for name, _ in commands}
    for turn in range(runs):
        for name, command in commands:
            print(f'run {turn + 1} of {runs}: {name}', file=sys.stderr)
            if arguments.before:
                subprocess.run(arguments.before, shell=True, check=True, stdout=sys.stderr)
            measured[name].append(measure(command))
    first = commands[0][0]
    for quantity in measured[first][0]:
        print(f'\n| {quantity} | median | spread | to {first} | spread | |\n|---|--:|--:|--:|--:|---|')
        for name, _ in commands:
            print(line(name, column(measured, name, quantity), column(measured, first, quantity), name == first))


def measure(command):
    """Quantities of one run of a command, by name."""
    start = time.monotonic()
    child = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.monotonic() - start
    if status:
        sys.exit(f'failed: {command}')
    quantities = {
        'time, s': elapsed,
        'CPU, s': usage.ru_utime + usage.ru_stime,
        'peak memory, MiB': usage.ru_maxrss / 1024,
    }
    for operation, mode, nanos, cpu, rate, *_ in bench_rows(text):
        row = f'{operation}, {mode}'
        quantities[f'{row}: ns a packet'] = float(nanos)
        if cpu != '?':
            quantities[f'{row}: CPU ns a packet'] = float(cpu)
        quantities[f'{row}: packets/s'] = float(rate.replace(',', ''))
    return quantities


def bench_rows(text):
    """The rows of a bench's table, without its head."""
    rows = [line.strip('| ').split(' | ') for line in text.splitlines() if line.startswith('| ')]
    return [row for row in rows if len(row) == 8 and 'ns a packet' not in row]


def column(measured, name, quantity):
    return [run[quantity] for run in measured[name]]


def line(name, values, reference, is_reference):
    least, most = spread(values)
    text = f'| {name} | {statistics.median(values):,.4g} | {least:,.4g} .. {most:,.4g} |'
    if is_reference:
        return f'{text} | | |'
    ratios = [value / other for value, other in zip(values, reference) if other]
    least, most = spread(ratios)
    remark = 'no difference' if least <= 1 <= most else ''
    return f'{text} {statistics.median(ratios):.3f} | {least:.3f} .. {most:.3f} | {remark} |'


def spread(values):
    values, cut = sorted(values), len(values) // 10
    return values[cut], values[-1 - cut]


main()
