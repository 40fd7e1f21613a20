"""Grouping sets: three spellings of one plan, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline, connect, statements, yaml
from headrace.errors import DocumentError, OptionError, PlanError
from headrace.expand.declare import Expand
from headrace.steps.base import Ref

SCHEMA = "a string, b string, v int"
SOURCE = "CREATE SOURCE s (a STRING, b STRING, v INT) WITH (connector = 'memory');"


def test_a_document_and_python_are_the_same_plan() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("s", connect.memory(), schema=SCHEMA)
    sets = rows.expand([["a", "b"], ["a"], []], step_name="sets")
    sets.key_by("a", "b", "grouping_id").aggregate("totals", n="sum(v)").write("out", connect.memory())
    document = """
        name: p
        sources: {s: {memory: {}, schema: "a string, b string, v int"}}
        steps:
          sets: {from: s, expand: [[a, b], [a], []]}
          totals: {from: sets, key_by: [a, b, grouping_id], aggregate: {n: sum(v)}}
        sinks: {out: {from: totals, memory: {}}}"""
    assert dict(pipeline._graph.nodes) == dict(yaml.from_text(document).nodes)
    assert dict(yaml.from_text(pipeline.to_yaml()).nodes) == dict(pipeline._graph.nodes)
    pipeline.check()
    assert "grouping sets (a, b), (a), ()" in pipeline.explain()


@pytest.mark.parametrize(
    ("clause", "sets"),
    [
        ("ROLLUP (a, b)", [["group_1", "group_2"], ["group_1"], []]),
        ("a, b WITH ROLLUP", [["group_1", "group_2"], ["group_1"], []]),
        ("CUBE (a, b)", [["group_1", "group_2"], ["group_1"], ["group_2"], []]),
        ("GROUPING SETS ((a), (b), (a, b))", [["group_1"], ["group_2"], ["group_1", "group_2"]]),
        ("a, GROUPING SETS ((b), ())", [["group_1"], []]),
        (
            "ROLLUP (a), CUBE (b)",
            [["group_1", "group_2"], ["group_1"], ["group_2"], []],
        ),
    ],
)
def test_clauses_of_sql_are_sets(clause: str, sets: list[list[str]]) -> None:
    script = (
        f"{SOURCE} CREATE VIEW v AS SELECT a, b, grouping_id() AS g, count(*) AS n FROM s GROUP BY {clause};"
    )
    graph = statements.from_text(script)
    assert graph.of(Expand)[0].expand == tuple(tuple(names) for names in sets)


def test_a_set_has_a_bit_for_each_column_that_it_lacks() -> None:
    node = Expand("sets", Ref("s"), (("a", "b"), ("a",), ("b",), ()))
    assert [node.identifier(names) for names in node.expand] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        ([["a"], ["c"]], "unknown grouping column `c`"),
        ([[]], "the sets have no column"),
        ([["a", "b"], ["b", "a"]], "two grouping sets are equal, so that rows would count twice"),
    ],
)
def test_sets_that_cannot_be_grouped_are_refused(sets: list[list[str]], problem: str) -> None:
    pipeline = Pipeline("p")
    pipeline.read("s", connect.memory(), schema=SCHEMA).expand(sets).write("out", connect.memory())
    with pytest.raises(PlanError) as caught:
        pipeline.check()
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("sets", "problem"),
    [([], "expected a list of lists"), ("a", "expected a list of lists"), ([[1]], "expected text, got 1")],
)
def test_a_value_that_is_no_list_of_lists_is_refused(sets: Any, problem: str) -> None:
    rows = Pipeline("p").read("s", connect.memory(), schema=SCHEMA)
    with pytest.raises(OptionError, match=problem):
        rows.expand(sets)


def test_rows_have_no_column_grouping_id_before() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("s", connect.memory(), schema="a string, grouping_id int")
    rows.expand([["a"], []]).write("out", connect.memory())
    with pytest.raises(PlanError, match="the rows have a column `grouping_id` already"):
        pipeline.check()


def test_sets_have_at_most_thirty_columns() -> None:
    names = [f"c{number}" for number in range(31)]
    pipeline = Pipeline("p")
    rows = pipeline.read("s", connect.memory(), schema=", ".join(f"{name} int" for name in names))
    rows.expand([names, []]).write("out", connect.memory())
    with pytest.raises(PlanError, match="the sets have 31 columns, at most 30 are possible"):
        pipeline.check()


def test_a_cube_of_many_columns_is_refused() -> None:
    columns = ", ".join(f"c{number}" for number in range(7))
    declared = ", ".join(f"c{number} INT" for number in range(7))
    script = f"CREATE SOURCE t ({declared}) WITH (connector = 'memory');"
    with pytest.raises(DocumentError, match="the query has more than 64 grouping sets\n  hint: leave"):
        statements.from_text(
            f"{script} CREATE VIEW v AS SELECT count(*) AS n FROM t GROUP BY CUBE ({columns});"
        )
