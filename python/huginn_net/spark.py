"""A data source of Spark 4 for captures; also of Sail.

>>> from huginn_net.spark import HuginnNetDataSource
>>> spark.dataSource.register(HuginnNetDataSource)  # doctest: +SKIP
>>> spark.read.format("huginn_net").load("captures/**/*.pcap*")  # doctest: +SKIP

Options: ``table``, ``events`` (default) or ``host_records``, the records for `host_events`; ``path``, a path, a pattern, a folder, or a URL that fsspec opens (``s3://…``); ``protocols``, ``workers``,
``connections`` and ``db`` as in `huginn_net.read_pcap`; ``onError``, ``raise`` or ``skip``; ``partitionBytes``, the size that
files are packed to (default 32 MiB); ``shards``, the number of tasks for each file: each analyses some of its flows. A schema given by ``.schema("ts timestamp, ja4 string")`` reads only these columns.
``events`` selects events: ``"tls_client,tls_server"``. Filters ``event = '…'`` and ``event IN (…)`` do so too on Sail, and on
Spark with the option ``filterPushdown`` and ``spark.sql.python.filterPushdown.enabled``.

A partition is one or more whole files, or a shard of them: flows that go over several files are not joined. Events of hosts
(``uptime``, ``host_change``, ``ip_sharing``, ``tool``) are those of each file alone, and left out with ``shards``; `host_events` gives
those of all files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

try:
    from pyspark.sql.datasource import EqualTo, In
except ImportError:  # Spark 4.0 pushes no filters.
    EqualTo = In = ()

from . import HOST_EVENTS, PROTOCOLS, HostRecords, _native

#: Size that files are packed to, in bytes.
PARTITION_BYTES = 32 << 20

#: Events that an analysis of one protocol reports. Others need all protocols.
_EVENTS_OF = {
    "tls": {"tls_client", "tls_server", "tls_handshake", "tls_certificates"},
    "ssh": {"ssh_client", "ssh_server", "ssh_handshake"},
}

_TYPES = {
    "Utf8": StringType(),
    "Int32": IntegerType(),
    "Int64": LongType(),
    "Float64": DoubleType(),
    "Boolean": BooleanType(),
}


def _spark_type(name: str) -> DataType:
    """The type of Spark for a type of Arrow."""
    if name.startswith("Timestamp"):
        return TimestampType()
    if name.startswith("List"):
        element = next(spark for arrow, spark in _TYPES.items() if arrow in name)
        for _ in range(name.count("List")):
            element = ArrayType(element)
        return element
    return _TYPES[name]


class HuginnNetDataSource(DataSource):
    """Captures as rows of events."""

    @classmethod
    def name(cls) -> str:
        return "huginn_net"

    def schema(self) -> StructType:
        return _schema_of(_table_of(self.options))

    def reader(self, schema: Any) -> CaptureReader:
        options = {name.lower(): value for name, value in self.options.items()}
        # Spark refuses readers that take filters, unless spark.sql.python.filterPushdown.enabled is true.
        default = "false" if isinstance(schema, StructType) else "true"
        takes_filters = options.get("filterpushdown", default).lower() == "true"
        return (FilteringReader if takes_filters else CaptureReader)(options, schema)

    def streamReader(self, schema: Any) -> CaptureStreamReader:  # noqa: N802: Spark's name.
        return CaptureStreamReader(dict(self.options), schema)


def _table_of(options: Any) -> str:
    """The table that the options select."""
    options = {name.lower(): value for name, value in options.items()}
    table = options.get("table", "events")
    if table not in ("events", "host_records"):
        raise ValueError("table must be 'events' or 'host_records'")
    return table


def _schema_of(table: str) -> StructType:
    columns = _native.schema() if table == "events" else _native.host_record_schema()
    return StructType([StructField(name, _spark_type(kind)) for name, kind, *_ in columns])


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
        return pa.table(hosts.feed(ordered["record"].to_pylist(), ordered["file"].to_pylist()))

    return records.groupBy("host_ip").applyInArrow(feed, _schema_of("events"))


@dataclass
class Files(InputPartition):
    """The files of a partition, and the shard of them."""

    urls: list[str]
    shard: tuple[int, int] | None = None


class _Reading:
    """Options of a reader, and the reading of a partition."""

    def __init__(self, options: dict[str, str], schema: Any) -> None:
        columns = list(schema.names)
        self.table = _table_of(options)
        unknown = set(columns) - set(_schema_of(self.table).names)
        if unknown:
            raise ValueError(f"no such columns: {', '.join(sorted(unknown))}")
        # Spark does not keep the case of options.
        options = {name.lower(): value for name, value in options.items()}
        if "path" not in options:
            raise ValueError("no path: name captures with load(path)")
        self.path = options["path"]
        self.columns = columns
        # Sail gives a schema of Arrow, and takes no other time zone than its own; Spark gives its StructType.
        self.target = None if isinstance(schema, StructType) else schema
        self.db = options.get("db")
        self.workers = int(options.get("workers", 1))
        self.connections = options.get("connections", "false").lower() == "true"
        self.protocols = options.get("protocols", ",".join(PROTOCOLS)).split(",")
        self.skip_errors = {"raise": False, "skip": True}[options.get("onerror", "raise")]
        self.partition_bytes = int(options.get("partitionbytes", PARTITION_BYTES))
        self.shards = int(options.get("shards", 1))
        if self.shards < 1:
            raise ValueError("shards must be positive")
        self.events: list[str] | None = None
        if self.shards > 1 and self.table == "events":
            self.events = [name for name in _native.event_names() if name not in HOST_EVENTS]
        if "events" in options:
            self.events = options["events"].split(",")
            unknown = set(self.events) - set(_native.event_names())
            if unknown:
                raise ValueError(f"unknown events: {', '.join(sorted(unknown))}")
            if self.shards > 1 and set(self.events) & set(HOST_EVENTS):
                raise ValueError("a shard has no events of hosts: see host_events")

    def pack(self, files: list[tuple[str, int]]) -> list[Files]:
        """Packs whole files, in order, to partitions of about the same size; one for each shard of them."""
        partitions: list[Files] = []
        size = 0
        for url, length in files:
            if not partitions or size + length > self.partition_bytes:
                partitions.append(Files([]))
                size = 0
            partitions[-1].urls.append(url)
            size += length
        if self.shards == 1:
            return partitions
        return [Files(files.urls, (index, self.shards)) for files in partitions for index in range(self.shards)]

    def read_files(self, partition: Files) -> Iterator[Any]:
        """Yields the batches of a partition. Files are opened one after the other."""
        import pyarrow as pa

        if self.events is not None and not self.events:
            return
        protocols = self.protocols
        for protocol, events in _EVENTS_OF.items():
            if self.events and set(self.events) <= events:
                protocols = [name for name in protocols if name == protocol]
        for url in partition.urls:
            try:
                with _open(url) as source:
                    capture = _native.Capture(
                        [source],
                        protocols,
                        self.db,
                        self.workers,
                        self.connections,
                        self.skip_errors,
                        self.events or [],
                        self.columns if self.table == "events" else [],
                        [url],
                        partition.shard,
                    )
                    rows = capture if self.table == "events" else HostRecords(capture)
                    for batch in pa.RecordBatchReader.from_stream(rows):
                        batch = batch.select(self.columns)
                        yield batch if self.target is None else batch.cast(self.target)
            except OSError:
                if not self.skip_errors:
                    raise


class CaptureReader(_Reading, DataSourceReader):
    """Reads captures once."""

    def partitions(self) -> Sequence[Files]:
        return self.pack(_list(self.path))

    def read(self, partition: Files) -> Iterator[Any]:
        return self.read_files(partition)


class FilteringReader(CaptureReader):
    """Reads captures once, and only the events that filters select."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802: Spark's name.
        for one in filters:
            if isinstance(one, EqualTo) and one.attribute == ("event",):
                self._select([one.value])
            elif isinstance(one, In) and one.attribute == ("event",):
                self._select(list(one.value))
            else:
                yield one

    def _select(self, events: list[str]) -> None:
        known = [name for name in _native.event_names() if name in events]
        self.events = known if self.events is None else [name for name in self.events if name in known]


class CaptureStreamReader(_Reading, DataSourceStreamReader):
    """Reads captures that appear in a folder. A file must be complete when it gets its name."""

    def initialOffset(self) -> dict:  # noqa: N802: Spark's name.
        return {"files": 0}

    def latestOffset(self) -> dict:  # noqa: N802: Spark's name.
        return {"files": len(self._by_arrival())}

    def partitions(self, start: dict, end: dict) -> Sequence[Files]:
        files = self._by_arrival()[start["files"] : end["files"]]
        return self.pack([(url, length) for _, url, length in files])

    def read(self, partition: Files) -> Iterator[Any]:
        return self.read_files(partition)

    def _by_arrival(self) -> list[tuple[float, str, int]]:
        """The files by the time at which they got their names: new ones come last."""
        return sorted((_arrived(url), url, length) for url, length in _list(self.path))


def _list(path: str) -> list[tuple[str, int]]:
    """The captures that a path, a pattern, a folder or a URL names, with their sizes, sorted by name."""
    if "://" in path:
        import fsspec

        filesystem, _, _ = fsspec.get_fs_token_paths(path)
        names = filesystem.glob(path) if any(mark in path for mark in "*?[") else [filesystem._strip_protocol(path)]
        if len(names) == 1 and filesystem.isdir(names[0]):
            names = filesystem.find(names[0])
        found = [(filesystem.unstrip_protocol(name), filesystem.size(name) or 0) for name in names]
    else:
        import glob

        names = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
        if len(names) == 1 and os.path.isdir(names[0]):
            names = [os.path.join(folder, name) for folder, _, files in os.walk(names[0]) for name in files]
        found = [(name, os.path.getsize(name)) for name in names if os.path.isfile(name)]
    if not found:
        raise FileNotFoundError(f"no file matches {path}")
    return sorted(found)


def _arrived(url: str) -> float:
    if "://" in url:
        import fsspec

        filesystem, name = fsspec.core.url_to_fs(url)
        return filesystem.modified(name).timestamp()
    # A program may set the time of modification; a rename sets that of the status.
    return os.stat(url).st_ctime


def _open(url: str) -> Any:
    """A context with the source: a path as it is, so that Python does not read it, or a file-like object."""
    if "://" in url:
        import fsspec

        return fsspec.open(url, "rb").open()
    os.stat(url)
    return contextlib.nullcontext(url)
