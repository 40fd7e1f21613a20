"""Errors of Spark queries are translated with the step of the expression that failed."""

from __future__ import annotations

from headrace import Pipeline, connect
from headrace.runtime.failures import translate_error

CAST = """[CAST_INVALID_INPUT] The value 'a' of the type "STRING" cannot be cast to "INT" because it is \
malformed. Use `try_cast` to tolerate malformed input and return NULL instead. SQLSTATE: 22018
== SQL (line 1, position 1) ==
cast(card as int) + 1
^^^^^^^^^^^^^^^^^

\tat org.apache.spark.sql.errors.QueryExecutionErrors$.invalidInputInCastToNumberError(QueryExecutionErrors.scala)
"""


def pipeline(*expressions: str) -> Pipeline:
    result = Pipeline("cast")
    rows = result.read("rows", connect.memory(), schema="card string")
    for number, expression in enumerate(expressions):
        step = rows.select(x=expression, step_name=f"step_{number}")
        step.write(f"out_{number}", connect.memory())
    return result


def test_failed_expression_is_reported_with_its_step() -> None:
    graph = pipeline("upper(card)", "cast(card as int) + 1")._plan()
    error = translate_error(graph, RuntimeError(CAST))
    assert error.where.endswith("`step_1`")
    assert "test_failures.py:" in error.where
    assert error.what == (
        'The value \'a\' of the type "STRING" cannot be cast to "INT" because it is malformed. Use `try_cast`'
        " to tolerate malformed input and return NULL instead in `cast(card as int) + 1`"
    )
    assert error.hint == "see Spark's log"


def test_expression_of_two_steps_is_reported_without_a_step() -> None:
    graph = pipeline("cast(card as int) + 1", "cast(card as int) + 1")._plan()
    error = translate_error(graph, RuntimeError(CAST))
    assert error.where == ""
    assert error.what.endswith("in `cast(card as int) + 1`")
