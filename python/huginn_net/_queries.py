"""Captures as tables of Polars and DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from ._capture import capture_of, read_pcap
from ._modules import needs
from ._options import ReadOptions

if TYPE_CHECKING:
    import duckdb
    import polars
    from typing_extensions import Unpack


def scan_pcap(source: Any, **options: Unpack[ReadOptions]) -> polars.LazyFrame:
    """Returns a polars.LazyFrame of captures: ``source`` and ``options`` are those of `read_pcap`, or a `Capture`.

    Only the columns of the query are built. Conditions on the column ``event`` decide what is analysed, also beside others. Rows are
    read batch by batch, so that a streaming query needs memory for its result.

    >>> hello = hn.scan_pcap("capture.pcap").filter(pl.col("event") == "tls_client")  # doctest: +SKIP
    >>> hello.group_by("ja4").len().collect(engine="streaming")  # doctest: +SKIP
    """
    with needs("polars"):
        import polars as pl
        import pyarrow  # noqa: F401: converts the batches.
        from polars.io.plugins import register_io_source

    capture = capture_of(source, options)

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


def sql(query: str, source: Any, **options: Unpack[ReadOptions]) -> duckdb.DuckDBPyRelation:
    """Runs a DuckDB query over the table ``events`` of captures (needs duckdb and pyarrow).

    ``source`` and ``options`` are those of `read_pcap`, or a `Capture`. Only the columns of the query are built, and rows that
    its filters leave out do not reach DuckDB. Conditions on the column ``event`` decide what is analysed, also beside others.

    >>> hn.sql("SELECT ja4, count(*) FROM events GROUP BY ja4", "capture.pcap")  # doctest: +SKIP
    """
    with needs("duckdb"):
        import duckdb

        from ._duckdb import CaptureDataset

    # DuckDB finds the table by the name of this variable.
    events = CaptureDataset(capture_of(source, options))  # noqa: F841
    relation = duckdb.sql(query)
    if relation is None:
        raise ValueError("the query has no result: it must be a SELECT")
    return relation


def register_duckdb(connection: duckdb.DuckDBPyConnection | None = None) -> None:
    """Adds the table macro ``read_huginn`` to a connection of DuckDB: ``SELECT * FROM read_huginn('capture.pcap')``.

    Its argument is a path, a pattern, a folder or a URL, as that of `read_pcap`. All columns of all rows are in memory at
    once, whatever the query needs: for long captures use `sql` or `Capture.to_duckdb`, which push it down.
    """
    with needs("duckdb"):
        import duckdb

        from ._duckdb import add_read_huginn

    add_read_huginn(connection or duckdb.default_connection(), read_pcap([]).schema.empty_table())
