"""Frames without a capture."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Union, cast

from . import _native
from ._modules import needs
from ._options import AnalyzerOptions, arguments_of, nearest

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Self, Unpack

#: A link type by its name, or its number in the registry of tcpdump.org (``LINKTYPE_``).
LinkType = Union[Literal["ethernet", "raw", "null", "loop", "ppp", "linux_sll", "linux_sll2", "ieee802_11", "ieee802_11_radiotap"], int]

#: A frame: its time in nanoseconds since 1970 or as a datetime, which is UTC unless it has a zone, its bytes and, if it is cut, its
#: length on the wire.
FrameTuple = Union[
    "tuple[int | datetime.datetime, bytes | bytearray | memoryview]",
    "tuple[int | datetime.datetime, bytes | bytearray | memoryview, int | None]",
]

_LINK_TYPES = {
    "null": 0,
    "ethernet": 1,
    "ppp": 9,
    "raw": 101,
    "ieee802_11": 105,
    "loop": 108,
    "linux_sll": 113,
    "ieee802_11_radiotap": 127,
    "linux_sll2": 276,
}

#: Frames that are passed on at once.
_CHUNK = 4096

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


class Analyzer(_native.Analyzer):
    """Analyses frames that a program has, without a capture: from a message bus, a collector, a socket.

    >>> analyzer = hn.Analyzer(events=["tls_client"])  # doctest: +SKIP
    >>> for message in consumer:  # doctest: +SKIP
    ...     rows = analyzer.push([(message.timestamp_ns, message.value)], link_type="ethernet")
    >>> rows = analyzer.finish()  # doctest: +SKIP

    It reports what `read_pcap` reports of a capture with these frames, in the same order; how the frames are divided into calls changes
    nothing. It needs memory for open connections and for hosts, within limits, and forgets both when they have been idle. The options are
    those of `read_pcap`, and ``hosts``: whether `hosts` has profiles.
    """

    def __new__(cls, **options: Unpack[AnalyzerOptions]) -> Self:
        arguments = arguments_of(cast("dict[str, Any]", options), AnalyzerOptions)
        return super().__new__(cls, arguments, bool(arguments.pop("hosts", False)))

    def __init__(self, **options: Unpack[AnalyzerOptions]) -> None:
        del options

    @property
    def schema(self) -> pyarrow.Schema:
        """The schema of the tables."""
        with needs("arrow"):
            import pyarrow as pa

        return pa.schema(self)

    def push(self, frames: Any, *, link_type: LinkType = "ethernet") -> pyarrow.Table:
        """Analyses frames in the order of their time, and returns the events that they complete.

        ``frames`` is an iterable of tuples, ``(time, data)`` or ``(time, data, wire_length)``: the time in nanoseconds since 1970, or a
        datetime, which is UTC unless it has a zone. Or it is a table with the columns ``ts``, a timestamp or nanoseconds, ``data``, and
        ``wire_length`` if frames are cut: of pyarrow, Polars or whatever has the Arrow PyCapsule interface. ``link_type`` says what a
        frame begins with; ``raw`` is an IP packet.
        """
        with needs("arrow"):
            import pyarrow as pa

        number = _LINK_TYPES.get(link_type) if isinstance(link_type, str) else link_type
        if number is None:
            raise ValueError(f"no link type {link_type!r}{nearest(str(link_type), list(_LINK_TYPES))}")
        chunks = _chunks_of_table(frames) if hasattr(frames, "__arrow_c_stream__") else _chunks(frames)
        tables = [pa.table(self.push_frames(chunk, number)) for chunk in chunks]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def finish(self) -> pyarrow.Table:
        """Ends the open connections, and returns their last events. Later frames are those of another capture, with the same hosts."""
        with needs("arrow"):
            import pyarrow as pa

        return pa.table(self.finish_frames())

    def hosts(self) -> list[dict[str, Any]]:
        """Returns the hosts so far, as `Capture.hosts`; they need the option ``hosts``."""
        return [json.loads(line) for line in super().hosts().splitlines()]

    def stats(self) -> dict[str, Any]:
        """Returns the counters so far."""
        counters: dict[str, Any] = json.loads(super().stats())
        return counters

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes to a file what is known of hosts, and what a baseline has learned, as ``live --state`` of the program does.

        It replaces the file. Open connections are not saved: after `load`, one that goes on has lost its beginning. Call `finish` before, if
        the connections end there; or push the frames of the last minutes again after `load`, and expect their events twice.
        """
        left_out = self.save_state(path)
        if left_out:
            warnings.warn(f"{os.fspath(path)}: {left_out} hosts left out: the file would be too long", stacklevel=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Unpack[AnalyzerOptions]) -> Self:
        """Creates an analyzer with what `save`, or ``live --state`` of the program, wrote: of the same version of Huginn-Net."""
        analyzer = cls(**options)
        left_out = analyzer.restore_state(path)
        if left_out:
            warnings.warn(f"{os.fspath(path)}: {left_out} hosts left out: the database lacks their names", stacklevel=2)
        return analyzer


def _chunks(frames: Iterable[FrameTuple]) -> Iterator[list[tuple[int, Any, int | None]]]:
    rest = iter(frames)
    while chunk := [_frame(*frame) for frame in itertools.islice(rest, _CHUNK)]:
        yield chunk


def _frame(time: Any, data: Any, wire_length: int | None = None) -> tuple[int, Any, int | None]:
    if isinstance(time, datetime.datetime):
        time = time if time.tzinfo is not None else time.replace(tzinfo=datetime.timezone.utc)
        time = (time - _EPOCH) // _MICROSECOND * 1000
    elif not isinstance(time, int):
        raise TypeError(f"the time of a frame is a datetime, or nanoseconds since 1970 as an int, not {type(time).__name__}")
    return time, data if isinstance(data, (bytes, bytearray)) else bytes(data), wire_length


def _chunks_of_table(frames: Any) -> Iterator[list[tuple[int, Any, int | None]]]:
    import pyarrow as pa

    for batch in pa.RecordBatchReader.from_stream(frames):
        for name in ("ts", "data"):
            if name not in batch.schema.names:
                raise ValueError(f"a table of frames has the columns ts and data, not {', '.join(batch.schema.names)}")
        times = batch["ts"]
        if pa.types.is_timestamp(times.type):
            times = times.cast(pa.timestamp("ns", times.type.tz)).cast(pa.int64())
        lengths = batch["wire_length"] if "wire_length" in batch.schema.names else pa.nulls(batch.num_rows)
        for start in range(0, batch.num_rows, _CHUNK):
            columns = [column.slice(start, _CHUNK).to_pylist() for column in (times, batch["data"], lengths)]
            yield [_frame(*frame) for frame in zip(*columns)]
