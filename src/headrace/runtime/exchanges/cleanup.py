"""Delete files of exchanges that every reader has committed.

Files up to the offset of the last but one committed epoch are never read again, not even after a restart.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.checkpoints.integrity.exchange_files import committed_files

PERIOD = 30.0
"""Seconds between two cleanups of a run."""
CLEANED = "_cleaned"
"""File that marks an exchange whose older rows have been deleted."""


class ExchangeCleaner:
    """Delete files of the exchanges of one run.

    Args:
        readers: by the directory of each exchange, the checkpoints of the queries that read it.
    """

    def __init__(self, readers: Mapping[Path, Sequence[Path]]) -> None:
        self._readers = readers
        self._next = time.monotonic() + PERIOD

    def clean_if_due(self) -> None:
        """Clean all exchanges if the period has passed."""
        if self._readers and time.monotonic() >= self._next:
            self.clean()
            self._next = time.monotonic() + PERIOD

    def clean(self) -> None:
        """Delete the files that all readers have committed."""
        for exchange, checkpoints in self._readers.items():
            stored = {file.name for file in exchange.glob("*.parquet")}
            for checkpoint in checkpoints:
                stored &= set(committed_files(checkpoint, exchange))
            if stored:
                (exchange / CLEANED).touch()
            for name in stored:
                (exchange / name).unlink(missing_ok=True)
