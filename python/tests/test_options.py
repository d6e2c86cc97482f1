"""Options, compared with those of the program, and their errors."""

import datetime
import ipaddress
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import polars as pl
import pytest

import huginn_net as hn

sys.path.append(str(Path(__file__).parent))
from test_capture import CAPTURES, CURL, PAGES, json_events  # noqa: E402

HOSTS = CAPTURES / "hosts/hosts-plain/hosts-plain.pcap"
SCAN = CAPTURES / "tcp/nmap-scan/nmap-scan.pcap"
UTC = datetime.timezone.utc


def events_of(*captures, **options):
    """The events without the file, which the program names only if there are several."""
    events = [dict(event) for capture in captures for event in hn.read_pcap(capture, **options)]
    for event in events:
        del event["file"]
    return events


def middle_of(capture):
    times = [event["ts"] for event in events_of(capture)]
    return times[len(times) // 2]


@pytest.mark.parametrize(
    ("capture", "options", "arguments"),
    [
        (CURL, {"where": "sni ~ 'example' and alpn == 'h2'"}, ["--where", "sni ~ 'example' and alpn == 'h2'"]),
        (PAGES, {"where": "user_agent contains 'o' or status == 200"}, ["--where", "user_agent contains 'o' or status == 200"]),
        (PAGES, {"where": "event == 'connection'"}, ["--where", "event == 'connection'"]),
        (SCAN, {"where": "finding == 'scan'"}, ["--where", "finding == 'scan'"]),
        (PAGES, {"events": ["connection", "tcp_syn"]}, ["--events", "connection,tcp_syn"]),
        (SCAN, {"events": ["finding"]}, ["--events", "finding"]),
        (SCAN, {"scan_ports": 3}, ["--scan-ports", "3"]),
        (SCAN, {"findings": True, "scan_hosts": 2, "beacon_count": 3}, ["--findings", "--scan-hosts", "2", "--beacon-count", "3"]),
        (PAGES, {"port": 80}, ["--port", "80"]),
        (CURL, {"port": [443, 8443]}, ["--port", "443", "--port", "8443"]),
        (HOSTS, {"net": "192.0.2.2"}, ["--net", "192.0.2.2"]),
        (HOSTS, {"net": ipaddress.ip_network("192.0.2.0/29")}, ["--net", "192.0.2.0/29"]),
        (HOSTS, {"exclude_net": ["192.0.2.4", ipaddress.ip_address("192.0.2.1")]}, ["--exclude-net", "192.0.2.4", "--exclude-net", "192.0.2.1"]),
        (PAGES, {"exclude_port": 80}, ["--exclude-port", "80"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_mean_those_of_program(capture, options, arguments):
    assert events_of(capture, **options) == json_events(capture, options=arguments)


def test_selecting_options_select_something():
    for capture, options in (
        (CURL, {"where": "sni ~ 'example'"}),
        (PAGES, {"where": "event == 'connection'"}),
        (SCAN, {"where": "finding == 'scan'", "scan_ports": 3}),
        (HOSTS, {"net": "192.0.2.2"}),
    ):
        rows, all_rows = events_of(capture, **options), events_of(capture)
        assert rows and rows != all_rows, options
    assert events_of(PAGES, exclude_port=80) == [] != events_of(PAGES, port=80)


def test_times_are_those_of_program():
    middle = middle_of(HOSTS)
    time = datetime.datetime.fromisoformat(middle.replace("Z", "+00:00"))
    elsewhere = time.astimezone(datetime.timezone(datetime.timedelta(hours=-7)))
    for name, option in (("from_", "--from"), ("to", "--to")):
        expected = json_events(HOSTS, options=[option, middle])
        assert 0 < len(expected) < len(events_of(HOSTS))
        for value in (middle, time, elsewhere, time.replace(tzinfo=None)):
            assert events_of(HOSTS, **{name: value}) == expected
    day = time.date()
    assert events_of(HOSTS, from_=day, to=day + datetime.timedelta(days=30)) == events_of(HOSTS)
    with pytest.raises(ValueError, match="to is not after from_"):
        hn.read_pcap(HOSTS, from_=time, to=time)
    with pytest.raises(ValueError, match="from_: expected a time in UTC"):
        hn.read_pcap(HOSTS, from_="noon")


def test_filter_is_that_of_program():
    expression = "tcp port 80 and not host 203.0.113.77"
    assert events_of(PAGES, filter=expression) == json_events(PAGES, options=["--filter", expression])
    assert events_of(PAGES, filter="udp") == []
    with pytest.raises(ValueError, match="filter: "):
        hn.read_pcap(PAGES, filter="tcp port and")


def test_baseline_is_that_of_program(tmp_path):
    baseline = tmp_path / "baseline.jsonl"
    json_events(HOSTS, options=["--write-baseline", str(baseline)])
    for given in (baseline, [baseline, baseline]):
        arguments = [part for one in (given if isinstance(given, list) else [given]) for part in ("--baseline", str(one))]
        for capture in (CURL, HOSTS):
            expected = json_events(capture, options=arguments)
            assert events_of(capture, baseline=given) == expected
            findings = [event for event in expected if event["event"] == "finding"]
            assert bool(findings) == (capture == CURL)
            assert events_of(capture, baseline=given, where="finding ~ 'new'", events=["finding"]) == findings
    known = tmp_path / "known.jsonl"
    known.write_text('{"kind":"new_fingerprint","reason":"test"}\n')
    arguments = ["--baseline", str(baseline), "--known", str(known)]
    assert events_of(CURL, baseline=baseline, known=known) == json_events(CURL, options=arguments) != events_of(CURL, baseline=baseline)


def test_queries_and_tables_take_same_options():
    options = {"where": "event == 'tls_client'", "net": "192.0.2.0/24"}
    expected = hn.read_pcap(CURL, **options).to_arrow()
    assert expected.num_rows == len(events_of(CURL, **options)) > 0
    assert hn.scan_pcap(CURL, **options).select("ja4").collect()["ja4"].to_list() == expected["ja4"].to_pylist()
    assert hn.sql("SELECT count(*) FROM events", CURL, **options).fetchall() == [(expected.num_rows,)]
    # A filter of the query is another one.
    assert hn.scan_pcap(CURL, where="ja4 != null").filter(pl.col("event") == "tls_client").collect().height > expected.num_rows


def test_misspelled_option_names_nearest():
    for call in (
        lambda: hn.read_pcap(CURL, evnts=["tls_client"]),
        lambda: hn.scan_pcap(CURL, evnts=["tls_client"]),
        lambda: hn.sql("SELECT 1 FROM events", CURL, evnts=["tls_client"]),
        lambda: hn.live("lo", evnts=["tls_client"]),
    ):
        with pytest.raises(TypeError, match="no option 'evnts': did you mean events"):
            call()
    with pytest.raises(TypeError, match="no option 'shard'"):
        hn.live("lo", shard=(0, 2))


def test_misspelled_option_is_an_error_of_mypy(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import huginn_net as hn

            hn.read_pcap("x.pcap", events=["tls_client"], port=443, workers=2)
            hn.scan_pcap("x.pcap", where="port == 443", on_error="skip")
            hn.read_pcap("x.pcap", evnts=["tls_client"])
            hn.scan_pcap("x.pcap", evnts=["tls_client"])
            hn.sql("SELECT 1", "x.pcap", evnts=["tls_client"])
            hn.live("lo", shard=(0, 2))
            hn.read_pcap("x.pcap", on_error="ignore")
            """
        )
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), str(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    lines = sorted({int(line.split(":")[1]) for line in run.stdout.splitlines() if "script.py" in line and ": error:" in line})
    assert lines == [6, 7, 8, 9, 10], run.stdout + run.stderr


def test_errors_name_option_and_file(tmp_path):
    for workers in (0, -1):
        with pytest.raises(ValueError, match=f"workers must be at least 1, not {workers}"):
            hn.read_pcap(CURL, workers=workers)
    for option in ("db", "fingerprints", "baseline", "known", "keylog"):
        with pytest.raises(FileNotFoundError, match=f"{option}: No such file or directory: '.*missing.file'"):
            hn.read_pcap(CURL, **{option: tmp_path / "missing.file"})
    wrong = tmp_path / "wrong.file"
    wrong.write_text("[tcp:request]\nnothing = 1\n")
    for option in ("db", "fingerprints", "baseline", "known"):
        with pytest.raises(ValueError, match=f"{option}: .*wrong.file: "):
            hn.read_pcap(CURL, **{option: wrong})
    for options, message in (
        ({"net": "300.0.0.1"}, "net: expected a network"),
        ({"exclude_net": ["x"]}, "exclude_net: expected a network"),
        ({"port": 70000}, "port must be a number from 0 to 65535"),
        ({"scan_ports": 1}, "scan_ports must be a number from 2 to 1024"),
        ({"where": "sni = "}, "where: "),
        ({"where": "srv == 'x'"}, "where: .*unknown field 'srv'\n  srv == 'x'\n  \\^"),
        ({"where": "sni == 'x'", "events": ["tcp_syn"]}, "where: only the events .*tls_client.* are left out"),
        ({"baseline": CURL, "shard": (0, 2)}, "baseline: .*tls-curl.pcap: |leave shard out"),
        ({"where": "finding == 'scan'", "shard": (0, 2)}, "leave shard out"),
    ):
        with pytest.raises(ValueError, match=message):
            hn.read_pcap(CURL, **options)


def test_names_of_bytes_are_in_column_file():
    capture = hn.read_pcap({"one.pcap": CURL.read_bytes(), "two.pcap": PAGES.read_bytes()})
    assert capture.to_arrow()["file"].unique().to_pylist() == ["one.pcap", "two.pcap"]
    with pytest.raises(hn.CaptureError, match="^bad.pcap: "):
        hn.read_pcap({"bad.pcap": b"nothing"}).to_arrow()


def test_skipped_capture_has_one_warning(tmp_path):
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(CURL.read_bytes()[:-10])
    none = tmp_path / "none.pcap"
    none.write_bytes(b"nothing")
    for use in (
        hn.Capture.to_arrow,
        hn.Capture.to_polars,
        hn.Capture.hosts,
        hn.Capture.stats,
        list,
        lambda capture: hn.scan_pcap(capture).select("ja4").collect(),
        lambda capture: hn.sql("SELECT ja4 FROM events", capture).fetchall(),
        lambda capture: capture.host_records().to_arrow(),
    ):
        capture = hn.read_pcap([damaged, CURL, none], on_error="skip")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # An analysis that is repeated adds none.
            use(capture)
            use(capture)
        messages = [str(warning.message) for warning in caught if warning.category is hn.CaptureWarning]
        assert len(messages) == 2, messages
        assert f"{damaged}: packet" in messages[0] and f"{none}: is not a capture" in messages[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", hn.CaptureWarning)
        with pytest.raises(hn.CaptureWarning):
            hn.read_pcap([damaged], on_error="skip").hosts()
        assert hn.read_pcap([damaged], on_error="skip").check()


def test_notebook_shows_first_rows_of_first_bytes(tmp_path, monkeypatch):
    capture = hn.read_pcap([CURL, PAGES], where="ts > '2000-01-01'")
    shown = capture._repr_html_()
    first = capture.to_arrow().slice(0, 10).to_pylist()
    assert shown.count("<tr>") == 11
    assert all(row["event"] in shown for row in first) and "where=" in shown
    assert capture._repr_html_() == shown
    # A long capture is read as far as a limit, and not at all if it can be read only once.
    long = tmp_path / "long.pcap"
    data = PAGES.read_bytes()
    long.write_bytes(data[:24] + b"".join(data[24:] for _ in range(200)))
    monkeypatch.setattr("huginn_net._capture._PREVIEW_BYTES", 400)
    assert hn.read_pcap(long, events=["http_response"])._repr_html_().count("<tr>") <= 1
    with open(CURL, "rb") as file:
        once = hn.read_pcap(file)
        assert "<td>" not in once._repr_html_()
        assert once.to_arrow().num_rows == hn.read_pcap(CURL).to_arrow().num_rows
    dangerous = hn.read_pcap({"<script>": CURL.read_bytes()}, columns=["file", "event"])
    assert "<script>" not in dangerous._repr_html_() and "&lt;script&gt;" in dangerous._repr_html_()
    assert repr(hn.read_pcap([CURL] * 5, events=["tls_client"])) == f"<huginn_net.Capture: {CURL}, {CURL}, {CURL} and 2 more; events=['tls_client']>"


def test_missing_package_is_named_with_its_extra():
    script = f"""
import sys
for name in ("pyarrow", "polars", "duckdb", "pandas"):
    sys.modules[name] = None
import huginn_net as hn
capture = hn.read_pcap({str(CURL)!r})
assert next(iter(capture)) and capture.hosts() and capture.stats() and capture._repr_html_()
for use, extra in (
    (capture.to_arrow, "arrow"),
    (capture.to_polars, "polars"),
    (capture.to_pandas, "pandas"),
    (capture.to_duckdb, "duckdb"),
    (capture.errors, "arrow"),
    (capture.hosts_to_arrow, "arrow"),
    (lambda: hn.scan_pcap(capture), "polars"),
    (lambda: hn.sql("SELECT 1", capture), "duckdb"),
    (hn.register_duckdb, "duckdb"),
    (lambda: hn.name_clients([]), "arrow"),
    (lambda: hn.host_events([]), "arrow"),
):
    try:
        use()
    except ModuleNotFoundError as error:
        assert f'pip install "huginn-net[{{extra}}]"' in str(error), (extra, error)
    else:
        raise AssertionError(extra)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_hosts_as_table_are_hosts():
    capture = hn.read_pcap(HOSTS)
    table = capture.hosts_to_arrow()
    assert table["ip"].to_pylist() == [host["ip"] for host in capture.hosts()]
    assert hn.read_pcap([]).hosts_to_arrow().num_rows == 0
