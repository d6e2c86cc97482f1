"""Progress of an analysis."""

from __future__ import annotations

import contextlib
import sys
from typing import Any


class Bar:
    """A line on standard error, or a bar of tqdm if that is installed."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._has_line = False

    def show(self, captures: int, total: int, rows: int) -> None:
        if self._bar is None and not self._has_line:
            with contextlib.suppress(ImportError):
                from tqdm.auto import tqdm

                self._bar = tqdm(total=total, unit=" captures")
        if self._bar is not None:
            self._bar.set_postfix_str(f"{rows:,} rows", refresh=False)
            self._bar.update(captures - self._bar.n)
        else:
            self._has_line = True
            print(f"\r{captures:,} of {total:,} captures, {rows:,} rows", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._has_line:
            print(file=sys.stderr)
