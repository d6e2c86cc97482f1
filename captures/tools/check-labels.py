#!/usr/bin/env python3
"""Compares the versions in labels with what the senders say themselves: check-labels.py PROGRAM FOLDER|CAPTURE...

A request or response has a User-Agent or Server header, an SSH client an identification string, and the User-Agent of a
request names the system of the SYN of its connection. A version outside of the range of the label is printed with its
capture, unless `EXPLAINED` has its reason. Exit status 1: something was printed.
"""

import collections
import json
import re
import subprocess
import sys

from capture_files import captures

# How headers write the version of the software of a label, or of the client that a fingerprint names.
HEADERS = {
    "Apache HttpClient": r"Apache-HttpClient/([\d.]+)",
    "Chromium": r"Chrome/(\d+)",
    "curl": r"curl/([\d.]+)",
    "Firefox": r"Firefox/(\d+)",
    "Go": r"Go-http-client/([\d.]+)",
    "Tomcat": r"Tomcat/([\d.]+)",
    "Wget": r"Wget/([\d.]+)",
}
BANNERS = {"OpenSSH": r"OpenSSH_([\d.]+)", "Dropbear": r"dropbear_([\d.]+)", "libssh": r"libssh[-_]([\d.]+)"}

# Names of Windows by the version that a User-Agent has. The fourth has no name of its own for 11.
WINDOWS = {
    "5.0": ["2000"],
    "5.1": ["XP"],
    "5.2": ["XP", "2003"],
    "6.0": ["Vista"],
    "6.1": ["7"],
    "6.2": ["8"],
    "6.3": ["8.1"],
    "10.0": ["10", "11"],
}
WINDOWS_ORDER = ["2000", "XP", "2003", "Vista", "7", "8", "8.1", "10", "11"]

# Contradictions in which the label is right: the end of the name of a capture, the label, the version.
EXPLAINED = {
    # Its headers are not those of Chrome either: a forged User-Agent.
    ("0ecc207e-input.pcap", "Windows Vista, 7, 8, 8.1 or 10, or Server 2008-2016", "5.1"),
}


def numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)]


def is_in(text, version):
    """Whether a version is in one of the ranges of a text: `59 or newer`, `123 and newer`, `7.42 or older`, `11-127`, `7`. None without one."""
    version, found = numbers(version), False
    for lowest, highest, open_end in re.findall(r"(\d[\d.]*)(?:-(\d[\d.]*))?( (?:or|and) (?:newer|older))?", text):
        found = True
        low, high = numbers(lowest), numbers(highest or lowest)
        above = open_end.endswith("older") or version[: len(low)] >= low
        below = open_end.endswith("newer") or version[: len(high)] <= high
        if above and below:
            return True
    return False if found else None


def windows_is_in(flavor, names):
    """Whether one of these names of Windows is among those of a flavor."""
    words = re.findall(r"[\w.]+", re.sub(r"Server [\d\w, -]+?(?= or newer|,? or |$)", "", flavor))
    for name in names:
        if name in words or name == "2003" and "2003" in flavor:
            return True
    newer = re.search(r"([\w.]+) or newer", flavor)
    return bool(newer) and any(WINDOWS_ORDER.index(name) >= WINDOWS_ORDER.index(newer[1]) for name in names)


def system_is_in(label, agent):
    """Whether a label of a system has the version that a User-Agent names. None if either names no version."""
    name, flavor = label["name"], label["flavor"] or ""
    windows = re.search(r"Windows NT ([\d.]+)", agent)
    android = re.search(r"Android (\d+)", agent)
    ios = re.search(r"(?:iPhone|CPU) OS (\d+)", agent)
    mac = re.search(r"Mac OS X (\d+)[_.](\d+)", agent)
    if name == "Windows" and windows and windows[1] in WINDOWS and flavor:
        return windows[1], windows_is_in(flavor, WINDOWS[windows[1]])
    if name in ("Android", "Linux") and android:
        part = flavor if name == "Android" else " ".join(re.findall(r"Android .*", flavor))
        return "Android " + android[1], is_in(part, android[1])
    if name == "macOS or iOS" and ios:
        return "iOS " + ios[1], is_in(" ".join(re.findall(r"iOS [\d.-]+(?: or newer)?", flavor)), ios[1])
    if name == "macOS or iOS" and mac:
        version = f"{mac[1]}.{mac[2]}"
        part = " ".join(re.findall(r"(?:macOS|Mac OS X) [\d.-]+(?: or newer)?", flavor))
        # Browsers say 10.15 on all later versions.
        newer = version == "10.15" and re.search(r"or newer", part)
        return "macOS " + version, bool(newer) or is_in(part, version)
    return None, None


def label_text(label):
    return " ".join(filter(None, (label["name"], label["flavor"])))


def contradictions(events):
    """Yields the label, the version that contradicts it, and the text that has the version."""
    systems = {}
    for event in events:
        kind, label, software = event["event"], event.get("label"), event.get("software")
        flow = json.dumps([event.get("tunnel"), event["client"], event["server"]]) if "client" in event else None
        if kind == "tcp_syn":
            systems[flow] = label if label and not event["fuzzy"] else None
        text = event.get("user_agent") or event.get("server_header") or ""
        if kind in ("http_request", "http_response") and label and label["name"] in HEADERS and label["flavor"]:
            found = re.search(HEADERS[label["name"]], text)
            if found and is_in(label["flavor"], found[1]) is False:
                yield label_text(label), found[1], text
        if kind in ("http_request", "ssh_client") and software and software["versions"]:
            text = text or event.get("banner", "")
            name = software["application"] or software["library"]
            known = HEADERS if kind == "http_request" else BANNERS
            found = re.search(known[name], text) if name in known else None
            if found and is_in(software["versions"], found[1]) is False:
                yield f"{name} {software['versions']}", found[1], text
        if kind == "http_request" and systems.get(flow) and event["os_agrees"]:
            version, agrees = system_is_in(systems[flow], text)
            if agrees is False:
                yield label_text(systems[flow]), version, text


def main(program, *paths):
    found = collections.Counter()
    for path in captures(paths):
        ran = subprocess.run([program, "pcap", "--format", "json", "-w", "1", path], stdout=subprocess.PIPE, check=False)
        for label, version, text in contradictions(map(json.loads, ran.stdout.splitlines())):
            if not any(path.endswith(name) and row == [label, version] for name, *row in EXPLAINED):
                found[path, label, version, text] += 1
    for (path, label, version, text), count in found.items():
        print(f"{path}: {label}, but {version}, {count} times: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
