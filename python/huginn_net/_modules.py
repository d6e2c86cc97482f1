"""Packages that methods import."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Says how to install what an import needs: an extra of this package."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f'{error.name} is not installed: pip install "huginn-net[{extra}]"'
        raise ModuleNotFoundError(message, name=error.name) from None
