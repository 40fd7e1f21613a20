"""Random row patterns: the kernel, fed out of order in batches and restarted, finds what the plain model finds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.row_pattern_model import Condition, Match, Model, Row, StuckError

from headrace.lowering.patterns.match_recognize import Expressions
from headrace.lowering.watermarks import END_OF_TIME_MS
from headrace.sql.match_recognize.clause import MatchRecognize
from headrace.sql.match_recognize.pattern import (
    Alternatives,
    Anchor,
    Exclusion,
    Pattern,
    Permutation,
    Repeat,
    Sequence,
    Variable,
    contains,
)
from headrace.sql.match_recognize.statement import split_statement
from headrace.steps.base import Ref
from headrace.steps.patterns.match_recognize import RowPattern

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
NEVER = Sequence((Variable("F"), Anchor("start"), *map(Variable, "ABCDE")))
"""Names all variables and matches nothing: the start is not behind a row."""
QUERY = """
select * from t match_recognize (
    partition by k order by ts
    measures match_number() as number, classifier() as label, first(id) as since, final last(id) as until,
             running sum(v) as total, final count(b.*) as falls, prev(first(v)) as before, next(last(v)) as after,
             last(b.v) as fell, prev(classifier()) as label_before
    all rows per match
    pattern (a b c d e f)
    define a as a.v > 1,
           b as b.v < prev(b.v),
           c as c.v >= first(a.v),
           d as count(d.*) <= 2 and sum(b.v) > 1,
           e as e.v = next(e.v) or last(c.v, 1) = e.v)
"""


def first(values: list[int]) -> int | None:
    return values[0] if values else None


def less(a: int | None, b: int | None) -> bool | None:
    return None if a is None or b is None else a < b


def either(a: bool | None, b: bool | None) -> bool | None:
    return True if a or b else None if a is None or b is None else False


def same(a: int | None, b: int | None) -> bool | None:
    return None if a is None or b is None else a == b


def rising(m: Match) -> bool | None:
    earlier = less(m.values("v")[-1], first(m.values("v", "A")))
    return None if earlier is None else not earlier


def repeat(m: Match) -> bool | None:
    now, seen = m.values("v")[-1], m.values("v", "C")
    return either(same(now, m.beside(m.last + 1, "v")), same(seen[-2] if len(seen) > 1 else None, now))


CONDITIONS: dict[str, Condition] = {
    "A": lambda m: m.values("v")[-1] > 1,
    "B": lambda m: less(m.values("v")[-1], m.beside(m.last - 1, "v")),
    "C": rising,
    "D": lambda m: m.labels.count("D") <= 2 and bool(m.values("v", "B")) and sum(m.values("v", "B")) > 1,
    "E": repeat,
}

variables = st.sampled_from("AABBCDEF").map(Variable)
anchors = st.sampled_from([Anchor("start"), Anchor("end")])


def larger(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    counts = st.sampled_from([(0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 3), (2, 2)])
    return st.one_of(
        several.map(Sequence),
        several.map(Alternatives),
        st.lists(inner, min_size=2, max_size=3).map(tuple).map(Permutation),
        st.builds(lambda of, n, greedy: Repeat(of, n[0], n[1], greedy), inner, counts, st.booleans()),
        st.builds(Exclusion, inner),
    )


patterns = st.recursive(
    st.one_of(variables, variables, variables, anchors, st.just(Sequence(()))), larger, max_leaves=6
)
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=7)
"""Each row's value, seconds since the row before, and the batch it comes in."""


@pytest.fixture(scope="module")
def expressions(spark: SparkSession) -> Expressions:
    frame = spark.createDataFrame(
        [],
        "k string, id bigint, v bigint, ts timestamp, __ts timestamp, "
        "__position struct<source: string, partition: string, offset: bigint>",
    )
    return Expressions(frame, RowPattern("m", Ref("t"), "t", QUERY, "", clause()))


def clause() -> MatchRecognize:
    actual = split_statement(QUERY, where="m")
    assert actual is not None
    return actual.clause


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pattern=patterns,
    shown=st.sampled_from(["one", "show_empty", "omit_empty", "with_unmatched"]),
    skip=st.sampled_from(["past_last", "to_next", "past_last", "to_first", "to_last"]),
    within=st.sampled_from([None, None, 3 * SECOND]),
    given_rows=rows,
    restarts=st.booleans(),
)
def test_random_patterns_match_as_the_model_does_in_any_batches(
    expressions: Expressions,
    pattern: Pattern,
    shown: Any,
    skip: Any,
    within: int | None,
    given_rows: list[tuple[int, int, int]],
    restarts: bool,
) -> None:
    if shown == "with_unmatched" and contains(pattern, Exclusion):
        shown = "show_empty"
    declared = replace(
        clause(),
        pattern=Alternatives((pattern, NEVER)),
        rows=shown,
        skip=skip,
        skip_to=("B", "C"),
        within=within,
    )
    given_ones, batches = in_batches(given_rows)
    try:
        actual = Model(declared, CONDITIONS, given_ones).search()
    except StuckError:
        with pytest.raises(Exception, match="AFTER MATCH SKIP TO B or C"):
            expressions.driver(declared).run(make_script(batches, restarts))
        return
    answer = expressions.driver(declared).run(make_script(batches, restarts))
    received = [tagged["__main"] for event in answer["events"] for tagged in event]
    expected = [line for match, at in actual for line in lines(declared, match, at)]
    assert [
        {name: row.get(name) for name in line} for line, row in zip(expected, received, strict=False)
    ] == expected
    assert len(received) == len(expected)


def in_batches(given_rows: list[tuple[int, int, int]]) -> tuple[list[Row], list[list[Row]]]:
    """The rows in the order of time, and as they come: up to three batches late."""
    ordered, batches, time = list[Row](), [list[Row]() for _ in range(len(given_rows) + 4)], 0
    for number, (value, gap, late) in enumerate(given_rows):
        time += gap * SECOND
        ordered.append({"id": number, "v": value, "ts": time})
        batches[number + late].append(ordered[-1])
    return ordered, batches


def make_script(batches: list[list[Row]], restarts: bool) -> list[dict[str, Any]]:
    """Batches, each under the highest watermark that makes no row late."""
    script, offset = list[dict[str, Any]](), 0
    for i, batch in enumerate(batches):
        come = [
            {"k": "k", **row, "__ts": row["ts"], "__position": position(offset + n)}
            for n, row in enumerate(batch)
        ]
        offset += len(batch)
        ahead = [row["ts"] for later in batches[i + 1 :] for row in later]
        script.append({"rows": come, "restart": restarts})
        if ahead:
            script.append({"rows": [], "watermark": min(ahead)})
    return [*script, {"rows": [], "watermark": END_OF_TIME_MS * 1000}]


def position(offset: int) -> dict[str, Any]:
    return {"source": "t", "partition": "0", "offset": offset}


def lines(declared: MatchRecognize, match: Match | None, at: int) -> list[dict[str, Any]]:
    """Return the output of a match, or of an unmatched row."""
    if match is None:
        return [{"id": at, "number": None, "label": None}] if declared.rows == "with_unmatched" else []
    if not match.labels:
        empty = {"number": match.number, "label": None, "since": None, "falls": 0, "total": None}
        return [] if declared.rows == "omit_empty" else [empty]
    if declared.rows == "one":
        return [compute_measures(match, match)]
    sizes = [size for size in range(1, len(match.labels) + 1) if size - 1 not in match.hidden]
    return [{"id": match.start + size - 1, **compute_measures(match.up_to(size), match)} for size in sizes]


def compute_measures(now: Match, whole: Match) -> dict[str, Any]:
    fell = now.values("v", "B")
    return {
        "number": now.number,
        "label": now.labels[-1],
        "since": now.start,
        "until": whole.last,
        "total": sum(now.values("v")),
        "falls": whole.labels.count("B"),
        "before": now.beside(now.start - 1, "v"),
        "after": now.beside(now.last + 1, "v"),
        "fell": fell[-1] if fell else None,
        "label_before": now.labels[-2] if len(now.labels) > 1 else None,
    }
