"""The inputs of a script: rows with positions, records to decode, and rule tables."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.lowering.sources import StreamInputs
from headrace.rules.tables import Content, FileTable, RuleTable
from headrace.runtime.virtual_time import Feed
from headrace.schemas.datatypes import Field, Scalar, Struct
from headrace.schemas.fields import Schema
from headrace.steps.endpoints.source import Source
from headrace.steps.patterns.match_rules import MatchRules
from headrace.testing.transcripts.script import decodes, record_format, schema_of
from headrace.yaml.positions import Fields, Value, plain
from headrace.yaml.rules import rules_of_tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


class ScriptedTable:
    """The rules of a step: initially those of its file, if there is one, then those of the script."""

    def __init__(self, node: MatchRules) -> None:
        self.name = f"the rules of `{node.name}`"
        stored = isinstance(node.table, str) and Path(node.table).exists()
        self._file = FileTable(str(node.table)) if stored else None
        self._content: Value = Fields(self.name)

    def change(self, content: Value) -> None:
        """Replace the rules of the table."""
        self._file, self._content = None, content

    def read_content(self) -> Content:
        if self._file is not None:
            return self._file.read_content()
        content = self._content
        return Content(json.dumps(plain(content)), lambda: rules_of_tree(content))

    def close(self) -> None:
        """Do nothing; the table has no resources."""


class ScriptedInputs(StreamInputs):
    """Sources that read from feeds instead of their connectors."""

    feeds: Mapping[str, Feed] = {}
    tables: Mapping[str, ScriptedTable] = {}
    partitioned: Collection[str] = ()

    def has_partitions(self, source: Source) -> bool:
        return source.name in self.partitioned

    def rules(self, node: MatchRules) -> RuleTable:
        return self.tables.get(node.name) or super().rules(node)

    def source(self, node: Source) -> DataFrame:
        return super().source(replace(node, format=record_format(node)))

    def _read(self, node: Source) -> DataFrame:
        return self.feeds[node.name].stream(self.spark)
