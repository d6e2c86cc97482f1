"""The job of examples/kafka.py, with a consumer that is none of Kafka, and ClickHouse in this process."""

import importlib.util
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import huginn_net as hn

sys.path.append(str(Path(__file__).parent))
from test_capture import CAPTURES, CURL, PAGES  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SPEC = importlib.util.spec_from_file_location("kafka_job", EXAMPLES / "kafka.py")
job = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(job)

PATHS = [CURL, PAGES, *sorted(CAPTURES.glob("ssh/*/*.pcap"))[:2]]


class Message:
    def __init__(self, offset, key, value):
        self.parts = (offset, key, value)

    def error(self):
        return None

    def topic(self):
        return "captures"

    def partition(self):
        return 3

    def offset(self):
        return self.parts[0]

    def key(self):
        return self.parts[1]

    def value(self):
        return self.parts[2]


class Consumer:
    """A partition with some messages, which are read from the committed offset on, as confluent_kafka.Consumer does."""

    def __init__(self, messages):
        self.messages = messages
        self.committed = 0
        self.restart()

    def restart(self):
        self.position = self.committed

    def poll(self, timeout):
        assert timeout > 0
        if self.position == len(self.messages):
            return None
        self.position += 1
        return self.messages[self.position - 1]

    def commit(self, message, asynchronous):
        assert not asynchronous
        self.committed = message.offset() + 1

    def is_read(self):
        return self.committed == len(self.messages)


def consumer_of(paths):
    return Consumer([Message(number, path.name.encode(), path.read_bytes()) for number, path in enumerate(paths)])


def expected_rows():
    return hn.read_pcap({path.name: path.read_bytes() for path in PATHS}).to_arrow().to_pylist()


def test_each_message_is_written_once_whatever_fails(tmp_path):
    """The job dies before and after each step; it starts again from the committed offset."""
    consumer = consumer_of(PATHS)
    write, deaths = job.parquet_writer(tmp_path), iter([1, 0, 1, 1, 0, 0, 1, 0, 0, 0])

    def dying(place, events):
        before = next(deaths, 0)
        if before:
            raise KeyboardInterrupt
        write(place, events)
        if next(deaths, 0):
            raise KeyboardInterrupt

    for _ in range(20):
        consumer.restart()
        try:
            job.read_messages(consumer, dying, consumer.is_read)
        except KeyboardInterrupt:
            continue
        break
    assert consumer.is_read() and next(deaths, None) is None
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"captures-3-{number:020}.parquet" for number in range(len(PATHS))]
    assert pa.concat_tables([pq.read_table(file) for file in files]).to_pylist() == expected_rows()


def test_offset_is_not_committed_before_rows_are_written():
    consumer = consumer_of(PATHS[:1])

    def failing(place, events):
        assert consumer.committed == 0
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        job.read_messages(consumer, failing, consumer.is_read)
    assert consumer.committed == 0


def test_damaged_message_does_not_stop_the_job(tmp_path):
    consumer = Consumer([Message(0, None, b"no capture"), Message(1, b"x.pcap", None), Message(2, b"curl.pcap", CURL.read_bytes())])
    with pytest.warns(hn.CaptureWarning, match="captures-3-0"):
        job.read_messages(consumer, job.parquet_writer(tmp_path), consumer.is_read, events=["tls_client"])
    assert [pq.read_table(file).num_rows for file in sorted(tmp_path.iterdir())] == [0, 0, 6]


def test_clickhouse_has_the_rows_that_were_inserted(tmp_path, monkeypatch):
    """The statement of the page makes the table; what was inserted is read back. ClickHouse runs in this process: its answer to HTTP is left out."""
    session_type = pytest.importorskip("chdb.session").Session
    session = session_type(str(tmp_path / "clickhouse"))
    session.query("CREATE DATABASE hn ENGINE = Atomic")
    session.query("USE hn")
    sample = tmp_path / "sample.parquet"
    hn.read_pcap(CURL).write_parquet(sample)
    session.query(f"SET param_parquet = '{sample}'")
    session.query((EXAMPLES / "clickhouse.sql").read_text())

    class Answer:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def read(self):
            return b""

    def insert(url, data, timeout):
        assert timeout > 0
        query = dict(job.urllib.parse.parse_qsl(job.urllib.parse.urlsplit(url).query))
        body = tmp_path / "body.parquet"
        body.write_bytes(data)
        into = query["query"].removesuffix(" FORMAT Parquet")
        settings = f"SETTINGS insert_deduplication_token = '{query['insert_deduplication_token']}'"
        session.query(f"{into} {settings} SELECT * FROM file('{body}', Parquet)")
        return Answer()

    monkeypatch.setattr(job.urllib.request, "urlopen", insert)
    consumer = consumer_of(PATHS)
    for _ in range(2):
        # The second time, all inserts are repeated.
        consumer.committed = 0
        consumer.restart()
        job.read_messages(consumer, job.clickhouse_writer("http://localhost:8123"), consumer.is_read)
    rows = session.query("SELECT * FROM huginn_events", "ArrowTable").to_pylist()
    assert len(rows) == len(expected_rows())
    assert sorted(map(plain, rows)) == sorted(map(plain, expected_rows()))


def plain(row):
    """A row as both have it: ClickHouse has an empty list for null, bytes for texts, and 1 for true."""

    def value(one):
        if isinstance(one, list):
            return [value(each) for each in one] or None
        if isinstance(one, dict):
            return present(one)
        if isinstance(one, bytes):
            return one.decode()
        if hasattr(one, "timestamp"):
            return round(one.timestamp() * 1e6)
        return int(one) if isinstance(one, bool) else one

    def present(row):
        return sorted((name, value(one)) for name, one in row.items() if value(one) is not None)

    return str(present(row))
