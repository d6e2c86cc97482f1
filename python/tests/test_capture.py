"""The table, the events and the byte functions, compared with the program."""

import contextlib
import fcntl
import gzip
import hashlib
import http.server
import io
import json
import os
import pickle
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import types
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import huginn_net as hn

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
CURL = CAPTURES / "tls/tls-curl/tls-curl.pcap"
PAGES = CAPTURES / "http/http-pages/http-pages.pcap"


def json_events(*captures, options=(), status=0):
    """The events of the program, which HUGINN_NET names."""
    program = os.environ.get("HUGINN_NET", "huginn-net")
    command = [program, "pcap", "--format", "json", *options, *map(str, captures)]
    run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode == status, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_events_equal_those_of_program():
    assert list(hn.read_pcap(CURL)) == [{"file": str(CURL), **event} for event in json_events(CURL)]


def test_key_logs_decrypt(tmp_path):
    """Every use of a capture takes them; the secrets that a capture brings need no option, of bytes neither."""
    whole = CAPTURES / "http/http-decrypted-sessions/http-decrypted-sessions.pcapng"
    capture, keys = tmp_path / "without.pcapng", tmp_path / "keys.log"
    data = whole.read_bytes()
    at = data.index(b"KSLT")
    length = struct.unpack_from("<I", data, at + 4)[0]
    keys.write_bytes(data[at + 8 : at + 8 + length])
    capture.write_bytes(data.replace(b"KSLT", b"----"))
    paths = [event["path"] for event in json_events(whole) if event["event"] == "http_request"]
    assert len(paths) > 5
    assert not [event for event in hn.read_pcap(capture) if event["event"] == "http_request"]
    query = "SELECT http_path FROM events WHERE event = 'http_request' AND http_decrypted"
    for keylog in (keys, [str(keys)], whole):
        options = {"keylog": keylog}
        assert [event["path"] for event in hn.read_pcap(capture, **options) if event["event"] == "http_request"] == paths
        assert hn.read_pcap(capture, events=["http_request"], **options).to_arrow()["http_path"].to_pylist() == paths
        scan = hn.scan_pcap(capture, **options).filter(pl.col("event") == "http_request").select("http_path")
        assert scan.collect()["http_path"].to_list() == paths
        assert [path for (path,) in hn.sql(query, capture, **options).fetchall()] == paths
    for source in (whole, data):
        assert hn.read_pcap(source, events=["http_request"]).to_arrow()["http_path"].to_pylist() == paths
    with pytest.raises(FileNotFoundError):
        hn.read_pcap(capture, keylog=tmp_path / "none.log")


def test_table_has_row_for_each_event():
    table = hn.read_pcap([CURL, PAGES]).to_arrow()
    events = json_events(CURL, PAGES)
    assert table.column("event").to_pylist() == [event["event"] for event in events]
    assert table.column("ja4").to_pylist() == [event.get("ja4") for event in events]
    assert table.column("file").to_pylist() == [event["file"] for event in events]
    assert table.schema.metadata[b"huginn_net.schema"] == b"2.0"
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
    table = hn.read_pcap(str(CURL)).to_arrow()
    assert set(table["file"].to_pylist()) == {str(CURL)}
    for data in (CURL.read_bytes(), bytearray(CURL.read_bytes()), memoryview(CURL.read_bytes())):
        of_bytes = hn.read_pcap(data).to_arrow()
        assert of_bytes.drop_columns("file").equals(table.drop_columns("file"))
        assert set(of_bytes["file"].to_pylist()) == {None}
    with open(str(CURL), "rb") as file:
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
    with pytest.raises(hn.CaptureError, match="cut.pcap: packet"):
        for event in hn.read_pcap(cut):
            events.append(event)
    assert len(events) > 20
    capture = hn.read_pcap(cut)
    for use in (capture.to_arrow, capture.to_polars, capture.to_pandas, capture.hosts, capture.stats, hn.scan_pcap(cut).collect):
        with pytest.raises((hn.CaptureError, pl.exceptions.ComputeError), match="cut.pcap: packet"):
            use()
    with pytest.raises(duckdb.Error, match="cut.pcap: packet"):
        hn.sql("SELECT count(*) FROM events", cut).fetchall()
    with pytest.raises(hn.CaptureError, match="cut.pcap: packet"):
        capture.write_parquet(tmp_path / "events.parquet")
    assert os.listdir(tmp_path) == ["cut.pcap"]
    empty = tmp_path / "empty.pcap"
    empty.touch()
    with pytest.raises(hn.CaptureError, match="empty.pcap: is empty"):
        hn.read_pcap(empty)


def test_damaged_capture_is_skipped(tmp_path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(b"no capture")
    capture = hn.read_pcap([CURL, cut, CURL], on_error="skip")
    with pytest.warns(hn.CaptureWarning, match="skipped: .*cut.pcap"):
        rows = capture.to_arrow().num_rows
    assert rows == 2 * hn.read_pcap(CURL).to_arrow().num_rows
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(CURL.read_bytes()[:-10])
    capture = hn.read_pcap([CURL, cut, damaged], on_error="skip")
    assert capture.errors().num_rows == 0
    # Each use reads the captures again, and lists their errors once.
    for _ in range(2):
        assert capture.to_arrow().num_rows == len(list(capture)) > hn.read_pcap(CURL).to_arrow().num_rows
    first, second = capture.errors().to_pylist()
    assert first == {"file": str(cut), "error": first["error"], "packet": None, "offset": None}
    assert "is not a capture file" in first["error"]
    packets = hn.read_pcap(CURL).stats()[0]["engine"]["frames"]
    assert (second["file"], second["packet"]) == (str(damaged), packets)
    assert f"packet {packets} at byte {second['offset']}: " in second["error"]
    hn.scan_pcap(capture := hn.read_pcap([cut, b"none", b"none"], on_error="skip")).select("ja4").collect()
    assert [row["file"] for row in capture.errors().to_pylist()] == [str(cut), None, None]


def test_decompression_bomb_ends_with_error():
    with open(CURL, "rb") as plain:
        data = plain.read()
    bomb = gzip.compress(data + bytes(80 << 20))
    wanted = list(hn.read_pcap(data))
    events = []
    with pytest.raises(hn.CaptureError, match="gzip data expands to more than 500 times its length"):
        for event in hn.read_pcap(bomb, max_compression_ratio=500):
            events.append(event)
    assert events == wanted
    assert list(hn.read_pcap(bomb, max_compression_ratio=None)) == wanted


def rows_of(table):
    """All rows of a table as text, in any order: a Parquet file has them by their time."""
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_parquet_file_equals_table(tmp_path, compression):
    capture = hn.read_pcap([PAGES, CURL], connections=True)
    assert capture.write_parquet(tmp_path / "events.parquet", compression=compression) == ["events.parquet"]
    file = pq.ParquetFile(tmp_path / "events.parquet")
    assert file.schema_arrow.equals(capture.schema, check_metadata=True)
    assert rows_of(file.read()) == rows_of(capture.to_arrow())
    codec = {"zstd": "ZSTD", "snappy": "SNAPPY", "none": "UNCOMPRESSED"}[compression]
    assert file.metadata.row_group(0).column(0).compression == codec
    assert file.metadata.row_group(0).sorting_columns
    assert os.listdir(tmp_path) == ["events.parquet"]
    versions = duckdb.sql(f"SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('{tmp_path}/events.parquet')").fetchall()
    assert {name for name, _ in versions} == {"huginn_net.schema", "huginn_net.version"}


def test_parquet_options_are_checked(tmp_path):
    capture = hn.read_pcap(CURL)
    for wrong in (
        {"compression": "gzip"},
        {"compression": "snappy", "level": 3},
        {"level": 23},
        {"level": 0},
        {"partition_by": "hour"},
    ):
        with pytest.raises(ValueError):
            capture.write_parquet(tmp_path / "events", **wrong)
    assert not os.listdir(tmp_path)
    best, fast = tmp_path / "best", tmp_path / "fast"
    capture.write_parquet(best, level=19)
    capture.write_parquet(fast, level=1)
    assert rows_of(pq.read_table(best)) == rows_of(pq.read_table(fast))


def test_parquet_needs_no_other_package(tmp_path):
    code = """
import sys
sys.modules.update(pyarrow=None, polars=None, duckdb=None)
import huginn_net as hn
hn.read_pcap(sys.argv[1]).write_parquet(sys.argv[2], tables=True, partition_by="day")
"""
    subprocess.run([sys.executable, "-c", code, CURL, tmp_path / "events"], check=True)
    assert (tmp_path / "events" / "tls_client").is_dir()


def test_each_kind_has_a_table_with_its_columns(tmp_path):
    capture = hn.read_pcap([CURL, PAGES], connections=True)
    files = capture.write_parquet(tmp_path / "tables", tables=True)
    table = capture.to_arrow()
    kinds = sorted(set(table["event"].to_pylist()))
    assert files == [f"{kind}.parquet" for kind in kinds]
    for kind in kinds:
        found = pq.read_table(tmp_path / "tables" / f"{kind}.parquet")
        wanted = table.filter(pc.field("event") == kind)
        assert rows_of(found) == rows_of(wanted.select(found.column_names))
        others = [name for name in table.column_names if name not in found.column_names]
        assert others and all(wanted[name].null_count == wanted.num_rows for name in others)
    with pytest.raises(FileExistsError):
        capture.write_parquet(tmp_path / "tables", tables=True)
    with pytest.raises(ValueError, match="need the column event"):
        hn.read_pcap(CURL, columns=["ja4"]).write_parquet(tmp_path / "other", tables=True)
    files = capture.write_parquet(tmp_path / "days", tables=True, partition_by="day")
    assert any(re.fullmatch(r"tls_client/day=20\d\d-\d\d-\d\d/part.parquet", file) for file in files)
    days = duckdb.sql(f"SELECT count(*) FROM read_parquet('{tmp_path}/days/*/*/*.parquet', union_by_name = true)").fetchall()
    assert days == [(table.num_rows,)]
    assert {path.name for path in tmp_path.iterdir()} == {"tables", "days"}


def dataset_rows(folder):
    return duckdb.sql(f"SELECT file, event, ts, packet FROM read_parquet('{folder}/**/*.parquet')").fetchall()


def test_append_adds_captures_once(tmp_path):
    spool, events = tmp_path / "spool", tmp_path / "events"
    spool.mkdir()
    shutil.copy(CURL, spool / "a.pcap")

    def write(**options):
        return hn.read_pcap(spool).write_parquet(events, partition_by="day", append=True, **options)

    def expected():
        captured = hn.read_pcap(spool, columns=["file", "event", "ts", "packet"]).to_arrow()  # noqa: F841: DuckDB finds it by its name.
        return sorted(duckdb.sql("SELECT file, event, ts, packet FROM captured").fetchall(), key=repr)

    first = write()
    assert first and all(re.fullmatch(r"day=[-\d]+/a.pcap-[0-9a-f]{12}.parquet", file) for file in first)
    times = {file: (events / file).stat().st_mtime_ns for file in first}
    assert write() == []
    shutil.copy(PAGES, spool / "b.pcap")
    added = write(compression="snappy")
    assert added and all("/b.pcap-" in file for file in added)
    assert {file: (events / file).stat().st_mtime_ns for file in first} == times
    assert sorted(dataset_rows(events), key=repr) == expected()
    # A capture that grew takes the place of its earlier rows.
    data = CURL.read_bytes()
    (spool / "a.pcap").write_bytes(data + data[24:])
    assert write() == first
    assert sorted(dataset_rows(events), key=repr) == expected()
    # One without events is not read again.
    (spool / "c.pcap").write_bytes(data[:24])
    assert write() == [] == write()
    assert (events / "_captures").is_dir() and not [name for name in os.listdir(events) if name.startswith(".")]


def test_append_goes_on_after_damage_and_kill(tmp_path):
    events, cut = tmp_path / "events", tmp_path / "cut.pcap"
    cut.write_bytes(CURL.read_bytes()[:-10])
    sources = [PAGES, cut, CURL]
    with pytest.raises(hn.CaptureError):
        hn.read_pcap(sources).write_parquet(events, append=True)
    assert {name for _, name in ((row, os.path.basename(row[0])) for row in dataset_rows(events))} == {PAGES.name}
    assert not [name for name in os.listdir(events) if name.startswith(".")]
    cut.write_bytes(CURL.read_bytes())
    assert len(hn.read_pcap(sources).write_parquet(events, append=True)) == 2
    wanted = hn.read_pcap(sources).to_arrow().num_rows
    assert len(dataset_rows(events)) == wanted
    # A process that is killed while it moves files leaves a part of a capture, and its folder.
    mark = next((events / "_captures").glob("cut.pcap-*.json"))
    state = json.loads(mark.read_text())
    pending = {"stem": mark.stem, "identity": "another", "files": state["files"]}
    (events / "_captures/pending.json").write_text(json.dumps(pending))
    (events / ".0123.unfinished").mkdir()
    assert hn.read_pcap(sources).write_parquet(events, append=True) == state["files"]
    assert len(dataset_rows(events)) == wanted
    assert not (events / ".0123.unfinished").exists()
    # One that is killed after that leaves a whole capture.
    (events / "_captures/pending.json").write_text(json.dumps({**pending, "identity": state["identity"]}))
    assert hn.read_pcap(sources).write_parquet(events, append=True) == []
    assert len(dataset_rows(events)) == wanted
    assert not (events / "_captures/pending.json").exists()


def test_append_refuses_captures_with_one_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(CURL, "x.pcap")
    other = PAGES.read_bytes()
    for sources in ({"cap": [CURL.read_bytes(), other]}, ["x.pcap", {"x.pcap": other}], {"cap": [str(CURL), str(PAGES)]}):
        with pytest.raises(ValueError, match="two captures have the name (cap|x.pcap)"):
            hn.read_pcap(sources).write_parquet("events", append=True)
    assert not os.path.exists("events")
    hn.read_pcap(["x.pcap", "x.pcap", "./x.pcap"]).write_parquet("events", append=True)
    assert len(dataset_rows("events")) == hn.read_pcap("x.pcap").to_arrow().num_rows


def test_append_and_follow_do_not_share_a_dataset(tmp_path):
    (tmp_path / "in").mkdir()
    shutil.copy(CURL, tmp_path / "in/x.pcap")
    capture, follow = hn.read_pcap(tmp_path / "in"), hn.follow(tmp_path / "in", state=tmp_path / "state", once=True, settle_seconds=0)
    follow.write_parquet(tmp_path / "followed")
    capture.write_parquet(tmp_path / "appended", append=True)
    with pytest.raises(ValueError, match="was written by write_parquet of follow"):
        capture.write_parquet(tmp_path / "followed", append=True)
    with pytest.raises(ValueError, match="was written by write_parquet.append=True."):
        follow.write_parquet(tmp_path / "appended")


def test_repr_has_no_secrets(tmp_path):
    secrets = io.BytesIO(b"CLIENT_RANDOM 00 01\n")
    assert "keylog=['<bytes>']" in repr(hn.read_pcap(CURL, keylog=secrets, storage_options={"secret_access_key": "hidden"}))
    assert "hidden" not in repr(hn.read_pcap(CURL, storage_options={"secret_access_key": "hidden"}))


def test_append_refuses_what_does_not_fit(tmp_path):
    events = tmp_path / "events"
    capture = hn.read_pcap(CURL)
    capture.write_parquet(events, append=True)
    for other, options, message in (
        (capture, {"tables": True}, "other tables"),
        (capture, {"partition_by": "day"}, "other partition_by"),
        (hn.read_pcap(CURL, columns=["ts", "file"]), {}, "other columns"),
        (hn.read_pcap(CURL.read_bytes()), {}, "names"),
    ):
        with pytest.raises(ValueError, match=message):
            other.write_parquet(events, append=True, **options)
    with pytest.raises(ValueError, match="needs the column file"):
        hn.read_pcap(CURL, columns=["ts"]).write_parquet(tmp_path / "other", append=True)
    layout = events / "_captures" / "layout.json"
    written = json.loads(layout.read_text())
    layout.write_text(json.dumps({**written, "schema": "0.9"}))
    with pytest.raises(ValueError, match=f"0.9.*{written['schema']}"):
        capture.write_parquet(events, append=True)
    layout.write_text(json.dumps(written))
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "x.txt").touch()
    with pytest.raises(FileExistsError):
        capture.write_parquet(tmp_path / "others", append=True)
    assert os.listdir(tmp_path / "others") == ["x.txt"]
    # The rows of a capture were joined with those of another one.
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(CURL.read_bytes())
    (file,) = hn.read_pcap(copy).write_parquet(events, append=True)
    os.remove(events / file)
    assert hn.read_pcap(copy).write_parquet(events, append=True) == []
    copy.write_bytes(PAGES.read_bytes())
    with pytest.raises(ValueError, match="joined"):
        hn.read_pcap(copy).write_parquet(events, append=True)
    lock = open(events / "_captures" / ".lock")
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        capture.write_parquet(events, append=True)


@pytest.mark.parametrize("options", [{}, {"partition_by": "day"}])
def test_killed_process_leaves_no_visible_parquet(tmp_path, options):
    fifo = tmp_path / "endless.pcap"
    os.mkfifo(fifo)
    code = "import huginn_net as hn, sys, json; hn.read_pcap([open(sys.argv[1], 'rb')]).write_parquet(sys.argv[2], **json.loads(sys.argv[3]))"
    child = subprocess.Popen([sys.executable, "-c", code, fifo, tmp_path / "events", json.dumps(options)])
    with open(fifo, "wb") as pipe:
        pipe.write(PAGES.read_bytes())
        pipe.flush()
        start = time.monotonic()
        while not list(tmp_path.glob("**/.*.unfinished")):
            assert child.poll() is None and time.monotonic() - start < 60
            time.sleep(0.01)
        child.kill()
        child.wait()
    assert not (tmp_path / "events").exists()


class Endless(io.RawIOBase):
    """A capture that never ends, and has no event."""

    def __init__(self):
        self.data = CURL.read_bytes()[:24]

    def read(self, size):
        if not self.data:
            time.sleep(0.001)
            self.data = bytes(8) + b"\x40\0\0\0\x40\0\0\0" + bytes(64)
        data, self.data = self.data[:size], self.data[size:]
        return data


@pytest.fixture
def duckdb_in_one_thread():
    """Of several threads of DuckDB, one reads. The main thread may wait for it, and then it sees no signal before the next row."""
    duckdb.execute("SET threads = 1")
    yield
    duckdb.execute("RESET threads")


@pytest.mark.parametrize(
    "use",
    [
        hn.Capture.to_arrow,
        hn.Capture.to_polars,
        hn.Capture.hosts,
        list,
        lambda capture: hn.sql("SELECT ja4 FROM events", capture).fetchall(),
    ],
    ids=["to_arrow", "to_polars", "hosts", "iteration", "sql"],
)
def test_ctrl_c_ends_an_analysis_without_events(use, duckdb_in_one_thread):
    # A shell ignores SIGINT for what it runs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    capture = hn.read_pcap(Endless())
    timer.start()
    start = time.monotonic()
    # DuckDB may make an error of its own of it.
    with pytest.raises((KeyboardInterrupt, duckdb.Error)):
        use(capture)
    signal.signal(signal.SIGINT, before)
    assert 0.15 < time.monotonic() - start < 1.2


def test_captures_are_analysed_at_the_same_time_in_their_order(tmp_path):
    """More captures than threads, in groups of several: rows, events, hosts, counters and errors are those of one after the other."""
    sources = [CURL, PAGES, *sorted(CAPTURES.glob("tcp/*/*.pcap"))] * 2
    single = [hn.read_pcap(source) for source in sources]
    rows = [row for capture in single for row in capture.to_arrow().to_pylist()]
    for workers in (None, 1, 3, 64):
        capture = hn.read_pcap(sources, workers=workers)
        assert capture.to_arrow().to_pylist() == rows
    assert [event["file"] for event in capture] == [row["file"] for row in rows]
    assert capture.stats() == [stats for one in single for stats in one.stats()]
    assert capture.hosts() == [host for one in single for host in one.hosts()]
    records = capture.host_records().to_arrow()
    assert records.to_pylist() == [row for one in single for row in one.host_records().to_arrow().to_pylist()]
    # The first damage ends it, whatever was read of later captures.
    cut = []
    for name in "ab":
        cut.append(tmp_path / f"{name}.pcap")
        cut[-1].write_bytes(CURL.read_bytes()[:-10])
    damaged = [*sources, cut[0], *sources, cut[1], *sources]
    before = len(rows) + len(hn.read_pcap(cut[0], on_error="skip").to_arrow())
    capture, found = hn.read_pcap(damaged), 0
    with pytest.raises(hn.CaptureError, match="a.pcap: packet"):
        for batch in capture._batches():
            found += batch.num_rows
    assert found == before
    assert [row["file"] for row in capture.errors().to_pylist()] == [str(cut[0])]
    capture = hn.read_pcap(damaged, on_error="skip")
    assert capture.to_arrow().num_rows == 3 * len(rows) + 2 * (before - len(rows))
    assert [row["file"] for row in capture.errors().to_pylist()] == [str(path) for path in cut]


def test_file_like_objects_with_one_position_are_read_in_turn():
    data = CURL.read_bytes()

    class Part(io.RawIOBase):
        """A part of a file, which others move."""

        file = io.BytesIO(data * 3)

        def __init__(self, number):
            self.left = len(data)
            self.number = number

        def read(self, size):
            assert Part.file.tell() == len(data) * (self.number + 1) - self.left
            part = Part.file.read(min(size, 512, self.left))
            self.left -= len(part)
            return part

    table = hn.read_pcap([Part(number) for number in range(3)]).to_arrow()
    assert table.num_rows == 3 * hn.read_pcap(data).to_arrow().num_rows


def test_row_groups_go_over_captures(tmp_path):
    capture = hn.read_pcap([CURL] * 50)
    capture.write_parquet(tmp_path / "events.parquet")
    file = pq.ParquetFile(tmp_path / "events.parquet")
    assert file.num_row_groups == 1
    assert rows_of(file.read()) == rows_of(capture.to_arrow())


def test_duckdb_pushes_query_into_scan(monkeypatch):
    changes = []
    changed = hn.Capture._changed
    monkeypatch.setattr(hn.Capture, "_changed", lambda self, change: changes.append(change) or changed(self, change))
    events = hn.scan_pcap([CURL, PAGES])
    changes.clear()
    query = "SELECT ja4, count(*) FROM {} WHERE event = 'tls_client' GROUP BY ja4 ORDER BY ja4"
    found = duckdb.sql(query.format("events")).fetchall()
    assert {"columns": ["event", "ja4"], "events": ["tls_client"]} in changes
    assert found and found == hn.sql(query.format("events"), [CURL, PAGES]).fetchall()
    # So do hn.sql and relations, which read batch by batch; DuckDB leaves the filter to them.
    changes.clear()
    assert hn.sql(query.format("events"), [CURL, PAGES]).fetchall() == found
    relation = hn.read_pcap([CURL, PAGES]).to_duckdb()
    assert duckdb.sql(query.format("relation")).fetchall() == found
    assert changes == [{"columns": ["event", "ja4"], "events": ["tls_client"]}] * len(changes) != []
    # Conditions on other columns do not hide what is said of the event.
    for where, events in (
        ("event = 'tls_client' AND client_port > 40000 AND ja4 IS NOT NULL", ["tls_client"]),
        ("event IN ('tls_client', 'tls_server') AND packet > 3", ["tls_client", "tls_server"]),
        ("event = 'tls_client' OR packet > 3", None),
    ):
        changes.clear()
        hn.sql(f"SELECT packet FROM events WHERE {where}", CURL).fetchall()
        assert [change.get("events") for change in changes] == [events] * len(changes) != [], where
    built = hn.read_pcap([CURL, PAGES]).to_arrow()
    for query in (
        # The identifiers of connections are null unless a query names them, as one of all columns does.
        "* EXCLUDE (connection_id) FROM {}",
        "packet FROM {} WHERE event = 'tls_client' AND ja4 IS NOT NULL AND packet > 10",
        "packet FROM {} WHERE (event = 'tls_client' AND packet > 10) OR (event = 'uptime' AND client_port > 0)",
        "count(*) FROM {}",
        "event, count(*) FROM {} GROUP BY ALL",
        "ja4 FROM {} WHERE event IN ('tls_client', 'tls_server') AND ja4 IS NOT NULL",
        "packet, ts FROM {} WHERE client_port > 40000 OR ja4 IS NULL",
        "tls_alpn FROM {} WHERE ts > '2020-01-01' AND event <> 'uptime'",
        "packet FROM {} WHERE event = 'none'",
        "a.ja4 FROM {} a JOIN {} b USING (packet) WHERE b.event = 'tls_server'",
        "packet FROM {} WHERE client_ip LIKE '192%' ORDER BY packet DESC LIMIT 3",
    ):
        of_captures = hn.sql(f"SELECT {query.replace('{}', 'events')}", [CURL, PAGES]).fetchall()
        assert sorted(map(str, of_captures)) == sorted(map(str, duckdb.sql(f"SELECT {query.replace('{}', 'built')}").fetchall())), query
    # A path is the name of a table once it is registered.
    connection = duckdb.connect()
    connection.register("x.pcap", hn.read_pcap([CURL, PAGES]))
    assert connection.sql("SELECT count(*) FROM 'x.pcap'").fetchall() == [(built.num_rows,)]
    for _ in range(2):
        hn.register_duckdb(connection)
    rows = connection.sql(f"SELECT * FROM read_huginn('{CURL}')")
    assert rows.to_arrow_table().drop_columns("ts").to_pylist() == hn.read_pcap(CURL).to_arrow().drop_columns("ts").to_pylist()
    pattern = CAPTURES / "tls/*/*.pcap"
    ((number,),) = connection.sql(f"SELECT count(*) FROM read_huginn('{pattern}')").fetchall()
    assert number == hn.read_pcap(pattern).to_arrow().num_rows
    with pytest.raises(duckdb.Error, match="No such file"):
        connection.sql("SELECT * FROM read_huginn('/nonexistent.pcap')").fetchall()


def test_partitions_hold_every_row_once(tmp_path):
    capture = hn.read_pcap([CURL, PAGES, CURL], columns=["ts", "file", "event", "ja4"])
    table = capture.to_arrow()
    order = [(name, "ascending") for name in ("ts", "file", "event", "ja4")]
    for by in ("day", "file"):
        capture.write_parquet(tmp_path / by, partition_by=by)
        read = pl.read_parquet(tmp_path / by, hive_partitioning=True)
        if by == "day":
            assert (read["day"] == read["ts"].dt.date()).all()
        found = read.select(table.column_names).to_arrow().cast(table.schema)
        assert found.sort_by(order).equals(table.sort_by(order))
    names = {str(CURL), str(PAGES)}
    assert {urllib.parse.unquote(folder.name) for folder in (tmp_path / "file").iterdir()} == {f"file={name}" for name in names}
    rows = duckdb.sql(f"SELECT count(*), count(DISTINCT day) FROM read_parquet('{tmp_path}/day/**/*.parquet')").fetchall()
    assert rows == [(table.num_rows, len({ts.date() for ts in table["ts"].to_pylist()}))]
    dictionaries = hn.read_pcap(CURL, dictionaries=True)
    dictionaries.write_parquet(tmp_path / "dictionaries", partition_by="file")
    assert pq.read_table(tmp_path / "dictionaries").num_rows == dictionaries.to_arrow().num_rows

    with pytest.raises(FileExistsError):
        capture.write_parquet(tmp_path / "day", partition_by="day")
    deep = tmp_path / "/".join(["0123456789"] * 20) / "x.pcap"
    deep.parent.mkdir(parents=True)
    deep.write_bytes(CURL.read_bytes())
    with pytest.raises(ValueError, match="more than 255 bytes"):
        hn.read_pcap(deep).write_parquet(tmp_path / "deep", partition_by="file")
    hn.read_pcap(deep).write_parquet(tmp_path / "deep", partition_by="day")
    shutil.rmtree(tmp_path / "0123456789")
    with pytest.raises(ValueError, match="need the column ts"):
        hn.read_pcap(CURL, columns=["ja4"]).write_parquet(tmp_path / "other", partition_by="day")
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(CURL.read_bytes()[:-10])
    damaged = hn.read_pcap(cut)
    with pytest.raises(hn.CaptureError):
        damaged.write_parquet(tmp_path / "other", partition_by="file")
    assert {path.name for path in tmp_path.iterdir()} == {"day", "deep", "file", "dictionaries", "cut.pcap"}


def test_delta_table_has_rows_of_capture(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    capture = hn.read_pcap([CURL, PAGES])
    deltalake.write_deltalake(tmp_path / "events", capture)
    deltalake.write_deltalake(tmp_path / "events", hn.read_pcap(CURL), mode="append")
    table = pa.table(deltalake.DeltaTable(tmp_path / "events").to_pyarrow_table())
    assert table.num_rows == capture.to_arrow().num_rows + hn.read_pcap(CURL).to_arrow().num_rows
    assert set(table["ja4"].to_pylist()) == set(capture.to_arrow()["ja4"].to_pylist())


def test_iceberg_table_has_rows_of_capture(tmp_path):
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.memory import InMemoryCatalog

    capture = hn.read_pcap([CURL, PAGES])
    catalog = InMemoryCatalog("test", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("network")
    rows = capture.to_arrow()
    table = catalog.create_table("network.events", schema=rows.schema)
    table.append(rows)
    found = table.scan(selected_fields=("event", "ja4")).to_arrow()
    assert found.num_rows == rows.num_rows
    assert set(found["ja4"].to_pylist()) == set(rows["ja4"].to_pylist())


def test_folders_patterns_and_iterables_name_captures(tmp_path):
    (tmp_path / "day").mkdir()
    for name in ("b.pcap", "a.pcapng", "day/ring.pcap03", "day/c.cap.gz"):
        data = CURL.read_bytes()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (tmp_path / "notes.txt").write_text("no capture")
    (tmp_path / "day" / "D.PCAP").write_bytes(CURL.read_bytes())
    (tmp_path / "day" / "x.pcap.20240101-00").write_bytes(CURL.read_bytes())
    rows = hn.read_pcap(CURL).to_arrow().num_rows
    table = hn.read_pcap(tmp_path).to_arrow()
    names = ["a.pcapng", "b.pcap", "day/D.PCAP", "day/c.cap.gz", "day/ring.pcap03", "day/x.pcap.20240101-00"]
    assert table["file"].unique().to_pylist() == [str(tmp_path / name) for name in names]
    assert table.num_rows == 6 * rows
    assert hn.read_pcap(path for path in (tmp_path / "*.pcap", str(tmp_path / "day"))).to_arrow().num_rows == 5 * rows
    # A pattern names files, as one that the shell expands.
    (tmp_path / "notes.txt").unlink()
    assert hn.read_pcap(str(tmp_path / "*")).to_arrow().num_rows == 2 * rows
    assert hn.read_pcap(f"file://{tmp_path}/day").to_arrow().num_rows == 4 * rows
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(CURL.read_bytes()))
    writer.start()
    assert hn.read_pcap(tmp_path / "pipe", on_error="skip").to_arrow().num_rows == rows
    writer.join()
    with open(CURL, errors="replace") as text, pytest.raises(TypeError, match="rb"):
        hn.read_pcap(text)
    with pytest.raises(FileNotFoundError):
        hn.read_pcap(tmp_path / "day" / "*.pcapng")
    with pytest.raises(TypeError):
        hn.read_pcap(3)


def test_capture_is_pickled():
    for source in (CURL, [CURL, PAGES], CURL.read_bytes()):
        capture = hn.read_pcap(source, events=["tls_client"], columns=["ts", "ja4"])
        assert pickle.loads(pickle.dumps(capture)).to_arrow().equals(capture.to_arrow())


def test_scan_builds_what_the_query_needs():
    sources = [CURL, PAGES]
    frame = hn.read_pcap(sources).to_polars()
    scan = hn.scan_pcap(sources)
    assert scan.collect().equals(frame)
    assert scan.collect_schema() == frame.schema
    event, port = pl.col("event"), pl.col("client_port")
    for query in (
        lambda frame: frame.filter(event == "tls_client").select("ja4", "tls_sni"),
        lambda frame: frame.filter(event.is_in(["http_request", "tls_server"])).select(pl.len()),
        lambda frame: frame.filter((event == "tls_client") & (port > 40000)).select("client_ip", "ja4"),
        lambda frame: frame.filter(event == "none").select("ts"),
        lambda frame: frame.group_by("event").len().sort("event"),
        lambda frame: frame.select("packet").head(7),
        lambda frame: frame.filter(pl.col("ja4").is_not_null()).head(2),
        lambda frame: frame.head(5).filter(pl.col("ja4").is_not_null()),
        lambda frame: frame.head(30).filter(event == "tls_client").select(pl.len()),
        lambda frame: frame.filter((event == "tls_client") | (event == "tls_server")).select("event"),
    ):
        assert query(scan).collect(engine="streaming").equals(query(frame.lazy()).collect())
    assert hn.scan_pcap(hn.read_pcap(CURL, events=["tls_client"])).filter(event == "tls_server").collect().is_empty()


def test_scan_analyses_events_of_the_query(monkeypatch):
    analysed = []
    changed = hn.Capture._changed
    monkeypatch.setattr(hn.Capture, "_changed", lambda self, change: analysed.append(change.get("events")) or changed(self, change))
    event, port = pl.col("event"), pl.col("client_port")
    for where, events in (
        (event == "tls_client", ["tls_client"]),
        ((port > 40000) & event.is_in(["tls_client", "uptime"]) & pl.col("ja4").is_not_null(), ["tls_client", "uptime"]),
        ((event == "tls_client") | (port > 40000), None),
        (port > 40000, None),
    ):
        analysed.clear()
        hn.scan_pcap(CURL).filter(where).collect()
        assert [names and sorted(names) for names in analysed] == [events], where


def test_progress_counts_captures_and_rows(capsys, monkeypatch):
    seen = []
    capture = hn.read_pcap([CURL, b"none", PAGES], on_error="skip", progress=lambda *counts: seen.append(counts))
    for read in (lambda: capture.to_arrow().num_rows, lambda: hn.sql("SELECT ts FROM events", capture).to_arrow_table().num_rows):
        seen.clear()
        rows = read()
        assert seen[-1] == (3, 3, rows)
        assert seen == sorted(seen)
    assert pickle.loads(pickle.dumps(capture)).to_arrow().num_rows == rows
    # Without tqdm.
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    rows = hn.read_pcap([CURL, PAGES], progress=True).to_arrow().num_rows
    assert capsys.readouterr().err.endswith(f"\r2 of 2 captures, {rows:,} rows\n")
    bars = []

    class Tqdm:
        n = 0

        def __init__(self, total, unit):
            bars.append((total, unit))

        def update(self, number):
            self.n += number

        def set_postfix_str(self, text, refresh):
            bars.append(text)

        def close(self):
            bars.append(self.n)

    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Tqdm))
    hn.read_pcap([CURL, PAGES], progress=True).to_arrow()
    assert (bars[0], bars[-2:]) == ((2, " captures"), [f"{rows:,} rows", 2])
    assert not capsys.readouterr().err


def test_only_chosen_columns_and_events_are_built():
    table = hn.read_pcap(CURL, columns=["ts", "ja4"], events=["tls_client"]).to_arrow()
    assert table.column_names == ["ts", "ja4"]
    assert table.num_rows == sum(event["event"] == "tls_client" for event in hn.read_pcap(CURL))
    assert None not in table.column("ja4").to_pylist()


def test_names_may_come_from_generators():
    table = hn.read_pcap(CURL, columns=(name for name in ("ts", "ja4")), events=(name for name in ("tls_client",))).to_arrow()
    assert table.equals(hn.read_pcap(CURL, columns=["ts", "ja4"], events=["tls_client"]).to_arrow())
    with pytest.raises(ValueError, match="events has no 'tls_clinet'"):
        hn.read_pcap(CURL, events=(name for name in ("tls_clinet",)))
    with pytest.raises(ValueError, match="max_compression_ratio must be at least 1, or None, not 0"):
        hn.read_pcap(CURL, max_compression_ratio=0)


def test_columns_have_the_names_of_fields_in_json_too():
    def names(*columns):
        return hn.read_pcap(CURL, columns=columns).to_arrow().column_names

    assert names("sni", "ts") == ["ts", "tls_sni"]
    assert names("label") == [name for name in hn.schema() if name.startswith("label_")]
    # Each field of each event selects the columns with its values.
    event = next(event for event in hn.read_pcap(CURL) if event["event"] == "tls_client")
    for field in event.keys() - {"v"}:
        assert names(field), field
    with pytest.raises(ValueError, match="columns has no 'sno'"):
        names("ts", "sno")


def test_texts_may_be_in_dictionaries():
    plain = hn.read_pcap(CURL).to_arrow()
    table = hn.read_pcap(CURL, dictionaries=True).to_arrow()
    assert table.schema.field("ja4").type == pa.dictionary(pa.int32(), pa.string())
    assert table.to_pylist() == plain.to_pylist()
    assert str(hn.read_pcap(CURL, dictionaries=True).to_pandas()["ja4"].dtype) == "category"


def test_options_are_checked():
    with pytest.raises(ValueError, match="did you mean tls_client"):
        hn.read_pcap(CURL, events=["tls_clinet"])
    with pytest.raises(ValueError, match="list of names"):
        hn.read_pcap(CURL, columns="ja4")
    with pytest.raises(TypeError, match="connection"):
        hn.sql("SELECT 1 FROM events", CURL, connection=True)
    with pytest.raises(TypeError, match="options already"):
        hn.sql("SELECT 1 FROM events", hn.read_pcap(CURL), events=["tls_client"])
    with pytest.raises(ValueError, match="'match' needs the option"):
        hn.read_pcap(CURL, events=["match"])
    for options in ({"protocols": ["ftp"]}, {"columns": ["no"]}, {"events": ["no"]}, {"on_error": "ignore"}, {"workers": 0}):
        with pytest.raises(ValueError):
            hn.read_pcap(CURL, **options)
    only = hn.read_pcap(CURL, protocols=["tls"]).to_arrow().column("event").unique().to_pylist()
    assert sorted(only) == ["tls_certificates", "tls_client", "tls_server"]


def sorted_rows(*tables):
    """The rows of tables, sorted, without the position in a file."""
    return sorted(json.dumps(row, default=str) for table in tables for row in table.to_pylist())


@pytest.mark.parametrize("shards", [2, 4, 8])
def test_shards_and_their_hosts_give_events_of_one_analysis(shards):
    captures = [PAGES, CURL, CAPTURES / "tcp/nmap-scan/nmap-scan.pcap", *sorted((CAPTURES.parent / "huginn-net/tests/hosts").glob("*.pcap"))]
    found = set()
    for path in captures:
        whole = hn.read_pcap(path).to_arrow()
        parts = [hn.read_pcap(path, shard=(index, shards)) for index in range(shards)]
        of_flows = whole.filter(pc.invert(pc.is_in(whole["event"], pa.array(hn.HOST_EVENTS))))
        assert sorted_rows(*(part.to_arrow() for part in parts)) == sorted_rows(of_flows)
        of_hosts = whole.filter(pc.is_in(whole["event"], pa.array(hn.HOST_EVENTS)))
        assert hn.host_events([part.host_records() for part in parts]).to_pylist() == of_hosts.to_pylist()
        found.update(of_hosts["event"].to_pylist())
    assert found == set(hn.HOST_EVENTS)


def test_hosts_of_several_files_are_those_of_merged_capture(tmp_path):
    """Ten files of one capture, cut where no flow is open: each file has whole captures."""
    paths = [*(CAPTURES.parent / "huginn-net/tests/hosts").glob("*.pcap"), *CAPTURES.glob("tcp/*/*.pcap")]
    header = b"\xd4\xc3\xb2\xa1\2\0\4\0" + bytes(8) + (262144).to_bytes(4, "little") + b"\1\0\0\0"
    data = [path.read_bytes() for path in sorted(paths)]
    bodies = [one[24:] for one in data if one[:4] == header[:4] and one[20:24] == header[20:24]]
    assert len(bodies) >= 10
    # Times go on from file to file: four hours apart, so that flows have ended.
    moved = [move(body, 4 * 3600 * index) for index, body in enumerate(bodies)]
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(header + b"".join(moved))
    files = []
    for index, body in enumerate(moved[:10]):
        files.append(tmp_path / f"{index}.pcap")
        files[-1].write_bytes(header + (body if index < 9 else b"".join(moved[9:])))
    table = hn.read_pcap(whole).to_arrow()
    want = table.filter(pc.is_in(table["event"], pa.array(hn.HOST_EVENTS)))
    got = hn.host_events(hn.read_pcap(files).host_records())
    assert want.num_rows > 5
    other = ["file", "packet"]
    assert got.drop_columns(other).to_pylist() == want.drop_columns(other).to_pylist()


def move(body, seconds):
    """The packets of a little-endian pcap file with later times."""
    moved, offset = b"", 0
    (start,) = struct.unpack_from("<I", body, 0)
    while offset < len(body):
        time, micros, length, wire = struct.unpack_from("<IIII", body, offset)
        moved += struct.pack("<IIII", time - start + 1_700_000_000 + seconds, micros, length, wire)
        moved += body[offset + 16 : offset + 16 + length]
        offset += 16 + length
    return moved


def test_host_table_has_hosts_of_all_records():
    table = hn.HostTable()
    table.feed(hn.read_pcap(CURL).host_records())
    assert table.hosts() == hn.read_pcap(CURL).hosts()
    with pytest.raises(ValueError, match="host record"):
        table.feed(pa.table({"record": ["{}"], "file": ["x"]}))


def test_shards_are_checked():
    for shard in ((2, 2), (0, 0)):
        with pytest.raises(ValueError):
            hn.read_pcap(CURL, shard=shard)
    with pytest.raises(ValueError, match="host_events"):
        hn.read_pcap(CURL, shard=(0, 2), events=["uptime"])


def test_packets_are_numbered_in_each_file():
    packets = hn.read_pcap([CURL, CURL], columns=["packet", "file"]).to_arrow()["packet"].to_pylist()
    half = len(packets) // 2
    assert packets[:half] == packets[half:] and packets[0] == 1


def test_damage_of_file_like_object_has_its_name(tmp_path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(CURL.read_bytes()[:-10])
    with cut.open("rb") as file, pytest.raises(hn.CaptureError, match="cut.pcap"):
        list(hn.read_pcap(file))


@pytest.mark.skipif(os.geteuid() != 0, reason="capture needs CAP_NET_RAW")
def test_live_yields_batches():
    with hn.live("lo", interval=0.2) as capture:
        request = threading.Thread(target=exchange_http)
        request.start()
        rows = []
        for batch in capture:
            rows += batch.to_pylist()
            if {"http_request", "http_response"} <= {row["event"] for row in rows}:
                break
        request.join()
    assert any(row["http_user_agent"] == "huginn-net-test" for row in rows)
    assert capture.stats()["interfaces"]["lo"]["received"] > 5
    assert capture.stats()["dropped_events"] == 0
    with pytest.raises(StopIteration):
        while True:
            next(capture)


def exchange_http():
    """One request to a server on the loopback interface."""
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    answer = threading.Thread(target=server.handle_request)
    answer.start()
    address = f"http://127.0.0.1:{server.server_port}/none"
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(address, headers={"User-Agent": "huginn-net-test"}))
    answer.join()
    server.server_close()


def test_live_reports_errors():
    with pytest.raises(OSError, match="nonexistent0"):
        hn.live("nonexistent0")
    with pytest.raises(ValueError):
        hn.live("lo", interval=0)


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


def test_fingerprints_of_columns():
    lines = (CAPTURES / "consistency/clients.jsonl").read_text().splitlines()
    hellos = [bytes.fromhex(json.loads(line)["hello"]) for line in lines]
    bare = hellos[0][5:]
    column = [*hellos, None, b"", hellos[0][:40], b"GET / HTTP/1.1", bare]
    parsed = [*map(hn.client_hello, hellos), None, None, None, None, hn.client_hello(hellos[0])]
    stable = [hn.client_fingerprint(tls=hello)["tls"]["ja4_stable"] for hello in hellos]
    for data in (
        *(pa.array(column, kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
        pa.chunked_array([column[:3], column[3:]], pa.binary()),
        pl.Series(column),
    ):
        assert pa.array(hn.ja4(data)).to_pylist() == [one and one.ja4 for one in parsed]
        assert pa.array(hn.ja3_hash(data)).to_pylist() == [one and one.ja3_hash for one in parsed]
        assert pl.Series(hn.ja4_stable(data)).to_list() == [*stable, None, None, None, None, stable[0]]
    of_quic = pa.array(hn.ja4(pa.array([bare, hellos[0]]), transport="quic")).to_pylist()
    assert of_quic == ["q" + parsed[0].ja4[1:], None]
    server = bytes([22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3]) + bytes(32) + bytes([0, 0xC0, 0x2F, 0])
    expected = hashlib.md5(b"771,49199,").hexdigest()
    assert pa.array(hn.ja3s_hash(pa.array([server, server[5:], hellos[0]]))).to_pylist() == [expected, expected, None]
    streams = CAPTURES.parent / "huginn-net-ssh/streams"
    client, server = (streams / name for name in ("dropbear-client.bin", "openssh-server.bin"))
    packets = client.read_bytes().split(b"\n", 1)[1]
    # A packet has a length of four bytes, and one of padding.
    data = pa.array([client.read_bytes(), packets, packets[5 : 4 + int.from_bytes(packets[:4], "big")], b"SSH-2.0-x"])
    assert pa.array(hn.hassh(data)).to_pylist() == ["16574631849ea8d13c926c9905839928"] * 3 + [None]
    assert pa.array(hn.hassh_server(pa.array([server.read_bytes()]))).to_pylist() == ["425d29fe50d8e4f5e37efb6e24bcf660"]

    connection = duckdb.connect()
    connection.create_function("ja4", lambda column: pa.array(hn.ja4(column)), ["BLOB"], "VARCHAR", type="arrow", null_handling="special")
    hello_table = pa.table({"hello": pa.array(column, pa.binary())})  # noqa: F841: DuckDB finds it by its name.
    assert connection.sql("SELECT ja4(hello) FROM hello_table").fetchall() == [(one and one.ja4,) for one in parsed]
    assert len(hn.ja4(pa.nulls(3))) == 3 and pa.array(hn.ja4(pa.array([], pa.binary()))).to_pylist() == []
    for wrong in ([b"x"], pa.array(["x"]), pl.Series([1])):
        with pytest.raises(TypeError, match="column"):
            hn.ja4(wrong)
    with pytest.raises(ValueError, match="transport"):
        hn.ja4(pa.array(hellos), transport="udp")


def test_explain_equals_program():
    program = os.environ.get("HUGINN_NET", "huginn-net")
    ja4, other = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6", "t13d311100_e8f1e7e78f70_d41ae481755e"
    for texts in ([ja4], [ja4, other], ["4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+:0"]):
        run = subprocess.run([program, "explain", *texts], capture_output=True, check=True, text=True)
        assert hn.explain(*texts) == run.stdout
    for texts in (["nothing"], [ja4, "771,4865,0,,"]):
        with pytest.raises(ValueError):
            hn.explain(*texts)


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


def test_client_fingerprint():
    syn = CURL.read_bytes()
    syn = syn[40 + 14 : 40 + int.from_bytes(syn[32:36], "little")]
    hello = (CAPTURES.parent / "huginn-net-tls/hellos/curl-openssl.bin").read_bytes()
    initial = (CAPTURES.parent / "huginn-net-tls/hellos/rfc9001-a2-client-initial.bin").read_bytes()
    head = b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n"
    found = hn.client_fingerprint(syn=syn, tls=hello, http=head)
    assert found["tcp"]["system"] == "Linux 4.20 or newer"
    assert (found["tls"]["ja4"], found["tls"]["ja4_stable"][:10]) == ("t13d3112h2_e8f1e7e78f70_b26ce05bbdd6", "t13d3111h2")
    assert (found["http"]["version"], found["http"]["header_order"]) == ("1.1", "Host,User-Agent,Accept")
    assert found["consistency"]["outcome"] == "unknown"
    assert hn.client_fingerprint(quic=[b"", initial])["tls"]["sni"] == "example.com"
    warning = bytes([21, 3, 1, 0, 2, 1, 90])
    assert hn.client_fingerprint(tls=warning + hello, http=head + b"body")["tls"] == found["tls"]
    assert hn.client_fingerprint(tls=hello[:40], http=b"\0") == hn.client_fingerprint() == {}


def queries_of_schema_page():
    """Those for DuckDB, and those for every engine."""
    page = (CAPTURES.parent / "docs/schema.md").read_text()
    queries = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    return [query for query in queries if "events.parquet" in query], [query for query in queries if "events.parquet" not in query]


def test_queries_of_schema_page_run():
    of_duckdb, of_all = queries_of_schema_page()
    assert (len(of_duckdb), len(of_all)) == (7, 3)
    capture = hn.read_pcap([str(CAPTURES / "http/*/*.pcap"), str(CAPTURES / "tls/*/*.pcap")])
    events = capture.to_arrow()  # noqa: F841: DuckDB finds it by its name.
    for query in of_duckdb:
        assert duckdb.sql(query.replace("'events.parquet'", "events")).fetchall(), query


def test_queries_of_schema_page_have_the_same_rows_in_duckdb_and_polars():
    """At most five lines each, with the rows that Python finds."""
    _, of_all = queries_of_schema_page()
    assert all(len(query.splitlines()) <= 5 for query in of_all)
    captures = [str(CAPTURES / pattern) for pattern in ("tls/*/*.pcap", "ssh/*/*.pcap", "hosts/*/*.pcap")]
    frame = hn.read_pcap(captures).to_polars().with_columns(pl.col("ts").min() + pl.duration(microseconds=pl.int_range(pl.len())))
    # The same events a week before, but of half of the clients: the software of the others grew.
    software = frame["software"].drop_nulls().unique().sort().to_list()
    assert len(software) > 3
    before = frame.filter(pl.col("software").is_in(software[::2])).with_columns(pl.col("ts").dt.offset_by("-10d"))
    events = pl.concat([frame, before])
    found = []
    for query in of_all:
        rows = duckdb.sql(query).fetchall()
        assert rows and rows == pl.SQLContext(events=events).execute(query, eager=True).rows(), query
        found.append(rows)
    grown, servers, changed = found
    assert sorted(name for name, *_ in grown) == software[1::2] and all(hosts > before for _, hosts, before in grown)
    hellos = frame.filter(~pl.col("tls_retry"), event="tls_server").drop_nulls("tls_post_quantum").select(
        "server_ip", "server_port", "tls_post_quantum"
    )
    agreed = {row[:2] for row in hellos.rows() if row[2]}
    assert {row[:2] for row in servers} == {row[:2] for row in hellos.rows()} - agreed and agreed
    assert [row[2:] for row in changed] == frame.filter(event="host_change").sort("ts").select("change_from", "change_to").rows()
    assert [row[3] for row in changed] == ["Windows"]
    lazily = pl.SQLContext(events=hn.scan_pcap(captures)).execute(of_all[1]).collect().rows()
    assert lazily == servers == hn.sql(of_all[1], captures).fetchall()


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


def test_findings_and_matches_equal_those_of_program(tmp_path):
    polls = CAPTURES / "hosts/hosts-plain/hosts-plain.pcap"
    watched = tmp_path / "list.csv"
    watched.write_text("type,value,label\nip,192.0.2.2,server\n")
    options = ["--findings", "--fingerprints", str(watched)]
    expected = json_events(polls, options=options, status=3)
    assert {"finding", "match"} <= {event["event"] for event in expected}
    expected = [{"file": str(polls), **event} for event in expected]
    assert list(hn.read_pcap(polls, findings=True, fingerprints=watched)) == expected
    alerts = [event for event in expected if event["event"] in ("finding", "match")]
    assert list(hn.read_pcap(polls, findings=True, fingerprints=[watched], events=["finding"])) == alerts
    assert "match" not in {event["event"] for event in hn.read_pcap(polls)}
    with pytest.raises(FileNotFoundError):
        hn.read_pcap(polls, fingerprints=["/nonexistent.csv"])
    watched.write_text("type,value\njarm,x\n")
    with pytest.raises(ValueError, match="line 2: unknown type"):
        hn.read_pcap(polls, fingerprints=[watched])
    with pytest.raises(ValueError, match="leave shard out"):
        hn.read_pcap(polls, findings=True, shard=(0, 2))


def test_columns_of_fingerprints_get_names():
    curl, other = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6", "t13d1517h2_000000000001_000000000002"
    want = ["libcurl 7.88 and older", None, None, "libcurl 7.88 and older", None]
    values = [curl, other, None, curl, "no fingerprint"]
    columns = [
        values,
        pa.array(values),
        pa.chunked_array([values[:2], values[2:]]),
        pa.array(values).dictionary_encode(),
        pl.Series(values),
        pl.Series(values, dtype=pl.Categorical),
    ]
    for column in columns:
        names = hn.name_clients(column)
        assert names.field("name").to_pylist() == want
        assert names.is_null().to_pylist() == [name is None for name in want]
    first = names[0].as_py()
    assert (first["library"], first["match"], first["variant"]) == ("OpenSSL", "exact", None)
    assert "libcurl 7.88 and older" in first["candidates"]
    assert hn.name_clients([curl], kind="ja3").to_pylist() == [None]
    assert hn.name_clients(["0149f47eabf9a20d0893e2a44e5a6323"], "ja3").field("name").to_pylist() == ["OpenSSL"]
    assert len(hn.name_clients([])) == len(hn.name_clients(pa.chunked_array([], pa.string()))) == 0
    with pytest.raises(ValueError, match="ja3"):
        hn.name_clients([curl], kind="jaa")
