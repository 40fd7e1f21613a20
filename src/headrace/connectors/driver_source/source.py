"""Gives Spark what a follower finds."""

from __future__ import annotations

import base64
import itertools
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.connectors.driver_source import Follower

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
        from pyspark.java_gateway import ensure_callback_server_started

        ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
        name = f"{source} ({next(_numbers)})"
        _jvm(spark).register(name, _Proxy(follower))
        self._names.append((spark, name, follower))
        return spark.readStream.format(FORMAT).option("name", name).load()

    def available(self) -> None:
        """The run takes what is there now and ends."""
        for _, _, follower in self._names:
            follower.available()

    def close(self) -> None:
        for spark, name, follower in self._names:
            with suppress(Exception):  # server or session may be gone already, and the run must end
                _jvm(spark).forget(name)
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
        """How py4j knows what this is to the JVM."""

        implements = ("org.apache.spark.sql.headrace.sources.SplitEnumerator",)


def _jvm(spark: SparkSession):  # type: ignore[no-untyped-def]
    return spark._jvm.org.apache.spark.sql.headrace.sources.DriverSource  # type: ignore[union-attr]
