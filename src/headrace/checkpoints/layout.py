"""Read checkpoints of queries without Spark: their epochs, watermarks and records."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.durable_files import read_json, sync_file, write_json
from headrace.errors import DamagedFileError, OptionError, did_you_mean
from headrace.plan.queries import Query, queries_of
from headrace.sealed_files import RESTORE, unseal

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

END_MS = 253_370_764_800_000
"""A watermark from the year 9999 on was set by a drain."""


CHECKPOINT_ID = "checkpoint_id"


@dataclass(frozen=True)
class Progress:
    """Progress of a query, read from its checkpoint."""

    epoch: int | None = None
    """The last committed epoch; None before the first."""
    watermark: str | None = None
    """The watermark of the next epoch; `"end"` after a drain."""
    partitions: int | None = None
    """Partitions of the state: `spark.sql.shuffle.partitions` of the first run."""


def checkpoint_of(directory: Path, query: Query) -> Path:
    """Return the directory of a query's checkpoint."""
    # Absolute, because Spark resolves paths against the directory it was started in.
    return (directory / "queries" / query.name.replace(":", "_")).absolute()


def has_epochs(checkpoint: Path) -> bool:
    """True if a query has started an epoch."""
    return any((checkpoint / "spark" / "offsets").glob("[0-9]*"))


def last_entry(log: Path) -> int:
    """Return the last epoch in the offset log or the commit log of a query; -1 if there is none."""
    return max((int(file.name) for file in log.glob("[0-9]*")), default=-1)


def list_checkpoints(directory: Path) -> list[Path]:
    """Return the directories of the queries that have started an epoch, by name."""
    return [path for path in sorted((directory / "queries").glob("*")) if has_epochs(path)]


def require_checkpoints(directory: Path) -> list[Path]:
    """Return the directories of the queries that have started an epoch.

    Raises:
        OptionError: there is none.
    """
    checkpoints = list_checkpoints(directory)
    if not checkpoints:
        hint = "run the pipeline first, or give its checkpoint directory; default: .headrace/NAME"
        raise OptionError("there is no checkpoint", where=str(directory), hint=hint)
    return checkpoints


def read_record(checkpoint: Path, name: str) -> Any:
    """Return a record stored beside the checkpoint of a query; None if it is missing or no epoch started."""
    return read_json(checkpoint / name, None, name=_sealed_name(name)) if has_epochs(checkpoint) else None


def write_record(checkpoint: Path, name: str, record: Any) -> None:
    """Store a record beside a query's checkpoint."""
    write_json(checkpoint / name, record, name=_sealed_name(name))


def read_checkpoint_id(checkpoint: Path) -> str:
    """Return the checkpoint id of a query; create it for a new checkpoint.

    Raises:
        DamagedFileError: it is damaged, or missing although the query has started an epoch.
    """
    name = _sealed_name(CHECKPOINT_ID)
    value: str | None = read_json(checkpoint / CHECKPOINT_ID, None, name=name)
    if value is not None:
        return value
    if has_epochs(checkpoint):
        what = "the file is missing: sinks could not recognise the epochs that they have committed"
        raise DamagedFileError(what, where=str(checkpoint / CHECKPOINT_ID), hint=RESTORE)
    return renew_checkpoint_id(checkpoint)


def renew_checkpoint_id(checkpoint: Path) -> str:
    """Store a new checkpoint id for a query, and return it."""
    value = uuid.uuid4().hex
    write_json(checkpoint / CHECKPOINT_ID, value, name=_sealed_name(CHECKPOINT_ID))
    return value


def read_log_file(file: Path) -> list[str]:
    """Return the lines of a sealed file of Spark: offsets, a commit, or a log of a source.

    Raises:
        DamagedFileError: the file is damaged.
        FileNotFoundError: there is no file.
    """
    return unseal(file.read_bytes(), file, hint=RESTORE).decode().splitlines()


def progress_of(checkpoint: Path) -> Progress:
    """Read the last committed epoch of a query and the watermark after it from Spark's logs."""
    commits, offsets = checkpoint / "spark" / "commits", checkpoint / "spark" / "offsets"
    epoch = last_entry(commits)
    if epoch < 0:
        return Progress()
    watermark = int(_read_entry(commits / str(epoch)).get("nextBatchWatermarkMs", 0))
    partitions = _read_entry(offsets / str(epoch)).get("conf", {}).get("spark.sql.shuffle.partitions")
    return Progress(epoch, _format_watermark(watermark), int(partitions) if partitions else None)


def sync_offsets(checkpoint: Path, epoch: int) -> None:
    """Make the offsets of an epoch durable."""
    sync_file(checkpoint / "spark" / "offsets" / str(epoch))


def has_pending_firing(checkpoint: Path) -> bool:
    """True if the last epoch advanced the watermark and the batch that fires the windows has not run.

    Spark runs that batch immediately, but after a restart only with the next row, which may never arrive.
    """
    commits, offsets = checkpoint / "spark" / "commits", checkpoint / "spark" / "offsets"
    last_started = last_entry(offsets)
    if last_started < 0:
        return False
    after = int(_read_entry(commits / str(last_started)).get("nextBatchWatermarkMs", 0))
    return after > watermark_of_epoch(checkpoint, last_started)


def has_unfinished_epoch(checkpoint: Path) -> bool:
    """True if the last epoch of a query has started and is not committed."""
    return last_entry(checkpoint / "spark" / "offsets") > last_entry(checkpoint / "spark" / "commits")


def watermark_of_epoch(checkpoint: Path, epoch: int) -> int:
    """Return the watermark of an epoch in milliseconds; 0 if there is none.

    Spark stores it before the epoch starts, so a replay reads the same value.
    """
    return int(_read_entry(checkpoint / "spark" / "offsets" / str(epoch))["batchWatermarkMs"])


def queries_with_state(graph: Graph, directory: Path, step: str | None = None) -> list[Query]:
    """Return the queries of stateful steps that have a checkpoint, or only that of `step`.

    Raises:
        OptionError: there is no checkpoint, or `step` has none.
    """
    require_checkpoints(directory)
    stateful = [query for query in queries_of(graph) if graph[query.output.step].stateful]
    if step is None:
        return [query for query in stateful if has_epochs(checkpoint_of(directory, query))]
    return [_find_query(stateful, directory, step)]


def find_orphans(graph: Graph, directory: Path) -> list[str]:
    """Return the queries that have a checkpoint and are no longer in the plan."""
    known = {checkpoint_of(directory, query).name for query in queries_of(graph)}
    return [path.name for path in list_checkpoints(directory) if path.name not in known]


def _find_query(stateful: Sequence[Query], directory: Path, step: str) -> Query:
    names = [query.name for query in stateful]
    if step in names:
        query = stateful[names.index(step)]
        if not has_epochs(checkpoint_of(directory, query)):
            hint = "run the pipeline first"
            raise OptionError(f"the step `{step}` has no checkpoint yet", where=str(directory), hint=hint)
        return query
    known = did_you_mean(step, names)
    if has_epochs(directory / "queries" / step.replace(":", "_")):
        what = f"the plan has no stateful step `{step}`, of which there is a checkpoint"
        raise OptionError(what, where=str(directory), hint=f"restore the step to read its state. {known}")
    raise OptionError(f"unknown stateful step `{step}`", where="--step", hint=known)


def _read_entry(file: Path) -> dict[str, Any]:
    """Return the first JSON object of a log file of Spark, after the line with the version."""
    lines = read_log_file(file) if file.exists() else []
    entry: dict[str, Any] = next((json.loads(line) for line in lines if line.startswith("{")), {})
    return entry


def _sealed_name(record: str) -> Path:
    """Return the name a record is sealed with: the directory of its query can be renamed."""
    return Path("query") / record


def _format_watermark(milliseconds: int) -> str | None:
    if milliseconds >= END_MS:
        return "end"
    if milliseconds <= 0:
        return None
    return (
        datetime.fromtimestamp(milliseconds / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
