"""Spark's errors for an expression become one line and a hint."""

from __future__ import annotations

import pytest

from headrace.spark.errors import describe_error

EXPLAINED = {
    "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `amont` cannot be resolved. Did you mean one of "
    "the following? "
    "[`amount`, `kind`, `__ts`]. SQLSTATE: 42703; line 1 pos 0;\n'Project [...]": (
        "A column with name `amont` cannot be resolved",
        "did you mean `amount`, `kind`?",
    ),
    "[PARSE_SYNTAX_ERROR] Syntax error at or near end of input. SQLSTATE: 42601 (line 1, pos 8)\n\n== SQL "
    "==\namount <\n"
    "--------^^^\n": ("Syntax error at or near end of input in `amount <`", ""),
    '[DATATYPE_MISMATCH] Cannot resolve "(a > b)". SQLSTATE: 42K09\n\nJVM stacktrace:\nat x': (
        'Cannot resolve "(a > b)"',
        "",
    ),
}


@pytest.mark.parametrize("error", EXPLAINED)
def test_one_line_and_a_hint(error: str) -> None:
    assert describe_error(Exception(error)) == EXPLAINED[error]
