"""Watermarks per source partition, and the heartbeats that advance them when rows do not.

Every timed stream is unioned with a heartbeat source before Spark's watermark operator, and the heartbeats
are filtered out above it. A heartbeat's only content is a time; it advances the watermark where there are no
rows to do so: at the end of the input, while partitions are idle, and in test scripts. In a batch without a
heartbeat Spark prunes it.

The kernel's watermark operator reads the partition of each row from the column `__partition`, which is null
for heartbeats, and reports to Spark the minimum over the partitions that take part.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.event_times import add_mark, check_event_time, set_time
from headrace.lowering.expressions import POSITION
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PARTITION = "__partition"
END_OF_TIME_MS = 253_402_300_799_000
"""The last second of the year 9999: a watermark past every row."""

FIXED_DELAY = 100_000 * 86_400 * 1_000_000
"""Longer than any stream: with it only heartbeats advance a watermark."""


class Heartbeats:
    """The watermarks of one run and their heartbeat sources, by the name of the step that sets the time."""

    SOURCE = "org.apache.spark.sql.headrace.time.HeartbeatProvider"

    def __init__(
        self, spark: SparkSession, run: str, *, fixed: Collection[str] = (), clock: Any = None
    ) -> None:
        """Name the heartbeats of a run.

        Args:
            spark: the session.
            run: a name that no other run in this process has.
            fixed: steps whose watermark only heartbeats advance; rows do not.
            clock: a Java clock that decides which partitions are idle; the system's by default.
        """
        self._spark = spark
        self._run = run
        self._fixed = frozenset(fixed)
        self._clock = clock
        self._delays: dict[str, int] = {}
        self._names: set[str] = set()

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that set a time and have been lowered as a stream."""
        return tuple(self._delays)

    def add_watermark(
        self,
        frame: DataFrame,
        node: EventTime | ClockTime,
        *,
        partition: Column | None = None,
        checkpoint: Path | None = None,
        run_on_start: bool = False,
    ) -> DataFrame:
        """Put a watermark on the node's column, and copy that column to `__ts`.

        Args:
            frame: the rows.
            node: the step that sets the time.
            partition: the name of a row's source partition; None if the source is a single partition.
            checkpoint: the query's checkpoint, where the highest event time per partition is stored.
            run_on_start: True to run a batch as soon as the query starts, because panes may be due without a
                row.
        """
        frame, marked = add_mark(check_event_time(frame, node), node)
        if frame.isStreaming:
            delay = node.out_of_order if isinstance(node, EventTime) else 0
            self._delays[node.name] = delay = FIXED_DELAY if node.name in self._fixed else delay
            frame = frame.withColumn(PARTITION, F.lit("") if partition is None else partition)
            idle = node.idle if isinstance(node, EventTime) else None
            stored = checkpoint if partition is not None or idle is not None else None
            frame = self.track(
                frame,
                marked,
                node.name,
                delay=delay,
                idle=idle,
                checkpoint=stored,
                pinned=partition is not None,
                run_on_start=run_on_start,
            )
        return set_time(frame, node)

    def track(
        self,
        frame: DataFrame,
        marked: str,
        name: str,
        *,
        delay: int,
        idle: int | None = None,
        checkpoint: Path | None = None,
        pinned: bool = False,
        run_on_start: bool,
    ) -> DataFrame:
        """Put a watermark on the column `marked`, advanced by rows with `__partition` and by heartbeats.

        With `pinned` the partitions differ, and Spark must not prune the column below the watermark operator.
        """
        self._names.add(name)
        reader = self._spark.readStream.format(self.SOURCE)
        heartbeats = reader.options(name=self._name(name), wakes=run_on_start).load()
        rows = frame.unionByName(
            heartbeats.select(F.col("heartbeat").alias(marked)), allowMissingColumns=True
        )
        timed = rows.withWatermark(marked, f"{delay} microseconds")
        directory = None if checkpoint is None else str(checkpoint / "watermarks" / name)
        idle_ms = -1 if idle is None else idle // 1000
        self._time.PartitionWatermark.track(
            java_frame(timed), self._name(name), idle_ms, self._clock, directory, pinned
        )
        return _drop_heartbeats(timed, marked, pinned=pinned).drop(PARTITION)

    def advance(self, step: str, watermark_ms: int) -> None:
        """Advance the watermark of a step's source to this time, from the next batch on."""
        self._time.Heartbeat.raiseTo(self._name(step), watermark_ms + self._delays[step] // 1000)

    def tick(self) -> None:
        """Advance the watermarks of sources whose partitions have become idle."""
        for step in self._delays.keys() - self._fixed:
            self._time.PartitionWatermark.tick(self._name(step))

    def slowest_partition(self) -> str | None:
        """Return the source partition that determines the watermark; None if there are no partitions."""
        reports = [self._time.PartitionWatermark.slowest(self._name(step)) for step in self._delays]
        slowest = [json.loads(text) for text in reports if text is not None]
        named = [(each["millis"] or 0, each["partition"]) for each in slowest if each["partition"]]
        return min(named)[1] if named else None

    def ahead_of_clock(self, limit_ms: int) -> Iterator[tuple[str, str, int]]:
        """Yield step, partition and milliseconds of event times further ahead of the clock than the limit."""
        for step in self._delays.keys() - self._fixed:
            if (text := self._time.PartitionWatermark.ahead(self._name(step), limit_ms)) is not None:
                partition = json.loads(text)
                yield step, partition["partition"], partition["millis"]

    def delays(self) -> list[str]:
        """Return the delays of the rows of each step as JSON."""
        return [self._time.PartitionWatermark.delays(self._name(step)) for step in self._delays]

    def end(self) -> None:
        """Advance every watermark past all rows."""
        for step, delay in self._delays.items():
            self.advance(step, END_OF_TIME_MS - (0 if step in self._fixed else delay // 1000))

    def close(self) -> None:
        """Remove the heartbeats from the driver; checkpoints have their state."""
        for name in map(self._name, self._names):
            self._time.Heartbeat.forget(name)
            self._time.PartitionWatermark.forget(name)

    def _name(self, step: str) -> str:
        return f"{self._run}/{step}"

    @property
    def _time(self) -> Any:
        return kernel(self._spark).time


def partition_column(sources: Collection[str], partitioned: Collection[str]) -> Column | None:
    """Return the source partition of a row, from its position; None if there is a single partition.

    Args:
        sources: the names of all sources of the rows.
        partitioned: those of them whose partitions have an order of their own.
    """
    if not partitioned and len(sources) < 2:
        return None
    own, source = F.col(f"{POSITION}.partition"), F.col(f"{POSITION}.source")
    if len(sources) > 1:
        own = F.concat_ws("/", source, F.when(source.isin(*partitioned), own))
    return F.coalesce(own, F.lit(""))


def block_predicate_pushdown(frame: DataFrame) -> DataFrame:
    """Keep all rows, with a condition that no other one is pushed through.

    Spark moves the condition of a later `where` below the watermark operator if it may; then the rows it
    drops would not advance the watermark. This one always holds, but Spark takes it for non-deterministic.
    """
    return frame.where(F.spark_partition_id() >= 0)


def _drop_heartbeats(frame: DataFrame, time: str, *, pinned: bool) -> DataFrame:
    """Filter by a condition that stays above the watermark operator.

    Non-deterministic, or on the time column.
    """
    partition = F.col(PARTITION)
    if pinned:  # null for heartbeats; Spark cannot simplify it, so it keeps the column
        # The second condition keeps Spark from folding the filter, and with it the watermark operator, to an
        # empty relation in a micro-batch of heartbeats alone, where the partition is a constant null.
        is_row = F.octet_length(partition) + F.spark_partition_id() >= 0
        return frame.where(is_row | F.col(f"`{time}`").isNull())
    return frame.where(partition.isNotNull() | F.col(f"`{time}`").isNull())
