"""A window over a batch returns the final panes of the stream."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from docs.playground.model.windows import END, model
from pyspark.sql import SparkSession, functions

from headrace import windows
from headrace.triggers import Emission
from headrace.windows.lower import aggregate_windows, declaration

SECOND = 1_000_000
KINDS = {
    "tumbling": windows.tumbling("10 seconds", offset="3 seconds"),
    "sliding": windows.sliding("10 seconds", every="4 seconds"),
    "session": windows.session("2 seconds"),
    "global": windows.global_window(),
    "count": windows.count(4, every=3),
    "delta": windows.delta("v % 10", by=3),
    "punctuation": windows.punctuation("v % 5 = 0"),
    "landmark": windows.landmark(when="v % 5 = 0"),
    "landmark with a reset": windows.landmark(reset="20 seconds", step="5 seconds"),
    "trailing": windows.trailing("4 seconds"),
}


def rows() -> Any:
    chance = random.Random(11)
    actual = [{"k": chance.choice("ab"), "v": v, "t": chance.randrange(60) * SECOND} for v in range(40)]
    return [*actual, {"k": "a", "v": 40, "t": None}]


@pytest.mark.parametrize("kind", KINDS)
def test_batch_gives_the_last_pane_of_each_window(spark: SparkSession, kind: Any) -> None:
    window = KINDS[kind]
    frame = (
        spark.createDataFrame(rows(), "k string, v int, t bigint")
        .withColumn("__ts", functions.timestamp_micros("t"))
        .withColumn("__position", functions.expr("struct('s' source, '0' partition, bigint(v) offset)"))
        .drop("t")
    )

    out = aggregate_windows(
        frame, ["k"], window, Emission(), {"values": "sort_array(collect_list(v))"}
    ).collect()

    received = sorted(_format_panes(row["__main"]) for row in out if row["__output"] == "main")
    late = [row["__late"]["v"] for row in out if row["__output"] == "late"]
    assert received == sorted(_run_model(kind))
    assert late == [40]


def _format_panes(main: Any) -> Any:
    start, end = main["window"]["start"], main["window"]["end"]
    bounds = (None, None) if start is None else (round(start.timestamp()), round(end.timestamp()))
    return str((main["k"], bounds, main["values"]))


def _run_model(kind: Any) -> Any:
    spec = json.loads(declaration(KINDS[kind], Emission()))
    for key in "ab":
        message = model(spec)
        mine = [(r["t"], r["v"], _mark(kind, r["v"])) for r in rows() if r["k"] == key and r["t"] is not None]
        for pane in [*message.batch(mine, None, 0), *message.batch([], END, 0)]:
            start, end, _ = pane["window"]
            bounds = (None, None) if kind == "global" else (start // SECOND, end // SECOND)
            yield str((key, bounds, pane["values"]))


def _mark(kind: Any, value: Any) -> Any:
    return value % 10 if kind == "delta" else value % 5 == 0
