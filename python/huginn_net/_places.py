"""Folders of datasets: local ones, and those in object storage."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from typing import IO, Any

from . import _storage
from ._storage import StorageOptions

#: The folder of a dataset that says which captures it has. Engines pass over names with an underscore.
MARKS = "_captures"

#: The end of names of what is not complete.
UNFINISHED = ".unfinished"


class LocalFolder:
    """A folder that one process at a time changes. Files have their names when they are complete."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __str__(self) -> str:
        return self._path

    def __enter__(self) -> LocalFolder:
        marks = os.path.join(self._path, MARKS)
        os.makedirs(marks, exist_ok=True)
        self._lock = lock(os.path.join(marks, ".lock"), f"{self._path}: another process appends to it")
        # Those of a process that was killed.
        for name in os.listdir(self._path):
            if name.startswith(".") and name.endswith(UNFINISHED):
                remove(os.path.join(self._path, name))
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def new_parts(self) -> str:
        """A new name for a folder of files that are not complete."""
        return os.path.join(self._path, f".{uuid.uuid4().hex}{UNFINISHED}")

    def names(self, folder: str = "") -> set[str]:
        """The names in a folder, without hidden ones."""
        try:
            return {name for name in os.listdir(os.path.join(self._path, folder)) if not name.startswith(".")}
        except FileNotFoundError:
            return set()

    def exists(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._path, name))

    def read(self, name: str) -> Any:
        with open(os.path.join(self._path, name), encoding="utf-8") as file:
            return json.load(file)

    def write(self, name: str, value: Any) -> None:
        """Writes a file that is complete, or as it was before."""
        path = os.path.join(self._path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with unfinished_beside(path) as unfinished:
            with open(unfinished, "w", encoding="utf-8") as file:
                json.dump(value, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)

    def create(self, name: str, value: Any) -> None:
        """Writes a file that is not there: the lock keeps others out."""
        self.write(name, value)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self._path, name))

    def add(self, local: str, name: str) -> None:
        """Moves a file that is complete to its name."""
        path = os.path.join(self._path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(local, "rb") as file:
            os.fsync(file.fileno())
        os.replace(local, path)


class RemoteFolder:
    """Objects below a URL, which one process at a time may change: no lock keeps two apart while neither of them adds a capture."""

    def __init__(self, url: str, options: StorageOptions) -> None:
        self._url = url.rstrip("/")
        self._options = options

    def __str__(self) -> str:
        return _storage.shown(self._url)

    def __enter__(self) -> RemoteFolder:
        self._parts = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.cleanup()

    def new_parts(self) -> str:
        return os.path.join(self._parts.name, uuid.uuid4().hex)

    def names(self, folder: str = "") -> set[str]:
        url = f"{self._url}/{folder}" if folder else self._url
        return {name.partition("/")[0] for name in _storage.existing(url, self._options)}

    def exists(self, name: str) -> bool:
        try:
            _storage.version_of(f"{self._url}/{name}", self._options)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> Any:
        return json.loads(_storage.read(f"{self._url}/{name}", self._options))

    def write(self, name: str, value: Any) -> None:
        _storage.put(json.dumps(value).encode(), f"{self._url}/{name}", self._options)

    def create(self, name: str, value: Any) -> None:
        """Writes an object that is not there.

        # Errors
        If it is: another process writes to the dataset.
        """
        try:
            _storage.put(json.dumps(value).encode(), f"{self._url}/{name}", self._options, mode="create")
        except FileExistsError:
            raise BlockingIOError(f"{self}: another process writes to it ({name}): one at a time may") from None

    def remove(self, names: Iterable[str]) -> None:
        _storage.remove(self._url, names, self._options)

    def add(self, local: str, name: str) -> None:
        _storage.upload(local, f"{self._url}/{name}", self._options)


@contextlib.contextmanager
def unfinished_beside(path: str) -> Iterator[str]:
    """A name beside the path. What has it at the end is removed."""
    folder, name = os.path.split(path.rstrip(os.sep))
    unfinished = os.path.join(folder, f".{name[:100]}.{uuid.uuid4().hex}{UNFINISHED}")
    try:
        yield unfinished
    finally:
        remove(unfinished)


def lock(path: str, message: str) -> IO[bytes]:
    """A lock that ends with the process; systems without it have none. With ``message`` it fails if another process has it."""
    file = open(path, "ab")  # noqa: SIM115: held open.
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise BlockingIOError(message) from None
    return file


def remove(path: str) -> None:
    """Removes a file or a folder, if it is there."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)
