"""Folders that grow, read once and for all, without Spark."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from . import _storage
from ._capture import Capture, read_pcap
from ._files import name_of
from ._growing import SETTLE_SECONDS, Growing, Identity, changed
from ._native import CaptureError, CaptureWarning
from ._options import ReadOptions
from ._places import lock
from ._storage import StorageOptions

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    import pyarrow

#: The version of the state.
_VERSION = 1

#: Captures that are remembered after they left the folder: they may come back.
_MAX_GONE = 10_000

#: Lines of the state that are not needed, at most, beside three for each capture.
_SPARE_LINES = 1000


def follow(
    source: Any,
    *,
    state: str | os.PathLike[str],
    once: bool = False,
    poll_seconds: float = 5.0,
    settle_seconds: float = SETTLE_SECONDS,
    **options: Unpack[ReadOptions],
) -> Follow:
    """Reads the captures of a folder that grows, each once, also after a restart.

    ``source`` is a folder, a pattern or a URL (``s3://bucket/captures``), or several of these in a list; ``options`` are those of
    `read_pcap`. ``state`` is a local file that remembers what was read; one process at a time uses it. With ``once`` it ends
    after what is there now; otherwise it looks again after ``poll_seconds``.

    A local file is read once it has not changed for ``settle_seconds``, an object as soon as it is there. A file that grows, or an
    object that is replaced, after it was read is a ValueError; with ``on_error="skip"`` its new content is not read. What cannot be
    opened or read then gives a `CaptureWarning`, and is read later; damage is not.

    >>> for batch in hn.follow("captures", state="captures.state", events=["tls_client"]):  # doctest: +SKIP
    ...     print(batch.num_rows)
    >>> hn.follow("s3://bucket/captures", state="captures.state").write_parquet("events", partition_by="day")  # doctest: +SKIP

    A loop over batches has a capture again if the process ends before it asks for what follows the last batch of it.
    `Follow.write_parquet` writes each capture exactly once.
    """
    several = isinstance(source, Iterable) and not isinstance(source, (str, os.PathLike))
    paths = [os.fspath(one) for one in (source if several else [source])]
    if not poll_seconds > 0 or not settle_seconds >= 0:
        raise ValueError("poll_seconds must be positive, and settle_seconds not negative")
    for name in ("shard", "progress"):
        if name in options:
            raise TypeError(f"follow has no option {name}")
    # Wrong options are reported here, and file-like objects among them are read.
    empty = read_pcap([], **options)
    storage_options = options.get("storage_options")
    growing = Growing(paths, storage_options, settle_seconds, options.get("on_error") == "skip")
    return Follow(growing, os.fspath(state), None if once else poll_seconds, storage_options, empty)


class Follow:
    """Captures as they come; see `follow`."""

    def __init__(
        self, growing: Growing, state: str, poll_seconds: float | None, storage_options: StorageOptions, empty: Capture
    ) -> None:
        self._growing = growing
        self._state = state
        self._poll_seconds = poll_seconds
        self._storage_options = storage_options
        #: No capture, with the options of all.
        self._empty = empty

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        """Yields the batches of rows of each capture."""
        with State(self._state) as state:
            for identity, name, capture in self._captures(state):
                with self._end(state, identity, name):
                    yield from capture._batches()

    def captures(self) -> Iterator[tuple[Identity, Capture]]:
        """Yields each capture, with an identity that it keeps when it is read again. It is done when the next one is asked for."""
        with State(self._state) as state:
            for identity, name, capture in self._captures(state):
                yield identity, capture
                state.end(identity, name)

    def _captures(self, state: State) -> Iterator[tuple[Identity, str, Capture]]:
        """The captures with their present names. The caller ends each."""
        while True:
            found = self._growing.latest()
            state.forget(found)
            new = self._growing.new(state.done, found)
            for identity, name in self._growing.find(new):
                given = {"sources": [self._growing.source(identity, name)], "names": [name_of(name)], "skips_outages": False}
                yield identity, name, Capture({**self._empty._arguments, **given})
            if self._poll_seconds is None:
                return
            time.sleep(self._poll_seconds)

    @contextlib.contextmanager
    def _end(self, state: State, identity: Identity, name: str) -> Iterator[None]:
        """Notes that a capture is done, unless it could not be opened or read: it is read later then, if errors are skipped."""
        try:
            yield
        except CaptureError as error:
            if not self._empty._arguments["skip_errors"]:
                raise
            warnings.warn(f"skipped for now: {error}", CaptureWarning, stacklevel=3)
        else:
            state.end(identity, name)

    def write_parquet(
        self,
        dataset: str | os.PathLike[str],
        *,
        tables: bool = False,
        partition_by: Literal["day", "file"] | None = None,
        compression: Literal["zstd", "snappy", "none"] = "zstd",
        level: int | None = None,
        storage_options: StorageOptions = None,
    ) -> None:
        """Adds the rows of each capture to a folder of Parquet files, exactly once, until it is stopped.

        ``dataset`` is a folder or a URL, and the other arguments are those of `Capture.write_parquet`, which remembers the captures in
        the dataset, too: what a process that was killed had begun is written again in its place. The files have other names than those
        of ``append=True``, so that a dataset has one of both writers. One process at a time writes to it.
        """
        from ._parquet import Layout, Source, open_dataset

        layout = Layout(tables, partition_by, compression, level)
        options = self._storage_options if storage_options is None else storage_options
        empty = self._empty._changed({"dictionaries": False})
        with State(self._state) as state, open_dataset(empty, os.fspath(dataset), layout, options, "identity") as opened:
            for identity, name, capture in self._captures(state):
                with self._end(state, identity, name):
                    # What an ended process wrote of a capture that changed before the state had it.
                    for former in [one for one in state.begun if changed([one], {identity: name})]:
                        opened.discard(_stem_of(former))
                        state.drop(former)
                    state.begin(identity)
                    ((source, shown),) = zip(capture._arguments["sources"], capture._arguments["names"])
                    opened.write(capture._changed({"dictionaries": False}), [Source(shown, source, _stem_of(identity), identity)])


def _stem_of(identity: Identity) -> str:
    """The name of files for a capture."""
    return hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:24]


class State:
    """What was read, as JSON Lines: the first has the version, each other a capture that is done, or begun."""

    def __init__(self, path: str) -> None:
        if _storage.is_url(path):
            raise ValueError(f"{_storage.shown(path)}: the state is a local file")
        self._path = path
        #: Identities with names, the oldest first.
        self.done: dict[Identity, str] = {}
        #: Those that a process began to write to a dataset and did not end.
        self.begun: set[Identity] = set()
        self._lines = 0
        self._file: Any = None
        self._lock: Any = None

    def __enter__(self) -> Self:
        self._lock = lock(f"{self._path}.lock", f"{self._path}.lock: another process uses this state")
        try:
            self._read()
            self._rewrite()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.close()

    def _read(self) -> None:
        try:
            with open(self._path, "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return
        # What follows the last end of a line was cut by a crash.
        if not lines[0].startswith(b'{"version"') or json.loads(lines[0]).get("version") != _VERSION:
            raise ValueError(f"{self._path}: not a state of this version of huginn_net.follow: name a new file, which reads all captures again")
        for number, line in enumerate(lines[1:-1], 2):
            try:
                entry = json.loads(line)
                if "begun" in entry:
                    self.begun.add(entry["begun"])
                else:
                    self.done[entry["id"]] = entry["name"]
                    self.begun.discard(entry["id"])
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{self._path}: line {number} is damaged: restore the file, or name a new one") from None

    def _rewrite(self) -> None:
        """Writes the whole state: a file that is complete, or the former one."""
        new = f"{self._path}.new"
        with open(new, "wb") as file:
            file.write(b'{"version":%d}\n' % _VERSION)
            file.writelines(_line(identity, name) for identity, name in self.done.items())
            file.writelines(map(_begun, self.begun))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        if self._file:
            self._file.close()
        self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115: closed by `__exit__`.
        self._lines = len(self.done) + len(self.begun)

    def begin(self, identity: Identity) -> None:
        if identity not in self.begun:
            self.begun.add(identity)
            self._append(_begun(identity))

    def drop(self, identity: Identity) -> None:
        self.begun.discard(identity)
        self._rewrite()

    def end(self, identity: Identity, name: str) -> None:
        name = _storage.shown(name)
        self.done[identity] = name
        self.begun.discard(identity)
        self._append(_line(identity, name))

    def _append(self, line: bytes) -> None:
        self._file.write(line)
        self._lines += 1
        os.fsync(self._file.fileno())

    def forget(self, present: dict[Identity, str]) -> None:
        """Forgets the oldest captures that left the folder. The file has at most about three lines for each capture that is remembered."""
        # A file system that is not mounted has none.
        if present and len(self.done) > _MAX_GONE:
            gone = [identity for identity in self.done if identity not in present]
            for identity in gone[:-_MAX_GONE]:
                del self.done[identity]
        if self._lines > 3 * len(self.done) + _SPARE_LINES:
            self._rewrite()


def _line(identity: Identity, name: str) -> bytes:
    return json.dumps({"id": identity, "name": name}, separators=(",", ":")).encode() + b"\n"


def _begun(identity: Identity) -> bytes:
    return json.dumps({"begun": identity}, separators=(",", ":")).encode() + b"\n"
