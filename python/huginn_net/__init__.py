"""Passive OS, HTTP, TLS and SSH fingerprinting of captures, as Arrow tables.

>>> import huginn_net as hn
>>> capture = hn.read_pcap("capture.pcap")
>>> capture.to_polars().filter(event="tls_client").select("client_ip", "ja4")  # doctest: +SKIP

A capture is lazy and repeatable: each use reads the files again. It is an Arrow stream (PyCapsule interface), so that
pyarrow, Polars, DuckDB and pandas read it directly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from . import _native
from ._analyzer import Analyzer
from ._capture import Capture, read_pcap
from ._columns import hassh, hassh_server, ja3_hash, ja3s_hash, ja4, ja4_stable
from ._follow import Follow, follow
from ._hosts import HostRecords, HostTable, host_events
from ._live import Live, live
from ._native import CaptureError, CaptureWarning, ClientHello, Column, Http2Client, TcpSyn, client_hello, explain, http2_client, tcp_syn
from ._options import HOST_EVENTS, AnalyzerOptions, LiveOptions, ReadOptions
from ._queries import register_duckdb, scan_pcap, sql
from .names import name_clients

__version__ = version("huginn-net")

__all__ = [
    "Analyzer",
    "AnalyzerOptions",
    "Capture",
    "CaptureError",
    "CaptureWarning",
    "ClientHello",
    "Column",
    "Follow",
    "HOST_EVENTS",
    "HostRecords",
    "HostTable",
    "Http2Client",
    "Live",
    "LiveOptions",
    "ReadOptions",
    "TcpSyn",
    "client_fingerprint",
    "client_hello",
    "explain",
    "follow",
    "hassh",
    "hassh_server",
    "host_events",
    "http2_client",
    "ja3_hash",
    "ja3s_hash",
    "ja4",
    "ja4_stable",
    "live",
    "name_clients",
    "read_pcap",
    "register_duckdb",
    "scan_pcap",
    "schema",
    "sql",
    "tcp_syn",
]


def client_fingerprint(
    *, syn: bytes | None = None, tls: bytes | None = None, quic: Sequence[bytes] = (), http: bytes | None = None
) -> dict[str, Any]:
    """Computes all fingerprints of a client from the first bytes of its connection.

    Args:
        syn: The SYN, from its IP header on, such as Linux saves with TCP_SAVE_SYN.
        tls: What the client sent first: TLS records, up to the ClientHello.
        quic: The UDP payloads that the client of a QUIC connection sent, from the one that opened it on.
        http: The bytes of the first request, decrypted: the head of HTTP/1, or the frames of HTTP/2 to its HEADERS.

    Returns:
        The layers ``tcp``, ``tls``, ``http`` and ``consistency``, as JSON (docs/proxy.md). Layers that are incomplete, or
        cannot be parsed, are absent.
    """
    found: dict[str, Any] = json.loads(_native.client_fingerprint(syn, tls, list(quic), http))
    return found


def schema() -> dict[str, str]:
    """Returns the columns of the table with their meaning."""
    return dict(_native.schema())
