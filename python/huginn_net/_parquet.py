"""Parquet files of captures."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native, _storage
from ._places import MARKS, LocalFolder, RemoteFolder, remove, unfinished_beside
from ._progress import Bar
from ._storage import StorageOptions

if TYPE_CHECKING:
    from ._capture import Capture

#: The file that says what a process adds now.
_PENDING = "pending.json"


class Layout(NamedTuple):
    """How rows become files."""

    tables: bool
    partition_by: str | None
    compression: str
    level: int | None


def write_parquet(capture: Capture, path: str, layout: Layout, append: bool, storage_options: StorageOptions) -> list[str]:
    """Writes the rows of a capture; see `Capture.write_parquet`."""
    if append:
        return append_parquet(capture, path, layout, storage_options)
    capture = capture._changed({"dictionaries": False})
    is_folder = layout.tables or layout.partition_by is not None
    if is_folder and (_storage.existing(path, storage_options) if _storage.is_url(path) else os.path.lexists(_storage.local_path(path))):
        raise FileExistsError(f"{_storage.shown(path)}: exists already: name a new folder, or give append=True")
    if _storage.is_url(path):
        with tempfile.TemporaryDirectory() as folder:
            local = os.path.join(folder, "events")
            files = write_files(capture, local, layout)
            _storage.upload(local, path, storage_options)
    else:
        path = _storage.local_path(path)
        with unfinished_beside(path) as unfinished:
            files = write_files(capture, unfinished, layout)
            os.replace(unfinished, path)
    return files if is_folder else [os.path.basename(path)]


def write_files(
    capture: Capture,
    path: str,
    layout: Layout,
    stems: list[tuple[str, str]] | None = None,
    done: Callable[[int, list[str]], None] | None = None,
) -> list[str]:
    """Writes a local file, or a folder of files with tables, partitions or `stems`; returns the paths within the folder."""
    if layout.tables or layout.partition_by is not None or stems is not None:
        os.mkdir(path)
    with _progress(capture) as progress:
        return _native.write_parquet(capture, path, *layout, progress, stems, done)


@contextlib.contextmanager
def _progress(capture: Capture) -> Iterator[Callable[[int], None] | None]:
    """What shows the rows so far, if the capture has a progress."""
    if not capture._progress:
        yield None
        return
    total, last = len(capture._arguments["names"]), 0
    with contextlib.closing(Bar()) as bar:
        show = bar.show if capture._progress is True else capture._progress

        def progress(rows: int) -> None:
            nonlocal last
            last = rows
            show(min(capture.captures_read(), total), total, rows)

        yield progress
        show(total, total, last)


def append_parquet(capture: Capture, path: str, layout: Layout, storage_options: StorageOptions) -> list[str]:
    """Adds the captures that a dataset does not have, and replaces those that changed."""
    capture = capture._changed({"dictionaries": False})
    sources = _sources_of(capture)
    with open_dataset(capture, path, layout, storage_options, "path") as dataset:
        return dataset.write(capture, sources)


@contextlib.contextmanager
def open_dataset(capture: Capture, path: str, layout: Layout, storage_options: StorageOptions, keys: str) -> Iterator[Dataset]:
    """The dataset of a path. ``keys`` says what names the files of a capture: its ``path``, or its ``identity`` in a folder that grows."""
    place = RemoteFolder(path, storage_options) if _storage.is_url(path) else LocalFolder(_storage.local_path(path))
    if not place.exists(f"{MARKS}/layout.json") and (names := place.names()) and MARKS not in names:
        raise FileExistsError(f"{place}: is not a dataset of append=True: name a new folder")
    with place:
        yield Dataset(place, capture, layout, keys)


class Source(NamedTuple):
    """A capture of a dataset."""

    name: str
    source: Any
    #: The name of its files, and what changes with its content.
    stem: str
    identity: str


class Dataset:
    """Parquet files that remember their captures. One process at a time appends to them."""

    def __init__(self, place: LocalFolder | RemoteFolder, capture: Capture, layout: Layout, keys: str) -> None:
        self._place = place
        self._layout = layout
        self._marks = place.names(MARKS)
        version, columns = _native.table_columns(capture)
        own = {"schema": version, "columns": columns, "tables": layout.tables, "partition_by": layout.partition_by, "keys": keys}
        if "layout.json" not in self._marks:
            place.write(f"{MARKS}/layout.json", own)
            return
        found = place.read(f"{MARKS}/layout.json")
        if found["schema"] != version:
            raise ValueError(f"{place} has version {found['schema']} of the schema, and this package {version}: name a new folder")
        if found["keys"] != keys:
            writers = {"path": "write_parquet(append=True) of captures", "identity": "write_parquet of follow"}
            raise ValueError(f"{place} was written by {writers[found['keys']]}, which names captures otherwise: use it again, or name a new folder")
        for name, value in own.items():
            if found[name] != value:
                raise ValueError(f"{place} was written with other {name}: name a new folder, or give the same")
        if _PENDING in self._marks:
            self._recover()

    def _recover(self) -> None:
        """Removes what is pending, unless it is complete: the part of a capture that a killed process added, which may have changed since."""
        pending = self._place.read(f"{MARKS}/{_PENDING}")
        stem = pending["stem"]
        mark = self._mark(stem)
        if mark is None or mark["identity"] != pending["identity"]:
            self._place.remove([_mark_of(stem), *pending["files"]])
            self._marks.discard(f"{stem}.json")
        self._place.remove([f"{MARKS}/{_PENDING}"])

    def _mark(self, stem: str) -> Any:
        """What the folder has of a capture."""
        return self._place.read(_mark_of(stem)) if f"{stem}.json" in self._marks else None

    def _needs(self, source: Source) -> bool:
        """Whether a capture is to be written: it is new, or changed."""
        mark = self._mark(source.stem)
        if mark is None:
            return True
        if mark["identity"] == source.identity:
            return False
        self._check_files(mark)
        return True

    def _check_files(self, mark: Any) -> None:
        """Raises ValueError if rows of a capture cannot be replaced."""
        for file in mark["files"]:
            if not self._place.exists(file):
                raise ValueError(f"{mark['name']} changed after its rows were joined with others, without {file}: write to a new folder")

    def write(self, capture: Capture, sources: list[Source]) -> list[str]:
        """Adds those of the captures that it does not have, with the options of ``capture``."""
        files: list[str] = []
        pending = [one for one in sources if self._needs(one)]
        if not pending:
            return files
        changed = capture._changed({"names": [one.name for one in pending], "sources": [one.source for one in pending], "skips_outages": False})
        stems = [(one.name, one.stem) for one in pending]
        parts = self._place.new_parts()

        def done(number: int, added: list[str]) -> None:
            files.extend(self.add(pending[number], os.path.join(parts, str(number)), added))

        try:
            write_files(changed, parts, self._layout, stems, done)
        finally:
            remove(parts)
        return files

    def add(self, source: Source, folder: str, files: list[str]) -> list[str]:
        """Moves the files of a capture from a folder to the dataset, in place of earlier ones."""
        pending = f"{MARKS}/{_PENDING}"
        earlier = (self._mark(source.stem) or {"files": []})["files"]
        self._place.create(pending, {"stem": source.stem, "identity": source.identity, "files": sorted({*earlier, *files})})
        for file in files:
            self._place.add(os.path.join(folder, file), file)
        self._place.remove([file for file in earlier if file not in files])
        self._place.write(_mark_of(source.stem), {"name": source.name, "identity": source.identity, "files": files})
        self._marks.add(f"{source.stem}.json")
        self._place.remove([pending])
        return files

    def discard(self, stem: str) -> None:
        """Removes a capture, if it is there."""
        if mark := self._mark(stem):
            self._check_files(mark)
            self._place.create(f"{MARKS}/{_PENDING}", {"stem": stem, "identity": None, "files": mark["files"]})
            self._recover()


def _mark_of(stem: str) -> str:
    """The file that says what a dataset has of a capture."""
    return f"{MARKS}/{stem}.json"


def _sources_of(capture: Capture) -> list[Source]:
    """The captures, each once.

    # Errors
    If two have one name: one of them would take the place of the other.
    """
    found: dict[str, Source] = {}
    names: dict[str, Source] = {}
    for name, source in zip(capture._arguments["names"], capture._arguments["sources"]):
        one = Source(name, source, *_identify(name, source))
        for former in (found.setdefault(one.stem, one), names.setdefault(name, one)):
            if (former.stem, former.identity) != (one.stem, one.identity):
                raise ValueError(f"two captures have the name {name}: give each a name of its own, as {{name: source}}")
    return list(found.values())


def _identify(name: str | None, source: Any) -> tuple[str, str]:
    """The name of files for a capture, with a hash of its whole path, and what changes with its content."""
    if isinstance(source, str):
        found = os.stat(source)
        name, identity = os.path.abspath(source), f"{found.st_size}:{found.st_mtime_ns}"
    elif isinstance(source, bytes):
        identity = hashlib.sha256(source).hexdigest()
    else:
        version = _storage.version_of_opener(source)
        if version is None:
            raise ValueError("append=True needs captures that can be recognised: files, URLs, or bytes with names")
        identity = version
    if name is None:
        raise ValueError("append=True needs captures with names: give bytes as {name: data}")
    text = re.sub(r"[^A-Za-z0-9._-]", "_", os.path.basename(name))[:100]
    return f"{text}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}", identity
