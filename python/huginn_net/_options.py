"""Options that sources share."""

from __future__ import annotations

import datetime
import difflib
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import IO, Any, Literal, TypedDict, Union

from . import _native
from ._files import key_logs
from ._storage import StorageOptions

#: A network or an address.
Net = Union[str, IPv4Address, IPv4Network, IPv6Address, IPv6Network]

Protocol = Literal["tcp", "http", "tls", "ssh"]
Transport = Literal["tcp", "quic", "dtls"]

#: A file.
Path = Union[str, os.PathLike[str]]

#: A key log: a file, a URL, or a file-like object.
KeyLog = Union[Path, IO[bytes], IO[str]]

#: A time in UTC, such as '2022-03-17 08:38', or a datetime, which is UTC unless it has a zone.
Time = Union[str, datetime.date]

#: Takes captures that were read, their number, and rows.
ProgressFunction = Callable[[int, int, int], object]

#: The protocols that are analysed unless others are chosen.
PROTOCOLS: tuple[Protocol, ...] = ("tcp", "http", "tls", "ssh")

#: Events that need all packets of a host: a shard has none of them.
HOST_EVENTS = ("uptime", "host_change", "ip_sharing", "tool")


class AnalysisOptions(TypedDict, total=False):
    """Options of every analysis; `read_pcap` describes them."""

    protocols: Sequence[Protocol]
    db: Path | None
    connections: bool
    findings: bool
    scan_ports: int
    scan_hosts: int
    beacon_count: int
    known: Path | Iterable[Path]
    fingerprints: Path | Iterable[Path]
    baseline: Path | Iterable[Path]
    keylog: KeyLog | Iterable[KeyLog]
    storage_options: StorageOptions
    events: Sequence[str]
    columns: Sequence[str]
    where: str | None
    port: int | Iterable[int]
    net: Net | Iterable[Net]
    exclude_port: int | Iterable[int]
    exclude_net: Net | Iterable[Net]
    filter: str | None


class ReadOptions(AnalysisOptions, total=False):
    """Options of `read_pcap`, `scan_pcap` and `sql`."""

    from_: Time | None
    to: Time | None
    workers: int | None
    dictionaries: bool
    shard: tuple[int, int] | None
    max_compression_ratio: int | None
    on_error: Literal["raise", "skip"]
    progress: bool | ProgressFunction


class AnalyzerOptions(AnalysisOptions, total=False):
    """Options of `Analyzer`."""

    from_: Time | None
    to: Time | None
    dictionaries: bool
    hosts: bool


class LiveOptions(AnalysisOptions, total=False):
    """Options of `live`."""

    workers: int
    interval: float


#: The numbers that options may have.
_RANGES = {"scan_ports": (2, 1024), "scan_hosts": (2, 1024), "beacon_count": (3, 1000), "port": (0, 65535), "exclude_port": (0, 65535)}


def arguments_of(options: dict[str, Any], known: type) -> dict[str, Any]:
    """Checks options, which a class names, and returns the arguments of the native part."""
    check_option_names(options, known)
    given = {name: value for name, value in options.items() if value is not None or name == "max_compression_ratio"}
    arguments = {"protocols": PROTOCOLS, "events": (), "columns": (), **given}
    for name in ("protocols", "events", "columns"):
        if isinstance(arguments[name], str):
            raise ValueError(f"{name} is a list of names, not one text")
        arguments[name] = list(arguments[name])
    check_names(arguments["protocols"], arguments["events"], arguments["columns"])
    for name in ("known", "fingerprints", "baseline"):
        arguments[name] = paths_of(arguments.get(name, ()))
    arguments["keylog"] = key_logs(arguments.get("keylog", ()), arguments.get("storage_options"))
    for name in ("net", "exclude_net"):
        nets = arguments.get(name, ())
        arguments[name] = [str(net) for net in (nets if _is_several(nets) else [nets])]
    for name in ("port", "exclude_port"):
        ports = arguments.get(name, ())
        arguments[name] = [ports] if isinstance(ports, int) else list(ports)
    for name in ("from_", "to"):
        if name in arguments:
            arguments[name] = _text_of_time(arguments[name])
    if arguments.get("workers", 1) < 1:
        raise ValueError(f"workers must be at least 1, not {arguments['workers']}")
    if (ratio := arguments.get("max_compression_ratio")) is not None and ratio < 1:
        raise ValueError(f"max_compression_ratio must be at least 1, or None, not {ratio}")
    for name, (least, most) in _RANGES.items():
        numbers = arguments.get(name, ())
        for number in [numbers] if isinstance(numbers, int) else numbers:
            if not least <= number <= most:
                raise ValueError(f"{name} must be a number from {least} to {most}, not {number}")
    add_implied(arguments)
    return arguments


def add_implied(arguments: dict[str, Any]) -> None:
    """Adds what options imply: findings, connections, and the events that `events` does not leave out."""
    events = list(arguments["events"])
    possible, requested = _native.kinds_of_condition(arguments["where"]) if arguments.get("where") else (None, [])
    wanted = {*events, *(kind for kind in requested if not events or kind in events)}
    has_threshold = any(name in arguments for name in ("scan_ports", "scan_hosts", "beacon_count"))
    findings = arguments.get("findings", False) or has_threshold or "finding" in wanted
    connections = arguments.get("connections", False) or "connection" in wanted
    lists, baseline = arguments.get("fingerprints"), arguments.get("baseline")
    if "match" in events and not lists:
        raise ValueError("the event 'match' needs the option fingerprints")
    if events:
        added = [name for name, is_wanted in (("finding", findings or baseline), ("match", lists)) if is_wanted]
        events = list(dict.fromkeys([*events, *added]))
    if arguments.get("shard") is not None:
        if findings or baseline:
            raise ValueError("findings need all packets of a host: leave shard out")
        if set(events) & set(HOST_EVENTS):
            raise ValueError("a shard has no events of hosts: see host_events")
        events = events or [name for name in _native.event_names() if name not in HOST_EVENTS]
    if possible is not None:
        left = [name for name in events or _native.event_names() if name != "match" or lists]
        if not set(possible) & set(left):
            raise ValueError(f"where: only the events {', '.join(possible)} can fulfil the condition, and they are left out")
    arguments.update(events=events, findings=findings, connections=connections)


def check_option_names(options: Iterable[str], known: type) -> None:
    """Raises TypeError for an option that does not exist."""
    names: Collection[str] = known.__optional_keys__  # type: ignore[attr-defined]
    for name in options:
        if name not in names:
            raise TypeError(f"no option {name!r}{nearest(name, sorted(names))}")


def check_names(protocols: Any, events: Any, columns: Any) -> None:
    """Raises ValueError for names that do not exist."""
    for what, given, known in (("protocols", protocols, PROTOCOLS), ("events", events, _native.event_names())):
        for name in given:
            if name not in known:
                raise ValueError(f"{what} has no {name!r}{nearest(name, known)}")
    unknown = _native.unknown_column(list(columns))
    if unknown is not None:
        raise ValueError(f"columns has no {unknown!r}{nearest(unknown, [name for name, *_ in _native.schema()])}")


def paths_of(given: Any) -> list[Any]:
    """One path or several, as a list."""
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _is_several(nets: Any) -> bool:
    # A network can be iterated over, too.
    return isinstance(nets, Iterable) and not isinstance(nets, str) and not hasattr(nets, "version")


def _text_of_time(time: Any) -> str:
    if isinstance(time, datetime.datetime) and time.tzinfo is not None:
        time = time.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return time.isoformat() if isinstance(time, datetime.date) else str(time)


def nearest(name: str, known: Sequence[str]) -> str:
    """The known names that are like this one, as the end of a message."""
    near = difflib.get_close_matches(name, known)
    return f": did you mean {' or '.join(near)}?" if near else f"; known are {', '.join(known)}"
