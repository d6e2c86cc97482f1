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
from collections.abc import Iterator
from typing import Any, BinaryIO

from . import _native
from ._native import ClientHello, Http2Client, TcpSyn, client_hello, http2_client, tcp_syn

__all__ = [
    "Capture",
    "ClientHello",
    "Http2Client",
    "TcpSyn",
    "client_hello",
    "http2_client",
    "read_pcap",
    "schema",
    "sql",
    "tcp_syn",
]

#: The protocols that are analysed unless others are chosen.
PROTOCOLS = ("tcp", "http", "tls", "ssh")

Source = "str | os.PathLike[str] | bytes | BinaryIO"


def read_pcap(
    source: Any,
    *,
    protocols: tuple[str, ...] | list[str] = PROTOCOLS,
    db: str | os.PathLike[str] | None = None,
    workers: int = 1,
    connections: bool = False,
    events: tuple[str, ...] | list[str] = (),
    columns: tuple[str, ...] | list[str] = (),
    on_error: str = "raise",
) -> Capture:
    """Reads captures: pcap or pcapng, also .gz and .zst.

    ``source`` is a path, a pattern such as ``"captures/*.pcap"``, bytes, a file-like object, or a list of these. A
    file-like object is read once. Paths are opened at once: a missing file raises FileNotFoundError here.

    ``db`` is a signature database in p0f v3 syntax. ``connections`` adds a row for each connection. ``events`` selects
    events by their names, and ``columns`` columns of the table; without them all are built. With
    ``on_error="skip"`` captures that cannot be read are skipped, and `Capture.skipped` names them; rows before the
    damage of a capture stay. Otherwise these rows come first, and then the error.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError("on_error must be 'raise' or 'skip'")
    unknown = set(protocols) - set(PROTOCOLS)
    if unknown:
        raise ValueError(f"unknown protocols: {', '.join(sorted(unknown))}")
    unknown = set(events) - set(_native.event_names())
    if unknown:
        raise ValueError(f"unknown events: {', '.join(sorted(unknown))}")
    unknown = set(columns) - set(schema())
    if unknown:
        raise ValueError(f"unknown columns: {', '.join(sorted(unknown))}")
    sources = []
    for one in source if isinstance(source, (list, tuple)) else [source]:
        sources.extend(_expand(one))
    return Capture(sources, list(protocols), db, workers, connections, on_error == "skip", list(events), list(columns))


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

    def to_arrow(self) -> Any:
        """Returns a pyarrow.Table. Ctrl-C works between batches."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(self)
        return pa.Table.from_batches(list(reader), schema=reader.schema)

    def to_polars(self) -> Any:
        """Returns a polars.DataFrame."""
        import polars as pl

        return pl.DataFrame(self)

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame (needs pyarrow)."""
        return self.to_arrow().to_pandas()

    def to_duckdb(self, connection: Any = None) -> Any:
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

    def stats(self) -> list[dict[str, Any]]:
        """Returns the counters of each capture."""
        return [json.loads(line) for line in super().stats().splitlines()]

    @property
    def skipped(self) -> list[str]:
        """The errors of captures that ``on_error="skip"`` skipped, so far."""
        return super().skipped()


def sql(query: str, source: Any, **options: Any) -> Any:
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
