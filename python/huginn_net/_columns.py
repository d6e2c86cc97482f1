"""Fingerprints of columns of bytes."""

from __future__ import annotations

from typing import Any

from . import _native
from ._modules import needs
from ._native import Column
from ._options import Transport


def ja4(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the JA4 of each value of a column of bytes: TLS records that a client sends first, or its ClientHello.

    ``column`` is an Arrow array or stream of arrays (PyCapsule interface) of a binary type: of pyarrow, Polars or others.
    ``transport`` is that of ClientHellos without records. The result is an Arrow array of texts. Nulls stay null, and what is
    not complete or not a ClientHello is null.

    >>> frame.with_columns(ja4=pl.Series(hn.ja4(frame["hello"])))  # doctest: +SKIP
    >>> pa.array(hn.ja4(table["hello"]))  # doctest: +SKIP
    """
    return _fingerprints("ja4", column, transport)


def ja4_stable(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the JA4 without extensions that depend on session resumption (``ja4_stable``), as `ja4` does."""
    return _fingerprints("ja4_stable", column, transport)


def ja3_hash(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the MD5 of the JA3 of each value, as `ja4` does."""
    return _fingerprints("ja3_hash", column, transport)


def ja3s_hash(column: Any, *, transport: Transport = "tcp") -> Column:
    """Computes the MD5 of the JA3S of each value: TLS records that a server sends first, or its ServerHello; see `ja4`."""
    return _fingerprints("ja3s_hash", column, transport)


def hassh(column: Any) -> Column:
    """Computes the HASSH of each value: what an SSH client sends first, or its SSH_MSG_KEXINIT; see `ja4`.

    Bytes may begin with the identification string, with a binary packet, or with the payload of the message.
    """
    return _fingerprints("hassh", column)


def hassh_server(column: Any) -> Column:
    """Computes the HASSHServer of each value: what an SSH server sends first, as `hassh` does."""
    return _fingerprints("hassh_server", column)


def _fingerprints(kind: str, column: Any, transport: str = "tcp") -> Column:
    if not hasattr(column, "__arrow_c_stream__"):
        if not hasattr(column, "__arrow_c_array__"):
            raise TypeError(f"a column is an Arrow array or stream, not {type(column).__name__}: pyarrow.array makes one")
        with needs("arrow"):
            import pyarrow as pa

        column = pa.chunked_array([pa.array(column)])
    return _native.fingerprint_column(kind, transport, column.__arrow_c_stream__())
