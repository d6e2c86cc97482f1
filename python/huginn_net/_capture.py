"""Captures as Arrow tables."""

from __future__ import annotations

import contextlib
import html
import io
import json
import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Literal, cast

from . import _native
from ._files import expand
from ._hosts import HostRecords
from ._modules import needs
from ._native import CaptureError
from ._options import ProgressFunction, ReadOptions, arguments_of
from ._progress import Bar
from ._storage import StorageOptions

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow
    from typing_extensions import Self, Unpack

#: Rows that a notebook shows, and bytes of captures that are read for them.
_PREVIEW_ROWS = 10
_PREVIEW_BYTES = 1 << 22

#: Columns that a notebook shows unless others are chosen, and their number.
_PREVIEW_COLUMNS = ("ts", "event", "client_ip", "server_ip", "server_port", "tls_sni", "ja4", "http_user_agent", "label_name")


def read_pcap(source: Any, **options: Unpack[ReadOptions]) -> Capture:
    """Reads captures: pcap or pcapng, also .gz and .zst.

    ``source`` is a path, a folder (its captures and those of its folders), a pattern such as ``"captures/*.pcap"``, a URL
    (``s3://``, ``gs://``, ``az://``, ``abfss://``: an object, a prefix or a pattern; ``https://``), bytes, a file-like object,
    several of these in a list or another iterable, or a dict of bytes by the names that the column ``file`` has of them. Their order is
    that of the program. A file-like object is read once, and so are pipes and ``-``, standard input. Paths are opened at once: a
    missing file raises FileNotFoundError here.

    ``storage_options`` are those of the stores of URLs, as obstore names them (``{"endpoint": "http://minio:9000"}``; README.md).

    Several captures are analysed at the same time, on all cores or on ``workers`` threads; rows keep the order of the
    captures. A single capture has one thread, or ``workers``. File-like objects are read one after the other.

    These options mean what those of the program mean (docs/options.md), with ``_`` for ``-``; where several values are possible, one of
    them or a list:

    - packets: ``port``, ``net`` (also of `ipaddress`), ``exclude_port``, ``exclude_net``, and ``filter``, an expression of pcap-filter(7),
      which needs libpcap;
    - events: ``events``, a list of names; ``where``, a condition (docs/select.md); ``from_`` and ``to``, times in UTC, as texts or
      datetimes;
    - analysis: ``protocols`` (``tcp``, ``http``, ``tls``, ``ssh``), ``db``, and ``keylog`` (also URLs and file-like objects): secrets that a
      capture brings are used without it. What cannot be read twice (a pipe, a file-like object that cannot seek) gives its secrets as
      they come, with a warning of those after the first packet;
    - more events: ``connections``, ``findings`` (docs/findings.md) with ``scan_ports``, ``scan_hosts``, ``beacon_count`` and ``known``,
      ``baseline``, and ``fingerprints``, watch lists (docs/watch-lists.md). ``events`` leaves out neither findings nor matches that
      these options ask for. Findings and baselines are those of each capture.

    ``columns`` selects columns of the table, by the names of columns or of fields in JSON (``sni`` is the column ``tls_sni``, ``label``
    all columns of its fields). ``dictionaries`` stores each text once in a batch: Polars and pandas make categories of them.

    With ``on_error="skip"`` captures that cannot be read are skipped with a `CaptureWarning`, and `Capture.errors` lists them; rows before
    the damage of a capture stay. Otherwise (``"raise"``) these rows come first, and then the error: `CaptureError`, from Polars or DuckDB
    themselves one of theirs.

    ``shard=(index, shards)`` analyses one of several disjoint sets of flows, so that several processes can share a
    capture. The events of flows from all shards are those of one analysis; events of hosts (`HOST_EVENTS`) are left out:
    `Capture.host_records` and `host_events` give them.

    ``max_compression_ratio`` (1000) ends a .gz or .zst capture that expands to more than this multiple of its length, beyond the first
    64 MiB, with an error; ``None`` removes the limit.

    ``progress=True`` shows captures and rows while they are read to a table or Parquet, or by a query of `scan_pcap` or `sql`: as a bar
    of tqdm if it is installed, in notebooks too, else as a line on standard error. A function is called with the captures that were
    read, their number, and the rows so far.
    """
    arguments = arguments_of(cast("dict[str, Any]", options), ReadOptions)
    on_error, progress = arguments.pop("on_error", "raise"), arguments.pop("progress", False)
    if on_error not in ("raise", "skip"):
        raise ValueError("on_error must be 'raise' or 'skip'")
    named = list(expand(source, arguments.pop("storage_options", None)))
    sources, names = [one for _, one in named], [name for name, _ in named]
    arguments = {"sources": sources, "names": names, "skip_errors": on_error == "skip", **arguments}
    return Capture(arguments, progress=progress)


def capture_of(source: Any, options: ReadOptions) -> Capture:
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
        self = super().__new__(cls, arguments["sources"], arguments["names"], arguments, errors_of)
        self._arguments = arguments
        self._progress = progress
        return self

    def __reduce__(self) -> Any:
        return Capture, (self._arguments,)

    def __repr__(self) -> str:
        names = [name or "<bytes>" for name in self._arguments["names"]]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        given = {name: value for name, value in self._arguments.items() if name not in ("sources", "names", "protocols") and value}
        if "keylog" in given:
            # The bytes are secrets.
            given["keylog"] = [one if isinstance(one, str) else "<bytes>" for one in given["keylog"]]
        options = [f"{name}={value!r}" for name, value in given.items()]
        return f"<huginn_net.Capture: {'; '.join([', '.join(names[:3]) + more, *options])}>"

    def _repr_html_(self) -> str:
        """The first rows, of the first bytes: a notebook shows them."""
        text = html.escape(repr(self))
        try:
            rows = self._first_rows()
        except ImportError:
            return f"<pre>{text}</pre>"
        cells = [[html.escape("" if value is None else str(value)) for value in row.values()] for row in rows]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in (rows[0] if rows else {}))
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
        return f"<pre>{text}</pre><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _first_rows(self) -> list[dict[str, Any]]:
        """Rows of the first bytes of files and bytes: others can be read only once, or are elsewhere."""
        chosen = self._arguments["columns"]
        columns = [name for name in self.schema.names if name in _PREVIEW_COLUMNS or chosen][: len(_PREVIEW_COLUMNS)]
        rows: list[dict[str, Any]] = []
        left = _PREVIEW_BYTES
        for source, name in zip(self._arguments["sources"], self._arguments["names"]):
            if isinstance(source, bytes):
                data = source[:left]
            elif isinstance(source, str) and os.path.isfile(source):
                try:
                    with open(source, "rb") as file:
                        data = file.read(left)
                except OSError:
                    continue
            else:
                continue
            left -= len(data)
            changes = {"sources": [data], "names": [name], "columns": columns, "skip_errors": False, "workers": 1, "max_compression_ratio": 16}
            # Where the bytes end, a capture seems to be damaged.
            with contextlib.suppress(CaptureError), contextlib.closing(Capture({**self._arguments, **changes})._batches()) as batches:
                for batch in batches:
                    rows += batch.slice(0, _PREVIEW_ROWS - len(rows)).to_pylist()
                    if len(rows) == _PREVIEW_ROWS:
                        return rows
            if left <= 0:
                break
        return rows

    def _changed(self, changes: dict[str, Any]) -> Capture:
        return Capture({**self._arguments, **changes}, self, self._progress)

    def _batches(self) -> Generator[pyarrow.RecordBatch, None, None]:
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
        with needs("arrow"):
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
        with needs("arrow"):
            import pyarrow as pa

        return pa.schema(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterates over events as dicts, with the fields of the program's JSON."""
        for text in self.events():
            yield from map(json.loads, text.splitlines())

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table."""
        with needs("arrow"):
            import pyarrow as pa

        return pa.Table.from_batches(self._batches(), schema=self.schema)

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars.DataFrame (needs pyarrow). `scan_pcap` builds only what a query needs.

        Polars has 16 bytes for each text, also where it is null. With ``dictionaries`` of `read_pcap` the table is smaller: texts are
        categories then, which have no functions of texts.
        """
        with needs("polars"):
            import polars as pl
            import pyarrow  # noqa: F401: converts the batches.

        # Batch by batch: Polars shares some buffers of a batch, and a whole table would have all of them twice.
        frames = [pl.DataFrame(batch) for batch in self._batches()]
        return pl.concat(frames, rechunk=False) if frames else pl.DataFrame(self.schema.empty_table())

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas.DataFrame (needs pyarrow)."""
        with needs("pandas"):
            import pandas  # noqa: F401: pyarrow imports it.
        return self.to_arrow().to_pandas()

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Returns a DuckDB relation (needs pyarrow). Each query on it reads the captures again, as one of `sql` does."""
        with needs("duckdb"):
            import duckdb

            from ._duckdb import CaptureDataset

        return (connection or duckdb).from_arrow(CaptureDataset(self))

    def write_parquet(
        self,
        path: str | os.PathLike[str],
        *,
        tables: bool = False,
        partition_by: Literal["day", "file"] | None = None,
        append: bool = False,
        compression: Literal["zstd", "snappy", "none"] = "zstd",
        level: int | None = None,
        storage_options: StorageOptions = None,
    ) -> list[str]:
        """Writes a Parquet file, as the program does: docs/schema.md describes its layout. It needs no other package.

        With ``tables`` the path is a new folder with a table for each kind of event, which has the columns of this kind only:
        ``tls_client.parquet``, ``http_request.parquet`` and so on. With ``partition_by`` it is one with a folder for each day
        (``day=2026-01-31``, in UTC), or for each capture (``file=…``), as Hive, Spark, DuckDB and Polars read them; with both, the
        folder of a table has those of its partitions. A file or folder has a temporary name until it is complete.

        With ``append`` the path is a folder that remembers its captures: those that it has already are not read again, and those
        whose length or time has changed are replaced. Files are named by their capture. After an error the captures before it
        stay, and the next call goes on with the others. What cannot be opened or read is an error also with ``on_error="skip"``, which
        passes over damage alone. Two captures of one name are a ValueError. The folder has one layout, and one version of the schema.
        One process at a time writes to it; a URL has no lock.

        ``level`` is that of zstd, from 1 to 22, by default 3. Returns the paths of the files that were written, in the folder.
        """
        from ._parquet import Layout, write_parquet

        layout = Layout(tables, partition_by, compression, level)
        return write_parquet(self, os.fspath(path), layout, append, storage_options)

    def hosts(self) -> list[dict[str, Any]]:
        """Returns the hosts of each capture, with verdict and evidence, as the program's JSON has them."""
        return [json.loads(line) for line in super().hosts().splitlines()]

    def hosts_to_arrow(self) -> pyarrow.Table:
        """Returns the hosts as a pyarrow.Table: `hosts` in nested columns, with those fields that a host has."""
        with needs("arrow"):
            import pyarrow as pa
            import pyarrow.json

        text = super().hosts()
        options = pyarrow.json.ReadOptions(block_size=len(text) + 1)
        return pyarrow.json.read_json(io.BytesIO(text), read_options=options) if text else pa.table({})

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
        with needs("arrow"):
            import pyarrow as pa

        return pa.table(super().errors())
