"""Captures as DuckDB reads them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

# `Table.filter` imports it: in a thread of DuckDB it may wait for ever for the lock of imports.
import pyarrow.acero  # noqa: F401
import pyarrow.dataset as ds
import pyarrow.fs

from . import _native

if TYPE_CHECKING:
    from ._capture import Capture

#: The function that returns the rows of a capture as one value.
_ROWS = "huginn_net_rows"


class CaptureDataset(ds.Dataset):  # type: ignore[misc]
    """A dataset for DuckDB, which passes the columns and the filter of a query to its scanner.

    It has nothing else of a dataset.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    @property
    def schema(self) -> pa.Schema:
        return self._capture.schema

    def scanner(self, columns: list[str] | None = None, filter: Any = None) -> CaptureScanner:  # noqa: A002: DuckDB's name.
        return CaptureScanner(self._capture, columns, filter)


class CaptureScanner(ds.Scanner):  # type: ignore[misc]
    """The rows that a filter selects, with some columns. DuckDB does not filter them again."""

    def __init__(self, capture: Capture, columns: list[str] | None, where: Any) -> None:
        schema = capture.schema
        self._columns = schema.names if columns is None else columns
        self._where = where
        self._schema = pa.schema([schema.field(name) for name in self._columns])
        # The text of an expression names at least the columns that it needs.
        words = set(re.findall(r"\w+", str(where))) if where is not None else set()
        changes: dict[str, Any] = {"columns": [name for name in schema.names if name in {*self._columns, *words}]}
        events = capture._arguments["events"] or _native.event_names()
        self._selected = events if where is None else _select(events, where, schema)
        if len(self._selected) < len(events):
            changes["events"] = self._selected
        self._capture = capture._changed(changes)

    @property
    def projected_schema(self) -> pa.Schema:
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if not self._selected:
            return
        for batch in self._capture._batches():
            rows = pa.Table.from_batches([batch])
            if self._where is not None:
                rows = rows.filter(self._where)
            yield from rows.select(self._columns).to_batches()


def _select(events: list[str], where: Any, schema: pa.Schema) -> list[str]:
    """The events that may have rows after a filter. Arrow compares filters with partitions so, and no file is opened."""
    form, files = ds.IpcFileFormat(), pa.fs.LocalFileSystem()
    partitions = [form.make_fragment(name, files, partition_expression=ds.field("event") == name) for name in events]
    try:
        return [partition.path for partition in ds.FileSystemDataset(partitions, schema, form).get_fragments(filter=where)]
    except pa.ArrowException:
        return events


def add_read_huginn(connection: duckdb.DuckDBPyConnection, empty: pa.Table) -> None:
    """Adds a macro that reads captures; ``empty`` has the columns of the table."""
    from ._capture import read_pcap

    def rows(paths: Any) -> pa.ChunkedArray:
        lists = []
        for path in paths.to_pylist():
            batches = read_pcap(path).to_arrow().combine_chunks().to_batches()
            values = pa.concat_arrays([batch.to_struct_array() for batch in [*empty.to_batches(), *batches]])
            lists.append(pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values))
        return pa.chunked_array(lists)

    columns = connection.from_arrow(empty)
    row = duckdb.struct_type(dict(zip(columns.columns, columns.types)))
    # A connection that has the function already gets it again.
    with contextlib.suppress(duckdb.Error):
        connection.remove_function(_ROWS)
    # Its types do not know the name of this kind.
    create: Any = connection.create_function
    create(_ROWS, rows, ["VARCHAR"], duckdb.list_type(row), type="arrow", side_effects=True)
    connection.execute(f"CREATE OR REPLACE TEMP MACRO read_huginn(path) AS TABLE SELECT unnest({_ROWS}(path), max_depth := 2)")
