"""Virtual time: queries that are stepped by hand, with a clock that stands still until it is told.

Transcripts run in it. A query looks at its sources only in `step`, so a script decides what is in each micro-batch
and nothing depends on how fast the machine is; and nobody sleeps.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.schemas.fields import Schema
from headrace.spark.gateway import java_frame, kernel, start_callbacks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Deliver = Callable[["DataFrame", int], None]

NUMBER = "__number"
POSITION = "__position"
FEED = "org.apache.spark.sql.headrace.time.TestStreamProvider"
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.numRecentProgressUpdates": "4",  # with 1 Spark keeps none
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""Settings under which a micro-batch of a few rows costs least; they change no result."""

EAGER = {"spark.headrace.windows.eager": "true"}
"""Windows that live by the clock look at the watermark in every batch: here it moves while the clock stands still."""

_numbers = itertools.count()


def quick_session(spark: SparkSession) -> SparkSession:
    """A session beside `spark`, with views and settings of its own, in which small queries run fast."""
    session = spark.newSession()
    for key, value in (QUICK | EAGER).items():
        session.conf.set(key, value)
    return session


class Clock:
    """The time of one run; it starts at 0 and only `advance` moves it."""

    def __init__(self, spark: SparkSession) -> None:
        self._clock = _time(spark).VirtualTime.clock()

    @property
    def millis(self) -> int:
        return int(self._clock.getTimeMillis())

    def advance(self, microseconds: int) -> None:
        """Let time pass, in whole milliseconds as Spark counts them."""
        self._clock.advance(microseconds // 1000)

    def start(
        self, frame: DataFrame, deliver: Deliver, *, mode: str, name: str, checkpoint: str
    ) -> SteppedQuery:
        """Start a query that lives by this clock.

        It returns when the query waits for its first step. An epoch that the checkpoint holds but that was not
        committed has been run again by then.
        """
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
        self._jsq = started.query()  # as in pyspark's own handle

    @property
    def isActive(self) -> bool:  # noqa: N802 - as pyspark calls it
        return bool(self._jsq.isActive())

    @property
    def runId(self) -> str:  # noqa: N802 - as pyspark calls it
        return str(self._jsq.runId())

    @property
    def rows_read(self) -> int:
        """How many rows the last micro-batch has read; 0 if there was none."""
        progress = self._jsq.lastProgress()
        return int(progress.numInputRows()) if progress is not None else 0

    def step(self) -> None:
        """Let the query look at its sources once; it runs one micro-batch if it finds a reason to.

        Raises:
            pyspark.errors.StreamingQueryException: the query has died.
        """
        self._query.step()

    def dropped(self) -> tuple[int, int]:
        """The last epoch, and how many rows Spark's own operators dropped in it because they were late."""
        progress = self._jsq.lastProgress()
        if progress is None:
            return -1, 0
        operators = progress.stateOperators()
        return int(progress.batchId()), sum(int(each.numRowsDroppedByWatermark()) for each in operators)

    def stop(self) -> None:
        """Stop it as a kill would: the checkpoint stays as it is."""
        self._query.stop()


class Feed:
    """Rows given to queries lot by lot. It forgets none, so that any query can start again from its checkpoint."""

    def __init__(self, spark: SparkSession, schema: Schema) -> None:
        self._name = f"{os.getpid()}-{next(_numbers)}"
        self._spark = spark
        self._feed = _time(spark).TestStream.open(self._name, schema.ddl)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """One more lot of rows. Values are as JSON has them; a timestamp is ISO text with six digits and a zone."""
        self._feed.add(json.dumps(rows))

    def stream(self, spark: SparkSession) -> DataFrame:
        """All lots, and those to come."""
        return spark.readStream.format(FEED).option("name", self._name).load()

    def batch(self, spark: SparkSession) -> DataFrame:
        """All rows there are now."""
        return spark.read.format(FEED).option("name", self._name).load()

    def close(self) -> None:
        """Forget the rows; queries that read them must have ended."""
        _time(self._spark).TestStream.close(self._name)


@dataclass(frozen=True)
class Collected:
    """The rows of a frame, exact: `schema` is Spark's JSON of it, which says how to read the values."""

    schema: Mapping[str, Any]
    rows: Sequence[Sequence[Any]]


def collect(frame: DataFrame) -> Collected:
    """Run a frame and bring its rows here without loss: no zone, century or precision is in the way."""
    found = json.loads(_time(frame.sparkSession).RowJson.collect(java_frame(frame)))
    return Collected(found["schema"], found["rows"])


def numbered(frame: DataFrame) -> DataFrame:
    """The rows of a batch with their number in the order of arrival, from 0, in the column `__number`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    if POSITION not in frame.columns:
        return frame.withColumn(NUMBER, F.monotonically_increasing_id())
    return frame.withColumn(NUMBER, F.row_number().over(Window.orderBy(POSITION)) - 1)


def _time(spark: SparkSession) -> Any:
    return kernel(spark).time
