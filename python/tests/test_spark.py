"""The data source on Sail, and with HUGINN_NET_SPARK on Spark itself."""

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession  # noqa: E402

import huginn_net as hn  # noqa: E402
from huginn_net.spark import HuginnNetDataSource  # noqa: E402

CAPTURES = Path(__file__).resolve().parents[2] / "captures"


@pytest.fixture(scope="module")
def spark():
    master = os.environ.get("HUGINN_NET_SPARK")
    if master:
        builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.python.filterPushdown.enabled", "true").getOrCreate()
    else:
        sail = pytest.importorskip("pysail.spark")
        server = sail.SparkConnectServer()
        server.start(background=True)
        _, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    session.dataSource.register(HuginnNetDataSource)
    yield session
    session.stop()


def counts_of(capture):
    table = capture.to_arrow().group_by("event").aggregate([("event", "count")])
    return dict(zip(table.column("event").to_pylist(), table.column("event_count").to_pylist()))


def test_counts_by_event_equal_those_of_one_process(spark):
    pattern = str(CAPTURES / "*/*/*.pcap")
    rows = spark.read.format("huginn_net").option("onError", "skip").load(pattern).groupBy("event").count().collect()
    expected = counts_of(hn.read_pcap(pattern, on_error="skip"))
    assert {row["event"]: row["count"] for row in rows} == expected
    assert sum(expected.values()) > 5000


def test_schema_selects_columns(spark):
    frame = (
        spark.read.format("huginn_net")
        .schema("ts timestamp, ja4 string, file string")
        .load(str(CAPTURES / "tls/tls-curl/tls-curl.pcap"))
    )
    assert frame.columns == ["ts", "ja4", "file"]
    rows = [row for row in frame.collect() if row["ja4"]]
    assert rows[0]["ja4"] == "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"
    assert rows[0]["file"].endswith("tls-curl.pcap")


def test_filter_selects_events(spark):
    path = str(CAPTURES / "tls/tls-curl/tls-curl.pcap")
    frame = spark.read.format("huginn_net").option("filterPushdown", "true").load(path)
    assert {row["event"] for row in frame.where("event = 'tls_client'").collect()} == {"tls_client"}
    chosen = frame.where("event IN ('tls_client', 'tls_server')").count()
    events = hn.read_pcap(CAPTURES / "tls/tls-curl/tls-curl.pcap", events=["tls_client", "tls_server"])
    assert chosen == events.to_arrow().num_rows > 5
    assert spark.read.format("huginn_net").option("events", "tls_client,tls_server").load(path).count() == chosen


def test_damaged_capture_stops_or_is_skipped(spark, tmp_path):
    good = (CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes()
    for number in range(20):
        (tmp_path / f"{number:02}.pcap").write_bytes(b"no capture" if number == 10 else good)
    reader = spark.read.format("huginn_net")
    skipping = reader.option("onError", "skip").load(str(tmp_path))
    one = hn.read_pcap(good).to_arrow().num_rows
    assert skipping.count() == 19 * one
    with pytest.raises(Exception, match="10.pcap|not a capture"):
        spark.read.format("huginn_net").load(str(tmp_path)).count()
