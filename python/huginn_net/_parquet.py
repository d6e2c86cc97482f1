"""Parquet files of captures."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from . import _storage

if TYPE_CHECKING:
    from ._capture import Capture

#: Rows of a row group of Parquet, and bytes from which on one is complete.
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 256 << 20

#: Bytes of the name of a folder, at most.
_MAX_NAME_BYTES = 255


def write_parquet(
    capture: Capture,
    path: str,
    partition_by: str | None,
    options: dict[str, Any],
    storage_options: _storage.StorageOptions = None,
) -> None:
    """Writes the rows of a capture; see `Capture.write_parquet`."""
    if _storage.is_url(path):
        if partition_by is not None and _storage.existing(path, storage_options):
            raise FileExistsError(f"{path}: partitions are written to a new folder")
        with tempfile.TemporaryDirectory() as name:
            local = os.path.join(name, "events")
            write_parquet(capture, local, partition_by, options)
            _storage.upload(local, path, storage_options)
        return
    path = _storage.local_path(path)
    folder, name = os.path.split(path.rstrip(os.sep))
    unfinished = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.unfinished")
    if partition_by is not None:
        column = {"day": "ts", "file": "file"}.get(partition_by)
        if column not in capture.schema.names:
            raise ValueError("partition_by is 'day' or 'file', and needs the column ts or file")
        if os.path.exists(path):
            raise FileExistsError(f"{path}: partitions are written to a new folder")
        if partition_by == "file":
            _check_folders(capture._arguments["names"])
    try:
        if partition_by is not None:
            os.mkdir(unfinished)
            for number, group in enumerate(_groups(capture)):
                _write_partitions(pa.Table.from_batches(group), partition_by, unfinished, number, options)
        else:
            with pq.ParquetWriter(unfinished, capture.schema, **options) as writer:
                for group in _groups(capture):
                    table = pa.Table.from_batches(group)
                    writer.write_table(table, row_group_size=table.num_rows)
        os.replace(unfinished, path)
    except BaseException:
        if os.path.isdir(unfinished):
            shutil.rmtree(unfinished)
        elif os.path.exists(unfinished):
            os.remove(unfinished)
        raise


def _groups(capture: Capture) -> Iterator[list[pa.RecordBatch]]:
    """The batches of row groups."""
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in capture._batches():
        group.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def _check_folders(names: Iterable[str | None]) -> None:
    """Raises ValueError if a capture cannot have a folder."""
    partitioning = ds.partitioning(pa.schema([pa.field("file", pa.string())]), flavor="hive")
    for name in names:
        folder, _ = partitioning.format(pc.field("file") == name) if name is not None else ("", "")
        if len(os.fsencode(folder)) > _MAX_NAME_BYTES:
            raise ValueError(f"{name}: its folder needs a name of more than {_MAX_NAME_BYTES} bytes: give a shorter path, or partition by day")


def _write_partitions(table: pa.Table, by: str, folder: str, number: int, options: dict[str, Any]) -> None:
    """Writes the rows of a group to the folders of their partitions."""
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
