"""Statements of Flink, ksqlDB and Azure Stream Analytics, and of queries over steps, over three small streams.

`sql_statements.json` has the statements; those that a `sql` step refuses have the beginning of the problem.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect, triggers, windows

SCHEMAS = {
    "orders": "id int, customer string, amount int, ts timestamp, tags string",
    "shipments": "id int, order_id int, at timestamp",
    "rates": "customer string, rate int, since timestamp",
}
TIMES = {"orders": "ts", "shipments": "at", "rates": "since"}
LATE_ORDER = 8
"""The order that is behind the watermark of its stream."""


@dataclass(frozen=True)
class Statement:
    """A statement, and the problem that refuses it; empty if it runs."""

    name: str
    sql: str
    refused: str = ""


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return content


def statements() -> list[Statement]:
    """Return all statements."""
    return [Statement(*each) for each in _content()["statements"]]


def batches(table: str) -> list[list[dict[str, Any]]]:
    """Return the rows of a table in three micro-batches; times are seconds of 2026-01-01 10:00."""
    names = [field.split()[0] for field in SCHEMAS[table].split(", ")]
    time = TIMES[table]
    rows = [[dict(zip(names, row, strict=True)) for row in batch] for batch in _content()["tables"][table]]
    return [[{**row, time: f"2026-01-01T10:00:{row[time]:02}Z"} for row in batch] for batch in rows]


class Shop:
    """A pipeline with the three streams and the steps that statements read."""

    def __init__(self) -> None:
        self.pipeline = pipeline = Pipeline("statements")
        self.feeds = {table: connect.memory() for table in SCHEMAS}
        timed = {
            table: pipeline.read(f"{table}_in", self.feeds[table], schema=schema).event_time(
                TIMES[table], out_of_order="5 seconds", step_name=table
            )
            for table, schema in SCHEMAS.items()
        }
        source = pipeline.read("orders_src", self.feeds["orders"], schema=SCHEMAS["orders"])
        source.event_time("ts", out_of_order="5 seconds")
        orders, rates = (timed[name].key_by("customer") for name in ("orders", "rates"))
        rates.latest("current")
        orders.window(windows.tumbling("5 seconds")).aggregate("counts", n="count(*)")
        rates.window(windows.tumbling("5 seconds")).aggregate("rated", n="count(*)")
        orders.aggregate("totals", total="sum(amount)")
        early = orders.window(windows.tumbling("1 minute")).emit(
            early=triggers.after_count(1), mode="retracting"
        )
        early.aggregate("panes", total="sum(amount)")

    def add(self, batch: int) -> None:
        """Add the rows of one micro-batch to the streams."""
        for table, feed in self.feeds.items():
            feed.add(*batches(table)[batch])
