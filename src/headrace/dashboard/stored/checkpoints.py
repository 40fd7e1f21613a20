"""The checkpoints of a job's queries: epoch, watermark, partitions and size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.checkpoints.layout import progress_of


@dataclass(frozen=True)
class QueryCheckpoint:
    """The checkpoint of one query."""

    query: str
    epoch: int | None
    watermark: str | None
    partitions: int | None
    committed: float | None
    """The time of the last commit."""


def list_checkpoints(checkpoint: Path) -> list[QueryCheckpoint]:
    """Read the checkpoints of all queries, without Spark."""
    return [_read(place) for place in sorted((checkpoint / "queries").glob("*")) if place.is_dir()]


def _read(place: Path) -> QueryCheckpoint:
    progress = progress_of(place)
    commit = place / "spark" / "commits" / str(progress.epoch)
    committed = commit.stat().st_mtime if commit.is_file() else None
    return QueryCheckpoint(place.name, progress.epoch, progress.watermark, progress.partitions, committed)
