"""Live captures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._options import PROTOCOLS, Protocol, add_alerts, check_names

if TYPE_CHECKING:
    import pyarrow


def live(
    interfaces: str | list[str] | tuple[str, ...],
    *,
    protocols: Sequence[Protocol] = PROTOCOLS,
    db: str | os.PathLike[str] | None = None,
    workers: int = 1,
    connections: bool = False,
    findings: bool = False,
    fingerprints: Any = (),
    events: Sequence[str] = (),
    columns: Sequence[str] = (),
    interval: float = 1.0,
) -> Live:
    """Captures from network interfaces; needs the right to do so, on Linux CAP_NET_RAW.

    >>> with hn.live("eth0") as capture:  # doctest: +SKIP
    ...     for batch in capture:
    ...         print(batch.num_rows)

    Each iteration gives a pyarrow.RecordBatch with the events of the last ``interval`` seconds, once there are any. The
    other options are those of `read_pcap`.
    """
    check_names(protocols, events, columns)
    events, lists = add_alerts(findings, fingerprints, connections, events)
    names = [interfaces] if isinstance(interfaces, str) else list(interfaces)
    return Live(names, list(protocols), db, workers, connections, list(events), list(columns), interval, findings, lists)


class Live(_native.Live):
    """A running capture; see `live`. It is an iterator and a context manager."""

    def __next__(self) -> pyarrow.RecordBatch:
        import pyarrow as pa

        (batch,) = pa.table(super().__next__()).to_batches()
        return batch

    def __iter__(self) -> Live:
        return self

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stats(self) -> dict[str, Any]:
        """Returns frames received and dropped by interface, and the number of events that were dropped unread."""
        counters = {name: {"received": received, "dropped": dropped} for name, received, dropped in self.interfaces()}
        return {"interfaces": counters, "dropped_events": self.dropped_events()}
