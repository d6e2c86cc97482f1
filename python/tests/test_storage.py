"""Captures in object storage, pipes, and folders that grow."""

import gzip
import io
import itertools
import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import huginn_net as hn
from huginn_net import _storage

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
CURL = CAPTURES / "tls/tls-curl/tls-curl.pcap"
SECRETS = CAPTURES / "http/http-decrypted-sessions/http-decrypted-sessions.pcapng"
DATA = CURL.read_bytes()
ROWS = hn.read_pcap(DATA).to_arrow().num_rows
numbers = itertools.count(1_700_000_000)


def capture():
    """A capture of its own, with as many rows as the others."""
    return DATA[:24] + struct.pack("<I", next(numbers)) + DATA[28:]


def put(s3, key, data=None):
    s3.put_object(Bucket="captures", Key=key, Body=capture() if data is None else data)


def keys(s3):
    return [one["Key"] for one in s3.list_objects_v2(Bucket="captures").get("Contents", [])]


def rows_of(source, **options):
    return hn.read_pcap(source, **options).to_arrow().num_rows


def test_objects_that_come_later_are_found(s3):
    for url in ("s3://captures/caps", "s3://captures/caps/*.pcap"):
        with pytest.raises(FileNotFoundError, match="no capture matches"):
            hn.read_pcap(url)
    for number in range(1, 4):
        put(s3, f"caps/{number}.pcap")
        put(s3, f"caps/day/{number}.pcap")
        put(s3, f"caps/{number}.txt")
        assert rows_of("s3://captures/caps") == rows_of("s3://captures/caps/**/*.pcap") == 2 * number * ROWS
        assert rows_of("s3://captures/caps/*.pcap") == rows_of("s3://captures/caps/?.pcap") == number * ROWS
    s3.delete_object(Bucket="captures", Key="caps/2.pcap")
    assert rows_of("s3://captures/caps/*.pcap") == 2 * ROWS
    table = hn.read_pcap("s3://captures/caps").to_arrow()
    assert table["file"].unique().to_pylist() == [
        f"s3://captures/caps/{name}.pcap" for name in ("1", "3", "day/1", "day/2", "day/3")
    ]


def test_wrong_buckets_and_endpoints_are_errors(s3):
    for url in ("s3://other/caps", "s3://other/caps/*.pcap", "s3://other"):
        with pytest.raises(OSError, match="NoSuchBucket") as error:
            hn.read_pcap(url)
        assert not isinstance(error.value, FileNotFoundError)
    options = {"endpoint": "http://127.0.0.1:9", "retry_config": {"max_retries": 0}}
    with pytest.raises(OSError, match="s3://captures/x.pcap: .*error sending request"):
        hn.read_pcap("s3://captures/x.pcap", storage_options=options)
    with pytest.raises(ValueError, match="no storage of this kind"):
        hn.read_pcap("hdfs://server/x.pcap")
    with pytest.raises(OSError, match="bogus"):
        hn.read_pcap("s3://captures/x.pcap", storage_options={"bogus": 1})


def test_wrong_credentials_are_errors(tmp_path):
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = {"endpoint": f"http://127.0.0.1:{server.server_port}", "access_key_id": "a", "secret_access_key": "wrong"}
    for url in ("s3://captures/caps", "s3://captures/caps/*.pcap", "s3://captures/"):
        for use in (lambda: hn.read_pcap(url, storage_options=options), lambda: list(hn.follow(url, state=tmp_path / "state", once=True, storage_options=options))):  # noqa: B023
            with pytest.raises(OSError, match=f"{re.escape(url)}: .*403") as error:
                use()
            assert not isinstance(error.value, FileNotFoundError)
    server.shutdown()
    server.server_close()


def test_storage_options_name_the_store(s3, s3_server, monkeypatch):
    put(s3, "x.pcap")
    for name in s3_server:
        monkeypatch.delenv(name)
    options = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "endpoint": s3_server["AWS_ENDPOINT_URL"]}
    for more in ({}, {"aws_allow_http": "true", "timeout": "30s"}, {"client_options": {"allow_http": True}}):
        assert rows_of("s3://captures/x.pcap", storage_options={**options, **more}) == ROWS
        assert hn.sql("SELECT * FROM events", "s3://captures/x.pcap", storage_options=options).count("*").fetchall() == [(ROWS,)]


def test_objects_are_read_from_web_servers(s3, s3_server):
    put(s3, "d/x y.pcap")
    # The server refuses requests without a signature.
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "captures", "Key": "d/x y.pcap"})
    table = hn.read_pcap(url).to_arrow()
    assert table.num_rows == ROWS
    assert set(table["file"].to_pylist()) == {f"{s3_server['AWS_ENDPOINT_URL']}/captures/d/x%20y.pcap"}
    with pytest.raises(FileNotFoundError) as error:
        hn.read_pcap(s3.generate_presigned_url("get_object", Params={"Bucket": "captures", "Key": "none.pcap"}))
    assert "ignature" not in str(error.value)


def test_web_servers_may_answer_get_alone():
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            self.send_response(200)
            self.send_header("Content-Length", str(len(DATA)))
            self.end_headers()
            self.wfile.write(DATA)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # HEAD is 501 there: it is not asked again for long.
    options = {"retry_config": {"max_retries": 0}}
    assert rows_of(f"http://127.0.0.1:{server.server_port}/x.pcap", storage_options=options) == ROWS
    server.shutdown()
    server.server_close()


class Server:
    """A proxy of requests for the server, which may cut answers."""

    def __init__(self, target, cut=0):
        import http.server
        import urllib.request

        self.requests, server = [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802
                server.requests.append((self.command, self.path, self.headers.get("Range")))
                request = urllib.request.Request(target + self.path, method=self.command)
                for name in ("Range", "If-Match", "Authorization", "X-Amz-Date", "X-Amz-Content-Sha256"):
                    if self.headers.get(name):
                        request.add_header(name, self.headers[name])
                with urllib.request.urlopen(request) as answer:
                    data = answer.read()
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                            self.send_header(name, value)
                    self.send_header("Content-Length", answer.headers.get("Content-Length") or str(len(data)))
                    self.end_headers()
                    if cut and len(data) > cut and sum(path == self.path for _, path, _ in server.requests) < 3:
                        self.wfile.write(data[:cut])
                        self.close_connection = True
                        return
                    self.wfile.write(data)

            do_HEAD = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.options = {"endpoint": f"http://127.0.0.1:{self.server.server_port}"}

    def gets(self, key):
        """The ranges of the requests for the content of an object."""
        found = [one for method, path, one in self.requests if method == "GET" and path.endswith(key)]
        self.requests.clear()
        return found

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server(s3_server):
    server = Server(s3_server["AWS_ENDPOINT_URL"])
    yield server
    server.close()


def requests_of(capture):
    return [event["path"] for event in capture if event["event"] == "http_request" and event.get("decrypted")]


def test_secrets_of_urls_and_file_objects_count(s3, server, tmp_path):
    data = SECRETS.read_bytes()
    wanted = requests_of(hn.read_pcap(SECRETS))
    assert len(wanted) > 5
    rows = hn.read_pcap(SECRETS).to_arrow().num_rows
    put(s3, "x.pcapng", data)
    put(s3, "x.pcap")
    options = {"storage_options": server.options}
    assert requests_of(hn.read_pcap("s3://captures/x.pcapng", **options)) == wanted
    # One that is short is received once.
    assert server.gets("/x.pcapng") == [None]
    assert rows_of("s3://captures/x.pcap", **options) == ROWS
    assert server.gets("/x.pcap") == [None]
    assert requests_of(hn.read_pcap(io.BytesIO(data))) == wanted
    behind = io.BytesIO(b"head" + data)
    behind.seek(4)
    assert requests_of(hn.read_pcap(behind)) == wanted
    with open(SECRETS, "rb") as file:
        assert rows_of(file) == rows
    # Of a compressed one, those before the first packet.
    (section,) = struct.unpack_from("<I", data, 4)
    at = data.index(b"KSLT") - 8
    (length,) = struct.unpack_from("<I", data, at + 4)
    first = gzip.compress(data[:section] + data[at : at + length] + data[section:at] + data[at + length :])
    put(s3, "x.pcapng.gz", first)
    assert requests_of(hn.read_pcap(io.BytesIO(first))) == wanted
    assert requests_of(hn.read_pcap("s3://captures/x.pcapng.gz")) == wanted


def test_long_captures_are_received_again_if_they_have_secrets(s3, server, tmp_path):
    """Beyond 64 MiB, secrets count before the first packet and after the last one."""
    data = SECRETS.read_bytes()
    wanted = requests_of(hn.read_pcap(SECRETS))
    (section,) = struct.unpack_from("<I", data, 4)
    long = struct.pack("<II", 0x0BAD, 1 << 20) + bytes((1 << 20) - 12) + struct.pack("<I", 1 << 20)
    at = data.index(b"KSLT") - 8
    (length,) = struct.unpack_from("<I", data, at + 4)
    block, others = data[at : at + length], data[:at] + data[at + length :]
    without = others[:section] + long * 65 + others[section:]
    for name, body, has_secrets in (
        ("first", others[:section] + block + long * 65 + others[section:], True),
        ("last", without + block, True),
        ("none", without, False),
    ):
        put(s3, f"{name}.pcapng", body)
        found = requests_of(hn.read_pcap(f"s3://captures/{name}.pcapng", storage_options=server.options))
        ranges = server.gets(f"/{name}.pcapng")
        assert found == (wanted if has_secrets else []), name
        starts = [int(one[6:-1]) if one else 0 for one in ranges]
        # The first request is continued after one for the end. Secrets are read before, and so are sessions of TLS 1.2.
        assert sum(start < 1 << 20 for start in starts) <= (4 if has_secrets else 2), ranges
        assert len(starts) <= (6 if has_secrets else 3), ranges


def test_secrets_of_streams_count_from_where_they_are():
    class Stream(io.RawIOBase):
        def __init__(self, data):
            self.data = io.BytesIO(data)

        def read(self, size):
            return self.data.read(size)

    data = SECRETS.read_bytes()
    wanted = requests_of(hn.read_pcap(SECRETS))
    (section,) = struct.unpack_from("<I", data, 4)
    at = data.index(b"KSLT") - 8
    (length,) = struct.unpack_from("<I", data, at + 4)
    block, others = data[at : at + length], data[:at] + data[at + length :]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert requests_of(hn.read_pcap(Stream(others[:section] + block + others[section:]))) == wanted
    with pytest.warns(UserWarning, match=r"secrets of TLS after packet \d+"):
        assert requests_of(hn.read_pcap(Stream(others + block))) != wanted


def test_key_logs_are_urls_and_file_objects(s3, tmp_path):
    data = SECRETS.read_bytes()
    at = data.index(b"KSLT")
    (length,) = struct.unpack_from("<I", data, at + 4)
    text = data[at + 8 : at + 8 + length]
    without = data.replace(b"KSLT", b"----")
    wanted = requests_of(hn.read_pcap(SECRETS))
    put(s3, "keys.log", text)
    put(s3, "keys.pcapng", data)
    for keylog in ("s3://captures/keys.log", "s3://captures/keys.pcapng", io.BytesIO(text), [io.StringIO(text.decode())]):
        assert requests_of(hn.read_pcap(without, keylog=keylog)) == wanted
    # Those of a folder that grows use it one after the other.
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / f"in/{number}.pcapng").write_bytes(without)
    follow = hn.follow(tmp_path / "in", state=tmp_path / "state", once=True, settle_seconds=0, keylog=io.BytesIO(text))
    assert [requests_of(capture) for _, capture in follow.captures()] == [wanted, wanted]
    with pytest.raises(FileNotFoundError):
        hn.read_pcap(without, keylog="s3://captures/none.log")


def test_connection_that_breaks_is_continued(s3, s3_server):
    whole = DATA[:24] + DATA[24:] * 600
    put(s3, "long.pcap", whole)
    server = Server(s3_server["AWS_ENDPOINT_URL"], cut=1 << 20)
    try:
        assert len(whole) > 2 << 20
        assert rows_of("s3://captures/long.pcap", storage_options=server.options) == rows_of(whole)
        assert len(server.gets("/long.pcap")) > 1
    finally:
        server.close()


def test_object_that_is_replaced_while_it_is_read_is_an_error(s3):
    put(s3, "x.bin", bytes(32 << 20))
    file = _storage.RemoteFile("s3://captures/x.bin")
    assert file.read(4) == bytes(4)
    put(s3, "x.bin", b"1" * (32 << 20))
    file.seek(8 << 20)
    with pytest.raises(FileNotFoundError, match="was replaced"):
        file.read(4)


def test_parquet_is_uploaded_complete_or_not_at_all(s3, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    captures = hn.read_pcap([CURL, CURL])
    captures.write_parquet("s3://captures/out/events.parquet")
    captures.write_parquet("s3://captures/days", partition_by="day")
    assert keys(s3)[-1] == "out/events.parquet"
    assert _storage.existing("s3://captures/days") == {name.removeprefix("days/") for name in keys(s3)[:-1]}
    for key, wanted in (("out/events.parquet", 2 * ROWS), (keys(s3)[0], 2 * ROWS)):
        assert pq.read_table(io.BytesIO(s3.get_object(Bucket="captures", Key=key)["Body"].read())).num_rows == wanted
    with pytest.raises(FileExistsError):
        captures.write_parquet("s3://captures/days", partition_by="day")
    before = keys(s3)
    cut = hn.read_pcap(DATA[:-10])
    for path, by in (("s3://captures/cut.parquet", None), ("s3://captures/cut", "day")):
        with pytest.raises(hn.CaptureError):
            cut.write_parquet(path, partition_by=by)
    with pytest.raises(OSError, match="no such bucket"):
        captures.write_parquet("s3://other/events.parquet")
    # An upload that fails in the middle takes back what was there.
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a").write_text("a")
    (tmp_path / "folder/b").write_text("b")
    puts = []
    real = _storage._obstore().put

    def fail(store, key, path):
        puts.append(key)
        if key.endswith("/b"):
            raise KeyboardInterrupt
        return real(store, key, path)

    monkeypatch.setattr(_storage._obstore(), "put", fail)
    with pytest.raises(KeyboardInterrupt):
        _storage.upload(tmp_path / "folder", "s3://captures/folder")
    assert puts == ["folder/a", "folder/b"]
    assert keys(s3) == before
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def python(code, *arguments, **options):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, timeout=60, check=False, **options)


@pytest.mark.parametrize("path", ["-", "/dev/stdin"])
def test_standard_input_is_read_once(path):
    code = """
import sys, huginn_net as hn
capture = hn.read_pcap(sys.argv[1])
table = capture.to_arrow()
print(table.num_rows, table["file"][0])
try:
    capture.to_arrow()
except Exception as error:
    print(error)
"""
    run = python(code, path, input=DATA)
    first, second = run.stdout.decode().splitlines()
    assert first == f"{ROWS} {path}", run.stderr
    assert "a pipe is read once" in second


def test_pipe_is_opened_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(DATA))
    writer.start()
    frame = hn.scan_pcap(pipe)
    assert frame.collect().height == ROWS
    writer.join()
    with pytest.raises(Exception, match="read once"):
        frame.collect()
    empty = subprocess.run([sys.executable, "-c", "import huginn_net as hn; hn.read_pcap('-').to_arrow()"], input=b"", capture_output=True, check=False)
    assert b"is empty" in empty.stderr


def test_ctrl_c_ends_the_wait_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); import huginn_net as hn; hn.read_pcap(sys.argv[1]).to_arrow()"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "pipe")], stderr=subprocess.PIPE)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=10)
    assert b"KeyboardInterrupt" in text


def program_order(*arguments):
    """The captures in the order of the program."""
    run = subprocess.run([os.environ.get("HUGINN_NET", "huginn-net"), "pcap", "--format", "json", *arguments], capture_output=True, check=True)
    return list(dict.fromkeys(json.loads(line)["file"] for line in run.stdout.splitlines()))


def test_names_and_order_are_those_of_the_program(tmp_path):
    folder = tmp_path / "captures"
    for name in ("a-b/x.pcap", "a/x.pcap", "a.pcap", "a/b/y.pcap", "B.pcap", "a!/z.pcap", ".hidden.pcap", "é.pcap"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(DATA)
    strange = os.fsencode(folder) + b"/caf\xe9\n.pcap"
    with open(strange, "wb") as file:
        file.write(DATA)
    for arguments in ([str(folder)], [f"{folder}/**/*.pcap"], [f"{folder}/a*", f"{folder}/B.pcap"], [os.fsdecode(strange), str(folder / "B.pcap")]):
        if arguments[0].endswith("/a*"):
            # The program reads no folder that a pattern names.
            arguments[0] = f"{folder}/a*.pcap"
        found = hn.read_pcap(arguments, events=["tls_client"]).to_arrow()["file"].unique().to_pylist()
        assert found == program_order(*arguments), arguments
    assert any("caf\\xe9\\x0a.pcap" in name for name in found)
    assert rows_of(os.fsdecode(strange)) == ROWS


def test_follow_reads_each_capture_once(tmp_path, s3):
    folder = tmp_path / "captures"
    folder.mkdir()
    add = {str(folder): lambda name, data=None: (folder / name).write_bytes(data or capture()), "s3://captures/caps": lambda name, data=None: put(s3, f"caps/{name}", data)}
    for number, (source, write) in enumerate(add.items()):
        state = tmp_path / f"state{number}"

        def read(**options):
            follow = hn.follow(source, state=state, once=True, settle_seconds=0, events=["tls_client"], **options)
            return sorted({name.rpartition("/")[2] for batch in follow for name in batch["file"].to_pylist()})

        assert read() == []
        names = [f"{index}.pcap" for index in range(5)]
        for name in names:
            write(name)
        assert read() == names
        assert read() == []
        write("late.pcap")
        assert read() == ["late.pcap"]
        if source.startswith("s3"):
            s3.delete_object(Bucket="captures", Key="caps/1.pcap")
            write("2.pcap")
            what = "was replaced"
        else:
            (folder / "1.pcap").unlink()
            with (folder / "2.pcap").open("ab") as file:
                file.write(DATA[24:])
            what = "grew"
        with pytest.raises(ValueError, match=f"2.pcap: {what} after it was read"):
            read()
        write("more.pcap")
        assert read(on_error="skip") == ["more.pcap"]
        with state.open("ab") as file:
            file.write(b'{"id":"cut')
        assert read(on_error="skip") == []
        entries = [json.loads(line) for line in state.read_text().splitlines()]
        assert entries[0] == {"version": 1}
        assert [entry["name"].rpartition("/")[2] for entry in entries[1:]] == [*names, "late.pcap", "more.pcap"]
    with pytest.raises(ValueError, match="no 'tls_clinet'"):
        hn.follow(folder, state=state, events=["tls_clinet"])


def test_follow_waits_for_files_that_are_written(tmp_path):
    (tmp_path / "captures").mkdir()
    path = tmp_path / "captures/x.pcap"
    path.write_bytes(DATA)
    follow = lambda: hn.follow(tmp_path / "captures", state=tmp_path / "state", once=True)  # noqa: E731
    assert list(follow()) == []
    os.utime(path, (1, 1))
    assert sum(batch.num_rows for batch in follow()) == ROWS
    # One process at a time; the lock ends with the loop.
    for _ in hn.follow(tmp_path / "captures", state=tmp_path / "other", once=True).captures():
        with pytest.raises(BlockingIOError, match="another process"):
            list(hn.follow(tmp_path / "captures", state=tmp_path / "other", once=True))
    # It goes on with what comes.
    found = []
    for batch in hn.follow(tmp_path / "captures", state=tmp_path / "third", poll_seconds=0.01, settle_seconds=0):
        found += batch["file"].to_pylist()
        if len(found) == 3 * ROWS:
            break
        path.with_name(f"{len(found)}.pcap").write_bytes(capture())
    assert len(set(found)) == 3
    (tmp_path / "state").write_text("{}\n")
    with pytest.raises(ValueError, match="name a new file"):
        list(follow())


def test_follow_forgets_captures_that_left(tmp_path, monkeypatch):
    from huginn_net import _follow

    monkeypatch.setattr(_follow, "_MAX_GONE", 3)
    monkeypatch.setattr(_follow, "_SPARE_LINES", -15)
    folder = tmp_path / "captures"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.pcap").write_bytes(capture())
        read = [batch for batch in hn.follow(folder, state=tmp_path / "state", once=True, settle_seconds=0)]
        assert sum(batch.num_rows for batch in read) == ROWS
        if number > 3:
            (folder / f"{number - 1}.pcap").unlink()
    # Those that are there, and the last three of the others.
    assert len((tmp_path / "state").read_text().splitlines()) < 12


FOLLOW = """
import sys, huginn_net as hn
hn.follow(sys.argv[1], state=sys.argv[2], once=True, settle_seconds=0).write_parquet(sys.argv[3], partition_by=sys.argv[4] or None)
"""


@pytest.mark.parametrize("options", [{}, {"tables": True}, {"partition_by": "day"}])
def test_nightly_run_adds_new_and_changed_objects_only(s3, monkeypatch, options):
    def write():
        return hn.read_pcap("s3://captures/in").write_parquet("s3://captures/out", append=True, **options)

    def rows():
        files = [key for key in keys(s3) if key.startswith("out/") and key.endswith(".parquet")]
        return sum(pq.read_table(io.BytesIO(s3.get_object(Bucket="captures", Key=key)["Body"].read())).num_rows for key in files)

    for number in range(3):
        put(s3, f"in/{number}.pcap")
        assert write()
        assert write() == []
        assert rows() == (number + 1) * ROWS
    put(s3, "in/1.pcap", (CAPTURES / "tcp/curl-nginx/curl-nginx.pcap").read_bytes())
    write()
    changed = rows_of("s3://captures/in")
    assert rows() == changed != 3 * ROWS
    # An upload fails, and the object changes before the next run.
    put(s3, "in/new.pcap")
    upload = _storage.upload

    def fail(*arguments):
        upload(*arguments)
        raise OSError("no space")

    monkeypatch.setattr(_storage, "upload", fail)
    with pytest.raises(OSError, match="no space"):
        write()
    monkeypatch.setattr(_storage, "upload", upload)
    put(s3, "in/new.pcap")
    write()
    assert rows() == changed + ROWS
    assert write() == []
    put(s3, "other/x.txt", b"")
    with pytest.raises(FileExistsError):
        hn.read_pcap("s3://captures/in").write_parquet("s3://captures/other", append=True)


@pytest.mark.parametrize("by", ["", "day"])
@pytest.mark.parametrize("remote", [False, True])
def test_follow_writes_each_row_once_whenever_it_is_killed(tmp_path, s3, remote, by):
    source, dataset = ("s3://captures/in", "s3://captures/out") if remote else (tmp_path / "in", tmp_path / "out")
    wanted = {}
    for number in range(12):
        data, name = capture(), f"{number:02}.pcap"
        if remote:
            put(s3, f"in/{name}", data)
        else:
            (tmp_path / "in").mkdir(exist_ok=True)
            (tmp_path / "in" / name).write_bytes(data)
        wanted[f"{source}/{name}"] = ROWS
    command = [sys.executable, "-c", FOLLOW, str(source), str(tmp_path / "state"), str(dataset), by]

    def captures_done():
        try:
            return sum('"name"' in line for line in (tmp_path / "state").read_text().splitlines())
        except FileNotFoundError:
            return 0

    kills = 0
    for pause in (0, 0.002, 0.005, 0.01, 0.02, 0.03):
        done = captures_done()
        process = subprocess.Popen(command)
        while captures_done() <= done and process.poll() is None:
            time.sleep(0.001)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills >= 3
    subprocess.run(command, check=True)
    subprocess.run(command, check=True)
    found = {}
    if remote:
        files = [io.BytesIO(s3.get_object(Bucket="captures", Key=key)["Body"].read()) for key in keys(s3) if key.startswith("out/") and "/_captures/" not in key]
        assert all(key.endswith((".pcap", ".parquet")) or key.startswith("out/_captures/") for key in keys(s3))
    else:
        files = list(dataset.rglob("*.parquet"))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "state", "state.lock"]
        others = {path.parent.name for path in dataset.rglob("*") if path.is_file() and path.suffix != ".parquet"}
        assert others == {"_captures"}
    for file in files:
        for name in pq.read_table(file, columns=["file"], partitioning=None)["file"].to_pylist():
            found[name] = found.get(name, 0) + 1
    assert found == wanted


@pytest.mark.parametrize("step", ["Dataset.add", "LocalFolder.add", "State.end"])
def test_follow_writes_again_what_failed_between_two_steps(tmp_path, monkeypatch, step):
    from huginn_net import _follow, _parquet

    (tmp_path / "in").mkdir()
    (tmp_path / "in/x.pcap").write_bytes(capture())
    name, method = step.split(".")
    place = getattr(_follow if name == "State" else _parquet, name)
    real = getattr(place, method)

    def fail(*arguments):
        if name == "LocalFolder":
            real(*arguments)
        raise KeyboardInterrupt

    def run():
        hn.follow(tmp_path / "in", state=tmp_path / "state", once=True, settle_seconds=0).write_parquet(tmp_path / "out")

    monkeypatch.setattr(place, method, fail)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert not list(tmp_path.rglob("*.unfinished"))
    monkeypatch.setattr(place, method, real)
    # Meanwhile it grew: it is another capture.
    with (tmp_path / "in/x.pcap").open("ab") as file:
        file.write(DATA[24:])
    run()
    (file,) = (tmp_path / "out").glob("*.parquet")
    assert pq.read_table(file).num_rows == rows_of(tmp_path / "in/x.pcap")


def test_follow_keeps_rows_of_a_capture_whose_inode_is_used_again(tmp_path):
    (tmp_path / "in").mkdir()
    # The first bytes are equal, but the second one does not begin as the first one ends.
    for name, data in (("a.pcap", DATA[:-1] + bytes([DATA[-1] ^ 1])), ("b.pcap", DATA + capture()[24:])):
        path = tmp_path / "in" / name
        if name == "b.pcap":
            path.with_name("a.pcap").rename(path)
        path.write_bytes(data)
        hn.follow(tmp_path / "in", state=tmp_path / "state", once=True, settle_seconds=0).write_parquet(tmp_path / "out")
    files = [pq.read_table(path) for path in (tmp_path / "out").glob("*.parquet")]
    assert {name.rpartition("/")[2] for table in files for name in table["file"].to_pylist()} == {"a.pcap", "b.pcap"}


@pytest.mark.parametrize("use", [list, lambda follow: follow.write_parquet("s3://captures/out")])
def test_follow_reads_later_what_it_could_not_open(tmp_path, s3, monkeypatch, use):
    put(s3, "in/a.pcap")
    put(s3, "in/cut.pcap", DATA[:-10])
    follow = lambda: hn.follow("s3://captures/in", state=tmp_path / "state", once=True, on_error="skip")  # noqa: E731
    done = lambda: sorted(json.loads(line)["name"][-5:] for line in (tmp_path / "state").read_text().splitlines() if '"name"' in line)  # noqa: E731
    request = _storage.RemoteFile._request

    def fail(self, offset):
        raise OSError(f"{self._url}: no route")

    monkeypatch.setattr(_storage.RemoteFile, "_request", fail)
    with pytest.warns(hn.CaptureWarning, match="skipped for now: .*no route"):
        use(follow())
    assert done() == []
    with pytest.raises(hn.CaptureError, match="no route"):
        hn.read_pcap("s3://captures/in", on_error="skip").write_parquet("s3://captures/appended", append=True)
    monkeypatch.setattr(_storage.RemoteFile, "_request", request)
    # Damage stays.
    with pytest.warns(hn.CaptureWarning, match="is cut"):
        use(follow())
    assert done() == [".pcap", ".pcap"]
    with pytest.warns(hn.CaptureWarning, match="is cut"):
        hn.read_pcap("s3://captures/in", on_error="skip").write_parquet("s3://captures/appended", append=True)
    assert sum(key.startswith("appended/a.pcap-") for key in keys(s3)) == 1


def test_one_process_writes_to_a_remote_dataset(s3, monkeypatch):
    put(s3, "in/a.pcap")
    write = lambda: hn.read_pcap("s3://captures/in").write_parquet("s3://captures/out", append=True)  # noqa: E731
    write()
    put(s3, "in/b.pcap")
    upload = _storage.upload
    # Another one begins meanwhile.
    monkeypatch.setattr(hn._parquet.RemoteFolder, "new_parts", lambda self: put(s3, "out/_captures/pending.json", b"{}") or os.path.join(self._parts.name, "x"))
    with pytest.raises(BlockingIOError, match="another process"):
        write()
    assert upload is _storage.upload and not [key for key in keys(s3) if key.startswith("out/b.pcap")]


def test_names_have_no_credentials():
    for url, name in (
        ("https://user:password@host/x.pcap?signature=1", "https://host/x.pcap"),
        ("s3://key:secret@bucket/x@y.pcap", "s3://bucket/x@y.pcap"),
        ("abfss://container@account.dfs.core.windows.net/x.pcap", "abfss://container@account.dfs.core.windows.net/x.pcap"),
        ("s3://bucket/what?.pcap", "s3://bucket/what?.pcap"),
    ):
        assert _storage.shown(url) == name


def test_three_hundred_objects_of_slow_writers_are_read_once(tmp_path, s3):
    """Of four writers, some by multipart uploads that end late, while the reader starts again and again."""
    total, done = 300, threading.Event()

    def write(first):
        for number in range(first, total, 4):
            key = f"slow/{number:03}.pcap"
            if number % 50 == first:
                upload = s3.create_multipart_upload(Bucket="captures", Key=key)["UploadId"]
                part = s3.upload_part(Bucket="captures", Key=key, UploadId=upload, PartNumber=1, Body=capture())
                time.sleep(0.2)
                parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
                s3.complete_multipart_upload(Bucket="captures", Key=key, UploadId=upload, MultipartUpload=parts)
            else:
                put(s3, key)

    writers = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for writer in writers:
        writer.start()
    threading.Thread(target=lambda: [writer.join() for writer in writers] and done.set()).start()
    found = {}
    while True:
        is_last = done.is_set()
        for batch in hn.follow("s3://captures/slow", state=tmp_path / "state", once=True):
            for name in batch["file"].to_pylist():
                found[name] = found.get(name, 0) + 1
        if is_last:
            break
    assert found == {f"s3://captures/slow/{number:03}.pcap": ROWS for number in range(total)}
