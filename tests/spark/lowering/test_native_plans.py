"""Native windows through Headrace run on the operators that hand-written PySpark runs on, no more and no fewer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headrace import Pipeline, connect, windows

SCHEMA = "key bigint, value double, ts timestamp"
KINDS: dict[str, tuple[windows.Window, Callable[[], Column]]] = {
    "tumbling": (windows.tumbling("1 minute"), lambda: F.window("ts", "1 minute")),
    "sliding": (
        windows.sliding("5 minutes", every="1 minute"),
        lambda: F.window("ts", "5 minutes", "1 minute"),
    ),
    "session": (windows.session("30 seconds"), lambda: F.session_window("ts", "29999999 microseconds")),
}


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Path:
    rows = spark.range(100).selectExpr("id % 3 key", "double(id) value", "timestamp_seconds(id) ts")
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))
    return tmp_path / "in"


def operators(frame: DataFrame, place: Path) -> list[str]:
    """The operators of the plan that Spark really ran, top to bottom; projections only rename here."""
    writer = (
        frame.writeStream.format("noop").option("checkpointLocation", str(place)).trigger(availableNow=True)
    )
    query = writer.start()
    query.awaitTermination()
    plan = query._jsq.explainInternal(False)
    names = re.findall(r"^[\s:+\-*()\d]*([A-Z]\w+)", plan.split("== Physical Plan ==")[1], re.MULTILINE)
    return [name for name in names if name not in ("Project", "WriteToDataSourceV2")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_physical_plan_is_the_one_written_by_hand(
    spark: SparkSession, source: Path, tmp_path: Path, kind: str
) -> None:
    window, native = KINDS[kind]
    by_hand = (
        spark.readStream.schema(SCHEMA)
        .parquet(str(source))
        .withWatermark("ts", "10 seconds")
        .groupBy("key", native())
        .agg(F.count("*").alias("n"), F.sum("value").alias("total"))
    )
    pipeline = Pipeline("plans")
    rows = pipeline.read("rows", connect.files(path=str(source), format="parquet"), schema=SCHEMA)
    panes = (
        rows.event_time("ts", out_of_order="10 seconds")
        .key_by("key")
        .window(window, engine="native")
        .aggregate("panes", n="count(*)", total="sum(value)")
    )
    expected = operators(by_hand, tmp_path / "by_hand")
    assert "StateStoreSave" in expected or "SessionWindowStateStoreSave" in expected
    assert operators(panes.to_dataframe(), tmp_path / "headrace") == expected
