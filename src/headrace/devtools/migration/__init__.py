"""Rewrite programs and documents of version 0.2 to the spellings of this version."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """The replacement of the characters from `start` to `end` of a text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Note:
    """A line that has to be changed by hand."""

    line: int
    what: str


@dataclass(frozen=True)
class Migration:
    """The text of a file after the migration."""

    text: str
    notes: tuple[Note, ...] = ()


def apply_edits(text: str, edits: list[Edit]) -> str:
    """Return the text with edits that do not overlap.

    >>> apply_edits("a(name=1)", [Edit(2, 6, "step_name")])
    'a(step_name=1)'
    """
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
