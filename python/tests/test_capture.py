"""The table, the events and the byte functions, compared with the program."""

import json
import os
import re
import subprocess
import threading
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import huginn_net as hn

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
CURL = CAPTURES / "tls/tls-curl/tls-curl.pcap"
PAGES = CAPTURES / "http/http-pages/http-pages.pcap"


def json_events(*captures):
    """The events of the program, which HUGINN_NET names."""
    program = os.environ.get("HUGINN_NET", "huginn-net")
    run = subprocess.run([program, "pcap", "--format", "json", *map(str, captures)], capture_output=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_events_equal_those_of_program():
    assert list(hn.read_pcap(CURL)) == json_events(CURL)


def test_table_has_row_for_each_event():
    table = hn.read_pcap([CURL, PAGES]).to_arrow()
    events = json_events(CURL, PAGES)
    assert table.column("event").to_pylist() == [event["event"] for event in events]
    assert table.column("ja4").to_pylist() == [event.get("ja4") for event in events]
    assert table.column("file").to_pylist() == [event["file"] for event in events]
    assert table.schema.metadata[b"huginn_net.schema"] == b"1.0"
    assert table.column_names == list(hn.schema())


def test_capture_is_repeatable():
    capture = hn.read_pcap(CURL)
    assert capture.to_arrow().equals(capture.to_arrow())


def test_polars_pandas_and_duckdb_read_it():
    capture = hn.read_pcap(CURL)
    rows = len(list(capture))
    assert pl.DataFrame(capture).height == capture.to_polars().height == rows
    assert len(capture.to_pandas()) == rows
    relation = capture.to_duckdb()
    assert relation.count("*").fetchall() == relation.count("*").fetchall() == [(rows,)]
    assert duckdb.sql("SELECT count(*) FROM capture").fetchall() == [(rows,)]
    assert hn.sql("SELECT count(*) FROM events", CURL).fetchall() == [(rows,)]


def test_bytes_and_files_give_same_rows():
    table = hn.read_pcap(CURL).to_arrow()
    assert hn.read_pcap(CURL.read_bytes()).to_arrow().equals(table)
    with CURL.open("rb") as file:
        capture = hn.read_pcap(file)
        assert capture.to_arrow().equals(table)
        with pytest.raises(ValueError, match="read once"):
            capture.to_arrow()


def test_missing_file_keeps_its_error():
    with pytest.raises(FileNotFoundError):
        hn.read_pcap("/nonexistent.pcap")
    with pytest.raises(FileNotFoundError):
        hn.read_pcap("/nonexistent/*.pcap")


def test_rows_before_damage_come_before_error(tmp_path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(CURL.read_bytes()[:-10])
    reader = pa.RecordBatchReader.from_stream(hn.read_pcap(cut))
    assert reader.read_next_batch().num_rows > 20
    with pytest.raises(pa.ArrowException, match="cut.pcap|packet"):
        reader.read_next_batch()
    events = []
    with pytest.raises(RuntimeError, match="packet"):
        for event in hn.read_pcap(cut):
            events.append(event)
    assert len(events) > 20


def test_damaged_capture_is_skipped(tmp_path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(b"no capture")
    capture = hn.read_pcap([CURL, cut, CURL], on_error="skip")
    assert capture.to_arrow().num_rows == 2 * hn.read_pcap(CURL).to_arrow().num_rows
    assert len(capture.skipped) == 1 and "cut.pcap" in capture.skipped[0]


def test_parquet_file_equals_table(tmp_path):
    capture = hn.read_pcap(PAGES)
    capture.write_parquet(tmp_path / "events.parquet")
    assert pq.read_table(tmp_path / "events.parquet").equals(capture.to_arrow())
    assert os.listdir(tmp_path) == ["events.parquet"]


def test_only_chosen_columns_and_events_are_built():
    table = hn.read_pcap(CURL, columns=["ts", "ja4"], events=["tls_client"]).to_arrow()
    assert table.column_names == ["ts", "ja4"]
    assert table.num_rows == sum(event["event"] == "tls_client" for event in hn.read_pcap(CURL))
    assert None not in table.column("ja4").to_pylist()


def test_options_are_checked():
    for options in ({"protocols": ["ftp"]}, {"columns": ["no"]}, {"events": ["no"]}, {"on_error": "ignore"}, {"workers": 0}):
        with pytest.raises(ValueError):
            hn.read_pcap(CURL, **options)
    only = hn.read_pcap(CURL, protocols=["tls"]).to_arrow().column("event").unique().to_pylist()
    assert sorted(only) == ["tls_client", "tls_server"]


def test_hosts_and_counters():
    hosts = hn.read_pcap(CURL).hosts()
    assert {host["ip"] for host in hosts} >= {"192.0.2.1", "192.0.2.2"}
    (stats,) = hn.read_pcap(CURL).stats()
    assert stats["engine"]["frames"] > 30


def test_client_hello():
    hello = (CAPTURES / "consistency/clients.jsonl").read_text().splitlines()[0]
    data = bytes.fromhex(json.loads(hello)["hello"])
    parsed = hn.client_hello(data)
    assert parsed.ja4.startswith("t13") and parsed.consumed <= len(data)
    assert hn.client_hello(data[:40]) is None
    with pytest.raises(ValueError):
        hn.client_hello(b"GET / HTTP/1.1\r\n\r\n")


def test_http2_client():
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    assert hn.http2_client(preface) is None
    with pytest.raises(ValueError):
        hn.http2_client(b"GET / HTTP/1.1\r\n\r\n")


def test_tcp_syn():
    # The first packet of the capture, behind the headers of file, packet and Ethernet.
    data = CURL.read_bytes()
    length = int.from_bytes(data[32:36], "little")
    packet = data[40 + 14 : 40 + length]
    syn = hn.tcp_syn(packet)
    assert syn.sig.startswith("4:64+0:0:1460:")
    assert syn.label == "Linux 4.20 or newer"
    assert hn.tcp_syn(packet[:10]) is None


def test_queries_of_schema_page_run():
    page = (CAPTURES.parent / "docs/schema.md").read_text()
    queries = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    assert len(queries) == 5
    capture = hn.read_pcap([str(CAPTURES / "http/*/*.pcap"), str(CAPTURES / "tls/*/*.pcap")])
    events = capture.to_arrow()  # noqa: F841: DuckDB finds it by its name.
    for query in queries:
        assert duckdb.sql(query.replace("'events.parquet'", "events")).fetchall(), query


def test_analysis_runs_without_the_gil():
    data = PAGES.read_bytes()
    capture = hn.read_pcap(data[:24] + data[24:] * 200)
    counts = []
    thread = threading.Thread(target=lambda: counts.append(len(capture.hosts())))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert counts and turns > 100
