"""Virtual time: queries that run one micro-batch per call of `step`, with a manual clock.

Used by transcripts and drains. A query reads its sources only in `step`, so that the caller determines the
rows of each micro-batch and results do not depend on the speed of the machine.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.lowering.expressions import POSITION
from headrace.schemas.fields import Schema
from headrace.spark.gateway import java_frame, kernel, start_callbacks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Deliver = Callable[["DataFrame", int], None]

NUMBER = "__number"
FEED = "org.apache.spark.sql.headrace.time.TestStreamProvider"
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.numRecentProgressUpdates": "4",  # with 1 Spark keeps none
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""Settings that make micro-batches of a few rows fast; they do not change results."""

EAGER = {"spark.headrace.windows.eager": "true"}
"""Windows with processing-time timers check the watermark in every batch, because here it can advance while
the clock does not.
"""

_numbers = itertools.count()


def quick_session(spark: SparkSession) -> SparkSession:
    """Return a new session of the same context in which small queries run fast."""
    session = spark.newSession()
    for key, value in (QUICK | EAGER).items():
        session.conf.set(key, value)
    return session


class Clock:
    """A manual clock; it starts at 0 and moves only with `advance`."""

    def __init__(self, spark: SparkSession) -> None:
        self._clock = _time(spark).VirtualTime.clock()

    @property
    def java_clock(self) -> Any:
        """The Java clock of queries and watermarks."""
        return self._clock

    @property
    def millis(self) -> int:
        return int(self._clock.getTimeMillis())

    def advance(self, microseconds: int) -> None:
        """Advance the clock, in whole milliseconds."""
        self._clock.advance(microseconds // 1000)

    def start(
        self, frame: DataFrame, deliver: Deliver, *, mode: str, name: str, checkpoint: str
    ) -> SteppedQuery:
        """Start a query with this clock; replay an uncommitted epoch of the checkpoint before returning."""
        from pyspark.sql.utils import ForeachBatchFunction

        session = frame.sparkSession
        start_callbacks(session)
        function = ForeachBatchFunction(session, deliver)
        started = _time(session).VirtualTime.start(
            java_frame(frame), function, mode, name, checkpoint, self._clock
        )
        return SteppedQuery(started)


class SteppedQuery:
    """A query in virtual time."""

    def __init__(self, started: Any) -> None:
        self._query = started
        self._jsq = started.query()  # same name as in pyspark's StreamingQuery

    @property
    def isActive(self) -> bool:  # noqa: N802 - as pyspark calls it
        return bool(self._jsq.isActive())

    @property
    def runId(self) -> str:  # noqa: N802 - as pyspark calls it
        return str(self._jsq.runId())

    @property
    def rows_read(self) -> int:
        """Rows read by the last micro-batch; 0 before the first."""
        progress = self._jsq.lastProgress()
        return int(progress.numInputRows()) if progress is not None else 0

    def limit_sources(self) -> None:
        """Ignore data that arrives from now on."""
        self._query.limitSources()

    def step(self) -> None:
        """Read the sources once and run a micro-batch if there is work to do.

        Raises:
            pyspark.errors.StreamingQueryException: the query failed.
        """
        self._query.step()

    def late_rows_dropped(self) -> tuple[int, int]:
        """Return the last epoch and the number of late rows that Spark's own operators dropped in it."""
        progress = self._jsq.lastProgress()
        if progress is None:
            return -1, 0
        operators = progress.stateOperators()
        return int(progress.batchId()), sum(int(each.numRowsDroppedByWatermark()) for each in operators)

    def stop(self) -> None:
        """Stop the query immediately, without changing the checkpoint."""
        self._query.stop()


class Feed:
    """A source to which rows are added batch by batch; it keeps all rows, so that a query can restart."""

    def __init__(self, spark: SparkSession, schema: Schema) -> None:
        self._name = f"{os.getpid()}-{next(_numbers)}"
        self._spark = spark
        self._feed = _time(spark).TestStream.open(self._name, schema.ddl)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add a batch of rows with JSON values; a timestamp is ISO text with six digits and a zone."""
        self._feed.add(json.dumps(rows))

    def stream(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a stream."""
        return spark.readStream.format(FEED).option("name", self._name).load()

    def batch(self, spark: SparkSession) -> DataFrame:
        """Return the rows added so far as a batch."""
        return spark.read.format(FEED).option("name", self._name).load()

    def close(self) -> None:
        """Remove the rows, after the queries that read them have ended."""
        _time(self._spark).TestStream.close(self._name)


@dataclass(frozen=True)
class CollectedRows:
    """The rows of a DataFrame; `schema` is its schema in Spark's JSON format."""

    schema: Mapping[str, Any]
    rows: Sequence[Sequence[Any]]


def collect(frame: DataFrame) -> CollectedRows:
    """Compute a DataFrame and return its rows; timestamps keep their full precision and range."""
    result = json.loads(_time(frame.sparkSession).RowJson.collect(java_frame(frame)))
    return CollectedRows(result["schema"], result["rows"])


def number_rows(frame: DataFrame) -> DataFrame:
    """Add the column `__number`: the index of a row in arrival order, from 0."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    if POSITION not in frame.columns:
        return frame.withColumn(NUMBER, F.monotonically_increasing_id())
    return frame.withColumn(NUMBER, F.row_number().over(Window.orderBy(POSITION)) - 1)


def _time(spark: SparkSession) -> Any:
    return kernel(spark).time
