"""A data source of Spark 4 for captures; also of Sail.

>>> from huginn_net.spark import HuginnNetDataSource
>>> spark.dataSource.register(HuginnNetDataSource)  # doctest: +SKIP
>>> spark.read.format("huginn_net").load("captures/**/*.pcap*")  # doctest: +SKIP

``load`` takes a path, a pattern, a folder, a URL (``s3://…``, as in `huginn_net.read_pcap`), or a list of these. Options:

- ``table``: ``events`` (default); ``host_records``, the records for `host_events`; ``errors``, the captures that cannot be
  read to their end, each once, with the packet and the byte offset of the damage; or ``counters``, one row for each capture and shard,
  with the number of its packets and all counters of the analysis as JSON (`huginn_net.Capture.stats`).
- ``events``: the events that become rows, ``"tls_client,tls_server"``; ``protocols``, ``workers``, ``connections``, ``findings``,
  ``fingerprints``, ``baseline``, ``known`` and ``keylog`` (paths with commas between them), ``where``, ``from``, ``to``, ``filter``, ``port``, ``net``,
  ``excludePort``, ``excludeNet`` (with commas, too), ``db`` and ``maxCompressionRatio`` (``none`` removes it) as in `huginn_net.read_pcap`.
- ``onError``: ``raise``, or ``skip``, which keeps the rows before the damage and goes on with the next capture.
- ``partitionBytes``: the size that files are packed to (default 32 MiB). ``shards``: the number of tasks for each file: each
  analyses some of its flows.
- ``settleSeconds``: for how long a local file must not have changed before a stream reads it (default 10).
- ``storageOptions``: as JSON, the ``storage_options`` of `huginn_net.read_pcap`. The settings ``fs.s3a.*`` of Spark do not apply.

An option that does not exist is an error. A schema given by ``.schema("ts timestamp, ja4 string")`` reads only these columns. On
Sail a filter ``event = '…'`` or ``event IN (…)`` selects events as the option does. Spark keeps the filters of a query for the
later queries of the same DataFrame (seen with 4.1), so that it gets none to keep: use the option ``events``.

A partition is one or more whole files, or a shard of them: flows that go over several files are not joined. Events of hosts
(``uptime``, ``host_change``, ``ip_sharing``, ``tool``) are those of each file alone, and left out with ``shards``; `host_events` gives
those of all files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from . import _native, _storage
from ._capture import read_pcap
from ._files import key_logs, list_files, name_of, source_of
from ._growing import SETTLE_SECONDS, Growing, size_of
from ._hosts import HostRecords
from ._options import PROTOCOLS, add_implied, nearest

#: Filters. Spark 4.0 has none.
_EQUAL_TO: Any = getattr(datasource, "EqualTo", ())
_IN: Any = getattr(datasource, "In", ())

#: Size that files are packed to, in bytes.
PARTITION_BYTES = 32 << 20

#: Events that an analysis of one protocol reports. Others need all protocols.
_EVENTS_OF = {
    "tls": {"tls_client", "tls_server", "tls_handshake", "tls_certificates"},
    "ssh": {"ssh_client", "ssh_server", "ssh_handshake"},
}


class HuginnNetDataSource(DataSource):
    """Captures as rows of a table."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._checked = _Options.of(options)

    @classmethod
    def name(cls) -> str:
        return "huginn_net"

    def schema(self) -> StructType:
        return _spark_schema(self._checked.table)

    def reader(self, schema: Any) -> CaptureReader:
        # Spark gives a schema of its own, and Sail one of Arrow.
        return (CaptureReader if isinstance(schema, StructType) else FilteringReader)(self._checked, schema)

    def streamReader(self, schema: Any) -> CaptureStreamReader:  # noqa: N802: Spark's name.
        return CaptureStreamReader(self._checked, schema)


def _choice(*values: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text.lower() not in values:
            raise ValueError(f"must be one of {', '.join(values)}")
        return text.lower()

    return check


def _boolean(text: str) -> bool:
    return _choice("true", "false")(text) == "true"


def _positive(text: str) -> int:
    if int(text) < 1:
        raise ValueError("must be positive")
    return int(text)


def _ports(text: str) -> list[int]:
    ports = [int(port) for port in text.split(",")]
    if not all(0 <= port <= 65535 for port in ports):
        raise ValueError("a port is a number from 0 to 65535")
    return ports


def _seconds(text: str) -> float:
    if not 0 <= float(text) < float("inf"):
        raise ValueError("must not be negative")
    return float(text)


def _object(text: str) -> dict[str, Any]:
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("must be a JSON object")
    return values


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        if names == [""]:
            raise ValueError("names nothing")
        for name in names:
            if name not in known:
                raise ValueError(f"has no {name!r}{nearest(name, known)}")
        return names

    return check


@dataclass
class _Options:
    """The options of a data source."""

    paths: list[str]
    table: str = "events"
    events: list[str] | None = None
    protocols: list[str] | tuple[str, ...] = PROTOCOLS
    workers: int = 1
    connections: bool = False
    findings: bool = False
    fingerprints: list[str] = field(default_factory=list)
    baseline: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    keylog: list[str] = field(default_factory=list)
    where: str | None = None
    from_: str | None = None
    to: str | None = None
    port: list[int] = field(default_factory=list)
    net: list[str] = field(default_factory=list)
    exclude_port: list[int] = field(default_factory=list)
    exclude_net: list[str] = field(default_factory=list)
    filter: str | None = None
    max_compression_ratio: int | None = 1000
    db: str | None = None
    skip_errors: bool = False
    partition_bytes: int = PARTITION_BYTES
    shards: int = 1
    settle_seconds: float = SETTLE_SECONDS
    storage_options: _storage.StorageOptions = None

    @classmethod
    def of(cls, options: Any) -> _Options:
        """Checks the options of Spark, which does not keep their case."""
        known: dict[str, tuple[str, Callable[[str], Any]]] = {
            "path": ("paths", lambda text: [text]),
            "paths": ("paths", json.loads),
            "table": ("table", _choice(*_TABLES)),
            "events": ("events", _names(_native.event_names())),
            "protocols": ("protocols", _names(PROTOCOLS)),
            "workers": ("workers", _positive),
            "connections": ("connections", _boolean),
            "findings": ("findings", _boolean),
            **{name: (name, lambda text: text.split(",")) for name in ("fingerprints", "baseline", "known", "keylog", "net")},
            "port": ("port", _ports),
            "excludePort": ("exclude_port", _ports),
            "excludeNet": ("exclude_net", lambda text: text.split(",")),
            **{name: (name, str) for name in ("where", "to", "filter")},
            "from": ("from_", str),
            "maxCompressionRatio": ("max_compression_ratio", lambda text: None if text == "none" else _positive(text)),
            "db": ("db", str),
            "onError": ("skip_errors", lambda text: _choice("raise", "skip")(text) == "skip"),
            "partitionBytes": ("partition_bytes", _positive),
            "shards": ("shards", _positive),
            "settleSeconds": ("settle_seconds", _seconds),
            "storageOptions": ("storage_options", _object),
        }
        names = {name.lower(): name for name in known}
        values: dict[str, Any] = {"paths": []}
        for given, text in options.items():
            if given.lower() not in names:
                raise ValueError(f"no option {given!r}{nearest(given, list(known))}")
            name = names[given.lower()]
            field, check = known[name]
            try:
                value = check(text)
                values[field] = values["paths"] + value if field == "paths" else value
            except ValueError as error:
                raise ValueError(f"option {name}: {text!r}: {error}") from None
        checked = cls(**values)
        checked.check_events()
        return checked

    def check_events(self) -> None:
        """Adds the events that options imply. Tables of other rows have no events to select."""
        arguments = self.arguments()
        if self.shards > 1:
            arguments["shard"] = (0, self.shards)
        if self.table != "events":
            arguments["events"] = []
        add_implied(arguments)
        if self.table == "events":
            self.events = arguments["events"] or self.events
        self.findings, self.connections = arguments["findings"], arguments["connections"]

    def arguments(self) -> dict[str, Any]:
        """The arguments of the native part, without those that a table and a partition decide."""
        names = ["protocols", "db", "workers", "connections", "findings", "fingerprints", "baseline", "known", "keylog", "where", "from_", "to"]
        names += ["port", "net", "exclude_port", "exclude_net", "filter"]
        arguments = {name: getattr(self, name) for name in names}
        return {**arguments, "max_compression_ratio": self.max_compression_ratio, "events": list(self.events or ())}

    def named_paths(self) -> list[str]:
        if not self.paths:
            raise ValueError("no path: name captures with load(path)")
        return self.paths

    def list_files(self) -> list[tuple[str, int]]:
        """The captures of all paths with their sizes; each once."""
        found = [one for path in self.named_paths() for one in list_files(path, self.storage_options)]
        return list({one.path: (one.path, one.size) for one in found}.values())


def _counters_of(capture: _native.Capture, url: str) -> Any:
    import pyarrow as pa

    rows = [(json.loads(text)["engine"]["frames"], text.decode()) for text in _native.Capture.stats(capture).splitlines()]
    packets, counters = zip(*rows) if rows else ((), ())
    columns = [pa.array([url] * len(rows), pa.string()), pa.array(packets, pa.int64()), pa.array(counters, pa.string())]
    return pa.table(columns, ["file", "packets", "counters"])


#: The tables by their names: the Arrow stream that a capture with a URL gives.
_TABLES: dict[str, Callable[[_native.Capture, str], Any]] = {
    "events": lambda capture, _: capture,
    "host_records": lambda capture, _: HostRecords(capture),
    "errors": lambda capture, _: capture.check(),
    "counters": _counters_of,
}


def _stream(table: str, capture: _native.Capture, url: str) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(_TABLES[table](capture, url))


def _spark_schema(table: str) -> StructType:
    """The columns of a table with the types of Spark."""
    return from_arrow_schema(_stream(table, read_pcap([]), "").schema)


def host_events(records: Any, db: str | None = None) -> Any:
    """Returns the events of hosts that the records of all captures show, as a data frame with the columns of events.

    >>> records = spark.read.format("huginn_net").option("table", "host_records").load("captures")  # doctest: +SKIP
    >>> host_events(records).where("event = 'ip_sharing'")  # doctest: +SKIP

    The records of a host go to one task, which sorts them by time: it needs memory for those of one host. ``db`` is the
    database of the records.
    """
    order = [(name, "ascending") for name in _native.host_record_order()]

    def feed(_: Any, records: Any) -> Any:
        import pyarrow as pa

        ordered = records.sort_by(order)
        hosts = _native.HostTable(db)
        events = hosts.feed_records(ordered["record"].to_pylist(), ordered["file"].to_pylist())
        return pa.concat_tables([pa.table(events), pa.table(hosts.finish_records())])

    return records.groupBy("host_ip").applyInArrow(feed, _spark_schema("events"))


@dataclass
class Files(InputPartition):
    """The files of a partition, and the shard of them."""

    urls: list[str]
    shard: tuple[int, int] | None = None
    #: What identifies the files of a stream, which may move before they are read.
    identities: list[str] | None = None


class _Reading:
    """The reading of partitions."""

    def __init__(self, options: _Options, schema: Any) -> None:
        self.options = options
        self.columns = list(schema.names)
        known = _spark_schema(options.table).names
        for name in self.columns:
            if name not in known:
                raise ValueError(f"no column {name!r}{nearest(name, known)}")
        # Sail takes no other time zone than its own.
        self.target = None if isinstance(schema, StructType) else schema
        self.events = options.events

    def pack(self, files: list[tuple[str, int]]) -> list[Files]:
        """Packs whole files, in order, to partitions of about the same size; one for each shard of them."""
        partitions: list[Files] = []
        size = 0
        for url, length in files:
            if not partitions or size + length > self.options.partition_bytes:
                partitions.append(Files([]))
                size = 0
            partitions[-1].urls.append(url)
            size += length
        shards = self.options.shards
        if shards == 1 or self.options.table == "errors":
            return partitions
        return [Files(files.urls, (index, shards)) for files in partitions for index in range(shards)]

    def read_files(self, sources: Iterable[tuple[str, Callable[[], Any]]], shard: tuple[int, int] | None) -> Iterator[Any]:
        """Yields the batches of captures, which have names and functions of their sources. They are opened one after the other."""
        if self.events is not None and not self.events:
            return
        options = self.options
        protocols = list(options.protocols)
        for protocol, events in _EVENTS_OF.items():
            if self.events and set(self.events) <= events:
                protocols = [name for name in protocols if name == protocol]
        arguments = {
            **options.arguments(),
            "protocols": protocols,
            "skip_errors": options.skip_errors or options.table == "errors",
            "events": self.events or [],
            "columns": self.columns if options.table == "events" else [],
            "shard": shard,
            "keylog": key_logs(options.keylog, options.storage_options),
        }
        # A file of an option that is missing is an error of all captures.
        _native.Capture([], [], arguments)
        for url, opened in sources:
            try:
                source = opened()
                if isinstance(source, str):
                    os.stat(source)
                name = name_of(url)
                capture = _native.Capture([source], [name], arguments)
                for batch in _stream(options.table, capture, name):
                    batch = batch.select(self.columns)
                    yield batch if self.target is None else batch.cast(self.target)
            except OSError:
                if not options.skip_errors:
                    raise


class CaptureReader(_Reading, DataSourceReader):
    """Reads captures once."""

    def partitions(self) -> Sequence[Files]:
        return self.pack(self.options.list_files())

    def read(self, partition: Any) -> Iterator[Any]:
        sources = ((url, partial(source_of, url, self.options.storage_options)) for url in partition.urls)
        return self.read_files(sources, partition.shard)


class FilteringReader(CaptureReader):
    """Reads captures once, and only the events that filters select."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802: Spark's name.
        for one in filters:
            if isinstance(one, _EQUAL_TO) and one.attribute == ("event",):
                self._select([one.value])
            elif isinstance(one, _IN) and one.attribute == ("event",):
                self._select(list(one.value))
            else:
                yield one

    def _select(self, events: list[str]) -> None:
        known = [name for name in _native.event_names() if name in events]
        self.events = known if self.events is None else [name for name in self.events if name in known]


class CaptureStreamReader(_Reading, DataSourceStreamReader):
    """Reads captures that appear in folders and below URLs, each once (`_growing`).

    An offset names the captures that are there and complete, each with what identifies it. What the end of a batch names
    and its start does not is new, whatever its name and its time. Captures that were deleted leave the offsets; files that were
    renamed stay what they are.
    """

    def __init__(self, options: _Options, schema: Any) -> None:
        super().__init__(options, schema)
        self._growing = Growing(options.named_paths(), options.storage_options, options.settle_seconds, options.skip_errors)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802: Spark's name.
        return {"files": {}}

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802: Spark's name.
        return {"files": dict(sorted(self._growing.latest().items()))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Files]:
        new = self._growing.new(start["files"], end["files"])
        found = {name: identity for identity, name in self._growing.find(new)}
        partitions = self.pack(sorted((name, size_of(identity)) for name, identity in found.items()))
        for partition in partitions:
            partition.identities = [found[name] for name in partition.urls]
        return partitions

    def read(self, partition: Any) -> Iterator[Any]:
        named = dict(zip(partition.identities, partition.urls))
        for identity, name in self._growing.find(named):
            yield from self.read_files([(name, partial(self._growing.source, identity, name))], partition.shard)
