"""The checkpoints of a job's queries: epoch, watermark, partitions and times of the last commits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.checkpoints.layout import progress_of

_RECENT = 20


@dataclass(frozen=True)
class QueryCheckpoint:
    """The checkpoint of one query."""

    query: str
    epoch: int | None
    watermark: str | None
    partitions: int | None
    committed: float | None
    """The time of the last commit."""
    recent: tuple[tuple[int, float], ...] = ()
    """The last committed epochs and the times of their commits, newest first."""


def read_checkpoints(checkpoint: Path) -> list[QueryCheckpoint]:
    """Read the checkpoints of all queries, without Spark."""
    return [_read(place) for place in sorted((checkpoint / "queries").glob("*")) if place.is_dir()]


def _read(place: Path) -> QueryCheckpoint:
    progress = progress_of(place)
    recent = _commits(place)
    committed = recent[0][1] if recent else None
    return QueryCheckpoint(
        place.name, progress.epoch, progress.watermark, progress.partitions, committed, recent
    )


def _commits(place: Path) -> tuple[tuple[int, float], ...]:
    files = sorted((place / "spark" / "commits").glob("[0-9]*"), key=lambda file: -int(file.name))
    return tuple((int(file.name), file.stat().st_mtime) for file in files[:_RECENT])
