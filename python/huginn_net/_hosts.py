"""Hosts of several captures or shards: the second stage of an analysis."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _native
from ._modules import needs

if TYPE_CHECKING:
    import pyarrow


class HostRecords:
    """Records of hosts as an Arrow stream; see `Capture.host_records`."""

    def __init__(self, capture: _native.Capture) -> None:
        self._capture = capture

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A stream of Arrow record batches: the Arrow PyCapsule interface."""
        return _native.Capture.host_records(self._capture)

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table."""
        with needs("arrow"):
            import pyarrow as pa

        return pa.table(self)


class HostTable(_native.HostTable):
    """The hosts of several captures or shards: the second stage.

    ``db`` is the signature database of the first stage, and ``columns`` selects columns of the events.
    """

    def feed(self, records: Any) -> pyarrow.Table:
        """Takes records in the order of time, from any Arrow stream, and returns the events of hosts that follow."""
        with needs("arrow"):
            import pyarrow as pa

        tables = [
            pa.table(self.feed_records(batch["record"].to_pylist(), batch["file"].to_pylist()))
            for batch in pa.RecordBatchReader.from_stream(records)
        ]
        return pa.concat_tables(tables) if tables else pa.table(self.feed_records([], []))

    def finish(self) -> pyarrow.Table:
        """Returns the events of hosts that show only when all records are there: scanners are judged by what follows their SYNs.

        An event of records that `feed` took earlier, from several files, has no ``file``.
        """
        with needs("arrow"):
            import pyarrow as pa

        return pa.table(self.finish_records())

    def hosts(self) -> list[dict[str, Any]]:
        """Returns the hosts so far, with verdict and evidence, as `Capture.hosts`."""
        return [json.loads(line) for line in super().hosts().splitlines()]


def host_events(records: Any, *, db: str | os.PathLike[str] | None = None) -> pyarrow.Table:
    """Returns the events of hosts (`HOST_EVENTS`) that the records of several captures or shards show together.

    ``records`` is one Arrow stream or a list of them, such as `Capture.host_records` of each shard. They are sorted by
    time, file, packet and position: the events are those of one analysis of all packets in this order.

    >>> shards = [hn.read_pcap("huge.pcap", shard=(index, 8)) for index in range(8)]  # doctest: +SKIP
    >>> hn.host_events([shard.host_records() for shard in shards])  # doctest: +SKIP
    """
    with needs("arrow"):
        import pyarrow as pa

    streams = records if isinstance(records, (list, tuple)) else [records]
    table = pa.concat_tables([pa.table(stream) for stream in streams])
    order = [(name, "ascending") for name in _native.host_record_order()]
    hosts = HostTable(db)
    return pa.concat_tables([hosts.feed(table.sort_by(order)), hosts.finish()])
