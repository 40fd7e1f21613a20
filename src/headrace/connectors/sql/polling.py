"""A table that only grows, read piece by piece: a column that grows with every row is the position.

A piece is a range of that column, open below and closed above, and all that Spark has to remember. Comparisons are left to
the database: it alone knows how its times, numbers and texts are ordered.

Rows don't become visible in the order of their numbers: a transaction takes number 7, another takes 8 and commits first.
Whoever reads up to 8 at that moment never sees 7. So a mark is used only when it is `delay` old, and by then 7 is there.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.sql.dialect import Database, Readable, qualified

Offset = dict[str, Any]
"""`{"after": text or None}`, or `{"from": text}` for a first value that belongs to the rows; None is before all rows."""
_VALUE = "\0"
"""Stands for a value in a query, until it is asked; no name has it."""


@dataclass(frozen=True)
class Polling:
    """How a table is followed; times in seconds."""

    growing: str
    start: int | str = "earliest"
    every: float = 1.0
    delay: float = 1.0
    most: int | None = None
    tasks: int = 1
    patience: float = 60.0

    @property
    def first(self) -> Offset:
        """Where a batch over the table begins."""
        return {"after": None} if self.start in ("earliest", "latest") else {"from": str(self.start)}


@dataclass(frozen=True)
class Piece:
    """The rows of one task: above `start`, up to and with `end`."""

    start: Offset
    end: str
    number: int = 0
    """Its place among the pieces of an epoch."""

    @property
    def content(self) -> bytes:
        """As it travels to a task."""
        return json.dumps([self.start, self.end, self.number]).encode()

    @classmethod
    def of(cls, content: bytes) -> Piece:
        """The piece that `content` is of."""
        return cls(*json.loads(content))


@dataclass(frozen=True)
class Polled:
    """A table that is followed: its queries."""

    dialect: Readable
    table: str
    growing: str
    declared: str
    """The type of the growing column."""
    columns: tuple[tuple[str, bool], ...]
    """What is read, and whether it is bytes."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def highest(self, database: Database) -> str | None:
        """The largest value of the growing column now; None where there are no rows."""
        return self._text(database, f"SELECT max({self._column}) AS {self._column} FROM {self._target}", [])

    def end(self, database: Database, start: Offset, mark: str, most: int | None) -> str | None:
        """Where a piece from `start` ends that has at most so many rows; None where there are none up to the mark.

        Rows of equal values stay together, so it may be a few more.
        """
        where, values = self._between(start, mark)
        rows = f"SELECT {self._column} FROM {self._target} WHERE {where}"
        if most is not None:
            rows += f" ORDER BY {self._column} LIMIT {most}"
        return self._text(database, f"SELECT max({self._column}) AS {self._column} FROM ({rows}) p", values)

    def pieces(self, start: Offset, end: str, tasks: int) -> list[Piece]:
        """A range in parts for several tasks, where the values are whole numbers."""
        low = start.get("after") or start.get("from")
        if tasks < 2 or low is None or not (low.lstrip("-").isdigit() and end.lstrip("-").isdigit()):
            return [Piece(start, end)]
        step = max((int(end) - int(low)) // tasks, 1)
        inner = [str(value) for value in range(int(low) + step, int(end), step)][: tasks - 1]
        starts = [start, *({"after": value} for value in inner)]
        ranges = zip(starts, [*inner, end], strict=True)
        return [Piece(begin, until, number) for number, (begin, until) in enumerate(ranges)]

    def rows(self, database: Database, piece: Piece) -> list[tuple[Any, ...]]:
        """The rows of a piece as text, in the order of the growing column."""
        where, values = self._between(piece.start, piece.end)
        # Of the table: the same name alone would mean the text beside it, to PostgreSQL.
        return _asked(database, f"{self._select} WHERE {where} ORDER BY t.{self._column}", values)

    def all_rows(self, database: Database, start: Offset) -> list[tuple[Any, ...]]:
        """All rows there are now, from a start on."""
        where, values = self._above(start)
        return _asked(database, f"{self._select}{where and f' WHERE {where}'}", values)

    @property
    def _select(self) -> str:
        texts = ", ".join(self.dialect.as_text(name, binary) for name, binary in self.columns)
        return f"SELECT {texts} FROM {self._target} t"

    @property
    def _target(self) -> str:
        return qualified(self.dialect, self.table)

    @property
    def _column(self) -> str:
        return self.dialect.quoted(self.growing)

    def _between(self, start: Offset, end: str) -> tuple[str, list[Any]]:
        above, values = self._above(start)
        below = f"{self._column} <= {_VALUE}"
        return f"{above} AND {below}" if above else below, [*values, self._value(end)]

    def _above(self, start: Offset) -> tuple[str, list[Any]]:
        if "from" in start:
            return f"{self._column} >= {_VALUE}", [self._value(start["from"])]
        if start["after"] is None:
            return "", []
        return f"{self._column} > {_VALUE}", [self._value(start["after"])]

    def _value(self, text: str) -> Any:
        return self.dialect.compared(self.declared, text)

    def _text(self, database: Database, query: str, values: Sequence[Any]) -> str | None:
        """The one value of a query, as the database writes it."""
        text = self.dialect.as_text(self.growing, False)
        [[value]] = _asked(database, f"SELECT {text} FROM ({query}) q", values)
        return None if value is None else str(value)


def _asked(database: Database, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of a query; where it has values, clients want a percent sign in a name to be written twice."""
    return database.rows(query.replace("%", "%%").replace(_VALUE, "%s") if values else query, values)


class Marks:
    """The largest values seen so far, and since when: gives the newest that is old enough.

    >>> marks = Marks(delay=2)
    >>> marks.settled(0, "7"), marks.settled(1, "8"), marks.settled(2, "9"), marks.settled(3.5, "9")
    (None, None, '7', '8')
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._seen: deque[tuple[float, str]] = deque()
        self._settled: str | None = None

    def settled(self, now: float, highest: str | None) -> str | None:
        """Note the largest value of this moment, and give the mark that may be read up to."""
        if highest is not None and (not self._seen or self._seen[-1][1] != highest):
            self._seen.append((now, highest))
        while self._seen and now - self._seen[0][0] >= self._delay:
            self._settled = self._seen.popleft()[1]
        return self._settled
