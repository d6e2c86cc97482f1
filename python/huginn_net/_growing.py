"""Captures that appear in folders and below URLs, each once: what identifies them, and when they are complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from . import _storage
from ._files import Found, list_files
from ._storage import StorageOptions

#: Seconds for which a local file must not have changed before it is read.
SETTLE_SECONDS = 10.0

#: Bytes at the start and at the end of a local capture that tell it from another one in the same place.
_END_BYTES = 64

#: A time of change that is so much later than now, in seconds, is none.
_FUTURE_SECONDS = 3600

#: An identity, as text, is the place of a capture, what changes with its content, and its length. The place of a local file is its
#: inode with its first bytes, so that a rename keeps it: inodes must be stable. That of an object is its URL.
Identity = str


class Growing:
    """The captures that paths and URLs name, as they come.

    A local file is complete once it has not changed for some seconds; an object is when it appears. One that changes after it was
    read is an error: the packets that follow belong to flows that were cut, and rows of the others were written already.
    """

    def __init__(self, paths: list[str], storage_options: StorageOptions, settle_seconds: float, skip_errors: bool) -> None:
        self._paths = paths
        self._storage_options = storage_options
        self._settle_seconds = settle_seconds
        self._skip_errors = skip_errors
        #: What the last listing found, with the present names.
        self._before: dict[Identity, str] = {}
        #: The identities of local files, by names, with the state of the file for which they hold.
        self._identities: dict[str, tuple[tuple[int, ...], Identity]] = {}

    def latest(self) -> dict[Identity, str]:
        """The captures that are there and complete, with their names.

        # Errors
        Also if a bucket does not exist or cannot be listed. A folder or a prefix without captures is none.
        """
        now = time.time()
        # One that changes although it was complete is not left out: it is an error.
        places = set(map(place_of, self._before))
        present = {
            identity: name
            for identity, changed, name in self._present()
            if not now - self._settle_seconds < changed < now + _FUTURE_SECONDS or place_of(identity) in places
        }
        # A listing may miss a capture that is renamed meanwhile: it stays for one more.
        found = {**self._before, **present}
        self._before = present
        return found

    def new(self, known: Iterable[Identity], found: Mapping[Identity, str]) -> dict[Identity, str]:
        """Those that are found and not known, without the changed ones.

        # Errors
        If one changed after it was read, unless errors are skipped.
        """
        known = known if isinstance(known, (dict, set)) else set(known)
        new = {identity: name for identity, name in found.items() if identity not in known}
        for identity, what in changed(known, new) if new else ():
            if not self._skip_errors:
                raise ValueError(
                    f"{_storage.shown(new[identity])}: {what} after it was read: give captures names of their own when they are complete, or raise "
                    "settleSeconds (settle_seconds); onError=skip (on_error=\"skip\") goes on without the rest"
                )
            del new[identity]
        return new

    def find(self, named: Mapping[Identity, str]) -> Iterator[tuple[Identity, str]]:
        """The captures with their present names: each is looked up just before it is used, as others may be renamed meanwhile.

        # Errors
        If one was deleted, unless errors are skipped. An object fails when it is opened.
        """
        others: dict[Identity, str] = {}
        listed = 0.0
        for identity, name in named.items():
            if not _storage.is_url(name) and not _is_there(name, identity):
                name = others.get(identity, name)
                if not _is_there(name, identity):
                    # Many that were deleted do not need a listing each.
                    if not self._skip_errors or identity in others or time.monotonic() - listed > 1:
                        others = {identity: name for identity, _, name in self._present()}
                        listed = time.monotonic()
                    if identity in others:
                        name = others[identity]
                    elif self._skip_errors:
                        continue
                    else:
                        raise FileNotFoundError(
                            f"{name}: was deleted or changed before it was read; onError=skip (on_error=\"skip\") goes on without it"
                        )
            yield identity, name

    def source(self, identity: Identity, name: str) -> Any:
        """What `huginn_net.read_pcap` reads: a path, or a function that opens the object of this identity."""
        if _storage.is_url(name):
            return _storage.opener(name, self._storage_options, version_of(identity))
        return name

    def _present(self) -> Iterator[tuple[Identity, float, str]]:
        """The captures that are there: what identifies them, the time of change and the name."""
        identities: dict[str, tuple[tuple[int, ...], Identity]] = {}
        for found in self._list():
            if found.version is not None:
                # An object appears when all of it is there.
                yield f"{_storage.shown(found.path)}:{found.version.replace(':', '.')}:{found.size}", 0.0, found.path
                continue
            # One that was deleted or renamed since is not.
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(found.path)
                state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                before, identity = self._identities.get(found.path, ((), ""))
                if before != state:
                    identity = _identity_of_file(found.path)
                identities[found.path] = state, identity
                yield identity, status.st_mtime, found.path
        self._identities = identities

    def _list(self) -> Iterator[Found]:
        for path in self._paths:
            with contextlib.suppress(FileNotFoundError):
                yield from list_files(path, self._storage_options)


def place_of(identity: Identity) -> str:
    return identity.rsplit(":", 2)[0]


def version_of(identity: Identity) -> str:
    """What changes with the content: for a local file its last bytes."""
    return identity.rsplit(":", 2)[1]


def size_of(identity: Identity) -> int:
    return int(identity.rsplit(":", 1)[1])


def _identity_of_file(path: str) -> Identity:
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        head, end = _digest(file, 0), _digest(file, status.st_size - _END_BYTES)
    return f"{status.st_ino}.{head}:{end}:{status.st_size}"


def _is_there(path: str, identity: Identity) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return _identity_of_file(path) == identity
    return False


def _digest(file: BinaryIO, offset: int) -> str:
    """A digest of the bytes from an offset on."""
    file.seek(max(offset, 0))
    return hashlib.blake2b(file.read(_END_BYTES), digest_size=8).hexdigest()


def changed(known: Iterable[Identity], new: Mapping[Identity, str]) -> list[tuple[Identity, str]]:
    """The captures among the new ones that were read with other content, and what happened to them."""
    places = {place_of(identity) for identity in new}
    before = {place: identity for identity in known if (place := place_of(identity)) in places}
    found = []
    for identity, name in new.items():
        old = before.get(place_of(identity))
        if old is None:
            continue
        if _storage.is_url(name):
            found.append((identity, "was replaced"))
        elif 0 < size_of(old) < size_of(identity):
            with contextlib.suppress(FileNotFoundError), open(name, "rb") as file:
                if _digest(file, size_of(old) - _END_BYTES) == version_of(old):
                    found.append((identity, "grew"))
    return found
