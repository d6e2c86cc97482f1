"""The data source on Sail, and with HUGINN_NET_SPARK on Spark itself."""

import collections
import datetime
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession  # noqa: E402

import huginn_net as hn  # noqa: E402
from huginn_net.spark import HuginnNetDataSource, host_events  # noqa: E402

CAPTURES = Path(__file__).resolve().parents[2] / "captures"


@pytest.fixture(scope="module")
def spark(s3_server):
    master = os.environ.get("HUGINN_NET_SPARK")
    if master:
        # The workers of a master have an environment of their own.
        variables = {f"spark.executorEnv.{name}": value for name, value in s3_server.items()}
        builder = SparkSession.builder.master(master).config(map=variables).config("spark.ui.enabled", "false")
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
    events = capture.to_arrow() if isinstance(capture, hn.Capture) else capture
    table = events.group_by("event").aggregate([("event", "count")])
    return dict(zip(table.column("event").to_pylist(), table.column("event_count").to_pylist()))


def test_counts_by_event_equal_those_of_one_process(spark):
    pattern = str(CAPTURES / "*/*/*.pcap")
    rows = spark.read.format("huginn_net").option("onError", "skip").load(pattern).groupBy("event").count().collect()
    expected = counts_of(hn.read_pcap(pattern, on_error="skip"))
    assert {row["event"]: row["count"] for row in rows} == expected
    assert sum(expected.values()) > 4000


def test_queries_of_schema_page_have_rows_of_duckdb(spark):
    duckdb = pytest.importorskip("duckdb")
    page = (CAPTURES.parent / "docs/schema.md").read_text()
    queries = [query for query in re.findall(r"```sql\n(.*?)```", page, re.DOTALL) if "events.parquet" not in query]
    pattern = str(CAPTURES / "[hst]*/*/*.pcap")
    spark.read.format("huginn_net").option("onError", "skip").load(pattern).createOrReplaceTempView("events")
    events = hn.read_pcap(pattern, on_error="skip").to_arrow()  # noqa: F841: DuckDB finds it by its name.
    assert len(queries) == 3
    for query in queries:
        rows, expected = [tuple(row) for row in spark.sql(query).collect()], duckdb.sql(query).fetchall()
        without_times = [[value for value in row if not hasattr(value, "year")] for row in rows]
        assert without_times == [[value for value in row if not hasattr(value, "year")] for row in expected] != [], query


def test_options_select_packets_and_events(spark):
    path = str(CAPTURES / "tls/tls-curl/tls-curl.pcap")
    options = {"where": "alpn == 'h2'", "net": "192.0.2.0/24", "excludePort": "80,8080", "from": "2020-01-01", "filter": "tcp"}
    rows = spark.read.format("huginn_net").options(**options).load(path).select("event", "packet").collect()
    same = {"where": "alpn == 'h2'", "net": "192.0.2.0/24", "exclude_port": [80, 8080], "from_": "2020-01-01", "filter": "tcp"}
    expected = hn.read_pcap(path, columns=["event", "packet"], **same).to_arrow().to_pylist()
    assert [row.asDict() for row in rows] == expected != []
    for name, text in (("port", "70000"), ("where", "sni = "), ("from", "noon")):
        with pytest.raises(Exception, match=f"(?i){name}"):
            spark.read.format("huginn_net").option(name, text).load(path).collect()


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


def test_frame_is_the_same_after_filtered_queries(spark):
    path = str(CAPTURES / "tls/tls-curl/tls-curl.pcap")
    frame = spark.read.format("huginn_net").load(path)
    rows = hn.read_pcap(path).to_arrow().num_rows
    assert frame.count() == rows
    clients = frame.where("event = 'tls_client'")
    assert {row["event"] for row in clients.collect()} == {"tls_client"}
    both = frame.where("event IN ('tls_client', 'tls_server')")
    of_both = hn.read_pcap(path, events=["tls_client", "tls_server"]).to_arrow().num_rows
    assert (clients.count(), both.count(), frame.count()) == (of_both - clients.count(), of_both, rows)
    assert frame.union(clients).count() == rows + clients.count()
    joined = clients.alias("c").join(frame.alias("f"), "packet").select("f.event").collect()
    assert len(joined) >= clients.count() > 0
    assert spark.read.format("huginn_net").option("events", "tls_client,tls_server").load(path).count() == of_both


def test_options_are_checked(spark):
    path = str(CAPTURES / "tls/tls-curl/tls-curl.pcap")
    for name, value, message in (
        ("partitonBytes", "1", "did you mean partitionBytes"),
        ("filterPushdown", "true", "no option"),
        ("events", "tls_clinet", "did you mean tls_client"),
        ("shards", "0", "must be positive"),
        ("connections", "yes", "must be one of true, false"),
        ("table", "event", "must be one of"),
    ):
        with pytest.raises(Exception, match=message):
            # Before any task: the schema needs them.
            _ = spark.read.format("huginn_net").option(name, value).load(path).schema
    with pytest.raises(Exception, match="did you mean"):
        spark.read.format("huginn_net").schema("ja44 string").load(path).collect()


@pytest.mark.skipif("HUGINN_NET_SPARK" not in os.environ, reason="Sail 0.7 passes one path")
def test_list_of_paths(spark):
    paths = [str(CAPTURES / "tls/tls-curl/tls-curl.pcap"), str(CAPTURES / "http/http-pages/http-pages.pcap")]
    assert spark.read.format("huginn_net").load(paths).count() == hn.read_pcap(paths).to_arrow().num_rows


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
    (tmp_path / "20.pcap").write_bytes(good[:-10])
    errors = spark.read.format("huginn_net").option("table", "errors").load(str(tmp_path))
    rows = sorted((row["file"][-7:], row["packet"] is None, row["offset"] is None) for row in errors.collect())
    assert rows == [("10.pcap", True, True), ("20.pcap", False, False)]
    counters = spark.read.format("huginn_net").option("table", "counters").option("onError", "skip").load(str(tmp_path))
    found = {row["file"][-7:]: row["packets"] for row in counters.select("file", "packets").collect()}
    packets = hn.read_pcap(good).stats()[0]["engine"]["frames"]
    assert found == {f"{number:02}.pcap": packets for number in range(20) if number != 10} | {"20.pcap": packets - 1}


def test_workers_give_events_of_one_thread(spark):
    path = str(CAPTURES / "hosts/*/*.pcap")
    rows = spark.read.format("huginn_net").option("workers", "3").load(path).groupBy("event").count().collect()
    expected = counts_of(hn.read_pcap(path))
    assert {row["event"]: row["count"] for row in rows} == expected
    assert set(expected) & set(hn.HOST_EVENTS)


def test_shards_give_events_of_flows(spark):
    path = str(CAPTURES / "tcp/*/*.pcap")
    rows = spark.read.format("huginn_net").option("shards", "4").load(path).groupBy("event").count().collect()
    expected = {name: count for name, count in counts_of(hn.read_pcap(path)).items() if name not in hn.HOST_EVENTS}
    assert {row["event"]: row["count"] for row in rows} == expected
    with pytest.raises(Exception, match="host_events"):
        spark.read.format("huginn_net").option("shards", "2").option("events", "uptime").load(path).count()


@pytest.mark.parametrize("shards", ["1", "8"])
def test_host_events_are_those_of_one_analysis(spark, shards):
    path = CAPTURES.parent / "huginn-net/tests/hosts"
    name, capture = max(
        ((file, hn.read_pcap(file, events=hn.HOST_EVENTS).to_arrow()) for file in path.glob("*.pcap")),
        key=lambda found: found[1].num_rows,
    )
    reader = spark.read.format("huginn_net").option("table", "host_records").option("shards", shards)
    columns = ["event", "packet", "host_ip", "change_from", "uptime_minutes"]
    found = [row.asDict() for row in host_events(reader.load(str(name))).select(*columns).collect()]
    expected = [{column: row[column] for column in columns} for row in capture.to_pylist()]
    order = lambda row: (row["packet"], row["event"])  # noqa: E731
    assert sorted(found, key=order) == sorted(expected, key=order)
    assert len(expected) > 3


def test_job_writes_the_tables_of_one_process(spark, tmp_path):
    """The job of python/examples, over all captures and a damaged one."""
    file = CAPTURES.parent / "python/examples/captures_to_tables.py"
    spec = importlib.util.spec_from_file_location(file.stem, file)
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    # Sail 0.7 passes one path.
    folder, output = tmp_path / "captures", tmp_path / "tables"
    folder.mkdir()
    for number, capture in enumerate(sorted(CAPTURES.glob("*/*/*.pcap"))):
        (folder / f"{number:04}-{capture.name}").symlink_to(capture)
    (folder / "damaged.pcap").write_bytes((CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes()[:-10])
    pattern = f"{folder}/*.pcap"
    job.write_tables(spark, pattern, str(output), partition_bytes=1 << 20)

    def read(table):
        # Sail finds no schema if some files are empty.
        tables = [hn_pq.read_table(path) for path in (output / table).rglob("*.parquet")]
        return pa.concat_tables(tables, promote_options="permissive")

    hn_pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    one = hn.read_pcap(pattern, on_error="skip")
    expected = {name: count for name, count in counts_of(one).items() if name not in hn.HOST_EVENTS}
    events = read("events")
    assert counts_of(events) == expected
    assert sum(expected.values()) > 4000
    # By day, in UTC.
    moments = hn.read_pcap(pattern, on_error="skip", columns=["ts", "event"]).to_arrow()
    days = {row["ts"].date() for row in moments.to_pylist() if row["event"] not in hn.HOST_EVENTS}
    found = {datetime.date.fromisoformat(path.name.removeprefix("day=")) for path in (output / "events").glob("day=*")}
    assert found == days and len(days) > 3
    # Hosts of all captures: a second stage.
    of_hosts = hn.host_events([one.host_records()])
    assert counts_of(read("host_events")) == counts_of(of_hosts)
    assert of_hosts.num_rows > 3
    (error,) = {row["file"] for row in read("errors").to_pylist() if row["file"].endswith("damaged.pcap")}
    assert error == str(folder / "damaged.pcap")


@pytest.mark.skipif("HUGINN_NET_SPARK" in os.environ, reason="needs Sail")
def test_sail_in_one_process_prints_the_most_frequent_ja4():
    pytest.importorskip("pysail.spark")
    job, captures = CAPTURES.parent / "python/examples/sail_top_ja4.py", str(CAPTURES / "tls/*/*.pcap")
    printed = subprocess.run([sys.executable, job, captures], check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line.startswith("|")]
    hellos = hn.read_pcap(captures, events=["tls_client"], columns=["ja4"], on_error="skip").to_arrow()
    counts = collections.Counter(hellos.column("ja4").to_pylist())
    expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:20]
    assert rows == [["ja4", "count"], *([ja4, str(count)] for ja4, count in expected)]


def test_captures_come_from_s3(spark, s3):
    """A bucket of a local server; the executors open the URLs themselves."""
    data = (CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes()
    for number in range(3):
        s3.put_object(Bucket="captures", Key=f"day/{number}.pcap", Body=data)
    found = spark.read.format("huginn_net").load("s3://captures/day/*.pcap")
    assert found.count() == 3 * hn.read_pcap(data).to_arrow().num_rows
    assert {row["file"] for row in found.select("file").distinct().collect()} == {
        f"s3://captures/day/{number}.pcap" for number in range(3)
    }


@pytest.mark.skipif("HUGINN_NET_SPARK" not in os.environ, reason="Sail 0.7 has no streams of Python data sources")
def test_stream_reads_captures_as_they_appear(spark, tmp_path):
    folder, rows = tmp_path / "captures", tmp_path / "rows"
    folder.mkdir()
    good = (CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes()
    of_one = hn.read_pcap(good).to_arrow().num_rows
    moment = iter(range(1_700_000_000, 1_800_000_000))

    def add(name, changed=1):
        """A capture of its own that has not changed for long."""
        (folder / name).write_bytes(good[:24] + struct.pack("<I", next(moment)) + good[28:])
        os.utime(folder / name, (1, changed))

    def read(path=folder, **options):
        """Reads what is new, as a job that starts again, and returns the captures so far with their rows."""
        query = (
            spark.readStream.format("huginn_net")
            .options(**options)
            .load(str(path))
            .select("ts", "event", "file")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(rows))
        )
        query.awaitTermination()
        found = spark.read.schema("file string").parquet(str(rows)).groupBy("file").count().collect()
        return {os.path.basename(row["file"]): row["count"] // of_one for row in found}

    # Nothing is there, and then something.
    assert read() == {}
    for number in range(10):
        add(f"{number}.pcap")
    seen = {f"{number}.pcap": 1 for number in range(10)}
    assert read() == seen
    # As many are deleted as are added: their names and times may be those before the others.
    for number in range(10):
        (folder / f"{number}.pcap").unlink()
        add(f"late{number}.pcap", changed=0)
    seen |= {f"late{number}.pcap": 1 for number in range(10)}
    assert read() == seen
    # A name that another capture had is no longer that capture; one that moves stays what it is.
    add("3.pcap")
    (folder / "late4.pcap").rename(folder / "moved.pcap")
    seen |= {"3.pcap": 2}
    assert read() == seen
    # One that is still written waits.
    (folder / "open.pcap").write_bytes(good)
    assert read() == seen
    assert read(settleSeconds="0") == (seen | {"open.pcap": 1})
    # Its packets cannot join the flows of those that were read.
    with (folder / "open.pcap").open("ab") as file:
        file.write(good[24:])
    with pytest.raises(Exception, match="open.pcap: grew after it was read"):
        read(settleSeconds="0")
    (folder / "after.pcap").write_bytes(good)
    # The batch that failed is first.
    assert read(settleSeconds="0", onError="skip") == (seen | {"open.pcap": 1})
    assert read(settleSeconds="0", onError="skip") == (seen | {"open.pcap": 1, "after.pcap": 1})


def stream_rows(spark, folder, path, **options):
    """Reads what is new, as a job that starts again with its checkpoint, and returns the captures so far with their rows."""
    query = (
        spark.readStream.format("huginn_net")
        .options(**options)
        .load(path)
        .select("ts", "event", "file")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "rows"))
    )
    query.awaitTermination()
    return read_rows(spark, folder)


@pytest.mark.skipif("HUGINN_NET_SPARK" not in os.environ, reason="Sail 0.7 has no streams of Python data sources")
def test_stream_reads_objects_as_they_appear(spark, s3, tmp_path):
    """A bucket that grows and shrinks, while the job runs and while it does not."""
    good = (CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes()
    rows, moment = hn.read_pcap(good).to_arrow().num_rows, iter(range(1_700_000_000, 1_800_000_000))

    def add(name):
        s3.put_object(Bucket="captures", Key=name, Body=good[:24] + struct.pack("<I", next(moment)) + good[28:])

    def read(**options):
        return stream_rows(spark, tmp_path, "s3://captures/caps/*.pcap", **options)

    # The prefix does not exist yet.
    assert read() == {}
    seen = {}
    for batch in (range(5), range(5, 10)):
        for number in batch:
            add(f"caps/{number}.pcap")
            seen[f"caps/{number}.pcap"] = rows
        assert read() == seen
    # One job for all that follows.
    query = (
        spark.readStream.format("huginn_net")
        .load("s3://captures/caps/*.pcap")
        .select("file")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="1 second")
        .start(str(tmp_path / "rows"))
    )
    for number in range(10, 13):
        add(f"caps/{number}.pcap")
        s3.delete_object(Bucket="captures", Key=f"caps/{number - 10}.pcap")
        seen[f"caps/{number}.pcap"] = rows
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (found := read_rows(spark, tmp_path)) != seen:
            time.sleep(0.5)
        assert found == seen
    query.stop()
    # The last batch may not be noted as committed yet.
    assert read() == seen
    add("caps/5.pcap")
    with pytest.raises(Exception, match="5.pcap: was replaced after it was read"):
        read()
    add("caps/last.pcap")
    # The batch that failed is first.
    assert read(onError="skip") == seen
    assert read(onError="skip") == seen | {"caps/last.pcap": rows}
    with pytest.raises(Exception, match="NoSuchBucket"):
        stream_rows(spark, tmp_path / "other", "s3://other/caps/*.pcap")


def read_rows(spark, folder):
    found = spark.read.schema("file string").parquet(str(folder / "rows")).groupBy("file").count().collect()
    return {row["file"].removeprefix("s3://captures/"): row["count"] for row in found}


@pytest.mark.skipif("HUGINN_NET_SPARK" in os.environ, reason="needs no Spark")
def test_offsets_name_three_hundred_objects_once(s3):
    """Readers that start again with the last offset, as Spark starts them, while objects appear."""
    good = (CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes()
    writers = [
        threading.Thread(target=lambda first=first: [s3.put_object(Bucket="captures", Key=f"{number:03}.pcap", Body=good) for number in range(first, 300, 3)])
        for first in range(3)
    ]
    for writer in writers:
        writer.start()
    source = HuginnNetDataSource({"path": "s3://captures"})
    start, found, is_last = {"files": {}}, [], False
    while not is_last:
        is_last = not any(writer.is_alive() for writer in writers)
        reader = source.streamReader(source.schema())
        for _ in range(2):
            end = json.loads(json.dumps(reader.latestOffset()))
            found += [url for partition in reader.partitions(start, end) for url in partition.urls]
            start = end
    assert sorted(found) == [f"s3://captures/{number:03}.pcap" for number in range(300)]
    (first, *_) = reader.partitions({"files": {}}, start)
    assert sum(batch.num_rows for batch in reader.read(first)) == len(first.urls) * hn.read_pcap(good).to_arrow().num_rows


@pytest.mark.skipif("HUGINN_NET_SPARK" in os.environ, reason="needs no Spark")
def test_storage_options_are_those_of_the_package(s3, s3_server, monkeypatch):
    s3.put_object(Bucket="captures", Key="x.pcap", Body=(CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes())
    for name in s3_server:
        monkeypatch.delenv(name)
    options = {"endpoint": s3_server["AWS_ENDPOINT_URL"], "access_key_id": "a", "secret_access_key": "b"}
    source = HuginnNetDataSource({"path": "s3://captures", "storageoptions": json.dumps(options)})
    reader = source.reader(source.schema())
    (partition,) = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(partition)) > 20
    for text in ("[]", "{"):
        with pytest.raises(ValueError, match="option storageOptions"):
            HuginnNetDataSource({"path": "s3://captures", "storageOptions": text})


@pytest.mark.skipif("HUGINN_NET_SPARK" in os.environ, reason="needs no Spark")
def test_missing_files_of_options_are_errors_and_deleted_captures_are_skipped(tmp_path):
    good = CAPTURES / "tls/tls-curl/tls-curl.pcap"
    for option in ("db", "keylog", "known", "fingerprints", "baseline"):
        source = HuginnNetDataSource({"path": str(good), "onError": "skip", option: str(tmp_path / "none")})
        reader = source.reader(source.schema())
        (partition,) = reader.partitions()
        with pytest.raises(FileNotFoundError, match=f"{option}: "):
            list(reader.read(partition))
    for name in ("a.pcap", "b.pcap"):
        (tmp_path / name).write_bytes(good.read_bytes())
    source = HuginnNetDataSource({"path": str(tmp_path), "onError": "skip"})
    reader = source.reader(source.schema())
    (partition,) = reader.partitions()
    (tmp_path / "a.pcap").unlink()
    assert sum(batch.num_rows for batch in reader.read(partition)) == hn.read_pcap(good).to_arrow().num_rows


@pytest.mark.skipif("HUGINN_NET_SPARK" in os.environ, reason="needs no Spark")
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_captures_renamed_while_a_task_reads_are_found(tmp_path, on_error):
    good = (CAPTURES / "tls/tls-curl/tls-curl.pcap").read_bytes()
    for number in range(5):
        (tmp_path / f"{number}.pcap").write_bytes(good)
    source = HuginnNetDataSource({"path": str(tmp_path), "settleSeconds": "0", "onError": on_error})
    reader = source.streamReader(source.schema())
    (partition,) = reader.partitions(reader.initialOffset(), reader.latestOffset())
    batches = reader.read(partition)
    rows = next(batches).num_rows
    for number, name in enumerate("abcde"):
        (tmp_path / f"{number}.pcap").rename(tmp_path / f"{name}.pcap")
    rows += next(batches).num_rows
    # Again, after the folder was listed.
    (tmp_path / "d.pcap").rename(tmp_path / "z.pcap")
    assert rows + sum(batch.num_rows for batch in batches) == 5 * hn.read_pcap(good).to_arrow().num_rows
    (partition,) = reader.partitions(reader.initialOffset(), reader.latestOffset())
    for path in tmp_path.iterdir():
        path.unlink()
    if on_error == "skip":
        assert list(reader.read(partition)) == []
    else:
        with pytest.raises(FileNotFoundError, match="was deleted"):
            list(reader.read(partition))


def test_objects_of_lists_have_fields_and_times(spark):
    path = str(CAPTURES / "tls/tls-go/tls-go.pcap")
    sent = spark.read.format("huginn_net").option("events", "tls_certificates").load(path)
    assert dict(sent.dtypes)["certificates"].startswith("array<struct<sha256:string,")
    rows = sent.selectExpr("explode(certificates) AS c").selectExpr("c.sha256", "year(c.not_after) AS year", "c.names").collect()
    sent = [event["certificates"] for event in hn.read_pcap(path, events=["tls_certificates"])]
    expected = [(one["sha256"], int(one["not_after"][:4]), one["names"]) for certificates in sent for one in certificates]
    assert sorted(map(tuple, rows)) == sorted(expected) and expected
