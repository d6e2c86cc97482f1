"""Frames that are pushed, compared with captures."""

import datetime
import random
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import huginn_net as hn

sys.path.append(str(Path(__file__).parent))
from test_capture import CAPTURES, CURL, PAGES  # noqa: E402

#: Orders and units of classic captures by their first bytes.
MAGIC = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000), b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}


def frames_of(path):
    """The link type and the frames of a classic capture."""
    data = Path(path).read_bytes()
    order, unit = MAGIC[data[:4]]
    (link_type,) = struct.unpack_from(order + "I", data, 20)
    frames, offset = [], 24
    while offset < len(data):
        seconds, fraction, length, wire_length = struct.unpack_from(order + "IIII", data, offset)
        offset += 16 + length
        frames.append((seconds * 10**9 + fraction * unit, data[offset - length : offset], wire_length))
    return link_type & 0xFFFF, frames


def push_all(analyzer, path, size):
    link_type, frames = frames_of(path)
    tables = [analyzer.push(frames[start : start + size], link_type=link_type) for start in range(0, len(frames), size)]
    return pa.concat_tables([*tables, analyzer.finish()])


def is_classic(path):
    with open(path, "rb") as file:
        return file.read(4) in MAGIC


CLASSIC = [path for path in sorted(CAPTURES.glob("*/*/*.pcap")) if is_classic(path)]


@pytest.mark.parametrize("size", [1, 50])
def test_pushed_frames_give_rows_of_capture(size):
    assert len(CLASSIC) > 30
    options = {"connections": True, "findings": True, "scan_ports": 5}
    for path in CLASSIC:
        if path.stat().st_size > 1 << 18:
            continue
        capture = hn.read_pcap(path, **options)
        expected = capture.to_arrow()
        analyzer = hn.Analyzer(**options)
        pushed = push_all(analyzer, path, size)
        assert pushed.drop_columns("file").to_pylist() == expected.drop_columns("file").to_pylist(), path
        assert analyzer.frames() == len(frames_of(path)[1])
        assert analyzer.stats()["engine"]["frames"] == capture.stats()[0]["engine"]["frames"]


def test_frames_have_several_forms():
    link_type, frames = frames_of(CURL)
    expected = hn.read_pcap(CURL, columns=["ts", "packet", "event", "ja4"]).to_arrow().to_pylist()
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    times = [epoch + datetime.timedelta(microseconds=nanos // 1000) for nanos, _, _ in frames]
    exact = hn.Analyzer(columns=["ts", "packet", "event", "ja4"]).push(frames, link_type=link_type).to_pylist()
    for given in (
        [(time, data) for time, (_, data, _) in zip(times, frames)],
        ((time.replace(tzinfo=None), memoryview(data)) for time, (_, data, _) in zip(times, frames)),
        [(nanos // 1000 * 1000, bytearray(data), None) for nanos, data, _ in frames],
        pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "data": [data for _, data, _ in frames]}),
        pa.table({"ts": [nanos // 1000 * 1000 for nanos, _, _ in frames], "data": pa.array([data for _, data, _ in frames], pa.large_binary())}),
        pl.DataFrame({"ts": times, "data": [data for _, data, _ in frames], "wire_length": [length for _, _, length in frames]}),
    ):
        analyzer = hn.Analyzer(columns=["ts", "packet", "event", "ja4"])
        rows = pa.concat_tables([analyzer.push(given, link_type="ethernet"), analyzer.finish()]).to_pylist()
        assert [(row["packet"], row["event"], row["ja4"]) for row in rows] == [(row["packet"], row["event"], row["ja4"]) for row in expected]
    assert exact == expected[: len(exact)]
    # IP packets alone.
    packets = [(nanos, data[14:]) for nanos, data, _ in frames]
    assert hn.Analyzer(events=["tls_client"]).push(packets, link_type="raw").num_rows == 6
    analyzer = hn.Analyzer()
    assert analyzer.push([]).schema == analyzer.schema == hn.read_pcap([]).schema
    for wrong, error in (([(1.5, b"")], TypeError), ([(-1, b"")], OverflowError), (pa.table({"x": [1]}), ValueError)):
        with pytest.raises(error):
            analyzer.push(wrong)
    with pytest.raises(ValueError, match="did you mean ethernet"):
        analyzer.push([], link_type="ethernt")
    with pytest.raises(TypeError, match="no option 'workers'"):
        hn.Analyzer(workers=2)


def test_options_select_frames_and_events():
    link_type, frames = frames_of(CURL)
    for options in ({"where": "alpn == 'h2'"}, {"events": ["tls_client"], "filter": "port 443"}, {"net": "203.0.113.0/24"}, {"dictionaries": True}):
        expected = hn.read_pcap(CURL, **options).to_arrow()
        analyzer = hn.Analyzer(**options)
        rows = pa.concat_tables([analyzer.push(frames, link_type=link_type), analyzer.finish()])
        assert rows.drop_columns("file").to_pylist() == expected.drop_columns("file").to_pylist()


def test_several_captures_have_packets_of_their_own():
    analyzer = hn.Analyzer(columns=["packet", "event"])
    link_type, frames = frames_of(CURL)
    first = pa.concat_tables([analyzer.push(frames, link_type=link_type), analyzer.finish()])
    second = pa.concat_tables([analyzer.push(frames, link_type=link_type), analyzer.finish()])
    assert first["packet"][0].as_py() == second["packet"][0].as_py() == 1


def test_state_survives(tmp_path):
    """An analyzer that is saved between two captures, and loaded, goes on as one that was not."""
    path = CAPTURES / "hosts/hosts-nat/hosts-nat.pcap"
    link_type, frames = frames_of(path)
    state = tmp_path / "state.jsonl"
    middle = len(frames) // 2
    whole, first = hn.Analyzer(hosts=True), hn.Analyzer(hosts=True)
    for analyzer in (whole, first):
        analyzer.push(frames[:middle], link_type=link_type)
        analyzer.finish()
    first.save(state)
    assert state.stat().st_mode & 0o77 == 0
    second = hn.Analyzer.load(state, hosts=True)
    assert second.hosts() == first.hosts() != []
    rows = [pa.concat_tables([one.push(frames[middle:], link_type=link_type), one.finish()]) for one in (whole, second)]
    assert rows[0].to_pylist() == rows[1].to_pylist()
    assert whole.hosts() == second.hosts() != first.hosts()
    # Without the state, the hosts are other ones.
    fresh = hn.Analyzer(hosts=True)
    fresh.push(frames[middle:], link_type=link_type)
    assert fresh.hosts() != second.hosts()
    second.save(state)
    assert sorted(tmp_path.iterdir()) == [state]
    state.write_bytes(state.read_bytes()[:-10])
    with pytest.raises(ValueError, match="state.jsonl: damaged"):
        hn.Analyzer.load(state)
    with pytest.raises(FileNotFoundError, match="missing.jsonl"):
        hn.Analyzer.load(tmp_path / "missing.jsonl")
    with pytest.raises(FileNotFoundError):
        first.save(tmp_path / "none" / "state.jsonl")
