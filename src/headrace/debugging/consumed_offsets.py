"""Determine from Spark's offset logs which rows were consumed before an epoch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.layout import read_log_file
from headrace.lowering.expressions import POSITION

if TYPE_CHECKING:
    from pyspark.sql import Column


def consumed_before(checkpoint: Path, epoch: int, *, sources: int) -> Column | None:
    """Return a condition that is true for rows of earlier epochs; None if it cannot be determined.

    The logs have the offsets of Kafka sources and the files of file sources, for the last hundred epochs.

    Args:
        checkpoint: the checkpoint of the query.
        epoch: the first epoch that is not included.
        sources: the number of sources of the query; all must be of these kinds.
    """
    from pyspark.sql import functions as F  # noqa: N812

    offsets = checkpoint / "spark" / "offsets" / str(epoch - 1)
    if not offsets.exists():
        return None
    # Other offsets belong to heartbeat sources or to sources with a custom format.
    known = [
        (number, position)
        for number, position in enumerate(_positions(offsets))
        if isinstance(position, dict)
    ]
    conditions = [
        _consumed_files(checkpoint, number, position)
        if set(position) == {"logOffset"}
        else _consumed_records(position)
        for number, position in known
    ]
    if len(known) < sources or None in conditions:
        return None
    return reduce(or_, (condition for several in conditions for condition in several or ()), F.lit(False))


def _positions(file: Path) -> Iterator[Any]:
    """Yield the end offset of each source; the first two lines of the file describe the epoch."""
    for line in read_log_file(file)[2:]:
        try:
            yield json.loads(line)
        except ValueError:
            yield line


def _consumed_records(offsets: dict[str, Any]) -> list[Column] | None:
    from pyspark.sql import functions as F  # noqa: N812

    if not all(isinstance(partitions, dict) for partitions in offsets.values()):
        return None
    name, offset = (F.col(POSITION)[field] for field in ("partition", "offset"))
    return [
        (name == f"{topic}-{partition}") & (offset < end)
        for topic, partitions in offsets.items()
        for partition, end in partitions.items()
    ]


def _consumed_files(checkpoint: Path, number: int, position: dict[str, int]) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    logs = (checkpoint / "spark" / "sources" / str(number)).glob("[0-9]*")
    lines = (line for log in logs for line in read_log_file(log) if line.startswith("{"))
    files = {entry["path"] for entry in map(json.loads, lines) if entry["batchId"] <= position["logOffset"]}
    return [F.col(POSITION)["partition"].isin(*sorted(files))] if files else []
