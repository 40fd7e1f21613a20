"""Gives Spark what a follower finds."""

from __future__ import annotations

import base64
import itertools
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.connectors.driver_source import Follower
from headrace.spark.gateway import kernel, start_callbacks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "org.apache.spark.sql.headrace.sources.DriverSourceProvider"
_numbers = itertools.count()


class Following:
    """Followers of one reader, for as long as its queries run."""

    def __init__(self) -> None:
        self._names: list[tuple[SparkSession, str, Follower]] = []

    def pieces(self, spark: SparkSession, source: str, follower: Follower) -> DataFrame:
        """A stream of what tasks are to read: `piece binary`, each in a task of its own."""
        start_callbacks(spark)
        name = f"{source} ({next(_numbers)})"
        kernel(spark).sources.DriverSource.register(name, _Proxy(follower))
        self._names.append((spark, name, follower))
        return spark.readStream.format(FORMAT).option("name", name).load()

    def available(self) -> None:
        """The run takes what is there now and ends."""
        for _, _, follower in self._names:
            follower.available()

    def close(self) -> None:
        for spark, name, follower in self._names:
            with suppress(Exception):  # server or session may be gone already, and the run must end
                kernel(spark).sources.DriverSource.forget(name)
                follower.close()
        self._names.clear()


class _Proxy:
    """A follower as the JVM calls it."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def initial(self) -> str:
        return json.dumps(self._follower.initial())

    def available(self) -> None:
        self._follower.available()

    def latest(self, start: str) -> str:
        given = json.loads(start)
        found = self._follower.latest(given)
        return start if found == given else json.dumps(found)

    def pieces(self, start: str, end: str) -> str:
        found = self._follower.pieces(json.loads(start), json.loads(end))
        return "\n".join(base64.b64encode(piece).decode() for piece in found)

    def commit(self, end: str) -> None:
        self._follower.commit(json.loads(end))

    class Java:
        """The Java interface that py4j implements with this class."""

        implements = ("org.apache.spark.sql.headrace.sources.SplitEnumerator",)
