"""Captures that paths, patterns, folders and URLs name."""

from __future__ import annotations

import contextlib
import functools
import glob
import io
import os
from collections.abc import Iterable, Iterator
from typing import Any

from . import _native


def expand(source: Any) -> Iterator[tuple[str | None, Any]]:
    """The captures of a source, each with its name, if it has one."""
    if isinstance(source, (str, os.PathLike)):
        yield from ((name, _opener(name)) for name, _ in list_files(os.fspath(source)))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield None, bytes(source)
    elif isinstance(source, io.TextIOBase):
        raise TypeError("a capture is not text: open the file with mode 'rb'")
    elif hasattr(source, "read"):
        name = getattr(source, "name", None)
        yield name if isinstance(name, str) else None, source
    elif isinstance(source, Iterable):
        for one in source:
            yield from expand(one)
    else:
        raise TypeError(f"no capture: {source!r}")


def _opener(name: str) -> Any:
    """A path as it is, so that Python does not read it; of a URL, a function that opens it."""
    return functools.partial(open_url, name) if "://" in name else name


def open_url(url: str) -> Any:
    import fsspec

    return fsspec.open(url, "rb").open()


def list_files(path: str) -> list[tuple[str, int]]:
    """The captures that a path, a pattern, a folder or a URL names, with their sizes, sorted by name."""
    if "://" in path:
        import fsspec

        filesystem, root = fsspec.core.url_to_fs(path)
        if _is_pattern(root) and not filesystem.exists(root):
            names = [name for name in filesystem.glob(root) if not filesystem.isdir(name)]
        elif filesystem.isdir(root):
            names = [name for name in filesystem.find(root) if _native.is_capture_name(name)]
        else:
            names = [root]
        found = [(filesystem.unstrip_protocol(name), filesystem.size(name) or 0) for name in names]
    elif _is_pattern(path) and not os.path.exists(path):
        found = _sizes(name for name in glob.glob(path, recursive=True) if not os.path.isdir(name))
    elif os.path.isdir(path):
        names = [os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files]
        found = _sizes(name for name in names if os.path.isfile(name) and not os.path.islink(name))
        found = [(name, size) for name, size in found if _native.is_capture_name(name) or _native.is_capture(name)]
    else:
        return [(path, os.path.getsize(path))]
    if not found:
        raise FileNotFoundError(f"no capture matches {path}")
    return sorted(found)


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in "*?[")


def _sizes(names: Iterable[str]) -> list[tuple[str, int]]:
    """The names with their sizes, without those that were deleted since."""
    found = []
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            found.append((name, os.path.getsize(name)))
    return found
