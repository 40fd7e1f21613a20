"""The pattern in plain PySpark: a stateful processor in Python, over rows or pandas frames.

It is optimised: events that cannot match are filtered before the processor, the state of a card is one value (a
call to Spark's state costs more than the rest), and a timer is set only if none is due earlier.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.patterns.events import OUT_OF_ORDER, SCHEMA, WITHIN

OUTPUT = "card string, login_at bigint, pay_at bigint, amount double, n int"
NAMES = ["card", "login_at", "pay_at", "amount", "n"]
NEVER = 1 << 62
LOGIN = -1.0

Event = tuple[int, float]
"""Time and amount of a payment, or the time of a login and `LOGIN`."""
Answer = tuple[str, int, int, float, int]


def events(spark: SparkSession, servers: str, topic: str, epoch: int) -> DataFrame:
    """Read the logins and payments over 90 of a topic."""
    source = spark.readStream.format("kafka").options(
        **{"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"},
        maxOffsetsPerTrigger=str(epoch),
    )
    parsed = source.load().select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event"))
    timed = parsed.select("event.*").withColumn("at", F.timestamp_millis("ts"))
    wanted = timed.withWatermark("at", f"{OUT_OF_ORDER} milliseconds").where(
        "kind = 'login' or (kind = 'pay' and amount > 90)"
    )
    return wanted.select("card", "kind", "amount", "ts", "at")


def over_rows(frame: DataFrame) -> DataFrame:
    """Match with the processor over rows."""
    return frame.groupBy("card").transformWithState(OverRows(), OUTPUT, "append", "eventTime")


def over_frames(frame: DataFrame) -> DataFrame:
    """Match with the processor over pandas frames."""
    return frame.groupBy("card").transformWithStateInPandas(OverFrames(), OUTPUT, "append", "eventTime")


class LoginThenPay(StatefulProcessor):
    """State of a card: open logins, and events waiting for the watermark."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", "wake bigint, events binary")

    def close(self) -> None:
        pass

    def _process(self, card: str, received: list[Event], watermark: int) -> list[Answer]:
        stored = self._state.get()
        wake = stored[0] if stored else NEVER
        logins, waiting = pickle.loads(bytes(stored[1])) if stored else ([], [])
        waiting += received
        ready = sorted(event for event in waiting if event[0] < watermark)
        waiting = [event for event in waiting if event[0] >= watermark]
        matches = list[Answer]()
        for at, amount in ready:
            logins = [login for login in logins if at - login < WITHIN]
            if amount == LOGIN:
                logins.append(at)
            elif logins:
                matches.append((card, logins[0], at, amount, 1))
                logins = []
        self._store(wake if wake > watermark else NEVER, logins, waiting, watermark)
        return matches

    def _store(self, wake: int, logins: list[int], waiting: list[Event], watermark: int) -> None:
        logins = [login for login in logins if login + WITHIN > watermark]
        if not logins and not waiting:
            self._state.clear()
            return
        first = min([event[0] + 1 for event in waiting] + [login + WITHIN for login in logins])
        if first < wake:
            self._handle.registerTimer(first)
            wake = first
        self._state.update((wake, pickle.dumps((logins, waiting))))


class OverRows(LoginThenPay):
    """The processor over rows."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        received = [(row.ts, LOGIN if row.kind == "login" else row.amount) for row in rows]
        yield from map(_row, self._process(key[0], received, timerValues.getCurrentWatermarkInMs()))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        yield from map(_row, self._process(key[0], [], timerValues.getCurrentWatermarkInMs()))


class OverFrames(LoginThenPay):
    """The processor over pandas frames."""

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        received = list[Event]()
        for frame in rows:
            amounts = frame["amount"].where(frame["kind"] != "login", LOGIN)
            received += zip(frame["ts"].tolist(), amounts.tolist(), strict=True)
        yield from _frame(self._process(key[0], received, timerValues.getCurrentWatermarkInMs()))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        yield from _frame(self._process(key[0], [], timerValues.getCurrentWatermarkInMs()))


def _row(answer: Answer) -> Row:
    return Row(**dict(zip(NAMES, answer, strict=True)))


def _frame(answers: list[Answer]) -> Iterator[pd.DataFrame]:
    if answers:
        yield pd.DataFrame(answers, columns=NAMES)
