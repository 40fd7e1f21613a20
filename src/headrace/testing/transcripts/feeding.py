"""Feed sources from a script: rows with positions, records to decode, and the watermarks of idle sources."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headrace.plan.graph import Graph
from headrace.runtime.virtual_time import Feed
from headrace.schemas.datatypes import Field, Scalar, Struct
from headrace.schemas.fields import Schema
from headrace.steps.endpoints.source import Source
from headrace.steps.rows.event_time import EventTime
from headrace.testing.transcripts.script import decodes, schema_of, times_of
from headrace.testing.transcripts.values import micros_of_plain

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

    def add(self, rows: Any) -> None:
        self.feed.add([self._with_position(row) for row in rows])

    def close(self) -> None:
        self.feed.close()

    def _with_position(self, row: Any) -> dict[str, Any]:
        place = {"partition": "0", "offset": self._count}
        self._count += 1
        if self._records:
            return {"value": base64.b64encode(row).decode(), **place}
        return {**row, POSITION.name: {"source": self._source, **place}}


class Idle:
    """The watermarks of idle sources: highest event time + time since the last row - out_of_order."""

    def __init__(self, graph: Graph, fixed: list[str]) -> None:
        self._nodes = {
            source.name: [
                node
                for node in times_of(graph, source.name)
                if isinstance(node, EventTime) and node.idle is not None and node.name not in fixed
            ]
            for source in graph.of(Source)
        }
        self._seen: dict[str, tuple[int, int]] = {}

    def saw(self, rows: Mapping[str, Any], now: int) -> None:
        for source, content in rows.items():
            for node in self._nodes[source]:
                times = [micros_of_plain(row.get(node.column)) for row in content if isinstance(row, Mapping)]
                known = [time // 1000 for time in times if time is not None]
                highest = max([*known, self._seen.get(node.name, (0, 0))[0]])
                if content:
                    self._seen[node.name] = (highest, now)

    def beats(self, now: int) -> Iterator[tuple[EventTime, int]]:
        for node in {node.name: node for nodes in self._nodes.values() for node in nodes}.values():
            highest, seen = self._seen.get(node.name, (0, now))
            if highest and (now - seen) * 1000 >= (node.idle or 0):
                yield node, highest + (now - seen) - node.out_of_order // 1000
