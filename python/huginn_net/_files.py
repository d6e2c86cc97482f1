"""Captures that paths, patterns, folders and URLs name."""

from __future__ import annotations

import contextlib
import io
import os
import select
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from . import _native, _storage
from ._storage import StorageOptions


#: Seconds for which a read of a pipe waits.
_WAIT_SECONDS = 0.1


class Found(NamedTuple):
    """A capture that a path names."""

    path: str
    size: int
    #: That of an object.
    version: str | None = None


def expand(source: Any, storage_options: StorageOptions = None) -> Iterator[tuple[str | None, Any]]:
    """The captures of a source, each with its name, if it has one."""
    if isinstance(source, (str, os.PathLike)):
        for found in list_files(os.fspath(source), storage_options):
            yield name_of(found.path), source_of(found.path, storage_options)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield None, bytes(source)
    elif isinstance(source, io.TextIOBase):
        raise TypeError("a capture is not text: open the file with mode 'rb'")
    elif hasattr(source, "read"):
        name = getattr(source, "name", None)
        yield name_of(name) if isinstance(name, str) else None, source
    elif isinstance(source, Mapping):
        for name, one in source.items():
            yield from ((name, each) for _, each in expand(one, storage_options))
    elif isinstance(source, Iterable):
        for one in source:
            yield from expand(one, storage_options)
    else:
        raise TypeError(f"no capture: {source!r}")


def key_logs(given: Any, storage_options: StorageOptions = None) -> list[Any]:
    """The paths of key logs, and the bytes of those that are URLs and file-like objects."""
    if isinstance(given, (str, os.PathLike)) or hasattr(given, "read"):
        given = [given]
    found: list[Any] = []
    for one in given:
        if isinstance(one, str) and _storage.is_url(one):
            one = _storage.opener(one, storage_options)()
        if hasattr(one, "read"):
            data = one.read()
            found.append(data.encode() if isinstance(data, str) else bytes(data))
        else:
            found.append(_storage.local_path(os.fspath(one)))
    return found


def name_of(path: str) -> str:
    """The name of a capture in the column `file`, which is that of the program."""
    return _storage.shown(path) if _storage.is_url(path) else _native.path_name(path)


def source_of(path: str, storage_options: StorageOptions = None) -> Any:
    """A path as it is, so that Python does not read it; of a URL or a pipe, a function that opens it."""
    if _storage.is_url(path):
        return _storage.opener(path, storage_options)
    return Pipe(path) if _is_pipe(path) else path


def _is_pipe(path: str) -> bool:
    """Whether a path cannot be read twice: standard input, a pipe or a device."""
    mode = 0 if path == "-" else os.stat(path).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


class Pipe:
    """A function that opens a pipe, or ``-``, standard input, once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._is_used = False

    def __call__(self) -> Any:
        if self._is_used:
            raise ValueError("a pipe is read once: keep what the first use returned, or write its bytes to a file")
        self._is_used = True
        return PipeFile(self._path)


class PipeFile:
    """Standard input, a pipe or a device. A read waits for a moment only, so that Ctrl-C ends an analysis."""

    def __init__(self, path: str) -> None:
        self._is_open = False
        # Opening would wait for a writer.
        self._fd = 0 if path == "-" else os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        self._is_open = path != "-"

    def read(self, size: int) -> bytes | None:
        """What is there; None if there is nothing yet."""
        if not select.select([self._fd], [], [], _WAIT_SECONDS)[0]:
            return None
        with contextlib.suppress(BlockingIOError):
            return os.read(self._fd, size)
        return None

    def __del__(self) -> None:
        if self._is_open:
            os.close(self._fd)


def list_files(path: str, storage_options: StorageOptions = None) -> list[Found]:
    """The captures that a path, a pattern, a folder or a URL names, with their sizes, in the order of the program."""
    if _storage.is_url(path):
        found = [Found(*one) for one in _storage.find(path, storage_options)]
    else:
        path = _storage.local_path(path)
        if path == "-":
            return [Found(path, 0)]
        names = [os.fspath(name) for name in _native.find_captures(path)]
        if names == [path]:
            return [Found(path, os.path.getsize(path))]
        found = list(_sizes(names))
    if not found:
        raise FileNotFoundError(f"no capture matches {_storage.shown(path)}")
    return found


def _sizes(names: Iterable[str]) -> Iterator[Found]:
    """The names with their sizes, without those that were deleted since."""
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            yield Found(name, os.path.getsize(name))
