"""The server side of the editor: the check of a document, completion, the first document."""

from __future__ import annotations

import pytest

from headrace.dashboard.editor.completion import complete
from headrace.dashboard.editor.documents import check_document
from headrace.dashboard.editor.sample_runs import locate_in_rows
from headrace.dashboard.editor.starters import STARTER
from headrace.errors import Problem


def labels(text: str) -> list[str]:
    lines = text.splitlines()
    return [option["label"] for option in complete(text, len(lines), len(lines[-1]))]


def test_first_document_is_valid() -> None:
    checked = check_document(STARTER)
    assert (checked.problems, checked.name) == ((), "first-job")
    assert checked.graph is not None


def test_problem_has_its_line_and_a_hint() -> None:
    checked = check_document(STARTER.replace("key_by: sensor", "key_by: senser"))
    [problem] = checked.problems
    assert STARTER.splitlines()[problem["line"] - 1].strip() == "key_by: sensor"
    assert "sensor" in problem["hint"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n- b",
        "name: [",
        "name: p\nsources: {tx: {memory: {}}}\nsteps: 7",
        "\0",
        "sources: {n}",
        "{}: p\n",
    ],
)
def test_broken_documents_have_problems(text: str) -> None:
    assert check_document(text).problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so", "sources"),
        ("sources:\n  tx:\n    ka", "kafka"),
        ("sources:\n  tx:\n    kafka:\n      to", "topic"),
        ("steps:\n  totals:\n    wi", "window"),
        ("steps:\n  totals:\n    window: {tu", "tumbling"),
        ("sinks:\n  out: {sq", "sqlite"),
    ],
)
def test_completion_offers_what_the_schema_allows(text: str, expected: str) -> None:
    assert expected in labels(text)


def test_inputs_of_a_valid_document_are_listed() -> None:
    [entry] = check_document(STARTER).inputs
    assert (entry.name, entry.kind) == ("readings", "source")
    assert check_document("name: p").inputs == ()


def test_problem_of_a_row_has_its_input_and_line() -> None:
    located = locate_in_rows(Problem("rows.tx:3: amount", "expected double", "hint"))
    assert (located["input"], located["line"], located["where"]) == ("tx", 3, "amount")
    located = locate_in_rows(Problem("pipeline.yaml:7:5: `totals`", "failed"))
    assert (located["input"], located["line"], located["located"]) == ("", 7, True)
    assert locate_in_rows(Problem("test", "the run took longer than 90 seconds"))["located"] is False
