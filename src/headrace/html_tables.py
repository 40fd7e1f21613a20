"""Tables in HTML for notebooks, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

MOST_ROWS = 20
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;border:0"
_NUMBER = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"
_FAINT = "opacity:.65"


def rows_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table; of more than `MOST_ROWS`, the first ones and their number."""
    count = len(rows)
    if not rows:
        return f'<span style="{_FAINT}">no rows</span>'
    shown = rows[:MOST_ROWS]
    names = list(dict.fromkeys(name for row in shown for name in row))
    table = html_table(names, [[row.get(name) for name in names] for row in shown])
    more = f"{len(shown)} of {count:,} rows" if count > len(shown) else f"{count:,} rows"
    return f'{table}<div style="{_FAINT}">{more if count != 1 else "1 row"}</div>'


def html_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with a heading; numbers are aligned to the right.

    >>> html_table(["n"], [[1]]).count("<td")
    1
    """
    head = "".join(f'<th style="{_CELL};font-weight:600">{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    style = "border-collapse:collapse;font-size:13px"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f'<td style="{_NUMBER if is_number else _CELL}">{escape(format_value(value))}</td>'


def format_value(value: Any) -> str:  # noqa: PLR0911
    """Return a value as it is shown in a cell."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat(sep=" ")
        case int():
            return str(value)
        case Mapping():
            return "{" + ", ".join(f"{name}: {format_value(item)}" for name, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(format_value, value)) + "]"
        case _:
            return str(value)
