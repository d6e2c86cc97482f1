"""Passive OS, HTTP, TLS and SSH fingerprinting of captures, as Arrow tables.

>>> import huginn_net as hn
>>> capture = hn.read_pcap("capture.pcap")
>>> capture.to_polars().filter(event="tls_client").select("client_ip", "ja4")  # doctest: +SKIP

A capture is lazy and repeatable: each use reads the files again. It is an Arrow stream (PyCapsule interface), so that
pyarrow, Polars, DuckDB and pandas read it directly.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import ClientHello, Http2Client, TcpSyn, client_hello, explain, http2_client, tcp_syn

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

__all__ = [
    "Capture",
    "ClientHello",
    "HOST_EVENTS",
    "HostTable",
    "Http2Client",
    "Live",
    "TcpSyn",
    "client_fingerprint",
    "client_hello",
    "explain",
    "host_events",
    "http2_client",
    "live",
    "read_pcap",
    "schema",
    "sql",
    "tcp_syn",
]

#: The protocols that are analysed unless others are chosen.
PROTOCOLS = ("tcp", "http", "tls", "ssh")

#: Events that need all packets of a host: a shard has none of them.
HOST_EVENTS = ("uptime", "host_change", "ip_sharing", "tool")


def read_pcap(
    source: Any,
    *,
    protocols: tuple[str, ...] | list[str] = PROTOCOLS,
    db: str | os.PathLike[str] | None = None,
    workers: int = 1,
    connections: bool = False,
    findings: bool = False,
    fingerprints: Any = (),
    events: tuple[str, ...] | list[str] = (),
    columns: tuple[str, ...] | list[str] = (),
    dictionaries: bool = False,
    shard: tuple[int, int] | None = None,
    max_compression_ratio: int | None = 1000,
    on_error: str = "raise",
) -> Capture:
    """Reads captures: pcap or pcapng, also .gz and .zst.

    ``source`` is a path, a pattern such as ``"captures/*.pcap"``, bytes, a file-like object, or a list of these. A
    file-like object is read once. Paths are opened at once: a missing file raises FileNotFoundError here.

    ``db`` is a signature database in p0f v3 syntax. ``connections`` adds a row for each connection, ``findings`` one for each
    scan, beacon, contradiction and imitation (docs/findings.md), and ``fingerprints``, a watch list or several
    (docs/watch-lists.md), one for each hit: the event ``match``, which ``events`` does not leave out. ``events`` selects
    events by their names, and ``columns`` columns of the table; without them all are built. ``dictionaries`` stores each text once in a batch: Polars and pandas
    make categories of them. With
    ``on_error="skip"`` captures that cannot be read are skipped, and `Capture.skipped` names them; rows before the
    damage of a capture stay. Otherwise these rows come first, and then the error.

    ``shard=(index, shards)`` analyses one of several disjoint sets of flows, so that several processes can share a
    capture. The events of flows from all shards are those of one analysis; events of hosts (`HOST_EVENTS`) are left out:
    `Capture.host_records` and `host_events` give them.

    ``max_compression_ratio`` ends a .gz or .zst capture that expands to more than this multiple of its length, beyond the first
    64 MiB, with an error; ``None`` removes the limit.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError("on_error must be 'raise' or 'skip'")
    _check(protocols, events, columns)
    events, lists = _alerts(findings, fingerprints, events)
    if shard is not None:
        if findings:
            raise ValueError("findings need all packets of a host: leave shard out")
        if set(events) & set(HOST_EVENTS):
            raise ValueError("a shard has no events of hosts: see host_events")
        events = events or [name for name in _native.event_names() if name not in HOST_EVENTS]
    sources = []
    for one in source if isinstance(source, (list, tuple)) else [source]:
        sources.extend(_expand(one))
    skip_errors = on_error == "skip"
    return Capture(
        sources, list(protocols), db, workers, connections, skip_errors, list(events), list(columns), None, shard, dictionaries,
        max_compression_ratio, findings, lists,
    )


def live(
    interfaces: str | list[str] | tuple[str, ...],
    *,
    protocols: tuple[str, ...] | list[str] = PROTOCOLS,
    db: str | os.PathLike[str] | None = None,
    workers: int = 1,
    connections: bool = False,
    findings: bool = False,
    fingerprints: Any = (),
    events: tuple[str, ...] | list[str] = (),
    columns: tuple[str, ...] | list[str] = (),
    interval: float = 1.0,
) -> Live:
    """Captures from network interfaces; needs the right to do so, on Linux CAP_NET_RAW.

    >>> with hn.live("eth0") as capture:  # doctest: +SKIP
    ...     for batch in capture:
    ...         print(batch.num_rows)

    Each iteration gives a pyarrow.RecordBatch with the events of the last ``interval`` seconds, once there are any. The
    other options are those of `read_pcap`.
    """
    _check(protocols, events, columns)
    events, lists = _alerts(findings, fingerprints, events)
    names = [interfaces] if isinstance(interfaces, str) else list(interfaces)
    return Live(names, list(protocols), db, workers, connections, list(events), list(columns), interval, findings, lists)


def _check(protocols: Any, events: Any, columns: Any) -> None:
    """Raises ValueError for names that do not exist."""
    for what, given, known in (
        ("protocols", protocols, PROTOCOLS),
        ("events", events, _native.event_names()),
        ("columns", columns, schema()),
    ):
        unknown = set(given) - set(known)
        if unknown:
            raise ValueError(f"unknown {what}: {', '.join(sorted(unknown))}")


def _alerts(findings: bool, fingerprints: Any, events: Any) -> tuple[list[str], list[Any]]:
    """The events with those that findings and watch lists add, and the files of the lists."""
    lists = [fingerprints] if isinstance(fingerprints, (str, os.PathLike)) else list(fingerprints)
    added = [name for name, wanted in (("finding", findings), ("match", lists)) if wanted]
    return (list(dict.fromkeys([*events, *added])) if events else []), lists


def _expand(source: Any) -> list[Any]:
    """The files that a pattern matches, or the source itself."""
    if isinstance(source, str) and glob.has_magic(source) and not os.path.exists(source):
        found = sorted(glob.glob(source, recursive=True))
        if not found:
            raise FileNotFoundError(f"no file matches {source}")
        return found
    return [source]


class Capture(_native.Capture):
    """Captures that are analysed whenever they are used; see `read_pcap`."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterates over events as dicts, with the fields of the program's JSON."""
        for text in self.events():
            yield from map(json.loads, text.splitlines())

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table. Ctrl-C works between batches."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(self)
        return pa.Table.from_batches(list(reader), schema=reader.schema)

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars.DataFrame."""
        import polars as pl

        return pl.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas.DataFrame (needs pyarrow)."""
        return self.to_arrow().to_pandas()

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Returns a DuckDB relation. Each query on it reads the captures again."""
        import duckdb

        return (connection or duckdb).from_arrow(self)

    def write_parquet(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Writes a Parquet file with pyarrow; it has a temporary name until it is complete."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = os.fspath(path)
        folder, name = os.path.split(path)
        unfinished = os.path.join(folder, f".{name}.unfinished")
        reader = pa.RecordBatchReader.from_stream(self)
        try:
            with pq.ParquetWriter(unfinished, reader.schema, **options) as writer:
                for batch in reader:
                    writer.write_batch(batch)
            os.replace(unfinished, path)
        except BaseException:
            if os.path.exists(unfinished):
                os.remove(unfinished)
            raise

    def hosts(self) -> list[dict[str, Any]]:
        """Returns the hosts of each capture, with verdict and evidence, as the program's JSON has them."""
        return [json.loads(line) for line in super().hosts().splitlines()]

    def host_records(self) -> HostRecords:
        """Returns what the captures tell of hosts, as an Arrow stream for `host_events`: one record for each observation.

        Its columns are ``ts``, ``ts_nanos``, ``file``, ``packet``, ``position``, ``host_ip`` and ``record``. Stage two
        needs the same version of this package and the same database.
        """
        return HostRecords(self)

    def stats(self) -> list[dict[str, Any]]:
        """Returns the counters of each capture."""
        return [json.loads(line) for line in super().stats().splitlines()]

    @property
    def skipped(self) -> list[str]:
        """The errors of captures that ``on_error="skip"`` skipped, so far."""
        return super().skipped()


class HostRecords:
    """Records of hosts as an Arrow stream; see `Capture.host_records`."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A stream of Arrow record batches: the Arrow PyCapsule interface."""
        return _native.Capture.host_records(self._capture)

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table."""
        import pyarrow as pa

        return pa.table(self)


class HostTable(_native.HostTable):
    """The hosts of several captures or shards: the second stage.

    ``db`` is the signature database of the first stage, and ``columns`` selects columns of the events.
    """

    def feed(self, records: Any) -> pyarrow.Table:
        """Takes records in the order of time, from any Arrow stream, and returns the events of hosts that follow."""
        import pyarrow as pa

        tables = [
            pa.table(super(HostTable, self).feed(batch["record"].to_pylist(), batch["file"].to_pylist()))
            for batch in pa.RecordBatchReader.from_stream(records)
        ]
        return pa.concat_tables(tables) if tables else pa.table(super().feed([], []))

    def hosts(self) -> list[dict[str, Any]]:
        """Returns the hosts so far, with verdict and evidence, as `Capture.hosts`."""
        return [json.loads(line) for line in super().hosts().splitlines()]


def host_events(records: Any, *, db: str | os.PathLike[str] | None = None) -> pyarrow.Table:
    """Returns the events of hosts (`HOST_EVENTS`) that the records of several captures or shards show together.

    ``records`` is one Arrow stream or a list of them, such as `Capture.host_records` of each shard. They are sorted by
    time, file, packet and position: the events are those of one analysis of all packets in this order.

    >>> shards = [hn.read_pcap("huge.pcap", shard=(index, 8)) for index in range(8)]  # doctest: +SKIP
    >>> hn.host_events([shard.host_records() for shard in shards])  # doctest: +SKIP
    """
    import pyarrow as pa

    streams = records if isinstance(records, (list, tuple)) else [records]
    table = pa.concat_tables([pa.table(stream) for stream in streams])
    order = [(name, "ascending") for name in _native.host_record_order()]
    return HostTable(db).feed(table.sort_by(order))


class Live(_native.Live):
    """A running capture; see `live`. It is an iterator and a context manager."""

    def __next__(self) -> pyarrow.RecordBatch:
        import pyarrow as pa

        (batch,) = pa.table(super().__next__()).to_batches()
        return batch

    def __iter__(self) -> Live:
        return self

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stats(self) -> dict[str, Any]:
        """Returns frames received and dropped by interface, and the number of events that were dropped unread."""
        counters = {name: {"received": received, "dropped": dropped} for name, received, dropped in self.interfaces()}
        return {"interfaces": counters, "dropped_events": self.dropped_events()}


def client_fingerprint(
    *, syn: bytes | None = None, tls: bytes | None = None, quic: Sequence[bytes] = (), http: bytes | None = None
) -> dict[str, Any]:
    """Computes all fingerprints of a client from the first bytes of its connection.

    Args:
        syn: The SYN, from its IP header on, such as Linux saves with TCP_SAVE_SYN.
        tls: What the client sent first: TLS records, up to the ClientHello.
        quic: The UDP payloads that the client of a QUIC connection sent, from the one that opened it on.
        http: The bytes of the first request, decrypted: the head of HTTP/1, or the frames of HTTP/2 to its HEADERS.

    Returns:
        The layers ``tcp``, ``tls``, ``http`` and ``consistency``, as JSON (docs/proxy.md). Layers that are incomplete, or
        cannot be parsed, are absent.
    """
    return json.loads(_native.client_fingerprint(syn, tls, list(quic), http))


def sql(query: str, source: Any, **options: Any) -> duckdb.DuckDBPyRelation:
    """Runs a DuckDB query over the table ``events`` of captures (needs duckdb).

    >>> hn.sql("SELECT ja4, count(*) FROM events GROUP BY ja4", "capture.pcap")  # doctest: +SKIP
    """
    import duckdb

    # DuckDB finds the table by the name of this variable.
    events = source if isinstance(source, Capture) else read_pcap(source, **options)  # noqa: F841
    return duckdb.sql(query)


def schema() -> dict[str, str]:
    """Returns the columns of the table with their meaning."""
    return {name: meaning for name, _, meaning in _native.schema()}
