"""The kernel's joins equal a brute-force join, micro-batch by micro-batch, on random streams out of order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.support import joins_model as model
from tests.support.joins_model import Batch, Result, Row

from headrace import windows
from headrace.joins.declare import AsOfJoin, IntervalJoin, TwoInputs, WindowJoin
from headrace.joins.lower import join_driver
from headrace.lowering.keyed_steps import KeyedStepDriver
from headrace.steps.base import Ref

SECOND = 1_000_000
POSITION = "__position struct<source: string, partition: string, offset: bigint>"
HOWS = ("inner", "left", "right", "full", "semi", "anti")
BOUNDS = ((-3, 3), (0, 4), (-5, -1), (2, 3), (0, 0))
WHERE = "left.value <= right.value"
CHECKED = settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Micro-batches with rows around a watermark that advances, then the end of the input."""
    batches, watermark, number = [], 0, 0
    for _ in range(draw(st.integers(1, 7))):
        watermark += draw(st.integers(0, 4))
        rows = []
        for _ in range(draw(st.integers(0, 5))):
            side = draw(st.sampled_from(["left", "right"]))
            key = draw(st.sampled_from(["a", "a", "a", "b", None]))
            time = max(0, watermark + draw(st.integers(-2, 8)))
            rows.append(Row(side, key, time, draw(st.integers(0, 2)), number))
            number += 1
        batches.append(Batch(tuple(rows), watermark or None))
    return [*batches, Batch((), model.NEVER)]


@cache
def driver(spark: SparkSession, node: TwoInputs) -> KeyedStepDriver:
    columns = f"k string, value int, id int, ts timestamp, __ts timestamp, {POSITION}"
    frame = spark.createDataFrame([], columns)
    return join_driver(frame, frame, node)


def run(
    spark: SparkSession, node: TwoInputs, batches: Sequence[Batch]
) -> tuple[list[Mapping[str, Any]], list[list[Any]]]:
    """Return the answer's counts and state, and the tagged rows of each micro-batch."""
    script: list[dict[str, Any]] = []
    for batch in batches:
        event: dict[str, Any] = {"rows": [pack(row) for row in batch.rows], "clock": 0, "restart": True}
        if batch.watermark is not None:
            event["watermark"] = batch.watermark * SECOND
        script.append(event)
    answer = driver(spark, node).run(script)
    return [answer["counts"], {"keys": answer["keys"]}], answer["events"]


def pack(row: Row) -> dict[str, Any]:
    own = {"k": row.key, "value": row.value, "id": row.id, "ts": row.time * SECOND}
    position = {"source": row.side, "partition": "0", "offset": row.id}
    side = {"left": None, "right": None, row.side: own}
    return {**side, "__key0": row.key, "__ts": row.time * SECOND, "__position": position, "__ahead": False}


def result(pair: Mapping[str, Any]) -> Result:
    window = pair.get("window")
    time = window["end"] if window else pair["__ts"]
    return (_id(pair["left"]), _id(pair["right"]), time // SECOND)


def _id(side: Mapping[str, Any] | None) -> int | None:
    return None if side is None else int(side["id"])


def compare(spark: SparkSession, node: TwoInputs, batches: Sequence[Batch], expected: model.Results) -> None:
    facts, events = run(spark, node, batches)
    main = [Counter(result(row["__main"]) for row in event if row["__output"] == "main") for event in events]
    assert main == expected
    late = [sum(row["__output"] == "late" for row in event) for event in events]
    assert late == [sum(rows.values()) for rows in model.late(batches)]
    counts, state = facts
    accounted = counts["processed"] + counts["late"] + counts["unmatched"]
    assert counts["rows"] == accounted == sum(len(batch.rows) for batch in batches)
    assert counts["buffered"] == 0
    keeps_latest = isinstance(node, AsOfJoin) and node.tolerance is None
    assert keeps_latest or state["keys"] == 0


def always(left: Row, right: Row) -> bool:
    return True


def grows(left: Row, right: Row) -> bool:
    return left.value <= right.value


@CHECKED
@given(
    batches=streams(), how=st.sampled_from(HOWS), bounds=st.sampled_from(BOUNDS), conditional=st.booleans()
)
def test_interval_joins_equal_the_model(
    spark: SparkSession, batches: list[Batch], how: Any, bounds: tuple[int, int], conditional: bool
) -> None:
    lower, upper = bounds
    node = _interval(how, lower, upper, WHERE if conditional else None)
    compare(
        spark,
        node,
        batches,
        model.interval_join(batches, how, lower, upper, grows if conditional else always),
    )


@CHECKED
@given(
    batches=streams(),
    how=st.sampled_from(HOWS),
    window=st.sampled_from([(5, 5), (6, 2), (4, 3)]),
    conditional=st.booleans(),
)
def test_window_joins_equal_the_model(
    spark: SparkSession, batches: list[Batch], how: Any, window: tuple[int, int], conditional: bool
) -> None:
    size, every = window
    node = _window(how, size, every, WHERE if conditional else None)
    compare(
        spark, node, batches, model.window_join(batches, how, size, every, grows if conditional else always)
    )


@CHECKED
@given(
    batches=streams(),
    direction=st.sampled_from(["backward", "forward", "nearest"]),
    tolerance=st.sampled_from([None, 0, 2, 5]),
    how=st.sampled_from(["left", "inner"]),
)
def test_as_of_joins_equal_the_model(
    spark: SparkSession, batches: list[Batch], direction: Any, tolerance: int | None, how: Any
) -> None:
    compare(
        spark,
        _as_of(direction, tolerance, how),
        batches,
        model.as_of_join(batches, direction, tolerance, how),
    )


def _interval(how: Any, lower: int, upper: int, where: str | None) -> IntervalJoin:
    bounds = tuple(f"{'-' * (bound < 0)}{abs(bound)} seconds" for bound in (lower, upper))
    return IntervalJoin.create("j", Ref("l"), Ref("r"), on="k", within=bounds, how=how, where=where)


def _window(how: Any, size: int, every: int, where: str | None) -> WindowJoin:
    kind = (
        windows.tumbling(f"{size} seconds")
        if size == every
        else windows.sliding(f"{size} seconds", every=f"{every} seconds")
    )
    return WindowJoin.create("j", Ref("l"), Ref("r"), keys=(("k", "k"),), window=kind, how=how, where=where)


def _as_of(direction: Any, tolerance: int | None, how: Any) -> AsOfJoin:
    distance = None if tolerance is None else f"{tolerance} seconds"
    return AsOfJoin.create("j", Ref("l"), Ref("r"), on="k", direction=direction, tolerance=distance, how=how)
