#!/usr/bin/env python3
"""Checks that the memory of a program does not grow: flat.py SAMPLES.csv (as long-run.sh writes them)

The first fifth of the time is warm-up. In the rest, the average of the last third may exceed that of the first third by at
most MOST_GROWTH.
"""
import csv
import sys

MOST_GROWTH = 0.03
# Shorter runs consist of warm-up only.
JUDGED_FROM_SECONDS = 900

with open(sys.argv[1], encoding="utf-8") as file:
    samples = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file) if all(row.values())]
seconds = samples[-1]["seconds"]
samples = [sample for sample in samples if sample["seconds"] >= seconds / 5]
third = len(samples) // 3
failed = False
for name in ("own_kib", "mapped_kib", "files", "threads"):
    first, last = ([sample[name] for sample in part] for part in (samples[:third], samples[-third:]))
    first, last = sum(first) / third, sum(last) / third
    print(f"{name}: {first:.1f} in the first third, {last:.1f} in the last, {max(s[name] for s in samples)} at most")
    failed |= last > first * (1 + MOST_GROWTH) + (1 if not name.endswith("kib") else 0)
share = (samples[-1]["cpu_cs"] - samples[0]["cpu_cs"]) / (samples[-1]["seconds"] - samples[0]["seconds"])
print(f"processor: {share:.2f} % of one")
if failed and seconds >= JUDGED_FROM_SECONDS:
    sys.exit("memory grows")
