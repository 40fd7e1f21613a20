"""A new version of a job's document: its differences, and the words of the upgrade plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.checkpoints.comparison import Comparison, StepChange

VERDICTS = {
    "compatible": "Compatible: the state stays, and the job goes on from its checkpoint",
    "migrates": "Migrates: the state of renamed steps is moved, and the job goes on from its checkpoint",
    "replay": "Needs a replay: the stored state does not fit. Submit it as a new job, or rename the steps",
}
TONES = {
    "compatible": "ok",
    "continues": "ok",
    "migrates": "warn",
    "overwritten": "warn",
    "replaced": "warn",
    "replay": "bad",
    "appended": "bad",
}
"""Severities of the verdicts; others are neutral."""


@dataclass(frozen=True)
class DiffLine:
    """One line of a difference: `added`, `removed`, `same`, or the `gap` before a changed part."""

    kind: str
    text: str


def diff_lines(old: str, new: str) -> list[DiffLine]:
    r"""Return the changed lines of a document with two lines around them; empty if nothing changed.

    >>> [(line.kind, line.text) for line in diff_lines("a: 1\nb: 2\n", "a: 1\nb: 3\n")]
    [('same', 'a: 1'), ('removed', 'b: 2'), ('added', 'b: 3')]
    """
    kinds = {"+": "added", "-": "removed", "@": "gap"}
    changes = list(unified_diff(old.splitlines(), new.splitlines(), n=2, lineterm=""))[2:]
    lines = [DiffLine(kinds.get(line[:1], "same"), line[1:]) for line in changes]
    return [DiffLine("gap", "") if line.kind == "gap" else line for line in lines[1:]]


def notes_of(change: StepChange) -> Iterator[str]:
    """Yield the reasons for the verdict about a step, and where it starts to read."""
    if change.renamed_from:
        yield f"the state of {change.renamed_from}, whose declaration is the same"
    yield from change.reasons
    start = "replay from" if change.verdict == "replay" else "reads from"
    yield from (f"{start} {position}" for position in change.replay_from)


def verdict_of(comparison: Comparison) -> tuple[str, str]:
    """Return the severity and the words for a comparison."""
    return TONES[comparison.verdict], VERDICTS[comparison.verdict]
