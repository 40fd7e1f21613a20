"""What a pipeline's directory says by itself, without Spark: which steps have a checkpoint, and how far each is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import OptionError, did_you_mean
from headrace.plan.queries import Query, queries_of
from headrace.spark.cache import replace_atomically

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

END_MS = 253_370_764_800_000
"""A watermark from here on, the year 9999, has ended the input."""


@dataclass(frozen=True)
class Progress:
    """How far a query's checkpoint is."""

    epoch: int | None = None
    """The last finished epoch; None before the first."""
    watermark: str | None = None
    """The watermark for the next epoch; `"end"` once the input has ended."""
    partitions: int | None = None
    """How many parts the state has: the first run's `spark.sql.shuffle.partitions`, for good."""


def checkpoint_of(directory: Path, query: Query) -> Path:
    """Where a query's checkpoint is."""
    # Whole, because Spark's working directory is the one it was started in.
    return (directory / "queries" / query.name.replace(":", "_")).absolute()


def begun(checkpoint: Path) -> bool:
    """Whether a query has begun an epoch."""
    return any((checkpoint / "spark" / "offsets").glob("[0-9]*"))


def noted(checkpoint: Path, name: str) -> Any:
    """What was noted beside a query's checkpoint when it was made; None where nothing was, or nothing was run."""
    file = checkpoint / name
    return json.loads(file.read_text()) if file.exists() and begun(checkpoint) else None


def note(checkpoint: Path, name: str, record: Any) -> None:
    """Note something beside a query's checkpoint."""
    replace_atomically(checkpoint / name, (json.dumps(record, indent=2) + "\n").encode())


def progress_of(checkpoint: Path) -> Progress:
    """The last finished epoch of a query and the watermark after it, from Spark's logs."""
    commits, offsets = checkpoint / "spark" / "commits", checkpoint / "spark" / "offsets"
    finished = [int(file.name) for file in commits.glob("[0-9]*")]
    if not finished:
        return Progress()
    epoch = max(finished)
    watermark = int(_entry(commits / str(epoch)).get("nextBatchWatermarkMs", 0))
    partitions = _entry(offsets / str(epoch)).get("conf", {}).get("spark.sql.shuffle.partitions")
    return Progress(epoch, _told(watermark), int(partitions) if partitions else None)


def owes_a_batch(checkpoint: Path) -> bool:
    """Whether a query ended between a batch that moved the watermark and the one that fires what it passed.

    Spark runs that second batch right after the first, but not after a restart: it would wait for the next row, which
    never comes where the input has ended.
    """
    commits, offsets = checkpoint / "spark" / "commits", checkpoint / "spark" / "offsets"
    begun_last = max((int(file.name) for file in offsets.glob("[0-9]*")), default=None)
    if begun_last is None:
        return False
    after = int(_entry(commits / str(begun_last)).get("nextBatchWatermarkMs", 0))
    return after > watermark_in_force(checkpoint, begun_last)


def watermark_in_force(checkpoint: Path, epoch: int) -> int:
    """The watermark, in milliseconds, under which an epoch is computed; 0 is none yet.

    Spark writes it down before the epoch begins, so it is there whoever runs the epoch, and however often.
    """
    return int(_entry(checkpoint / "spark" / "offsets" / str(epoch))["batchWatermarkMs"])


def queries_with_state(graph: Graph, directory: Path, step: str | None = None) -> list[Query]:
    """The queries of stateful steps that have a checkpoint; only the one of `step`, if it is named.

    Raises:
        OptionError: there is no checkpoint, or none of that step.
    """
    if not any(map(begun, (directory / "queries").glob("*"))):
        hint = "run the pipeline first, or say where its checkpoint is: --checkpoint DIRECTORY"
        raise OptionError("there is no checkpoint", where=str(directory), hint=hint)
    stateful = [query for query in queries_of(graph) if graph[query.tip.step].stateful]
    if step is None:
        return [query for query in stateful if begun(checkpoint_of(directory, query))]
    return [_chosen(stateful, directory, step)]


def left_behind(graph: Graph, directory: Path) -> list[str]:
    """Queries that have a checkpoint and are no longer in the plan."""
    known = {checkpoint_of(directory, query).name for query in queries_of(graph)}
    made = (place for place in sorted((directory / "queries").glob("*")) if begun(place))
    return [place.name for place in made if place.name not in known]


def _chosen(stateful: Sequence[Query], directory: Path, step: str) -> Query:
    names = [query.name for query in stateful]
    if step in names:
        query = stateful[names.index(step)]
        if not begun(checkpoint_of(directory, query)):
            hint = "run the pipeline first"
            raise OptionError(f"the step `{step}` has no checkpoint yet", where=str(directory), hint=hint)
        return query
    known = did_you_mean(step, names)
    if begun(directory / "queries" / step.replace(":", "_")):
        what = f"it has a checkpoint of `{step}`, but the plan no longer has a stateful step of this name"
        raise OptionError(what, where=str(directory), hint=f"put the step back to look at it. {known}")
    raise OptionError(f"no stateful step is called `{step}`", where="--step", hint=known)


def _entry(file: Path) -> dict[str, Any]:
    """The first JSON object of a log's file, whose first line is a version."""
    lines = file.read_text().splitlines() if file.exists() else []
    found: dict[str, Any] = next((json.loads(line) for line in lines if line.startswith("{")), {})
    return found


def _told(milliseconds: int) -> str | None:
    if milliseconds >= END_MS:
        return "end"
    if milliseconds <= 0:
        return None
    return (
        datetime.fromtimestamp(milliseconds / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
