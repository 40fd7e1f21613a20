"""Incremental reads of an append-only table: a column that increases with every row is the offset.

A split is a range of that column, open below and closed above. Values are compared by the database only,
which defines the order of its times, numbers and texts.

Rows do not become visible in the order of their numbers: a transaction takes number 7, another takes 8 and
commits first. A reader that reads up to 8 at that moment would miss 7. So a value becomes the high watermark
only after `delay`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.driver_source import Offset
from headrace.connectors.sql.dialect import Dialect, Session

_PARAMETER = "\0"
"""A placeholder for a query parameter; it occurs in no identifier."""


@dataclass(frozen=True)
class CursorSplit:
    """The rows of one task: after `start`, up to and including `end`."""

    start: Offset
    end: str
    number: int = 0
    """Its position among the splits of an epoch."""

    def encode(self) -> bytes:
        """Return the split as it is sent to a task."""
        return json.dumps([self.start, self.end, self.number]).encode()

    @classmethod
    def decode(cls, content: bytes) -> CursorSplit:
        """Read a split from `encode`."""
        return cls(*json.loads(content))


@dataclass(frozen=True)
class CursorTable:
    """The queries of a table with a cursor column.

    An offset is `{"after": text}`, None for the beginning, or `{"from": text}`, which includes the value.
    """

    dialect: Dialect
    table: str
    cursor: str
    declared: str
    """The declared type of the cursor column."""
    columns: dict[str, str]
    """The columns to read, with their declared types."""

    def highest(self, session: Session) -> str | None:
        """Return the largest value of the cursor column; None for an empty table."""
        return self._scalar(session, f"SELECT max({self._column}) AS {self._column} FROM {self._target}", [])

    def end(self, session: Session, start: Offset, high_watermark: str, max_rows: int | None) -> str | None:
        """Return the end of a range from `start` with at most `max_rows` rows; None if it has no rows.

        Rows of equal values stay together, so the range may have a few more.
        """
        where, values = self._between(start, high_watermark)
        rows = f"SELECT {self._column} FROM {self._target} WHERE {where}"
        if max_rows is not None:
            rows += f" ORDER BY {self._column} LIMIT {max_rows}"
        return self._scalar(session, f"SELECT max({self._column}) AS {self._column} FROM ({rows}) p", values)

    def splits(self, start: Offset, end: str, tasks: int) -> list[CursorSplit]:
        """Divide a range among several tasks, if the values are whole numbers."""
        low = start.get("after") or start.get("from")
        if tasks < 2 or low is None or not (low.lstrip("-").isdigit() and end.lstrip("-").isdigit()):
            return [CursorSplit(start, end)]
        step = max((int(end) - int(low)) // tasks, 1)
        inner = [str(value) for value in range(int(low) + step, int(end), step)][: tasks - 1]
        starts = [start, *({"after": value} for value in inner)]
        ranges = zip(starts, [*inner, end], strict=True)
        return [CursorSplit(begin, until, number) for number, (begin, until) in enumerate(ranges)]

    def rows(self, session: Session, split: CursorSplit) -> list[tuple[Any, ...]]:
        """Return the rows of a split as text, ordered by the cursor column."""
        where, values = self._between(split.start, split.end)
        # `t.`, because PostgreSQL resolves the bare name to the text in the select list.
        return _query(session, f"{self._select} WHERE {where} ORDER BY t.{self._column}", values)

    def all_rows(self, session: Session, start: Offset) -> list[tuple[Any, ...]]:
        """Return all current rows from an offset on, as text."""
        where, values = self._above(start)
        return _query(session, f"{self._select}{where and f' WHERE {where}'}", values)

    @property
    def _select(self) -> str:
        texts = ", ".join(self.dialect.as_text(name, declared) for name, declared in self.columns.items())
        return f"SELECT {texts} FROM {self._target} t"

    @property
    def _target(self) -> str:
        return self.dialect.quote_table(self.table)

    @property
    def _column(self) -> str:
        return self.dialect.quote(self.cursor)

    def _between(self, start: Offset, end: str) -> tuple[str, list[Any]]:
        above, values = self._above(start)
        below = f"{self._column} <= {_PARAMETER}"
        return f"{above} AND {below}" if above else below, [*values, self._parameter(end)]

    def _above(self, start: Offset) -> tuple[str, list[Any]]:
        if "from" in start:
            return f"{self._column} >= {_PARAMETER}", [self._parameter(start["from"])]
        if start["after"] is None:
            return "", []
        return f"{self._column} > {_PARAMETER}", [self._parameter(start["after"])]

    def _parameter(self, text: str) -> Any:
        return self.dialect.parameter(self.declared, text)

    def _scalar(self, session: Session, query: str, values: Sequence[Any]) -> str | None:
        """Return the only value of a query, as the database writes it."""
        text = self.dialect.as_text(self.cursor)
        [[value]] = _query(session, f"SELECT {text} FROM ({query}) q", values)
        return None if value is None else str(value)


def _query(session: Session, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run a query; with parameters, clients require percent signs in identifiers to be doubled."""
    return session.rows(query.replace("%", "%%").replace(_PARAMETER, "%s") if values else query, values)


class SafeHighWatermark:
    """The newest value of the cursor column that is old enough to be read.

    >>> watermark = SafeHighWatermark(delay=2)
    >>> [watermark.advance(now, value) for now, value in ((0, "7"), (1, "8"), (2, "9"), (3.5, "9"))]
    [None, None, '7', '8']
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._pending: deque[tuple[float, str]] = deque()
        self._value: str | None = None

    def advance(self, now: float, highest: str | None) -> str | None:
        """Record the largest value of this moment and return the high watermark."""
        if highest is not None and (not self._pending or self._pending[-1][1] != highest):
            self._pending.append((now, highest))
        while self._pending and now - self._pending[0][0] >= self._delay:
            self._value = self._pending.popleft()[1]
        return self._value
