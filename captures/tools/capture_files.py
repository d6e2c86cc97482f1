"""The captures that a command line names."""

import os

SUFFIXES = (".pcap", ".pcapng", ".cap")


def captures(paths):
    """Yields the captures among these files and below these folders."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(SUFFIXES))
