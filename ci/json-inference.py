#!/usr/bin/env python3
"""Reads the JSON of all captures with programs that infer types: ci/json-inference.py PROGRAM FOLDER...

Each field has one type in all lines: those of `pcap` with all kinds of events, of `hosts`, and the records of the sensor in docs/events.md.
pyarrow, polars, DuckDB and ClickHouse infer this type without a hint. They see all lines first, as docs/events.md says: by default they infer
from the first ones, and pyarrow refuses an object that is null in an earlier block.
Needs the Python packages chdb, duckdb, polars and pyarrow.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import chdb
import duckdb
import polars
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet

ROOT = pathlib.Path(__file__).parent.parent
LIST = "fingerprint,label,watch\nt13d3112h2_e8f1e7e78f70_b26ce05bbdd6,curl,yes\n"
PCAP = ("pcap", "--connections", "--connection-ids", "--findings", "--fingerprints")


def write_lines(program, folders, folder):
    """Writes all lines to a file."""
    watched = folder / "list.csv"
    watched.write_text(LIST)
    captures = sorted(path for name in folders for path in pathlib.Path(name).rglob("*.pcap*"))
    path = folder / "all.json"
    with path.open("wb") as out:
        for command in ((*PCAP, watched), ("hosts",)):
            ran = subprocess.run([program, *command, "-q", "--format", "json", *captures], stdout=out, stderr=subprocess.DEVNULL)
            # Some captures are damaged, and some events are on the list.
            assert ran.returncode in (0, 1, 3), ran.returncode
        page = (ROOT / "docs" / "events.md").read_text()
        out.writelines(line.encode() + b"\n" for line in page.splitlines() if line.startswith('{"v":1,'))
    return path


def add_types(value, path, place, types):
    """Adds the types of a value; those of elements are at the path with []."""
    if isinstance(value, dict):
        kind = "object"
        for name, part in value.items():
            add_types(part, f"{path}.{name}" if path else name, place, types)
    elif isinstance(value, list):
        kind = "list"
        for part in value:
            add_types(part, f"{path}[]", place, types)
    elif value is None:
        return
    else:
        kind = {str: "text", bool: "truth value", int: "number", float: "number"}[type(value)]
    known, first = types.setdefault(path, (kind, place))
    assert kind == known, f"{path} is a {known} in {first}, and a {kind} in {place}"


def inferred(path, data_type, types):
    """Adds the types that a program inferred, by a type of Arrow."""
    of = pa.types
    if of.is_struct(data_type):
        types[path] = "object"
        for field in data_type:
            inferred(f"{path}.{field.name}" if path else field.name, field.type, types)
    elif of.is_map(data_type):
        types[path] = "object"
    elif of.is_list(data_type) or of.is_large_list(data_type):
        types[path] = "list"
        inferred(f"{path}[]", data_type.value_type, types)
    elif of.is_boolean(data_type):
        types[path] = "truth value"
    elif of.is_integer(data_type) or of.is_floating(data_type):
        types[path] = "number"
    else:
        # Times are texts in JSON.
        types[path] = "text" if of.is_timestamp(data_type) or "string" in str(data_type) else str(data_type)


def readers(path):
    """The programs, and how each reads a file: a table of Arrow."""
    whole = pyarrow.json.ReadOptions(block_size=path.stat().st_size)
    yield "pyarrow", lambda: pyarrow.json.read_json(path, read_options=whole)
    yield "polars", lambda: polars.scan_ndjson(path, infer_schema_length=None).collect().to_arrow()
    yield "DuckDB", lambda: duckdb.sql(f"SELECT * FROM read_json('{path}', sample_size = -1)").to_arrow_table()
    limits = ", ".join(f"input_format_max_{of}_to_read_for_schema_inference = {1 << 40}" for of in ("rows", "bytes"))
    # Its format Arrow has numbers for times.
    parquet = f"SELECT * FROM file('{path}', JSONEachRow) SETTINGS {limits}", "Parquet"
    yield "ClickHouse", lambda: pyarrow.parquet.read_table(pa.BufferReader(chdb.query(*parquet).bytes()))


def main():
    program, *folders = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        path = write_lines(pathlib.Path(program).resolve(), folders, pathlib.Path(name))
        types, lines, events = {}, 0, set()
        with path.open() as file:
            for line in file:
                event = json.loads(line)
                add_types(event, "", f"{event['event']} (line {lines + 1})", types)
                events.add(event["event"])
                lines += 1
        assert len(events) > 20 and len(types) > 200, (events, len(types))
        for reader, read in readers(path):
            table, found = read(), {}
            inferred("", pa.struct(list(table.schema)), found)
            wrong = [f"{field}: {kind}, not {found.get(field)}" for field, (kind, _) in types.items() if found.get(field) != kind]
            assert table.num_rows == lines and not wrong, f"{reader}: {table.num_rows} of {lines} lines; {wrong}"
            print(f"{reader} reads {lines} lines with {len(types)} paths")


main()
