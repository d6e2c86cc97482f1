"""Names of clients for columns of fingerprints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._modules import needs

if TYPE_CHECKING:
    import pyarrow

_TEXTS = ("name", "library", "application", "versions", "candidates", "match", "variant")


def name_clients(
    column: Any, kind: Literal["any", "ja4", "ja3", "hassh", "akamai"] = "any"
) -> pyarrow.StructArray:
    """The clients behind a column of fingerprints, such as those of other tools' logs.

    ``column`` is a column of text of pyarrow, Polars or whatever else has the Arrow PyCapsule interface, or a list. ``kind`` says what it
    has; ``any`` takes JA4 and the MD5 of JA3, HASSH and Akamai's fingerprint of HTTP/2. The result has a struct for each row: ``name``,
    ``library``, ``application``, ``versions``, ``candidates``, ``match`` and ``variant`` as the event ``tls_client``, and null for an
    unknown fingerprint. Each distinct value is looked up once.

    >>> import huginn_net as hn
    >>> hn.name_clients(["t13d3112h2_e8f1e7e78f70_b26ce05bbdd6", None]).field("name").to_pylist()  # doctest: +SKIP
    ['libcurl 7.88 and older', None]
    """
    with needs("arrow"):
        import pyarrow as pa

    fields = [
        pa.field(name, pa.list_(pa.string()) if name == "candidates" else pa.string()) for name in _TEXTS
    ]
    is_stream = hasattr(column, "__arrow_c_stream__")
    values = pa.chunked_array(column) if is_stream else pa.chunked_array([pa.array(column)])
    parts = [pa.array([], pa.struct(fields))]
    for chunk in values.chunks:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.cast(pa.large_string()).dictionary_encode()
        texts = chunk.dictionary.cast(pa.large_string()).to_pylist()
        found = _native.name_clients([text or "" for text in texts], kind)
        children = [
            pa.array([row and row[number] for row in found], field.type).take(chunk.indices)
            for number, field in enumerate(fields)
        ]
        mask = pa.array([row is None for row in found], pa.bool_()).take(chunk.indices).fill_null(True)
        parts.append(pa.StructArray.from_arrays(children, fields=fields, mask=mask))
    return pa.concat_arrays(parts)
