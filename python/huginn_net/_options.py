"""Options that sources share."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from . import _native

Protocol = Literal["tcp", "http", "tls", "ssh"]
Transport = Literal["tcp", "quic", "dtls"]

#: Takes captures that were read, their number, and rows.
ProgressFunction = Callable[[int, int, int], object]

#: The protocols that are analysed unless others are chosen.
PROTOCOLS: tuple[Protocol, ...] = ("tcp", "http", "tls", "ssh")

#: Events that need all packets of a host: a shard has none of them.
HOST_EVENTS = ("uptime", "host_change", "ip_sharing", "tool")


def check_names(protocols: Any, events: Any, columns: Any) -> None:
    """Raises ValueError for names that do not exist."""
    for what, given in (("protocols", protocols), ("events", events), ("columns", columns)):
        if isinstance(given, str):
            raise ValueError(f"{what} is a list of names, not one text")
    for what, given, known in (("protocols", protocols, PROTOCOLS), ("events", events, _native.event_names())):
        for name in given:
            if name not in known:
                raise ValueError(f"{what} has no {name!r}{nearest(name, known)}")
    unknown = _native.unknown_column(list(columns))
    if unknown is not None:
        raise ValueError(f"columns has no {unknown!r}{nearest(unknown, [name for name, *_ in _native.schema()])}")


def add_alerts(findings: bool, fingerprints: Any, connections: bool, events: Any) -> tuple[list[str], list[Any]]:
    """The events with those that findings and watch lists add, and the files of the lists."""
    lists = paths_of(fingerprints)
    _need({"finding": ("findings", findings), "match": ("fingerprints", lists), "connection": ("connections", connections)}, events)
    added = [name for name, wanted in (("finding", findings), ("match", lists)) if wanted]
    return (list(dict.fromkeys([*events, *added])) if events else []), lists


def paths_of(given: Any) -> list[Any]:
    """One path or several, as a list."""
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def events_of_shard(findings: bool, events: Sequence[str]) -> list[str]:
    """The events that a shard reports."""
    if findings:
        raise ValueError("findings need all packets of a host: leave shard out")
    if set(events) & set(HOST_EVENTS):
        raise ValueError("a shard has no events of hosts: see host_events")
    return list(events) or [name for name in _native.event_names() if name not in HOST_EVENTS]


def _need(options: dict[str, tuple[str, Any]], events: Iterable[str]) -> None:
    """Raises ValueError if events are chosen without the option that reports them."""
    for event in events:
        option, given = options.get(event, ("", True))
        if not given:
            raise ValueError(f"the event {event!r} needs the option {option}")


def nearest(name: str, known: Sequence[str]) -> str:
    """The known names that are like this one, as the end of a message."""
    near = difflib.get_close_matches(name, known)
    return f": did you mean {' or '.join(near)}?" if near else f"; known are {', '.join(known)}"
