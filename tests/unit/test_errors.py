"""Errors survive the way between processes."""

from __future__ import annotations

import pickle

import pytest

from headrace.errors import DocumentError, HeadraceError, OptionError, PlanError, Problem

PROBLEMS = (Problem("p.yaml:1:1", "unknown key `a`", "remove it"), Problem("p.yaml:2:1", "no sources"))


@pytest.mark.parametrize(
    "error",
    [
        OptionError("unknown option", where="tx", hint="remove it"),
        PlanError(PROBLEMS),
        DocumentError(PROBLEMS),
    ],
    ids=lambda error: type(error).__name__,
)
def test_pickled_error_has_the_same_text_and_problems(error: HeadraceError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.problems) == (type(error), str(error), error.problems)
