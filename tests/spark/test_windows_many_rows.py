"""Many rows of one key.

Those that wait are kept in pieces, and trailing windows are put together of stretches.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from docs.playground.model.windows import model
from pyspark.sql import SparkSession

from headrace.windows.lower import WindowDriver

SECOND = 1_000_000
COLUMNS = "k string, v int, __ts timestamp, __when boolean, __of double"


def script(batches: int, rows: int, *, lag: int, disorder: int) -> list[dict[str, Any]]:
    """A second of event time with every batch, rows up to `disorder` seconds early, the watermark `lag` seconds behind."""
    chance = random.Random(5)
    events = []
    for number in range(batches):
        times = [(number * SECOND + chance.randrange(disorder * SECOND)) // 1000 * 1000 for _ in range(rows)]
        options = [
            {"v": number * rows + i, "__ts": t, "__when": False, "__of": 0.0} for i, t in enumerate(times)
        ]
        watermark = (number - lag) * SECOND if number > lag else None
        events.append({"rows": options, "watermark": watermark, "clock": 0})
    return [*events, {"rows": [], "watermark": 253402214400000000, "clock": 0}]


@pytest.mark.parametrize("disorder", [1, 12])
def test_rows_that_wait_for_long_come_out_in_order(spark: SparkSession, disorder: Any) -> None:
    driver = WindowDriver(spark.createDataFrame([], COLUMNS), ["k"], {"values": "collect_list(v)"})
    spec = {
        "window": {"kind": "count", "size": 7, "every": 7},
        "trigger": {"after_watermark": {}},
        "mode": "accumulating",
        "lateness": 0,
    }
    played = script(40, 60, lag=15, disorder=disorder)

    answer = driver.run(json.dumps(spec), played)

    rows = [row for event in played for row in event["rows"]]
    in_order = [row["v"] for row in sorted(rows, key=lambda row: row["__ts"])]
    received = [value for event in answer["events"] for row in event for value in row["__main"]["values"]]
    assert received == in_order
    assert (answer["counts"]["rows"], answer["counts"]["buffered"]) == (len(rows), 0)


def test_trailing_windows_of_many_rows_are_those_of_the_model(spark: SparkSession) -> None:
    aggregates = {"n": "count(*)", "total": "sum(v)", "most": "max(v)"}
    driver = WindowDriver(spark.createDataFrame([], COLUMNS), ["k"], aggregates)
    spec = {
        "window": {"kind": "trailing", "size": 10 * SECOND},
        "trigger": {"after_watermark": {}},
        "mode": "accumulating",
        "lateness": 3 * SECOND,
    }
    played = script(25, 30, lag=-1, disorder=3)
    message = model(spec)
    expected = [
        sorted(
            (row["window"][1], row["index"], len(row["values"]), sum(row["values"]), max(row["values"]))
            for row in out
        )
        for event in played
        for out in [message.batch([(r["__ts"], r["v"], None) for r in event["rows"]], event["watermark"], 0)]
    ]

    answer = driver.run(json.dumps(spec), played)

    assert [sorted(_format_panes(row["__main"]) for row in event) for event in answer["events"]] == expected
    assert max(n for event in expected for _, _, n, _, _ in event) > 200


def _format_panes(main: dict[str, Any]) -> tuple[int, int, int, int, int]:
    return main["window"]["end"], main["pane"]["index"], main["n"], main["total"], main["most"]
