"""The content of a sink: the rows that remain after all of its changes."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.steps.facts import CHANGE
from headrace.testing.transcripts.results.outputs import Output, show

_REMOVED = ("update_before", "delete")


def remaining_rows(rows: Sequence[Output], key: Sequence[str]) -> list[Output]:
    """Return the rows of a table after its changes; all rows if they are not changes and have no key.

    >>> changes = [{"k": "a", "n": 1, "change": "insert"}, {"k": "a", "n": 1, "change": "delete"}]
    >>> remaining_rows(changes, []), remaining_rows([{"k": "a", "n": 1}, {"k": "a", "n": 2}], ["k"])
    ([], [{'k': 'a', 'n': 2}])

    With a key, the row of a key that was added last remains.
    """
    if any(CHANGE in row for row in rows):
        remaining = _apply_changes(rows)
        return _last_rows(remaining, key) if key else remaining
    if not key:
        return list(rows)
    return _last_rows(rows, key)


def _last_rows(rows: Sequence[Output], key: Sequence[str]) -> list[Output]:
    return list({tuple(show(row.get(name)) for name in key): row for row in rows}.values())


def _apply_changes(rows: Sequence[Output]) -> list[Output]:
    """Return each row as often as it was added more than removed; the order of changes does not matter."""
    counts: dict[str, int] = {}
    contents: dict[str, Output] = {}
    for row in rows:
        plain = {name: value for name, value in row.items() if name != CHANGE}
        text = show(plain)
        contents[text] = plain
        count = counts.get(text, 0)
        if row.get(CHANGE) not in _REMOVED:
            counts.pop(text, None)  # a row that is added comes last
        counts[text] = count + (-1 if row.get(CHANGE) in _REMOVED else 1)
    return [contents[text] for text, count in counts.items() for _ in range(count)]
