"""Delete files of exchanges that every reader has committed.

Spark's file source logs the files of each offset in `sources/<n>/<offset>` of the reader's checkpoint. Files
up to the offset of the last but one committed epoch are never read again, not even after a restart.
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
                stored &= set(_committed_files(checkpoint, exchange))
            if stored:
                (exchange / CLEANED).touch()
            for name in stored:
                (exchange / name).unlink(missing_ok=True)


def _committed_files(checkpoint: Path, exchange: Path) -> Iterator[str]:
    """Yield the names of files of an exchange that a reader has committed before its last epoch."""
    spark = checkpoint / "spark"
    epochs = sorted(int(file.name) for file in (spark / "commits").glob("[0-9]*"))
    if len(epochs) < 2:
        return
    for source, offset in enumerate(_read_lines(spark / "offsets" / str(epochs[-2]))[2:]):
        if '"logOffset"' in offset:
            last = json.loads(offset)["logOffset"]
            yield from _logged_files(spark / "sources" / str(source), last, exchange)


def _logged_files(log: Path, last: int, exchange: Path) -> Iterator[str]:
    """Yield the names of files that a file source has logged up to an offset, some of them repeatedly."""
    for file in log.glob("[0-9]*"):
        for line in _read_lines(file)[1:]:
            entry = json.loads(line)
            path = Path(unquote(urlparse(entry["path"]).path))
            if entry["batchId"] <= last and path.parent == exchange:
                yield path.name


def _read_lines(file: Path) -> list[str]:
    """Return the lines of a log file; none if Spark has deleted it, as it does after compaction."""
    try:
        return file.read_text().splitlines()
    except FileNotFoundError:
        return []
