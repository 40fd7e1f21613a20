"""With no late rows, final results do not depend on how rows are divided into epochs.

Windows are compared by what is left of their panes after all retractions, joins by all of their rows. Patterns are
compared with a model that knows no epochs in `test_patterns_model.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.spark.test_joins_model import POSITION, result
from tests.spark.test_windows_model import COUNT, GLOBAL, MARKED, RESET, SESSION, SLIDING, TRAILING, TUMBLING

from headrace.joins.declare import IntervalJoin
from headrace.joins.lower import join_driver
from headrace.lowering.keyed_steps import KeyedStepDriver
from headrace.steps.base import Ref
from headrace.windows.lower import WindowDriver

END = 253402214400000000
CHECKED = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
HOWS = ("inner", "left", "right", "full", "semi", "anti")

WINDOWS = st.one_of(TUMBLING, SLIDING, SESSION, GLOBAL, COUNT, MARKED, RESET, TRAILING)
EARLY = st.sampled_from(
    [{}, {"early": {"repeatedly": {"after_count": 2}}}, {"early": {"repeatedly": {"every": 2}}}]
)
TIMES = st.lists(st.integers(0, 40_000).map(lambda millis: millis * 1_000), min_size=1, max_size=12)


@st.composite
def divisions(draw: st.DrawFn, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a script that divides rows into epochs, with watermarks below all rows that follow."""
    events: list[dict[str, Any]] = []
    start, watermark = 0, 0
    while start < len(rows):
        end = draw(st.integers(start, len(rows)))
        event: dict[str, Any] = {"rows": rows[start:end], "clock": len(events) * 1_000_000}
        if draw(st.booleans()):  # in whole milliseconds, and in force for the rows of its epoch
            highest = min(row["__ts"] for row in rows[start:])
            watermark = max(watermark, draw(st.integers(0, highest // 1_000)) * 1_000)
            event.update({"watermark": watermark} if watermark else {})
        events.append(event)
        start = end
    return [*events, {"rows": [], "watermark": END, "clock": len(events) * 1_000_000}]


def in_one_epoch(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"rows": rows, "clock": 0}, {"rows": [], "watermark": END, "clock": 0}]


@pytest.fixture(scope="module")
def window_driver(spark: SparkSession) -> Any:
    frame = spark.createDataFrame([], "k string, v int, __ts timestamp, __when boolean, __of double")
    return WindowDriver(frame, ["k"], {"values": "sort_array(collect_list(v))"})


def rest_of_panes(driver: Any, spec: dict[str, Any], script: list[dict[str, Any]]) -> Counter[str]:
    """Return the panes that are not retracted."""
    left: Counter[str] = Counter()
    for row in (row for event in driver.run(json.dumps(spec), script)["events"] for row in event):
        assert row["__output"] == "main", f"a late row: {row}"
        pane = {name: value for name, value in row["__main"].items() if not name.startswith("__")}
        retraction = pane.pop("pane")["retraction"]
        left[json.dumps(pane, sort_keys=True)] += -1 if retraction else 1
    return +left


@CHECKED
@given(data=st.data(), window=WINDOWS, early=EARLY, times=TIMES)
def test_final_panes(window_driver: Any, data: Any, window: Any, early: Any, times: list[int]) -> None:
    window = {**window, "order": "event_time"} if "order" in window else window
    spec = {"window": window, "trigger": {"after_watermark": early}, "mode": "retracting", "lateness": 0}
    rows = [
        {"v": number, "__ts": time, "__when": number % 3 == 0, "__of": float(number % 4)}
        for number, time in enumerate(times)
    ]
    divided = data.draw(divisions(rows))
    assert rest_of_panes(window_driver, spec, divided) == rest_of_panes(
        window_driver, spec, in_one_epoch(rows)
    )


@CHECKED
@given(
    data=st.data(),
    how=st.sampled_from(HOWS),
    bounds=st.sampled_from(
        [("-3 seconds", "3 seconds"), ("0 seconds", "4 seconds"), ("-5 seconds", "-1 seconds")]
    ),
    sides=st.lists(
        st.tuples(st.sampled_from(["left", "right"]), st.integers(0, 12)), min_size=1, max_size=12
    ),
)
def test_joined_rows(
    spark: SparkSession, data: Any, how: Any, bounds: Any, sides: list[tuple[str, int]]
) -> None:
    driver = _interval_driver(spark, how, bounds)
    rows = [_row(number, side, second * 1_000_000) for number, (side, second) in enumerate(sides)]
    assert joined(driver, data.draw(divisions(rows))) == joined(driver, in_one_epoch(rows))


@cache
def _interval_driver(spark: SparkSession, how: Any, bounds: tuple[str, str]) -> KeyedStepDriver:
    columns = f"k string, value int, id int, ts timestamp, __ts timestamp, {POSITION}"
    frame = spark.createDataFrame([], columns)
    node = IntervalJoin.create("j", Ref("l"), Ref("r"), on="k", within=bounds, how=how, where=None)
    return join_driver(frame, frame, node)


def _row(number: int, side: str, time: int) -> dict[str, Any]:
    own = {"k": "a", "value": 0, "id": number, "ts": time}
    position = {"source": side, "partition": "0", "offset": number}
    both = {"left": None, "right": None, side: own}
    return {**both, "__key0": "a", "__ts": time, "__position": position, "__ahead": False}


def joined(driver: KeyedStepDriver, script: list[dict[str, Any]]) -> Counter[Any]:
    rows = [row for event in driver.run(script)["events"] for row in event]
    assert {row["__output"] for row in rows} <= {"main"}
    return Counter(result(row["__main"]) for row in rows)
