"""The server side of the editor: the check of a document, completion, the first document."""

from __future__ import annotations

import pytest

from headrace.dashboard.editor.completion import complete
from headrace.dashboard.editor.documents import check_document
from headrace.dashboard.editor.starters import STARTER


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
    "text", ["", "- a\n- b", "name: [", "name: p\nsources: {tx: {memory: {}}}\nsteps: 7", "\0"]
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
