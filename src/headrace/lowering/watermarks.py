"""Watermarks, and the heartbeats that move them when rows don't.

Every timed source is united with a heartbeat source before Spark's watermark operator and freed of it right after. A
heartbeat's only content is a time; it moves the watermark where there are no rows to do so: at the end of the input,
while a source is idle, and in test scripts. In a batch without a heartbeat Spark plans it away.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.expressions import TIME, column
from headrace.spark.gateway import java_session, kernel
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MARKER = "__marker"
"""Column that is true in heartbeats and watermark markers."""
MARK = "__wm"
END_OF_TIME_MS = 253_402_300_799_000
"""The last second of the year 9999: a watermark past every row."""


FIXED_DELAY = 100_000 * 86_400 * 1_000_000
"""Longer than any stream: with it only heartbeats move a watermark, because no row comes near enough."""


class Heartbeats:
    """The heartbeat sources of one run, each known by the name of the step that sets the time."""

    SOURCE = "org.apache.spark.sql.headrace.time.HeartbeatProvider"

    def __init__(self, spark: SparkSession, run: str, *, fixed: Collection[str] = ()) -> None:
        """Name the heartbeats of a run.

        Args:
            spark: the session.
            run: a name that no other run in this process has.
            fixed: steps whose watermark only heartbeats move; rows don't.
        """
        self._spark = spark
        self._run = run
        self._fixed = frozenset(fixed)
        self._delays: dict[str, int] = {}
        self._time.CodegenWatermark.enable(java_session(spark))

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that set a time and have been lowered as a stream."""
        return tuple(self._delays)

    def watermarked(
        self, frame: DataFrame, node: EventTime | ClockTime, *, run_on_start: bool = False
    ) -> DataFrame:
        """The frame with a watermark on the node's column, and that column as `__ts` too.

        Where only some rows move the watermark, it is on a column of its own. With `run_on_start` the query runs a batch as
        soon as it starts: panes may be due, whether or not a row comes.
        """
        marked = node.column
        if isinstance(node, EventTime) and node.watermark_when is not None:
            marked = MARK
            moves = F.when(column(node.watermark_when), F.col(f"`{node.column}`"))
            frame = frame.withColumn(MARK, moves)
        if frame.isStreaming:
            frame = self._with_watermark(frame, node, marked, run_on_start)
        return frame.withColumn(TIME, F.col(f"`{node.column}`")).drop(MARK)

    def union_heartbeats(self, frame: DataFrame, marked: str, name: str, *, run_on_start: bool) -> DataFrame:
        """Return the frame, which has a column `MARKER`, with the heartbeats of this name, whose time is in `marked`."""
        reader = self._spark.readStream.format(self.SOURCE)
        heartbeats = reader.options(name=self._name(name), wakes=run_on_start).load()
        heartbeats = heartbeats.select(F.col("heartbeat").alias(marked), F.lit(True).alias(MARKER))
        return frame.unionByName(heartbeats, allowMissingColumns=True)

    def advance(self, step: str, watermark_ms: int) -> None:
        """Advance the watermark of a step's source to this time, from the next batch on."""
        self._time.Heartbeat.raiseTo(self._name(step), watermark_ms + self._delays[step] // 1000)

    def end(self) -> None:
        """Move every watermark past all rows."""
        for step, delay in self._delays.items():
            self.advance(step, END_OF_TIME_MS - (0 if step in self._fixed else delay // 1000))

    def forget(self) -> None:
        """Let the driver forget how far the heartbeats were; checkpoints know."""
        for step in self._delays:
            self._time.Heartbeat.forget(self._name(step))

    def _with_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, marked: str, run_on_start: bool
    ) -> DataFrame:
        own = node.out_of_order if isinstance(node, EventTime) else 0
        delay = self._delays[node.name] = FIXED_DELAY if node.name in self._fixed else own
        rows = frame.withColumn(MARKER, F.lit(False))
        union = self.union_heartbeats(rows, marked, node.name, run_on_start=run_on_start)
        return drop_markers(union.withWatermark(marked, f"{delay} microseconds"), marked)

    def _name(self, step: str) -> str:
        return f"{self._run}/{step}"

    @property
    def _time(self) -> Any:
        return kernel(self._spark).time


def drop_markers(frame: DataFrame, time: str) -> DataFrame:
    """Return the rows without heartbeats and watermark markers.

    The condition names the time column; otherwise Spark moves it below the watermark operator, which then sees no marker.
    """
    return frame.where(~F.col(MARKER) | F.col(f"`{time}`").isNull()).drop(MARKER)


def block_predicate_pushdown(frame: DataFrame) -> DataFrame:
    """Return the same rows, with a filter that no condition of a later step is pushed through.

    Spark pushes a later step's `where` below the watermark operator if it can; then the rows it drops, and every marker,
    would not advance the watermark. This condition always holds, but Spark treats it as non-deterministic and moves no
    other condition past it.
    """
    return frame.where(F.spark_partition_id() >= 0)
