"""Plans of real-time mode: records for the topics of all sinks, and watermarks without heartbeats."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.lowering.watermarks import PARTITION
from headrace.runtime.real_time.records import build_tagged_records
from headrace.runtime.real_time.run import RowWatermarks
from headrace.spark.gateway import java_frame
from headrace.steps.base import Ref
from headrace.steps.rows.event_time import EventTime

TAGGED = """
    select 'main' as __output, named_struct('__key_who', 'A', 'total', 1, '__ts', 7) as __main,
           cast(null as struct<v int, reason string>) as __late
    union all select 'late', null, named_struct('v', 5, 'reason', 'too late')
"""
"""Tagged rows of the kernel: a row has the name of its output, and its columns in the struct of that output."""


def test_panes_and_late_rows_go_to_their_topics(spark: SparkSession) -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.memory(), schema="k string, v int, ts timestamp")
    keyed = rows.event_time("ts").key_by(who="upper(k)").window(windows.tumbling("1 minute"))
    totals = keyed.aggregate("totals", total="sum(v)")
    totals.write("out", connect.kafka(servers="s:1", topic="panes", key="who", value=["who", "total"]))
    totals.late.write("late", connect.kafka(servers="s:1", topic="too-late", value="v", headers="reason"))
    graph = pipeline._plan()
    records = build_tagged_records(spark.sql(TAGGED), graph["totals"], graph.sinks).collect()
    actual = sorted((row["topic"], _text(row["key"]), json.loads(row["value"])) for row in records)
    assert actual == [
        ("panes", "A", {"who": "A", "total": 1}),
        ("too-late", "", {"v": 5}),
    ]
    [late] = [row for row in records if row["topic"] == "too-late"]
    assert [(header["key"], bytes(header["value"])) for header in late["headers"]] == [
        ("reason", b"too late")
    ]


def test_event_time_adds_a_watermark_without_a_heartbeat_source(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load()
    timed = RowWatermarks(spark, "p").add_watermark(rows, EventTime("timed", Ref("tx"), "timestamp"))
    plan = java_frame(timed).queryExecution().logical().toString()
    assert "EventTimeWatermark" in plan
    assert "heartbeat" not in plan
    assert PARTITION not in timed.columns


def _text(key: bytes | None) -> str:
    return "" if key is None else key.decode()
