"""Watermarks per source partition, and the heartbeats that advance them when rows do not.

Every timed stream is unioned with a heartbeat source before the watermark operator, and heartbeats are
filtered out after it. A heartbeat has only an event time. It advances the watermark without rows: in a drain,
while partitions are idle, and in test scripts. Spark prunes the source from a batch without heartbeats.

The kernel's watermark operator reads the partition of each row from the column `__partition`, which is null
for heartbeats, and reports to Spark the minimum over all partitions that are not idle.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.event_times import add_watermark_time, check_event_time, set_time
from headrace.lowering.expressions import POSITION
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PARTITION = "__partition"
END_OF_TIME_MS = 253_402_300_799_000
"""The last second of the year 9999: a watermark after every row."""

FIXED_DELAY = 100_000 * 86_400 * 1_000_000
"""A delay so long that only heartbeats can advance the watermark."""


class Heartbeats:
    """The watermarks and heartbeat sources of one run, by the name of the step that sets the time."""

    SOURCE = "org.apache.spark.sql.headrace.time.HeartbeatProvider"

    def __init__(
        self, spark: SparkSession, run: str, *, fixed: Collection[str] = (), clock: Any = None
    ) -> None:
        """Create the heartbeats of a run.

        Args:
            spark: the session.
            run: a name that is unique in this process.
            fixed: steps whose watermark only heartbeats advance.
            clock: the Java clock for idleness of partitions; default: the system clock.
        """
        self._spark = spark
        self._run = run
        self._fixed = frozenset(fixed)
        self._clock = clock
        self._delays: dict[str, int] = {}
        self._names: set[str] = set()
        self._directories: set[Path] = set()

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that set a time in a stream."""
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
        """Set a watermark on the column of the node, and copy the column to `__ts`.

        Args:
            frame: the rows.
            node: the step that sets the time.
            partition: the source partition of a row; None for a single partition.
            checkpoint: the checkpoint of the query, where the highest event time per partition is stored.
            run_on_start: True to run a batch when the query starts, because timers may be due.
        """
        frame, time = add_watermark_time(check_event_time(frame, node), node)
        if frame.isStreaming:
            delay = node.out_of_order if isinstance(node, EventTime) else 0
            self._delays[node.name] = delay = FIXED_DELAY if node.name in self._fixed else delay
            frame = frame.withColumn(PARTITION, F.lit("") if partition is None else partition)
            idle = node.idle if isinstance(node, EventTime) else None
            stored = checkpoint if partition is not None or idle is not None else None
            frame = self.track(
                frame,
                time,
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
        time: str,
        name: str,
        *,
        delay: int,
        idle: int | None = None,
        checkpoint: Path | None = None,
        pinned: bool = False,
        run_on_start: bool,
    ) -> DataFrame:
        """Set a watermark on the column `time`, advanced by rows with `__partition` and by heartbeats.

        With `pinned` there are several partitions, and Spark must not prune the column.
        """
        self._names.add(name)
        reader = self._spark.readStream.format(self.SOURCE)
        heartbeats = reader.options(name=self._name(name), wakes=run_on_start).load()
        rows = frame.unionByName(heartbeats.select(F.col("heartbeat").alias(time)), allowMissingColumns=True)
        timed = rows.withWatermark(time, f"{delay} microseconds")
        directory = None if checkpoint is None else checkpoint / "watermarks" / name
        if directory is not None:
            self._directories.add(directory)
        idle_ms = -1 if idle is None else idle // 1000
        stored = None if directory is None else str(directory)
        self._time.PartitionWatermark.track(
            java_frame(timed), self._name(name), idle_ms, self._clock, stored, pinned
        )
        return _drop_heartbeats(timed, time, pinned=pinned).drop(PARTITION)

    def remove_unused(self, checkpoint: Path) -> None:
        """Remove the event times of steps that the query of a checkpoint no longer has."""
        for directory in set(checkpoint.glob("watermarks/*")) - self._directories:
            shutil.rmtree(directory)

    def advance(self, step: str, watermark_ms: int) -> None:
        """Advance the watermark of a step to this time, from the next batch on."""
        self._time.Heartbeat.raiseTo(self._name(step), watermark_ms + self._delays[step] // 1000)

    def tick(self) -> None:
        """Advance the watermarks of sources whose partitions have become idle."""
        for step in self._delays.keys() - self._fixed:
            self._time.PartitionWatermark.tick(self._name(step))

    def pass_newest_rows(self) -> None:
        """Advance the watermarks that rows move by a millisecond, which completes rows at the watermark."""
        for step in self._delays.keys() - self._fixed:
            text = self._time.PartitionWatermark.slowest(self._name(step))
            if text is not None and (millis := json.loads(text)["millis"]) is not None:
                self._time.Heartbeat.raiseTo(self._name(step), millis + 1)

    def slowest_partition(self) -> str | None:
        """Return the source partition that determines the watermark; None if there are no partitions."""
        reports = [self._time.PartitionWatermark.slowest(self._name(step)) for step in self._delays]
        slowest = [json.loads(text) for text in reports if text is not None]
        named = [(each["millis"] or 0, each["partition"]) for each in slowest if each["partition"]]
        return min(named)[1] if named else None

    def ahead_of_clock(self, limit_ms: int) -> Iterator[tuple[str, str, int]]:
        """Yield step, partition and event time, in milliseconds, of rows ahead of the clock by the limit."""
        for step in self._delays.keys() - self._fixed:
            if (text := self._time.PartitionWatermark.ahead(self._name(step), limit_ms)) is not None:
                partition = json.loads(text)
                yield step, partition["partition"], partition["millis"]

    def delays(self) -> list[str]:
        """Return the delays of the rows of each step as JSON."""
        return [self._time.PartitionWatermark.delays(self._name(step)) for step in self._delays]

    def end(self) -> None:
        """Advance every watermark to the end of time."""
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
    """Return the source partition of a row; None if there is a single partition.

    Args:
        sources: the names of all sources of the rows.
        partitioned: the names of those that have partitions.
    """
    if not partitioned and len(sources) < 2:
        return None
    own, source = F.col(f"{POSITION}.partition"), F.col(f"{POSITION}.source")
    if len(sources) > 1:
        own = F.concat_ws("/", source, F.when(source.isin(*partitioned), own))
    return F.coalesce(own, F.lit(""))


def block_predicate_pushdown(frame: DataFrame) -> DataFrame:
    """Return the frame with a filter that is always true, through which Spark pushes no other filter.

    Rows that a filter below the watermark operator drops would not advance the watermark. Spark pushes
    nothing through a non-deterministic condition such as this one.
    """
    return frame.where(F.spark_partition_id() >= 0)


def _drop_heartbeats(frame: DataFrame, time: str, *, pinned: bool) -> DataFrame:
    """Drop heartbeats by a condition that Spark does not push below the watermark operator."""
    partition = F.col(PARTITION)
    if pinned:
        # `octet_length` cannot be simplified, so Spark keeps the column. The second condition prevents Spark
        # from folding the filter and the watermark operator to an empty relation in a micro-batch of
        # heartbeats only, where the partition is a constant null.
        is_row = F.octet_length(partition) + F.spark_partition_id() >= 0
        return frame.where(is_row | F.col(f"`{time}`").isNull())
    return frame.where(partition.isNotNull() | F.col(f"`{time}`").isNull())
