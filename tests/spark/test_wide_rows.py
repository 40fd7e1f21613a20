"""Steps of the kernel over rows of 150 columns, for which Spark compiles no whole stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.step_results import results_of

from headrace import patterns, windows

LAST = "c149"
SCHEMA = ", ".join(["k string", "ts timestamp", *(f"c{n} int" for n in range(150))])
ROWS = [
    {"k": "a", "ts": f"2026-01-01T00:00:0{second}Z", **{f"c{n}": n + second for n in range(150)}}
    for second in range(3)
]
PAIR = patterns.step("first").next("second")


def counts(rows: Any) -> Any:
    return rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("step", n=f"sum({LAST})")


def pairs(rows: Any) -> Any:
    return rows.key_by("k").match("step", PAIR, within="1 minute", select={"n": f"second.{LAST}"})


def build_join(rows: Any) -> Any:
    columns = {"n": f"left.{LAST} + right.{LAST}"}
    return rows.join("step", rows, on="k", within="0 seconds", select=columns)


def newest(rows: Any) -> Any:
    return rows.key_by("k").latest("step").select("k", f"{LAST} as n")


def best(rows: Any) -> Any:
    return rows.key_by("k").top_n("step", n=1, order_by=f"{LAST} desc").select("k", f"{LAST} as n")


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (counts, [450]),
        (pairs, [150]),
        (build_join, [298, 300, 302]),
        (newest, [149, 150, 151]),
        (best, [151]),
    ],
)
def test_step_processes_wide_rows(
    spark: SparkSession, tmp_path: Path, step: Callable[[Any], Any], expected: list[int]
) -> None:
    results = results_of(step, ROWS, SCHEMA, tmp_path)
    assert sorted(row["n"] for row in results) == expected
