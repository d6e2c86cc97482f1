"""Captures as Arrow tables."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._files import expand, key_logs
from ._hosts import HostRecords
from ._native import CaptureError
from ._options import PROTOCOLS, ProgressFunction, Protocol, add_alerts, check_names, events_of_shard
from ._progress import Bar
from ._storage import StorageOptions

if TYPE_CHECKING:
    from typing import Self

    import duckdb
    import pandas
    import polars
    import pyarrow


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
    storage_options: StorageOptions = None,
    progress: bool | ProgressFunction = False,
) -> Capture:
    """Reads captures: pcap or pcapng, also .gz and .zst.

    ``source`` is a path, a folder (its captures and those of its folders), a pattern such as ``"captures/*.pcap"``, a URL
    (``s3://``, ``gs://``, ``az://``, ``abfss://``: an object, a prefix or a pattern; ``https://``), bytes, a file-like object, or
    several of these in a list or another iterable. Their order is that of the program. A file-like object is read once, and so
    are pipes and ``-``, standard input. Paths are opened at once: a missing file raises FileNotFoundError here.

    ``storage_options`` are those of the stores of URLs, as obstore names them (``{"endpoint": "http://minio:9000"}``; README.md).

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

    ``keylog``, a key log as ``SSLKEYLOGFILE`` names one or several (also URLs and file-like objects), decrypts TLS and QUIC: the HTTP inside becomes rows with
    ``decrypted`` (docs/decryption.md). A pcapng file with Decryption Secrets Blocks is one, too; secrets that a capture brings
    are used without it. What cannot be read twice (a pipe, a file-like object that cannot seek) gives its secrets as they come,
    with a warning of those after the first packet. Key logs are read once, here.

    ``max_compression_ratio`` ends a .gz or .zst capture that expands to more than this multiple of its length, beyond the first
    64 MiB, with an error; ``None`` removes the limit.

    ``progress=True`` shows captures and rows while they are read to a table or Parquet, or by a query of `scan_pcap` or `sql`: as a bar
    of tqdm if it is installed, in notebooks too, else as a line on standard error. A function is called with the captures that were
    read, their number, and the rows so far.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError("on_error must be 'raise' or 'skip'")
    check_names(protocols, events, columns)
    events, lists = add_alerts(findings, fingerprints, connections, events)
    if shard is not None:
        events = events_of_shard(findings, events)
    named = list(expand(source, storage_options))
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
            "keylog": key_logs(keylog, storage_options),
        },
        progress=progress,
    )


def capture_of(source: Any, options: dict[str, Any]) -> Capture:
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
        with contextlib.closing(Bar()) as bar:
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
        self,
        path: str | os.PathLike[str],
        *,
        partition_by: Literal["day", "file"] | None = None,
        storage_options: StorageOptions = None,
        **options: Any,
    ) -> None:
        """Writes a Parquet file with pyarrow, which takes ``options``. It has a temporary name until it is complete.

        A URL (``s3://…``) is written to the folder of temporary files (TMPDIR), and uploaded once it is complete.

        Row groups have up to a million rows, or 256 MiB in memory, of all captures together.

        With ``partition_by`` the path is a new folder: a folder for each day (``day=2026-01-31``, in UTC, a column more), or for each
        capture (``file=…``), as Hive, Spark, DuckDB and Polars read them. A folder has a file for each of these row groups.
        """
        from ._parquet import write_parquet

        write_parquet(self, os.fspath(path), partition_by, options, storage_options)

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
