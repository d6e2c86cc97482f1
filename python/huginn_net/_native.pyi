"""Types of the native part. Use the names of `huginn_net`."""

import os
from collections.abc import Callable, Iterator
from typing import Any, Self, final

class CaptureError(OSError):
    """A capture cannot be read to its end: it is damaged, or no capture."""

class CaptureWarning(UserWarning):
    """A capture that cannot be read to its end was skipped, with its reason."""

@final
class ClientHello:
    """The fingerprints of a ClientHello."""

    ja4: str
    ja4_r: str
    ja4_o: str
    ja4_ro: str
    ja3: str
    ja3_hash: str
    sni: str | None
    alpn: list[str]
    software: str | None
    consumed: int

@final
class Http2Client:
    """The fingerprint of an HTTP/2 client."""

    akamai: str
    akamai_hash: str

@final
class TcpSyn:
    """The signature of a SYN or SYN+ACK, and the system that it matches."""

    sig: str
    label: str | None

@final
class Events:
    def __iter__(self) -> Iterator[bytes]: ...
    def __next__(self) -> bytes: ...

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Column:
    """Texts as an Arrow array (PyCapsule interface), one for each value of a column of bytes."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def __len__(self) -> int: ...

class Capture:
    def __new__(
        cls,
        sources: list[Any],
        names: list[str | None],
        options: dict[str, Any],
        errors_of: Capture | None = None,
    ) -> Self: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def events(self) -> Events: ...
    def host_records(self) -> Any: ...
    def hosts(self) -> Any: ...
    def stats(self) -> Any: ...
    def errors(self) -> Any: ...
    def check(self) -> Table: ...
    def captures_read(self) -> int: ...
    def raise_interrupt(self) -> None: ...

class Analyzer:
    def __new__(cls, options: dict[str, Any], profiles: bool) -> Self: ...
    def __arrow_c_schema__(self) -> Any: ...
    def push_frames(self, frames: list[tuple[int, Any, int | None]], link_type: int) -> Table: ...
    def finish_frames(self) -> Table: ...
    def frames(self) -> int:
        """Number of frames so far."""
    def hosts(self) -> Any: ...
    def stats(self) -> Any: ...
    def save_state(self, path: str | os.PathLike[str]) -> int: ...
    def restore_state(self, path: str | os.PathLike[str]) -> int: ...

class HostTable:
    def __init__(self, db: str | os.PathLike[str] | None = None, columns: list[str] = []) -> None: ...
    def feed_records(self, records: list[str], files: list[str | None]) -> Any: ...
    def finish_records(self) -> Any: ...
    def hosts(self) -> Any: ...

class Live:
    def __init__(self, interfaces: list[str], interval: float, options: dict[str, Any]) -> None: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...
    def stop(self) -> None:
        """Stops the capture. The events so far stay."""
    def interfaces(self) -> list[tuple[str, int, int]]: ...
    def dropped_events(self) -> int: ...

def client_hello(data: bytes) -> ClientHello | None:
    """Parses the TLS records that a client sends first; None if they are not complete yet."""

def http2_client(data: bytes) -> Http2Client | None:
    """Parses the decrypted bytes that an HTTP/2 client sends first; None if they are not complete yet."""

def tcp_syn(data: bytes) -> TcpSyn | None:
    """Parses an IP packet with a SYN or SYN+ACK; None if it is cut."""

def client_fingerprint(syn: bytes | None, tls: bytes | None, quic: list[bytes], http: bytes | None) -> str: ...
def explain(fingerprint: str, other: str | None = None) -> str:
    """Describes a fingerprint in text; with a second JA4 it lists the differences."""

def name_clients(
    fingerprints: list[str], kind: str
) -> list[tuple[str, str | None, str | None, str | None, list[str], str, str | None] | None]: ...
def fingerprint_column(kind: str, transport: str, stream: Any) -> Column: ...
def is_capture_name(name: str) -> bool:
    """Whether a name is that of a capture: ``x.pcap``, ``x.pcapng.gz``, ``x.pcap3``."""

def find_captures(path: str) -> list[os.PathLike[str]]:
    """The captures that a path names, in the order of the program: a pattern, a directory, or the path itself."""

def matching_names(pattern: str, names: list[str]) -> list[str]:
    """The names that match a pattern as `find_captures` has it: keys of objects."""

def path_name(path: str) -> str:
    """The name of a path in the column ``file``."""

def event_names() -> list[str]: ...
def kinds_of_condition(condition: str) -> tuple[list[str], list[str]]:
    """The events in which a condition can hold, and which of ``connection`` and ``finding`` it requests."""

def write_parquet(
    capture: Capture,
    path: str,
    tables: bool,
    partition_by: str | None,
    compression: str,
    level: int | None,
    progress: Callable[[int], None] | None,
    stems: list[tuple[str, str]] | None,
    done: Callable[[int, list[str]], None] | None,
) -> list[str]: ...
def table_columns(capture: Capture) -> tuple[str, list[str]]: ...
def schema() -> list[tuple[str, str]]: ...
def unknown_column(names: list[str]) -> str | None:
    """The first of these names that no column has, and no field in JSON."""

def host_record_order() -> list[str]: ...
