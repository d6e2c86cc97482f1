"""Objects of S3, Google Cloud Storage, Azure and web servers, by obstore (docs/decisions/027-object-storage.md)."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from . import _native
from ._modules import needs

#: Options for obstore's `store.from_url`: its configuration, and these three.
StorageOptions = dict[str, Any] | None
_NESTED = ("client_options", "retry_config", "credential_provider")

#: Options of the HTTP client among those of a store, as other libraries on object_store take them, with a prefix or without.
_CLIENT = ("allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "read_timeout", "timeout", "user_agent")
_PREFIXES = ("aws_", "azure_", "google_")

#: A long object, or one that is read slowly, takes longer than the 30 seconds that obstore gives a request: what stalls is an error.
_TIMEOUTS = {"timeout": "7days", "read_timeout": "60s"}

#: Where the endpoint of a store like S3 is configured.
_ENDPOINTS = ("endpoint", "endpoint_url", "aws_endpoint", "aws_endpoint_url")

#: Bytes of the pieces in which an object arrives, and of its end that one request brings.
_PIECE_BYTES = 4 << 20
_TAIL_BYTES = 64 << 10


class Object(NamedTuple):
    """An object of a store."""

    url: str
    size: int
    #: What changes with its content: the ETag, else a version, else the time of change.
    version: str


def is_url(path: str) -> bool:
    """Whether a path is the URL of an object, or of a prefix."""
    return "://" in path and not path.startswith("file://")


def shown(url: str) -> str:
    """The name of an object in the column `file`: the URL without a signature and a password."""
    scheme, mark, rest = url.partition("://")
    is_http = scheme in ("http", "https")
    user, at, host = rest.partition("/")[0].rpartition("@")
    # Azure has the container before the account.
    if at and (is_http or ":" in user):
        rest = host + rest[len(user) + 1 + len(host) :]
    return f"{scheme}{mark}{rest.partition('?')[0] if is_http else rest}"


def local_path(path: str) -> str:
    """The path of a ``file://`` URL; others as they are."""
    return urllib.parse.unquote(path.removeprefix("file://")) if path.startswith("file://") else path


def find(url: str, options: StorageOptions = None) -> list[Object]:
    """The objects that a URL names: a pattern, one object, or all captures below a prefix. None of a prefix without objects.

    They are in the order of the program: that of the names in each folder.
    """
    store, root, key = _open(url, options)
    if any(mark in key for mark in "*?[") and not root.startswith("http"):
        prefix = key[: min(key.index(mark) for mark in "*?[" if mark in key)].rpartition("/")[0]
        objects = {meta["path"]: meta for meta in _list(store, prefix, url)}
        found = [objects[name] for name in _native.matching_names(key, list(objects))]
        return [_object(root, meta) for meta in sorted(found, key=_place)]
    if root.startswith("http"):
        return [_object(root, _http_meta(store, key, url))._replace(url=url)]
    if key and not key.endswith("/"):
        with contextlib.suppress(FileNotFoundError), _errors(url):
            return [_object(root, _obstore().head(store, key))]
    found = [meta for meta in _list(store, key, url) if _native.is_capture_name(meta["path"])]
    return [_object(root, meta) for meta in sorted(found, key=_place)]


def version_of(url: str, options: StorageOptions = None) -> str:
    """The version of an object now."""
    store, root, key = _open(url, options)
    if root.startswith("http"):
        return _object(root, _http_meta(store, key, url)).version
    with _errors(url):
        return _object(root, _obstore().head(store, key)).version


def opener(url: str, options: StorageOptions = None, version: str | None = None) -> Any:
    """A function that opens an object; one of a version fails if another one has its place."""
    return functools.partial(RemoteFile, url, options, version)


def version_of_opener(source: Any) -> str | None:
    """The version of the object that a function of `opener` opens."""
    if not isinstance(source, functools.partial) or source.func is not RemoteFile:
        return None
    url, options, version = source.args
    return version or version_of(url, options)


def read(url: str, options: StorageOptions = None) -> bytes:
    """The bytes of an object."""
    store, _, key = _open(url, options)
    with _errors(url):
        return bytes(_obstore().get(store, key).bytes())


def put(data: bytes, url: str, options: StorageOptions = None, mode: Literal["overwrite", "create"] = "overwrite") -> None:
    """Writes an object; with the mode ``create`` it is a FileExistsError if there is one."""
    store, _, key = _open(url, options)
    with _errors(url, missing="no such bucket or container"):
        _obstore().put(store, key, data, mode=mode)


def existing(url: str, options: StorageOptions = None) -> set[str]:
    """The names below a prefix, such as those of the files of a dataset."""
    store, _, key = _open(url, options)
    prefix = key.rstrip("/")
    return {meta["path"][len(prefix) :].lstrip("/") for meta in _list(store, prefix, url)}


def upload(local: str | os.PathLike[str], url: str, options: StorageOptions = None) -> None:
    """Uploads a file as the object of this URL, or the files of a folder below it.

    An object appears when all of it is there. If one of a folder fails, or Ctrl-C ends it, those before are deleted.
    """
    store, _, key = _open(url, options)
    local = Path(local)
    if not local.is_dir():
        with _errors(url, missing="no such bucket or container"):
            _obstore().put(store, key, local)
        return
    targets: list[str] = []
    try:
        for path in sorted(path for path in local.rglob("*") if path.is_file()):
            # Ctrl-C is seen once the upload of an object has ended.
            targets.append(f"{key.rstrip('/')}/{path.relative_to(local).as_posix()}".lstrip("/"))
            with _errors(url, missing="no such bucket or container"):
                _obstore().put(store, targets[-1], path)
    except BaseException:
        with contextlib.suppress(Exception):
            _obstore().delete(store, targets)
        raise


def remove(url: str, names: Iterable[str], options: StorageOptions = None) -> None:
    """Deletes objects below a prefix, if they are there."""
    store, _, key = _open(url, options)
    for name in names:
        # One that is not there is an error of some stores.
        with contextlib.suppress(FileNotFoundError), _errors(url):
            _obstore().delete(store, f"{key.rstrip('/')}/{name}".lstrip("/"))


class RemoteFile(io.RawIOBase):
    """An object that is read by one request from here on, and by another one after a seek. All parts are of the same version."""

    def __init__(self, url: str, options: StorageOptions = None, version: str | None = None) -> None:
        self._store, self._root, self._key = _open(url, options)
        self._url = url
        self._version = version
        self._etag: str | None = None
        self._size: int | None = None
        self._position = 0
        #: What was received last, and where it begins.
        self._piece = memoryview(b"")
        self._start = 0
        #: What follows it.
        self._rest: Any = None
        #: The end of the object, once it was asked for.
        self._tail = memoryview(b"")
        self._tail_start = 0
        self._request(0)

    def _request(self, offset: int) -> None:
        options: dict[str, Any] = {"range": {"offset": offset}} if offset else {}
        # A weak ETag never matches.
        if self._etag is not None and not self._etag.startswith("W/"):
            options["if_match"] = self._etag
        with _errors(self._url):
            result = _obstore().get(self._store, self._key, options=options)
        found = _object(self._root, result.meta)
        if self._version not in (None, found.version):
            raise FileNotFoundError(f"{shown(self._url)}: was replaced while it was read")
        self._version, self._etag, self._size = found.version, result.meta["e_tag"], found.size
        self._rest = iter(result.stream(min_chunk_size=_PIECE_BYTES))
        self._piece, self._start = memoryview(b""), offset

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        assert self._size is not None
        self._position = max(offset + (0, self._position, self._size)[whence], 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        assert self._size is not None
        target = memoryview(buffer).cast("B")
        if self._position >= self._size:
            return 0
        part = self._part()
        length = min(len(part), len(target))
        target[:length] = part[:length]
        self._position += length
        return length

    def _part(self) -> memoryview:
        """What was received from the position on: at least a byte."""
        size = self._size or 0
        is_near_end = self._position >= size - _TAIL_BYTES
        while True:
            for piece, start in ((self._piece, self._start), (self._tail, self._tail_start)):
                if start <= self._position < start + len(piece):
                    return piece[self._position - start :]
            end = self._start + len(self._piece)
            if self._position != end:
                # Ends of blocks are read from the last one on.
                self._request(max(size - _TAIL_BYTES, 0) if is_near_end else self._position)
                if is_near_end and self._start != self._position:
                    with _errors(self._url):
                        self._tail, self._tail_start = memoryview(b"".join(map(bytes, self._rest))), self._start
                    self._piece, self._start = self._tail, self._tail_start
                continue
            with _errors(self._url):
                piece = memoryview(next(self._rest, b""))
            if not piece:
                raise OSError(f"{shown(self._url)}: ended at byte {self._position} of {size}")
            self._piece, self._start = piece, end


def _open(url: str, options: StorageOptions) -> tuple[Any, str, str]:
    """The store of a URL, the URL of its root, and the key."""
    parts = urllib.parse.urlsplit(url, allow_fragments=False)
    root = f"{parts.scheme}://{parts.netloc}"
    if parts.scheme in ("http", "https"):
        # A signature stays with the root.
        return _store(root + (f"?{parts.query}" if parts.query else ""), options), root, urllib.parse.unquote(parts.path).lstrip("/")
    return _store(root, options), root, url[len(root) :].lstrip("/")


def _store(root: str, options: StorageOptions) -> Any:
    variables = sorted(item for item in os.environ.items() if item[0].startswith(("AWS_", "AZURE_", "GOOGLE_")))
    # The connections of a process do not survive a fork.
    key = os.getpid(), root, repr(options), repr(variables)
    store = _STORES.get(key)
    if store is None:
        if len(_STORES) >= _MAX_STORES:
            _STORES.clear()
        store = _STORES[key] = _new_store(root, dict(options or {}))
    return store


#: Stores with their connections.
_STORES: dict[tuple[int, str, str, str], Any] = {}
_MAX_STORES = 64


def _new_store(root: str, options: dict[str, Any]) -> Any:
    module = _obstore()
    nested = {name: options.pop(name) for name in _NESTED if options.get(name) is not None}
    client = dict(nested.pop("client_options", {}))
    for name in list(options):
        short = next((name[len(prefix) :] for prefix in _PREFIXES if name.startswith(prefix)), name)
        if short in _CLIENT:
            client.setdefault(short, options.pop(name))
    endpoint = next((options[name] for name in _ENDPOINTS if name in options), None)
    if root.startswith(("s3://", "s3a://")):
        endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT")
        provider = None if "credential_provider" in nested else _profile(options)
        if provider is not None:
            nested["credential_provider"] = provider
    if (endpoint or root).startswith("http://"):
        client.setdefault("allow_http", True)
    client = {**_TIMEOUTS, **client}
    with _errors(root):
        if root.startswith("http"):
            return module.store.HTTPStore.from_url(root, client_options=client, **nested)
        return module.store.from_url(root, config=options, client_options=client, **nested)


def _profile(options: dict[str, Any]) -> Any:
    """The credentials of a profile of the AWS tools, which obstore takes from boto3, if nothing else gives credentials."""
    given = [name for name in options if "access_key" in name or "skip_signature" in name or "token" in name]
    variables = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    if given or any(name in os.environ for name in (*variables, "AWS_CONTAINER_CREDENTIALS_FULL_URI")):
        return None
    files = ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_PROFILE")
    if not any(name in os.environ for name in files) and not os.path.isdir(os.path.expanduser("~/.aws")):
        return None
    with contextlib.suppress(ImportError):
        import boto3
        from obstore.auth.boto3 import Boto3CredentialProvider

        session = boto3.Session()
        if session.get_credentials() is not None:
            return Boto3CredentialProvider(session)
    return None


def _http_meta(store: Any, key: str, url: str) -> Any:
    try:
        with _errors(url):
            return _obstore().head(store, key)
    except FileNotFoundError:
        raise
    except OSError:
        # A signed URL may be for GET alone.
        with _errors(url):
            return _obstore().get(store, key).meta


def _list(store: Any, prefix: str, url: str) -> Iterator[Any]:
    # A prefix without objects is an empty list.
    with _errors(url, missing="no such bucket or container"):
        for chunk in _obstore().list(store, prefix.rstrip("/") or None, chunk_size=1000):
            yield from chunk


def _object(root: str, meta: Any) -> Object:
    version = (meta["e_tag"] or "").strip('"') or meta["version"] or str(int(meta["last_modified"].timestamp()))
    return Object(f"{root}/{meta['path']}", meta["size"], version)


def _place(meta: Any) -> list[str]:
    folders: list[str] = meta["path"].split("/")
    return folders


@contextlib.contextmanager
def _errors(url: str, missing: str | None = None) -> Iterator[None]:
    """Makes errors of the system of those of obstore. ``missing``: what is not there, unless it is the object."""
    exceptions = _obstore().exceptions
    try:
        yield
    except FileNotFoundError:
        raise (OSError if missing else FileNotFoundError)(f"{shown(url)}: {missing or 'not found'}") from None
    except exceptions.BaseError as error:
        reason = str(error).partition("Debug source")[0].strip()
        parts = urllib.parse.urlsplit(url)
        for secret in (parts.query, parts.password):
            reason = reason.replace(secret, "…") if secret else reason
        url = shown(url)
        kind: type[OSError] = OSError
        if isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)):
            kind = PermissionError
        elif isinstance(error, exceptions.AlreadyExistsError):
            kind = FileExistsError
        elif isinstance(error, exceptions.PreconditionError):
            kind, reason = FileNotFoundError, "was replaced while it was read"
        elif "Unable to recognise URL" in reason:
            raise ValueError(
                f"{url}: no storage of this kind: use s3, gs, az, abfss, http, https or file, or open the file yourself, "
                "as with fsspec.open(url).open()"
            ) from None
        raise kind(f"{url}: {reason}") from None


def _obstore() -> Any:
    with needs("storage"):
        import obstore
        import obstore.exceptions
        import obstore.store
    return obstore
