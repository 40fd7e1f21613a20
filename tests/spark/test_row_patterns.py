"""Row patterns: errors of plans that cannot run, and the displayed state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from headrace import Pipeline, connect
from headrace.debugging.state import state_of
from headrace.errors import PlanError
from headrace.lowering.patterns.match_recognize import Expressions
from headrace.sql.match_recognize.statement import split_statement
from headrace.steps.base import Ref
from headrace.steps.patterns.match_recognize import RowPattern

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END = 253370764800000000


def expressions(spark: SparkSession, inside: str) -> tuple[Expressions, RowPattern]:
    query = f"select * from t match_recognize ({inside})"
    actual = split_statement(query, where="m")
    assert actual is not None
    frame = spark.createDataFrame(
        [],
        "k string, v int, ts timestamp, __ts timestamp, "
        "__position struct<source: string, partition: string, offset: bigint>",
    )
    node = RowPattern("m", Ref("t"), "t", query, "", actual.clause)
    return Expressions(frame, node), node


def matches(spark: SparkSession, inside: str, *values: int) -> list[dict[str, Any]]:
    step, node = expressions(spark, inside)
    rows = [{"v": v, "ts": i, "__ts": i, "__position": None} for i, v in enumerate(values, 1)]
    answer = step.driver(node.clause).run([{"rows": rows}, {"rows": [], "watermark": END}])
    return [row["__main"] for event in answer["events"] for row in event]


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("pattern (A) define A as A.v > 1 and vv = 2",
         "`m`: unknown column `vv` (line 1, column 70)\n  hint: did you mean `v`? Known: k, ts, v"),
        ("pattern (A) define A as last(A.w) > 1", "unknown column `w` (line 1, column 65)"),
        ("pattern (A) define A as A.v + 1", "DEFINE of `A` at line 1, column 58: expected a condition, got "
                                            "int"),
        ("measures array_max(A.v) as x pattern (A)", 'Cannot resolve "array_max(A.v)"'),
        ("pattern (A) define A as A.v < ", "Syntax error at or near end of input in `A.v <`"),
        ("measures last(nosuch(A.v)) as x pattern (A)", "Cannot resolve routine `nosuch`"),
    ],
)  # fmt: skip
def test_spark_errors_are_translated_to_the_words_of_the_query(
    spark: SparkSession, inside: str, message: str
) -> None:
    with pytest.raises(PlanError) as caught:
        expressions(spark, inside)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            "after match skip to first A pattern (A B)",
            "a match begins with A, so the search would never go on",
        ),
        ("after match skip to B pattern (A B? C) define B as false", "a match has no row of B"),
    ],
)
def test_a_skip_that_leads_nowhere_stops_the_run(spark: SparkSession, inside: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        matches(spark, f"measures last(v) as v {inside}", 1, 2, 3)


def test_an_expression_that_makes_rows_is_refused(spark: SparkSession) -> None:
    step, node = expressions(spark, "measures last(explode(array(A.v))) as x pattern (A)")
    with pytest.raises(Exception, match="expected expressions on rows, got one that needs a step of its own"):
        step.driver(node.clause).run([])


def test_a_subquery_is_a_constant(spark: SparkSession) -> None:
    actual = matches(
        spark,
        "measures A.v in (select 1 union select 3) as listed, (select 'x') as x, exists (select 1 where "
        "false) as none pattern (A) define A as A.v > (select 1)",
        1, 2, 3,
    )  # fmt: skip
    assert actual == [{"listed": False, "x": "x", "none": False}, {"listed": True, "x": "x", "none": False}]


def test_a_long_match_is_found_in_time_that_grows_with_its_rows(spark: SparkSession) -> None:
    actual = matches(
        spark,
        "measures count(*) as n, first(A.v) as f, sum(A.v) as s pattern (A+ B) "
        "define A as A.v >= first(A.v) and count(A.*) > 0, B as B.v = 0",
        *([1] * 20_000), 0,
    )  # fmt: skip
    assert actual == [{"n": 20_001, "f": 1, "s": 20_000}]


def test_ways_that_conditions_cannot_tell_apart_are_followed_once(spark: SparkSession) -> None:
    assert (
        matches(spark, "measures count(*) as n pattern ((A+)+ B) define B as B.v = 2", *([1] * 2_000)) == []
    )


def test_a_pattern_is_compiled_once_and_run_with_another_clause(spark: SparkSession) -> None:
    step, node = expressions(spark, "measures sum(v) as s pattern (A{2})")
    rows = [{"v": v, "ts": v, "__ts": v, "__position": None} for v in (1, 2, 3)]
    script = [{"rows": rows}, {"rows": [], "watermark": END}]
    other = replace(node.clause, skip="to_next")
    assert len(step.driver(node.clause).run(cast(Any, script))["events"][1]) == 1
    assert len(step.driver(other).run(cast(Any, script))["events"][1]) == 2


def test_the_state_shows_the_open_match_and_rows_that_wait(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        {"k": "a", "v": v, "ts": f"1970-01-01T00:00:{s:02}Z"} for v, s in ((5, 1), (4, 2), (3, 3), (2, 30))
    ]
    pipeline = Pipeline("falls")
    ticks = pipeline.read("t", connect.memory(rows=rows), schema="k string, v int, ts timestamp")
    ticks.event_time("ts", out_of_order="10 seconds")
    query = """select * from t match_recognize (partition by k order by ts measures last(b.v) as low
               pattern (b+) define b as b.v < prev(b.v))"""
    pipeline.sql("m", query).write("out", connect.files(path=str(tmp_path / "out"), format="json"))
    pipeline.run(until="caught_up", checkpoint=tmp_path / "state")
    [step] = state_of(pipeline._plan(), tmp_path / "state")
    [entry] = step.stored.entries
    [open_match], [waits] = entry["matches"], entry["waiting"]
    assert (entry["key"], open_match["found"], [row["v"] for row in open_match["rows"]]) == (
        {"k": "a"},
        0,
        [4, 3],
    )
    assert waits["row"]["v"] == 2
