#!/usr/bin/env python3
"""Compares the events of `huginn-net live` with those of `huginn-net pcap`.

events.py same PCAP.json LIVE.json...   fails unless both have the same events at the same times, in any order; the live
                                        events may be in several files
events.py once N LIVE.json...           fails unless each request for /request/1 to /request/N occurs exactly once
"""
import collections
import json
import re
import sys

TIME = re.compile(r'"ts":"(?P<time>[^"]*)",?')
# The recording and the sensor do not begin with the same packet.
PACKET = re.compile(r'"packet":[0-9]+,?')
# Seconds. The recording and the sensor receive their timestamps from the same kernel.
MOST_APART = 0.005


def seconds(text):
    """Returns the seconds since midnight; a run across midnight is compared modulo a day."""
    hours, minutes, rest = text.rstrip("Z").split("T")[1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def events_of(paths):
    """Returns the times of each event text, and the number of lines."""
    found = collections.defaultdict(list)
    lines = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                json.loads(line)
                time = TIME.search(line)
                event = PACKET.sub("", line[: time.start()] + line[time.end() :], count=1)
                found[event].append(seconds(time["time"]))
                lines += 1
    return found, lines


def same(recording, *live):
    wanted, wanted_lines = events_of([recording])
    found, found_lines = events_of(live)
    differing = []
    apart = 0.0
    for event in wanted.keys() | found.keys():
        times, others = sorted(wanted.get(event, [])), sorted(found.get(event, []))
        if len(times) != len(others):
            differing.append(f"{len(times)} times in the recording, {len(others)} times live: {event.strip()}")
        apart = max([apart, *(abs(a - b) for a, b in zip(times, others) if len(times) == len(others))])
    for line in sorted(differing)[:5]:
        print(line, file=sys.stderr)
    if differing:
        sys.exit(f"{len(differing)} kinds of events differ; {wanted_lines} in the recording, {found_lines} live")
    if not wanted_lines:
        sys.exit("no events at all")
    if apart > MOST_APART:
        sys.exit(f"times are up to {apart:.6f} s apart")
    print(f"{found_lines} events are the same, times at most {apart * 1e6:.0f} us apart")


def once(number, *live):
    seen = collections.Counter()
    for path in live:
        with open(path, encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                if event["event"] == "http_request" and (event.get("path") or "").startswith("/request/"):
                    seen[int(event["path"].rsplit("/", 1)[1])] += 1
    wanted = range(1, int(number) + 1)
    lost = [number for number in wanted if not seen[number]]
    more = [number for number in seen if seen[number] > 1 or number not in wanted]
    if lost or more:
        sys.exit(f"requests lost: {lost[:10]}; more than once, or never made: {more[:10]}")
    print(f"{len(wanted)} requests, each exactly once")


if __name__ == "__main__":
    {"same": same, "once": once}[sys.argv[1]](*sys.argv[2:])
