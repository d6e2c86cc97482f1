"""Passive OS, HTTP, TLS and SSH fingerprinting of captures, as Arrow tables.

>>> import huginn_net as hn
>>> capture = hn.read_pcap("capture.pcap")
>>> capture.to_polars().filter(event="tls_client").select("client_ip", "ja4")  # doctest: +SKIP

A capture is lazy and repeatable: each use reads the files again. It is an Arrow stream (PyCapsule interface), so that
pyarrow, Polars, DuckDB and pandas read it directly.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import glob
import io
import json
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._native import CaptureError, ClientHello, Column, Http2Client, TcpSyn, client_hello, explain, http2_client, tcp_syn
from .names import name_clients

if TYPE_CHECKING:
    from typing import Self

    import duckdb
    import pandas
    import polars
    import pyarrow

__version__ = version("huginn-net")

__all__ = [
    "Capture",
    "CaptureError",
    "ClientHello",
    "Column",
    "HOST_EVENTS",
    "HostRecords",
    "HostTable",
    "Http2Client",
    "Live",
    "TcpSyn",
    "client_fingerprint",
    "client_hello",
    "explain",
    "hassh",
    "hassh_server",
    "host_events",
    "http2_client",
    "ja3_hash",
    "ja3s_hash",
    "ja4",
    "ja4_stable",
    "live",
    "name_clients",
    "read_pcap",
    "register_duckdb",
    "scan_pcap",
    "schema",
    "sql",
    "tcp_syn",
]

Protocol = Literal["tcp", "http", "tls", "ssh"]
Transport = Literal["tcp", "quic", "dtls"]

#: Takes captures that were read, their number, and rows.
ProgressFunction = Callable[[int, int, int], object]

#: The protocols that are analysed unless others are chosen.
PROTOCOLS: tuple[Protocol, ...] = ("tcp", "http", "tls", "ssh")

#: Events that need all packets of a host: a shard has none of them.
HOST_EVENTS = ("uptime", "host_change", "ip_sharing", "tool")


#: Rows of a row group of Parquet, and bytes from which on one is complete.
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 256 << 20

#: Bytes of the name of a folder, at most.
_MAX_NAME_BYTES = 255


def read_pcap(
    source: Any,
    *,
    protocols: Sequence[Protocol] = PROTOCOLS,
    db: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    connections: bool = False,
    findings: bool = False,
    fingerprints: Any = (),
    keylog: Any = (),
    events: Sequence[str] = (),
    columns: Sequence[str] = (),
    dictionaries: bool = False,
    shard: tuple[int, int] | None = None,
    max_compression_ratio: int | None = 1000,
    on_error: Literal["raise", "skip"] = "raise",
    progress: bool | ProgressFunction = False,
) -> Capture:
    """Reads captures: pcap or pcapng, also .gz and .zst.

    ``source`` is a path, a folder (its captures and those of its folders, in the order of their names), a pattern such as
    ``"captures/*.pcap"``, a URL that fsspec opens (``s3://…``, also a pattern), bytes, a file-like object, or several of
    these in a list or another iterable. A file-like object is read once. Paths are opened at once: a missing file raises
    FileNotFoundError here.

    Several captures are analysed at the same time, on all cores or on ``workers`` threads; rows keep the order of the
    captures. A single capture has one thread, or ``workers``. File-like objects are read one after the other.

    ``db`` is a signature database in p0f v3 syntax. ``connections`` adds a row for each connection, ``findings`` one for each
    scan, beacon, contradiction and imitation (docs/findings.md), and ``fingerprints``, a watch list or several
    (docs/watch-lists.md), one for each hit: the event ``match``, which ``events`` does not leave out. ``events`` selects
    events by their names, and ``columns`` columns of the table, by the names of columns or of fields in JSON (``sni`` is the
    column ``tls_sni``, ``software`` all columns of its fields); without them all are built. ``dictionaries`` stores each
    text once in a batch: Polars and pandas make categories of them. With ``on_error="skip"`` captures that cannot be read
    are skipped, and `Capture.errors` lists them; rows before the damage of a capture stay. Otherwise these rows come
    first, and then the error: `CaptureError`, from Polars or DuckDB themselves one of theirs.

    ``shard=(index, shards)`` analyses one of several disjoint sets of flows, so that several processes can share a
    capture. The events of flows from all shards are those of one analysis; events of hosts (`HOST_EVENTS`) are left out:
    `Capture.host_records` and `host_events` give them.

    ``keylog``, a key log as ``SSLKEYLOGFILE`` names one or several, decrypts TLS and QUIC: the HTTP inside becomes rows with
    ``decrypted`` (docs/decryption.md). A pcapng file with Decryption Secrets Blocks is one, too; secrets that a capture brings
    are used without it, except those of file-like objects and URLs. Key logs are read once, here.

    ``max_compression_ratio`` ends a .gz or .zst capture that expands to more than this multiple of its length, beyond the first
    64 MiB, with an error; ``None`` removes the limit.

    ``progress=True`` shows captures and rows while they are read to a table or Parquet, or by a query of `scan_pcap` or `sql`: as a bar
    of tqdm if it is installed, in notebooks too, else as a line on standard error. A function is called with the captures that were
    read, their number, and the rows so far.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError("on_error must be 'raise' or 'skip'")
    _check(protocols, events, columns)
    events, lists = _alerts(findings, fingerprints, connections, events)
    if shard is not None:
        events = _events_of_shard(findings, events)
    named = list(_expand(source))
    return Capture(
        {
            "sources": [one for _, one in named],
            "names": [name for name, _ in named],
            "protocols": list(protocols),
            "db": db,
            "workers": workers,
            "connections": connections,
            "skip_errors": on_error == "skip",
            "events": list(events),
            "columns": list(columns),
            "shard": shard,
            "dictionaries": dictionaries,
            "max_compression_ratio": max_compression_ratio,
            "findings": findings,
            "fingerprints": lists,
            "keylog": _paths(keylog),
        },
        progress=progress,
    )


def scan_pcap(source: Any, **options: Any) -> polars.LazyFrame:
    """Returns a polars.LazyFrame of captures: ``source`` and ``options`` are those of `read_pcap`, or a `Capture`.

    Only the columns of the query are built. Conditions on the column ``event`` decide what is analysed, also beside others. Rows are
    read batch by batch, so that a streaming query needs memory for its result.

    >>> hello = hn.scan_pcap("capture.pcap").filter(pl.col("event") == "tls_client")  # doctest: +SKIP
    >>> hello.group_by("ja4").len().collect(engine="streaming")  # doctest: +SKIP
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    capture = _capture_of(source, options)

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        changes: dict[str, Any] = {}
        if with_columns is not None:
            used = {*with_columns, *(predicate.meta.root_names() if predicate is not None else ())}
            changes["columns"] = [name for name in capture.schema.names if name in used]
        # The number of rows is that before the filter.
        of_event = [] if predicate is None or n_rows is not None else _conditions_of("event", predicate)
        if of_event:
            names = capture._arguments["events"] or _native.event_names()
            changes["events"] = pl.DataFrame({"event": names}).filter(of_event)["event"].to_list()
            if not changes["events"]:
                return
        left = n_rows
        for batch in capture._changed(changes)._batches():
            frame = pl.DataFrame(batch)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame if with_columns is None else frame.select(with_columns)
            if left == 0:
                return

    return register_io_source(batches, schema=pl.DataFrame(capture.schema.empty_table()).schema)


def _conditions_of(column: str, predicate: polars.Expr) -> list[polars.Expr]:
    """The conditions of a predicate that depend on one column alone: all of its conditions have to hold."""
    found, waiting = [], [predicate]
    while waiting:
        condition = waiting.pop()
        parts = condition.meta.pop()
        if len(parts) == 2 and any((a & b).meta.eq(condition) for a, b in (parts, parts[::-1])):
            waiting += parts
        elif set(condition.meta.root_names()) == {column}:
            found.append(condition)
    return found


def live(
    interfaces: str | list[str] | tuple[str, ...],
    *,
    protocols: Sequence[Protocol] = PROTOCOLS,
    db: str | os.PathLike[str] | None = None,
    workers: int = 1,
    connections: bool = False,
    findings: bool = False,
    fingerprints: Any = (),
    events: Sequence[str] = (),
    columns: Sequence[str] = (),
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
    events, lists = _alerts(findings, fingerprints, connections, events)
    names = [interfaces] if isinstance(interfaces, str) else list(interfaces)
    return Live(names, list(protocols), db, workers, connections, list(events), list(columns), interval, findings, lists)


def _check(protocols: Any, events: Any, columns: Any) -> None:
    """Raises ValueError for names that do not exist."""
    for what, given in (("protocols", protocols), ("events", events), ("columns", columns)):
        if isinstance(given, str):
            raise ValueError(f"{what} is a list of names, not one text")
    for what, given, known in (("protocols", protocols, PROTOCOLS), ("events", events, _native.event_names())):
        for name in given:
            if name not in known:
                raise ValueError(f"{what} has no {name!r}{_nearest(name, known)}")
    unknown = _native.unknown_column(list(columns))
    if unknown is not None:
        raise ValueError(f"columns has no {unknown!r}{_nearest(unknown, list(schema()))}")


def _alerts(findings: bool, fingerprints: Any, connections: bool, events: Any) -> tuple[list[str], list[Any]]:
    """The events with those that findings and watch lists add, and the files of the lists."""
    lists = _paths(fingerprints)
    _need({"finding": ("findings", findings), "match": ("fingerprints", lists), "connection": ("connections", connections)}, events)
    added = [name for name, wanted in (("finding", findings), ("match", lists)) if wanted]
    return (list(dict.fromkeys([*events, *added])) if events else []), lists


def _paths(given: Any) -> list[Any]:
    """One path or several, as a list."""
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _events_of_shard(findings: bool, events: Sequence[str]) -> list[str]:
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


def _nearest(name: str, known: Sequence[str]) -> str:
    """The known names that are like this one, as the end of a message."""
    near = difflib.get_close_matches(name, known)
    return f": did you mean {' or '.join(near)}?" if near else f"; known are {', '.join(known)}"


def _expand(source: Any) -> Iterator[tuple[str | None, Any]]:
    """The captures of a source, each with its name, if it has one."""
    if isinstance(source, (str, os.PathLike)):
        yield from ((name, _opener(name)) for name, _ in _files(os.fspath(source)))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield None, bytes(source)
    elif isinstance(source, io.TextIOBase):
        raise TypeError("a capture is not text: open the file with mode 'rb'")
    elif hasattr(source, "read"):
        name = getattr(source, "name", None)
        yield name if isinstance(name, str) else None, source
    elif isinstance(source, Iterable):
        for one in source:
            yield from _expand(one)
    else:
        raise TypeError(f"no capture: {source!r}")


def _opener(name: str) -> Any:
    """A path as it is, so that Python does not read it; of a URL, a function that opens it."""
    return functools.partial(_open_url, name) if "://" in name else name


def _open_url(url: str) -> Any:
    import fsspec

    return fsspec.open(url, "rb").open()


def _files(path: str) -> list[tuple[str, int]]:
    """The captures that a path, a pattern, a folder or a URL names, with their sizes, sorted by name."""
    if "://" in path:
        import fsspec

        filesystem, root = fsspec.core.url_to_fs(path)
        if _is_pattern(root) and not filesystem.exists(root):
            names = [name for name in filesystem.glob(root) if not filesystem.isdir(name)]
        elif filesystem.isdir(root):
            names = [name for name in filesystem.find(root) if _native.is_capture_name(name)]
        else:
            names = [root]
        found = [(filesystem.unstrip_protocol(name), filesystem.size(name) or 0) for name in names]
    elif _is_pattern(path) and not os.path.exists(path):
        found = _sizes(name for name in glob.glob(path, recursive=True) if not os.path.isdir(name))
    elif os.path.isdir(path):
        names = [os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files]
        found = _sizes(name for name in names if os.path.isfile(name) and not os.path.islink(name))
        found = [(name, size) for name, size in found if _native.is_capture_name(name) or _native.is_capture(name)]
    else:
        return [(path, os.path.getsize(path))]
    if not found:
        raise FileNotFoundError(f"no capture matches {path}")
    return sorted(found)


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in "*?[")


def _sizes(names: Iterable[str]) -> list[tuple[str, int]]:
    """The names with their sizes, without those that were deleted since."""
    found = []
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            found.append((name, os.path.getsize(name)))
    return found


def _capture_of(source: Any, options: dict[str, Any]) -> Capture:
    if not isinstance(source, Capture):
        return read_pcap(source, **options)
    if options:
        raise TypeError(f"a Capture has options already: give {', '.join(options)} to read_pcap")
    return source


class Capture(_native.Capture):
    """Captures that are analysed whenever they are used; see `read_pcap`."""

    _arguments: dict[str, Any]
    _progress: bool | ProgressFunction

    def __new__(
        cls, arguments: dict[str, Any], errors_of: Capture | None = None, progress: bool | ProgressFunction = False
    ) -> Self:
        self = super().__new__(cls, **arguments, errors_of=errors_of)
        self._arguments = arguments
        self._progress = progress
        return self

    def __reduce__(self) -> Any:
        return Capture, (self._arguments,)

    def __repr__(self) -> str:
        names = [name or "<bytes>" for name in self._arguments["names"]]
        return f"<huginn_net.Capture: {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}>"

    def _changed(self, changes: dict[str, Any]) -> Capture:
        return Capture({**self._arguments, **changes}, self, self._progress)

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The batches of rows, with their progress. Damage is a CaptureError."""
        if not self._progress:
            yield from self._read()
            return
        total, rows = len(self._arguments["names"]), 0
        with contextlib.closing(_Bar()) as bar:
            show = bar.show if self._progress is True else self._progress
            for batch in self._read():
                rows += batch.num_rows
                show(min(self.captures_read(), total), total, rows)
                yield batch
            show(total, total, rows)

    def _read(self) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(self)
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except pa.ArrowException as error:
                self.raise_interrupt()
                raise CaptureError(str(error).removeprefix("External error: ")) from None
            yield batch

    def _groups(self) -> Iterator[list[pyarrow.RecordBatch]]:
        """The batches of row groups."""
        group: list[pyarrow.RecordBatch] = []
        rows = size = 0
        for batch in self._batches():
            group.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
                yield group
                group, rows, size = [], 0, 0
        if group:
            yield group

    @property
    def schema(self) -> pyarrow.Schema:
        """The schema of the table."""
        import pyarrow as pa

        return pa.schema(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterates over events as dicts, with the fields of the program's JSON."""
        for text in self.events():
            yield from map(json.loads, text.splitlines())

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table."""
        import pyarrow as pa

        return pa.Table.from_batches(self._batches(), schema=self.schema)

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars.DataFrame (needs pyarrow). `scan_pcap` builds only what a query needs."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas.DataFrame (needs pyarrow)."""
        return self.to_arrow().to_pandas()

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Returns a DuckDB relation (needs pyarrow). Each query on it reads the captures again, as one of `sql` does."""
        import duckdb

        from ._duckdb import CaptureDataset

        return (connection or duckdb).from_arrow(CaptureDataset(self))

    def write_parquet(
        self, path: str | os.PathLike[str], *, partition_by: Literal["day", "file"] | None = None, **options: Any
    ) -> None:
        """Writes a Parquet file with pyarrow, which takes ``options``. It has a temporary name until it is complete.

        Row groups have up to a million rows, or 256 MiB in memory, of all captures together.

        With ``partition_by`` the path is a new folder: a folder for each day (``day=2026-01-31``, in UTC, a column more), or for each
        capture (``file=…``), as Hive, Spark, DuckDB and Polars read them. A folder has a file for each of these row groups.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = os.fspath(path)
        folder, name = os.path.split(path.rstrip(os.sep))
        unfinished = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.unfinished")
        if partition_by is not None:
            column = {"day": "ts", "file": "file"}.get(partition_by)
            if column not in self.schema.names:
                raise ValueError("partition_by is 'day' or 'file', and needs the column ts or file")
            if os.path.exists(path):
                raise FileExistsError(f"{path}: partitions are written to a new folder")
            if partition_by == "file":
                _check_folders(self._arguments["names"])
        try:
            if partition_by is not None:
                os.mkdir(unfinished)
                for number, group in enumerate(self._groups()):
                    _write_partitions(pa.Table.from_batches(group), partition_by, unfinished, number, options)
            else:
                with pq.ParquetWriter(unfinished, self.schema, **options) as writer:
                    for group in self._groups():
                        table = pa.Table.from_batches(group)
                        writer.write_table(table, row_group_size=table.num_rows)
            os.replace(unfinished, path)
        except BaseException:
            if os.path.isdir(unfinished):
                shutil.rmtree(unfinished)
            elif os.path.exists(unfinished):
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

    def errors(self) -> pyarrow.Table:
        """Returns the captures that the analyses so far could not read to their end, each once.

        Columns: ``file``; ``error``, the reason; ``packet``, the number of the packet that could not be read, from 1; and
        ``offset``, that of its record in the uncompressed capture, in bytes. The last two are null if the capture could not
        be opened.
        """
        import pyarrow as pa

        return pa.table(super().errors())


class _Bar:
    """A line on standard error, or a bar of tqdm if that is installed."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._has_line = False

    def show(self, captures: int, total: int, rows: int) -> None:
        if self._bar is None and not self._has_line:
            with contextlib.suppress(ImportError):
                from tqdm.auto import tqdm

                self._bar = tqdm(total=total, unit=" captures")
        if self._bar is not None:
            self._bar.set_postfix_str(f"{rows:,} rows", refresh=False)
            self._bar.update(captures - self._bar.n)
        else:
            self._has_line = True
            print(f"\r{captures:,} of {total:,} captures, {rows:,} rows", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._has_line:
            print(file=sys.stderr)


def _check_folders(names: Iterable[str | None]) -> None:
    """Raises ValueError if a capture cannot have a folder."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    partitioning = ds.partitioning(pa.schema([pa.field("file", pa.string())]), flavor="hive")
    for name in names:
        folder, _ = partitioning.format(pc.field("file") == name) if name is not None else ("", "")
        if len(os.fsencode(folder)) > _MAX_NAME_BYTES:
            raise ValueError(f"{name}: its folder needs a name of more than {_MAX_NAME_BYTES} bytes: give a shorter path, or partition by day")


def _write_partitions(table: pyarrow.Table, by: str, folder: str, number: int, options: dict[str, Any]) -> None:
    """Writes the rows of a group to the folders of their partitions."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if by == "day":
        table = table.append_column("day", table["ts"].cast(pa.timestamp("s"), safe=False).cast(pa.date32(), safe=False))
    elif pa.types.is_dictionary(table.schema.field(by).type):
        table = table.set_column(table.schema.get_field_index(by), by, table[by].cast(pa.string()))
    partitions = pa.schema([table.schema.field(by)])
    ds.write_dataset(
        table,
        folder,
        format="parquet",
        basename_template=f"{number}-{{i}}.parquet",
        partitioning=ds.partitioning(partitions, flavor="hive"),
        existing_data_behavior="overwrite_or_ignore",
        file_options=ds.ParquetFileFormat().make_write_options(**options),
        max_partitions=max(table.num_rows, 1),
        use_threads=False,
    )


class HostRecords:
    """Records of hosts as an Arrow stream; see `Capture.host_records`."""

    def __init__(self, capture: _native.Capture) -> None:
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
            pa.table(self.feed_records(batch["record"].to_pylist(), batch["file"].to_pylist()))
            for batch in pa.RecordBatchReader.from_stream(records)
        ]
        return pa.concat_tables(tables) if tables else pa.table(self.feed_records([], []))

    def finish(self) -> pyarrow.Table:
        """Returns the events of hosts that show only when all records are there: scanners are judged by what follows their SYNs.

        An event of records that `feed` took earlier, from several files, has no ``file``.
        """
        import pyarrow as pa

        return pa.table(self.finish_records())

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
    hosts = HostTable(db)
    return pa.concat_tables([hosts.feed(table.sort_by(order)), hosts.finish()])


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
    found: dict[str, Any] = json.loads(_native.client_fingerprint(syn, tls, list(quic), http))
    return found


def ja4(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the JA4 of each value of a column of bytes: TLS records that a client sends first, or its ClientHello.

    ``column`` is an Arrow array or stream of arrays (PyCapsule interface) of a binary type: of pyarrow, Polars or others.
    ``transport`` is that of ClientHellos without records. The result is an Arrow array of texts. Nulls stay null, and what is
    not complete or not a ClientHello is null.

    >>> frame.with_columns(ja4=pl.Series(hn.ja4(frame["hello"])))  # doctest: +SKIP
    >>> pa.array(hn.ja4(table["hello"]))  # doctest: +SKIP
    """
    return _fingerprints("ja4", column, transport)


def ja4_stable(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the JA4 without extensions that depend on session resumption (``ja4_stable``), as `ja4` does."""
    return _fingerprints("ja4_stable", column, transport)


def ja3_hash(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the MD5 of the JA3 of each value, as `ja4` does."""
    return _fingerprints("ja3_hash", column, transport)


def ja3s_hash(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the MD5 of the JA3S of each value: TLS records that a server sends first, or its ServerHello; see `ja4`."""
    return _fingerprints("ja3s_hash", column, transport)


def hassh(column: Any) -> Column:
    """Computes the HASSH of each value: what an SSH client sends first, or its SSH_MSG_KEXINIT; see `ja4`.

    Bytes may begin with the identification string, with a binary packet, or with the payload of the message.
    """
    return _fingerprints("hassh", column)


def hassh_server(column: Any) -> Column:
    """Computes the HASSHServer of each value: what an SSH server sends first, as `hassh` does."""
    return _fingerprints("hassh_server", column)


def _fingerprints(kind: str, column: Any, transport: str = "tcp") -> Column:
    if not hasattr(column, "__arrow_c_stream__"):
        if not hasattr(column, "__arrow_c_array__"):
            raise TypeError(f"a column is an Arrow array or stream, not {type(column).__name__}: pyarrow.array makes one")
        import pyarrow as pa

        column = pa.chunked_array([pa.array(column)])
    return _native.fingerprint_column(kind, transport, column.__arrow_c_stream__())


def sql(query: str, source: Any, **options: Any) -> duckdb.DuckDBPyRelation:
    """Runs a DuckDB query over the table ``events`` of captures (needs duckdb and pyarrow).

    ``source`` and ``options`` are those of `read_pcap`, or a `Capture`. Only the columns of the query are built, and rows that
    its filters leave out do not reach DuckDB. Conditions on the column ``event`` decide what is analysed, also beside others.

    >>> hn.sql("SELECT ja4, count(*) FROM events GROUP BY ja4", "capture.pcap")  # doctest: +SKIP
    """
    import duckdb

    from ._duckdb import CaptureDataset

    # DuckDB finds the table by the name of this variable.
    events = CaptureDataset(_capture_of(source, options))  # noqa: F841
    relation = duckdb.sql(query)
    if relation is None:
        raise ValueError("the query has no result: it must be a SELECT")
    return relation


def register_duckdb(connection: duckdb.DuckDBPyConnection | None = None) -> None:
    """Adds the table macro ``read_huginn`` to a connection of DuckDB: ``SELECT * FROM read_huginn('capture.pcap')``.

    Its argument is a path, a pattern, a folder or a URL, as that of `read_pcap`. All columns of all rows are in memory at
    once, whatever the query needs: for long captures use `sql` or `Capture.to_duckdb`, which push it down.
    """
    import duckdb

    from ._duckdb import add_read_huginn

    add_read_huginn(connection or duckdb.default_connection(), read_pcap([]).schema.empty_table())


def schema() -> dict[str, str]:
    """Returns the columns of the table with their meaning."""
    return {name: meaning for name, _, meaning in _native.schema()}
