"""Connects split enumerators to Spark."""

from __future__ import annotations

import base64
import itertools
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.connectors.driver_source import SplitEnumerator
from headrace.spark.gateway import kernel, start_callbacks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPLITS = "org.apache.spark.sql.headrace.sources.DriverSourceProvider"
LOG_RECORDS = "org.apache.spark.sql.headrace.sources.LogSourceProvider"
_numbers = itertools.count()


class DriverReader:
    """The base of readers with split enumerators, which are registered for as long as the queries run."""

    def __init__(self) -> None:
        self._registered: list[tuple[SparkSession, str, SplitEnumerator]] = []

    def splits(self, spark: SparkSession, source: str, enumerator: SplitEnumerator) -> DataFrame:
        """Return a stream of splits, one column of bytes; each split is read by a separate task."""
        return self._load(spark, source, enumerator, SPLITS)

    def log_records(self, spark: SparkSession, source: str, enumerator: SplitEnumerator) -> DataFrame:
        """Return a stream of the records of a write-ahead log: value, offset, received_at and metadata."""
        return self._load(spark, source, enumerator, LOG_RECORDS)

    def close(self) -> None:
        """Close the enumerators, after the queries have ended."""
        for spark, name, enumerator in self._registered:
            with suppress(Exception):  # server or session may be gone already, and the run must end
                kernel(spark).sources.DriverSource.unregister(name)
                enumerator.close()
        self._registered.clear()

    def _load(
        self, spark: SparkSession, source: str, enumerator: SplitEnumerator, provider: str
    ) -> DataFrame:
        start_callbacks(spark)
        name = f"{source} ({next(_numbers)})"
        kernel(spark).sources.DriverSource.register(name, _JavaEnumerator(enumerator))
        self._registered.append((spark, name, enumerator))
        return spark.readStream.format(provider).option("name", name).load()


class _JavaEnumerator:
    """A split enumerator as the JVM calls it."""

    def __init__(self, enumerator: SplitEnumerator) -> None:
        self._enumerator = enumerator

    def initial(self) -> str:
        return json.dumps(self._enumerator.initial())

    def available(self) -> None:
        self._enumerator.available()

    def latest(self, start: str) -> str:
        before = json.loads(start)
        end = self._enumerator.latest(before)
        return start if end == before else json.dumps(end)

    def splits(self, start: str, end: str) -> str:
        splits = self._enumerator.splits(json.loads(start), json.loads(end))
        return "\n".join(base64.b64encode(split).decode() for split in splits)

    def commit(self, end: str) -> None:
        self._enumerator.commit(json.loads(end))

    class Java:
        """The Java interface, for py4j."""

        implements = ("org.apache.spark.sql.headrace.sources.SplitEnumerator",)
