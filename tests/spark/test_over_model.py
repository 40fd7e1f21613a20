"""Window functions over random rows and changes equal Spark's `OVER` over the same rows in a batch."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.over.declare import Over, OverWindow
from headrace.over.lower import over_driver
from headrace.steps.base import Ref
from headrace.steps.facts import Facts

SECOND = 1_000_000
ROW = "k string, v int, id int, ts timestamp, __ts timestamp"
FRAMES: list[tuple[dict[str, Any], str]] = [
    ({"rows": 0}, "rows between current row and current row"),
    ({"rows": 2}, "rows between 2 preceding and current row"),
    ({"rows": "unbounded"}, "rows between unbounded preceding and current row"),
    ({}, "range between unbounded preceding and current row"),
    ({"range": 3}, "range between 3 preceding and current row"),
]
AGGREGATES = {
    "total": "sum(v)",
    "n": "count(v)",
    "mean": "avg(v)",
    "best": "max(v)",
    "kinds": "array_join(sort_array(collect_set(v)), ' ')",
    "big": "sum(v) filter (where v > 2)",
}
PLACES = {
    "place": "row_number()",
    "r": "rank()",
    "d": "dense_rank()",
    "before": "lag(v)",
    "two": "lag(id, 2, -id)",
    "behind": "lead(id, 1, 0)",
}
ORDERS = {"ordered": "ts", "table": "v", "table desc": "v desc nulls first"}


def options_of(frame: Mapping[str, Any], form: str) -> dict[str, Any]:
    """Return the options of a frame; a range over event time is a duration."""
    timed = form == "ordered" and "range" in frame
    return {"order_by": ORDERS[form], **({"range": "3 seconds"} if timed else frame)}


def expected_results(spark: SparkSession, rows: Sequence[Sequence[Any]], form: str) -> dict[Any, list[Any]]:
    """Return the results of each row by example, frame and id; of equal rows, the earlier ones are first."""
    order = ORDERS[form].replace("ts", "t")
    frame = spark.createDataFrame(list(rows), "example int, k string, v int, id int, t int, sequence int")
    frame.createOrReplaceTempView("over_rows")
    columns = []
    for number, (_, text) in enumerate(FRAMES):
        by = f"{order}, sequence" if text.startswith("rows") else order
        window = f"(partition by example, k order by {by} {text})"
        columns += [f"{over(call, window)} as {name}_{number}" for name, call in AGGREGATES.items()]
    for name, call in PLACES.items():
        by = order if name in ("r", "d") else f"{order}, sequence"
        columns.append(f"{call} over (partition by example, k order by {by}) as {name}")
    result = defaultdict(list)
    for row in spark.sql(f"select example, id, {', '.join(columns)} from over_rows").collect():
        for number in range(len(FRAMES)):
            values = [row[f"{name}_{number}"] for name in AGGREGATES] + [row[name] for name in PLACES]
            result[row.example, number].append([row.id, *values])
    return {key: sorted(values) for key, values in result.items()}


def over(call: str, window: str) -> str:
    """Return a call over a window; the aggregate may be inside another function."""
    if "collect_set(v)" in call:
        return call.replace("collect_set(v)", f"collect_set(v) over {window}")
    return f"{call} over {window}"


def run(spark: SparkSession, form: str, number: int, scripts: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return the results that remain after all changes, by example."""
    columns = tuple({**AGGREGATES, **PLACES}.items())
    window = OverWindow.create(**options_of(FRAMES[number][0], form))
    node = Over("o", Ref("tx"), keys=(("k", "k"),), over=window, aggregates=columns)
    facts = Facts(columns=("k", "v", "id", "ts"), timed=form == "ordered", time_column="ts")
    frame = spark.createDataFrame([], ROW if form == "ordered" else f"{ROW}, __change string")
    driver = over_driver(frame, ["k"], node, facts)
    results = {}
    for example, script in enumerate(scripts):
        left: list[Any] = []
        for event in driver.run(script)["events"]:
            for row in (each["__main"] for each in event if each["__output"] == "main"):
                values = [row.get(name) for name in ("id", *AGGREGATES, *PLACES)]
                if row.get("change") in ("update_before", "delete"):
                    left.remove(values)
                else:
                    left.append(values)
        if left:
            results[example, number] = sorted(left)
    return results


def timed_script(chance: random.Random, example: int) -> tuple[list[Any], list[Any]]:
    """Return rows, and the script that feeds them; the watermark passes no later row."""
    rows = [
        (example, chance.choice("ab"), chance.choice([None, 0, 1, 2, 3, 5]), i, chance.randint(1, 12), i)
        for i in range(chance.randint(0, 14))
    ]
    script: list[dict[str, Any]] = []
    while sum(len(event["rows"]) for event in script) < len(rows):
        start = sum(len(event["rows"]) for event in script)
        taken = rows[start : start + chance.randint(1, 5)]
        until = min((row[4] for row in rows[start + len(taken) :]), default=1)
        script.append(event([plain(row) for row in taken], None))
        script.append(event([], until))
    return rows, [*script, event([], 253_370_764_800)]


def changed_script(chance: random.Random, example: int) -> tuple[list[Any], list[Any]]:
    """Return the rows that remain, and the script that adds and removes rows."""
    rows: list[Any] = []
    script = []
    for batch in range(chance.randint(1, 6)):
        changes: list[Any] = []
        for i in range(chance.randint(0, 5)):
            number = 10 * batch + i
            if rows and chance.random() < 0.3:
                row = rows.pop(chance.randrange(len(rows)))
                if not any(change["id"] == row[3] for change in changes):
                    changes.append(plain(row) | {"__change": "delete"})
                    continue
                rows.append(row)
            row = (example, chance.choice("ab"), chance.choice([None, 0, 1, 2, 3, 5]), number, 0, number)
            rows.append(row)
            changes.append(plain(row) | {"__change": "insert"})
        script.append(event(changes, None))
    return rows, script


def plain(row: Sequence[Any]) -> dict[str, Any]:
    return {"k": row[1], "v": row[2], "id": row[3], "ts": row[4] * SECOND, "__ts": row[4] * SECOND}


def event(rows: list[Any], watermark: int | None) -> dict[str, Any]:
    mark = {} if watermark is None else {"watermark": watermark * SECOND}
    return {"rows": rows, "clock": 0, "restart": True, **mark}


@pytest.mark.parametrize("form", ORDERS)
def test_results_are_those_of_a_batch(spark: SparkSession, form: str) -> None:
    chance = random.Random(form)
    make = timed_script if form == "ordered" else changed_script
    rows, scripts = zip(*(make(chance, example) for example in range(60)), strict=True)
    expected = expected_results(spark, [row for each in rows for row in each], form)
    results: dict[Any, list[Any]] = {}
    for number in range(len(FRAMES)):
        results |= run(spark, form, number, scripts)
    assert results == expected
