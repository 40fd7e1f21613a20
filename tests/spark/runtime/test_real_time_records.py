"""Outputs of a stateful step become records in one pass, each for the topic of its sink."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.runtime.real_time.records import build_tagged_records

TAGGED = """
    select 'main' as __output, named_struct('__key_who', 'A', 'total', 1, '__ts', 7) as __main,
           cast(null as struct<v int, reason string>) as __late
    union all select 'late', null, named_struct('v', 5, 'reason', 'too late')
"""
"""What the kernel's steps give: a row has its output's name, and its columns in that output's struct."""


def test_panes_and_late_rows_go_to_their_topics(spark: SparkSession) -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.memory(), schema="k string, v int, ts timestamp")
    keyed = rows.event_time("ts").key_by(who="upper(k)").window(windows.tumbling("1 minute"))
    totals = keyed.aggregate("totals", total="sum(v)")
    totals.write("out", connect.kafka(servers="s:1", topic="panes", key="who", value=["who", "total"]))
    totals.late.write("late", connect.kafka(servers="s:1", topic="too-late", value="v", headers="reason"))
    graph = pipeline.check()
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


def _text(key: bytes | None) -> str:
    return "" if key is None else key.decode()
