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

BEAT = "__beat"
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
        self._time.CodegenWatermark.generated(java_session(spark))

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that set a time and have been lowered as a stream."""
        return tuple(self._delays)

    def watermarked(self, frame: DataFrame, node: EventTime | ClockTime, *, wakes: bool = False) -> DataFrame:
        """The frame with a watermark on the node's column, and that column as `__ts` too.

        Where only some rows move the watermark, it is on a column of its own. With `wakes` the query runs a batch as
        soon as it starts: panes may be due, whether or not a row comes.
        """
        marked = node.column
        if isinstance(node, EventTime) and node.watermark_when is not None:
            marked = MARK
            moves = F.when(column(node.watermark_when), F.col(f"`{node.column}`"))
            frame = frame.withColumn(MARK, moves)
        if frame.isStreaming:
            frame = self._with_watermark(frame, node, marked, wakes)
        return frame.withColumn(TIME, F.col(f"`{node.column}`")).drop(MARK)

    def united(self, frame: DataFrame, marked: str, name: str, *, wakes: bool) -> DataFrame:
        """The frame, which tells rows from beats, and the beats of this name, with their time in `marked`."""
        reader = self._spark.readStream.format(self.SOURCE)
        beats = reader.options(name=self._name(name), wakes=wakes).load()
        beats = beats.select(F.col("heartbeat").alias(marked), F.lit(True).alias(BEAT))
        return frame.unionByName(beats, allowMissingColumns=True)

    def beat(self, step: str, watermark_ms: int) -> None:
        """Move the watermark of a step's source to this time, from the next batch on."""
        self._time.Heartbeat.raiseTo(self._name(step), watermark_ms + self._delays[step] // 1000)

    def end(self) -> None:
        """Move every watermark past all rows."""
        for step, delay in self._delays.items():
            self.beat(step, END_OF_TIME_MS - (0 if step in self._fixed else delay // 1000))

    def forget(self) -> None:
        """Let the driver forget how far the heartbeats were; checkpoints know."""
        for step in self._delays:
            self._time.Heartbeat.forget(self._name(step))

    def _with_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, marked: str, wakes: bool
    ) -> DataFrame:
        own = node.out_of_order if isinstance(node, EventTime) else 0
        delay = self._delays[node.name] = FIXED_DELAY if node.name in self._fixed else own
        united = self.united(frame.withColumn(BEAT, F.lit(False)), marked, node.name, wakes=wakes)
        return without_beats(united.withWatermark(marked, f"{delay} microseconds"), marked)

    def _name(self, step: str) -> str:
        return f"{self._run}/{step}"

    @property
    def _time(self) -> Any:
        return kernel(self._spark).time


def without_beats(frame: DataFrame, time: str) -> DataFrame:
    """The rows without the beats.

    The condition names the time column, else Spark would move it below the watermark operator, which then saw no beat.
    """
    return frame.where(~F.col(BEAT) | F.col(f"`{time}`").isNull()).drop(BEAT)


def with_floor(frame: DataFrame) -> DataFrame:
    """The same rows, above a floor that no condition of a later step sinks through.

    Spark moves a later step's `where` below the watermark operator if it may; then the rows it drops, and every beat,
    would not move the watermark. This condition always holds, but Spark takes it for one that may change, and such a one
    nothing passes.
    """
    return frame.where(F.spark_partition_id() >= 0)
