"""Reads rows of the process through Spark's own `MemoryStream`, one for each query."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.memory.shelf import Rows, Shelf
from headrace.errors import SourceError
from headrace.schemas.fields import Schema
from headrace.spark.gateway import java_frame, java_session, jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STREAM = "org.apache.spark.sql.execution.streaming.runtime.MemoryStream"


class MemoryReader:
    """Gives each query a `MemoryStream` of its own, because one forgets what its query has committed.

    A lot is one offset, so a restart in the same process reads the same rows for the same epoch.
    """

    def __init__(self, shelf: Shelf, *, records: bool = False) -> None:
        self._shelf = shelf
        self._framed = _records if records else _frame
        self._feeding: list[Callable[[Rows], None]] = []

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        from pyspark.sql import DataFrame

        frame = self.batch(spark, context).limit(0)
        encoder = jvm(spark).org.apache.spark.sql.Encoders.row(java_frame(frame).schema())
        stream = getattr(jvm(spark), _STREAM).apply(encoder, java_session(spark))

        fed = 0

        def feed(rows: Rows) -> None:
            nonlocal fed
            lot = java_frame(self._framed(spark, context, rows, first=fed)).collectAsList()
            fed += len(rows)
            stream.addData(jvm(spark).org.apache.spark.api.python.PythonUtils.toSeq(lot))

        self._shelf.listen(feed)
        self._feeding.append(feed)
        return DataFrame(stream.toDF(), spark)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        return self._framed(spark, context, self._shelf.contents())

    def close(self) -> None:
        for feed in self._feeding:
            self._shelf.forget(feed)
        self._feeding.clear()


def _frame(spark: SparkSession, context: ReadContext, rows: Rows, *, first: int = 0) -> DataFrame:
    """The rows with the schema's types: by way of JSON, so that a document can say timestamps as text or seconds."""
    from pyspark.sql import functions as f

    schema = _checked(context, rows)
    numbered = [(json.dumps(row, default=_plain), number) for number, row in enumerate(rows, first)]
    lines = spark.createDataFrame(numbered, "line string, number bigint")
    position = f.struct(
        f.lit(context.source).alias("source"), f.lit("").alias("partition"), f.col("number").alias("offset")
    )
    row = f.from_json("line", schema.ddl, {"mode": "FAILFAST"})
    return lines.select(row.alias("row"), position.alias("__position")).select("row.*", "__position")


def _records(spark: SparkSession, context: ReadContext, rows: Rows, *, first: int = 0) -> DataFrame:
    """The rows as records with their position, for the decoder."""
    wrong = next(
        (row for row in rows if set(row) != {"value"} or not isinstance(row["value"], str | bytes)), None
    )
    if wrong is not None:
        raise SourceError(
            f'expected {{"value": text or bytes}}, because the source names a format, got {wrong!r}',
            where=context.source,
            hint="leave the format out to give rows with columns",
        )
    values = (row["value"] for row in rows)
    numbered = [
        (bytearray(value.encode() if isinstance(value, str) else value), "", number)
        for number, value in enumerate(values, first)
    ]
    return spark.createDataFrame(numbered, "value binary, partition string, offset bigint")


def _checked(context: ReadContext, rows: Rows) -> Schema:
    if context.schema is None:
        hint = 'give one: read("tx", connect.memory(), schema="card string, amount double")'
        raise SourceError("rows from memory need a schema", where=context.source, hint=hint)
    names = set(context.schema.names)
    for row in rows:
        if unknown := sorted(set(row) - names):
            known = f"the schema is `{context.schema.ddl}`"
            raise SourceError(
                f"a row has the unknown column `{unknown[0]}`", where=context.source, hint=known
            )
    return context.schema


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
