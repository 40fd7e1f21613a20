"""Joins of streams in SQL: Spark runs them in append mode."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace import Pipeline, connect


def row(key: str, second: int) -> dict[str, Any]:
    return {"k": key, "ts": datetime.fromtimestamp(second, UTC)}


def test_left_join_of_streams_emits_unmatched_rows(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline("orders")
    for name, rows in (("orders", [row("a", 10), row("b", 10)]), ("payments", [row("a", 12)])):
        source = pipeline.read(f"{name}_in", connect.memory(rows=rows), schema="k string, ts timestamp")
        source.event_time("ts", step_name=name)
    joined = pipeline.sql(
        "joined",
        """select o.k, p.ts as paid_at from orders o left join payments p
        on o.k = p.k and p.ts between o.ts and o.ts + interval 5 seconds""",
    )
    out = connect.memory()
    joined.write("out", out)
    pipeline.run(until="drained", checkpoint=tmp_path)
    assert sorted((row["k"], row["paid_at"] is not None) for row in out.contents()) == [
        ("a", True),
        ("b", False),
    ]
