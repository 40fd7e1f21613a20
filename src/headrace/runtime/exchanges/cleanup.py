"""Deletes files of exchanges that every reader has committed.

Spark's file source logs, per offset, the files it has read: `sources/<n>/<offset>` in the checkpoint of the
reader. The offsets of its last committed epochs show which of them it never reads again, not even after a
restart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

PERIOD = 30.0
"""Seconds between two cleanups of a run."""
CLEANED = "_cleaned"
"""File that marks an exchange whose older rows have been deleted."""


class ExchangeCleaner:
    """Deletes files of the exchanges of one run."""

    def __init__(self, readers: Mapping[Path, Sequence[Path]]) -> None:
        """Name the exchanges: the directory of each, and the checkpoints of the queries that read it."""
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
                stored &= set(_files_committed(checkpoint, exchange))
            if stored:
                (exchange / CLEANED).touch()
            for name in stored:
                (exchange / name).unlink(missing_ok=True)


def _files_committed(checkpoint: Path, exchange: Path) -> Iterator[str]:
    """Yield the names of files of an exchange that a reader has committed before its last epoch."""
    spark = checkpoint / "spark"
    epochs = sorted(int(file.name) for file in (spark / "commits").glob("[0-9]*"))
    if len(epochs) < 2:
        return
    lines = (spark / "offsets" / str(epochs[-2])).read_text().splitlines()[2:]
    for source, offset in enumerate(lines):
        if '"logOffset"' in offset:
            yield from _files_logged(
                spark / "sources" / str(source), json.loads(offset)["logOffset"], exchange
            )


def _files_logged(log: Path, last: int, exchange: Path) -> Iterator[str]:
    """Yield the names of files that a file source has logged up to an offset.

    Compacted logs repeat earlier entries.
    """
    for file in log.glob("[0-9]*"):
        for line in file.read_text().splitlines()[1:]:
            entry = json.loads(line)
            path = Path(unquote(urlparse(entry["path"]).path))
            if entry["batchId"] <= last and path.parent == exchange:
                yield path.name
