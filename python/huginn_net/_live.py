"""Live captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from . import _native
from ._modules import needs
from ._options import LiveOptions, arguments_of

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Unpack


def live(interfaces: str | list[str] | tuple[str, ...], **options: Unpack[LiveOptions]) -> Live:
    """Captures from network interfaces; needs the right to do so, on Linux CAP_NET_RAW.

    >>> with hn.live("eth0") as capture:  # doctest: +SKIP
    ...     for batch in capture:
    ...         print(batch.num_rows)

    Each iteration gives a pyarrow.RecordBatch with the events of the last ``interval`` seconds (1.0), once there are any. ``workers`` is
    the number of threads. The other options are those of `read_pcap`; key logs are read once, here.
    """
    arguments = {"workers": 1, **arguments_of(cast("dict[str, Any]", options), LiveOptions)}
    names = [interfaces] if isinstance(interfaces, str) else list(interfaces)
    return Live(names, arguments.pop("interval", 1.0), arguments)


class Live(_native.Live):
    """A running capture; see `live`. It is an iterator and a context manager."""

    def __next__(self) -> pyarrow.RecordBatch:
        with needs("arrow"):
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
