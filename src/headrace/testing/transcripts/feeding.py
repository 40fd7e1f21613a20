"""Feed sources from a script: rows with positions, or records to decode."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.runtime.virtual_time import Feed
from headrace.schemas.datatypes import Field, Scalar, Struct
from headrace.schemas.fields import Schema
from headrace.steps.endpoints.source import Source
from headrace.testing.transcripts.script import decodes, schema_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POSITION = Field(
    "__position",
    Struct(
        (
            Field("source", Scalar("string")),
            Field("partition", Scalar("string")),
            Field("offset", Scalar("bigint")),
        )
    ),
)
RECORDS = Schema.of("value binary, partition string, offset bigint")


class Input:
    """The input of one source: rows with positions, or records to decode."""

    def __init__(self, spark: SparkSession, source: Source) -> None:
        self._source = source.name
        self._records = decodes(source)
        self._count = 0
        rows = Schema((*schema_of(source).fields, POSITION))
        self.feed = Feed(spark, RECORDS if self._records else rows)

    def add(self, rows: Sequence[Any], partitions: Sequence[str] | None = None) -> None:
        """Add a micro-batch of rows; `partitions` are those of the rows, all `0` by default."""
        self.feed.add(list(map(self._with_position, rows, partitions or ["0"] * len(rows))))

    def close(self) -> None:
        self.feed.close()

    def _with_position(self, row: Any, partition: str) -> dict[str, Any]:
        place = {"partition": partition, "offset": self._count}
        self._count += 1
        if self._records:
            return {"value": base64.b64encode(row).decode(), **place}
        return {**row, POSITION.name: {"source": self._source, **place}}
