"""Reads rows of the Python process through Spark's `MemoryStream`, one per query."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.flatten import position_column
from headrace.connectors.memory.checks import check_rows
from headrace.connectors.memory.store import MemoryStore, Rows
from headrace.errors import SourceError
from headrace.schemas.fields import Schema
from headrace.spark.gateway import java_frame, java_session, jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STREAM = "org.apache.spark.sql.execution.streaming.runtime.MemoryStream"


class MemoryReader:
    """Creates a `MemoryStream` per query, because a `MemoryStream` drops what its query has committed.

    A batch of the store is one offset, so a restart in the same process reads the same rows for the same
    epoch.
    """

    def __init__(self, store: MemoryStore, *, records: bool = False) -> None:
        self._store = store
        self._frame_of = _frame_of_records if records else _frame_of_rows
        self._listeners: list[Callable[[Rows], None]] = []

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        from pyspark.sql import DataFrame

        frame = self.batch(spark, context).limit(0)
        encoder = jvm(spark).org.apache.spark.sql.Encoders.row(java_frame(frame).schema())
        stream = getattr(jvm(spark), _STREAM).apply(encoder, java_session(spark))

        count = 0

        def feed(rows: Rows) -> None:
            nonlocal count
            batch = java_frame(self._frame_of(spark, context, rows, first=count)).collectAsList()
            count += len(rows)
            stream.addData(jvm(spark).org.apache.spark.api.python.PythonUtils.toSeq(batch))

        self._store.listen(feed)
        self._listeners.append(feed)
        return DataFrame(stream.toDF(), spark)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        return self._frame_of(spark, context, self._store.contents())

    def close(self) -> None:
        for listener in self._listeners:
            self._store.remove_listener(listener)
        self._listeners.clear()


def _frame_of_rows(spark: SparkSession, context: ReadContext, rows: Rows, *, first: int = 0) -> DataFrame:
    """Return the rows with the types of the schema, parsed from JSON: timestamps may be text or seconds."""
    from pyspark.sql import functions as f

    schema = _require_schema(context)
    check_rows(rows, schema, where=context.source, first=first)
    numbered = [(json.dumps(row, default=_plain), number) for number, row in enumerate(rows, first)]
    lines = spark.createDataFrame(numbered, "line string, __number bigint")
    row = f.from_json("line", schema.ddl, {"mode": "FAILFAST"}).alias("__row")
    position = position_column(context.source, "''", "__number")
    return lines.select(row, "__number").selectExpr("__row.*", position)


def _frame_of_records(spark: SparkSession, context: ReadContext, rows: Rows, *, first: int = 0) -> DataFrame:
    """Return the rows as records with their position, for the decoder."""
    for number, row in enumerate(rows, first):
        if set(row) != {"value"} or not isinstance(row["value"], str | bytes):
            raise SourceError(
                f'expected {{"value": text or bytes}}, because the source has a format, got {row!r}',
                where=f"{context.source}: row {number}",
                hint="remove the format to read rows with columns",
            )
    values = (row["value"] for row in rows)
    numbered = [
        (bytearray(value.encode() if isinstance(value, str) else value), "", number)
        for number, value in enumerate(values, first)
    ]
    return spark.createDataFrame(numbered, "value binary, partition string, offset bigint")


def _require_schema(context: ReadContext) -> Schema:
    if context.schema is None:
        hint = 'set it: read("tx", connect.memory(), schema="card string, amount double")'
        raise SourceError("rows from memory need a schema", where=context.source, hint=hint)
    return context.schema


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
