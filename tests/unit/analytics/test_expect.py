"""Expectations: their options, in Python and in documents, and their outputs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import DivertingStream, Pipeline, Stream, connect
from headrace.errors import DocumentError, ExpectationError, OptionError, PlanError
from headrace.functions.failures import expectation_message
from headrace.lowering.code.failures import as_user_code_error
from headrace.yaml import dump, from_text

DOCUMENT = """
name: p
sources: {{tx: {{memory: {{}}, schema: "card string, amount int"}}}}
steps:
  checked: {{from: tx, expect: {options}}}
sinks: {{out: {{from: checked, memory: {{}}}}}}
"""


def read_rows() -> Stream:
    return Pipeline("p").read("tx", connect.memory(), schema="card string, amount int")


def test_a_document_has_the_same_expectation_as_python() -> None:
    rows = read_rows()
    rows.expect("checked", on_fail="drop", positive="amount > 0", known="card is not null").write(
        "out", connect.memory()
    )
    graph = rows._pipeline._graph
    assert from_text(dump(graph))["checked"] == graph["checked"]
    text = "expect: {rules: {positive: amount > 0, known: card is not null}, on_fail: drop}"
    assert text in dump(graph)
    assert "positive: amount > 0" in str(rows._pipeline.explain())


def test_only_diverted_rows_are_an_output() -> None:
    checked = read_rows().expect("checked", positive="amount > 0")
    assert isinstance(checked, DivertingStream)
    facts = checked._pipeline._graph.facts(checked.dead_letters._ref)
    assert facts.columns == ("card", "amount", "reason", "violated")
    passed = read_rows().expect("checked", on_fail="warn", positive="amount > 0")
    assert passed._pipeline._graph["checked"].outputs == ("",)
    assert type(read_rows().key_by("card").expect("checked", positive="amount > 0")).__name__ == "KeyedStream"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "`checked`: expected at least one rule"),
        ({"positive": ""}, "`checked`: positive: expected a condition in Spark SQL, got ''"),
        ({"positive": 3}, "`checked`: positive: expected a condition in Spark SQL, got 3"),
        (
            {"positive": "amount > 0", "on_fail": "skip"},
            "`checked`: on_fail: expected one of dead_letter, drop, warn, fail, got 'skip'",
        ),
    ],
)
def test_an_invalid_argument_is_an_error_with_the_name_of_the_step(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(OptionError) as raised:
        read_rows().expect("checked", **options)
    assert str(raised.value).splitlines()[0] == problem


def test_a_rule_over_an_unknown_column_is_a_plan_error() -> None:
    rows = read_rows()
    rows.expect("checked", positive="amout > 0").write("out", connect.memory())
    with pytest.raises(PlanError) as raised:
        rows._pipeline.check()
    [error] = raised.value.problems
    assert error.what == "unknown column `amout`"
    assert error.hint.startswith("did you mean `amount`?")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("{on_fail: drop}", "`rules` of expect is missing"),
        ("{rules: {}}", "expected names and conditions, got an empty mapping"),
        (
            "{rules: {a: amount > 0}, on_fail: skip}",
            "expected one of dead_letter, drop, warn, fail, got `skip`",
        ),
    ],
)
def test_a_wrong_document_is_an_error_with_its_place(options: str, problem: str) -> None:
    with pytest.raises(DocumentError) as raised:
        from_text(DOCUMENT.format(options=options))
    [error] = raised.value.problems
    assert error.what == problem
    assert ":5:" in error.where


def test_a_violation_that_stops_the_run_names_the_step_and_the_rules() -> None:
    rows = read_rows()
    rows.expect("checked", on_fail="fail", positive="amount > 0").write("out", connect.memory())
    raised = RuntimeError(
        f"[USER_RAISED_EXCEPTION] {expectation_message('checked')}positive SQLSTATE: P0001\n  at"
    )
    error = as_user_code_error(rows._pipeline._graph, raised)
    assert isinstance(error, ExpectationError)
    assert error.what == "a row violates positive"
    assert "checked" in error.where
