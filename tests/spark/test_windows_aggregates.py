"""Any Spark aggregate runs in a window: the kernel's answers beside Spark's own."""

from __future__ import annotations

import json
import math
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession, functions

from headrace import triggers, windows
from headrace.windows.lower import WindowDriver, declaration

SECOND = 1_000_000
AGGREGATES = {
    "n": "count(*)",
    "known": "count(x)",
    "total": "sum(v)",
    "mean": "avg(x)",
    "spread": "stddev(x)",
    "low": "min(s)",
    "high": "max(x)",
    "filtered": "sum(v) filter (where v > 2)",
    "filtered_list": "sort_array(collect_list(v) filter (where v % 2 = 0))",
    "different": "count(distinct v % 3)",
    "different_pairs": "count(distinct v % 3, s)",
    "sum_of_different": "sum(distinct v % 3)",
    "list": "sort_array(collect_list(v))",
    "set": "sort_array(collect_set(v % 4))",
    "middle": "percentile(v, 0.5)",
    "roughly_middle": "percentile_approx(v, 0.5)",
    "latest": "max_by(s, v)",
    "common": "mode(v % 2)",
    "about_different": "approx_count_distinct(v)",
    "sketched": "hll_sketch_estimate(hll_sketch_agg(v))",
    "any_large": "bool_or(v > 6)",
    "how_many_large": "count_if(v > 6)",
    "line": "regr_slope(v, x)",
    "decimal": "sum(cast(v as decimal(10, 2)))",
    "bits": "bit_or(v)",
    "mixed": "sum(v) / count(*) + length(k)",
    "pairs": "sort_array(collect_list(struct(v, s)))",
    "skew": "skewness(x)",
    "text": "array_join(sort_array(collect_list(s)), ',')",
}
ROWS = [
    {"k": "a", "v": v, "x": None if v == 4 else v * 1.5, "s": "mnopq"[v % 5], "t": t}
    for v, t in enumerate([30, 1, 50, 12, 40, 3, 22, 60, 11])
]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> Any:
    return spark.createDataFrame([], "k string, v int, x double, s string, __ts timestamp")


def run(frame: Any, aggregates: dict[str, Any], window: windows.Window) -> list[dict[str, Any]]:
    """Each row in a batch of its own, so that buffers are stored and read again, and sessions merge."""
    driver = WindowDriver(frame, ["k"], aggregates)
    script: list[dict[str, Any]] = [
        {"rows": [{**row, "__ts": cast(int, row["t"]) * SECOND}], "clock": 0} for row in ROWS
    ]
    script.append({"rows": [], "watermark": 253402214400000000, "clock": 0})
    answer = driver.run(declaration(window, triggers.Emission.create()), script)
    return [row["__main"] for event in answer["events"] for row in event]


@pytest.mark.parametrize(
    "window", [windows.global_window(), windows.session("15 seconds")], ids=["kept", "merged"]
)
def test_kernel_aggregates_as_spark_does(spark: SparkSession, frame: DataFrame, window: Any) -> None:
    (received,) = run(frame, AGGREGATES, window)

    table = spark.createDataFrame(ROWS, "k string, v int, x double, s string, t int")
    message = table.groupBy("k").agg(*(functions.expr(e).alias(n) for n, e in AGGREGATES.items()))
    [expected] = [
        json.loads(row[0]) for row in message.select(functions.to_json(functions.struct("*"))).collect()
    ]

    assert {name: _near(received[name]) for name in AGGREGATES} == {
        n: _near(expected.get(n)) for n in AGGREGATES
    }


def _near(value: Any) -> Any:
    """Sums in another order differ in the last digits."""
    if isinstance(value, float) and abs(value) < 1e-9:
        return 0.0
    return float(f"{value:.9g}") if isinstance(value, float) and math.isfinite(value) else value


def test_column_is_taken_as_well_as_text(frame: DataFrame) -> None:
    (received,) = run(frame, {"total": functions.sum("v")}, windows.global_window())

    assert received["total"] == sum(range(9))


def test_aggregate_over_other_groups_is_refused(frame: DataFrame) -> None:
    with pytest.raises(IllegalArgumentException, match="needs a step of its own"):
        WindowDriver(frame, ["k"], {"n": "sum(sum(v)) over ()"})


def test_python_function_is_refused(frame: DataFrame) -> Any:
    def double(values: Any) -> Any:  # never called: only the plan is looked at
        return values

    with pytest.raises(IllegalArgumentException, match="double is a Python function"):
        WindowDriver(frame, ["k"], {"n": functions.sum(functions.udf(double, "int", useArrow=False)("v"))})


def test_unknown_kind_of_window_is_shown(frame: DataFrame) -> None:
    driver = WindowDriver(frame, ["k"], {"n": "count(*)"})
    with pytest.raises((Py4JJavaError, IllegalArgumentException), match="unknown window kind: spiral"):
        driver.run('{"window": {"kind": "spiral"}, "trigger": {"after_count": 1}, "mode": "discarding"}', [])
