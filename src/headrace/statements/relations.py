"""Relations: what a name in a query stands for, and the columns it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headrace.statements.rewrites import PROCTIME

Changes = Literal["none", "table"]


@dataclass(frozen=True)
class Window:
    """A window function whose rows are not grouped yet."""

    document: Mapping[str, Any]
    """The window in a document: `{"tumbling": "10 minutes"}`."""
    session: bool = False
    keys: tuple[tuple[str, str], ...] = ()
    """Names and expressions of the columns that sessions are separate for."""


@dataclass(frozen=True)
class Relation:
    """An output in the document, and what queries can say of it."""

    ref: str
    """Its name in the document, such as `bid` or `hot.late`."""
    columns: tuple[str, ...] | None
    """Its columns; None if only the plan knows them."""
    formulas: Mapping[str, str] = field(default_factory=dict)
    """Columns that queries can name, as expressions over `columns`: `window_start`."""
    times: tuple[str, ...] = ()
    """The columns that hold the event time of a row."""
    clock: tuple[str, ...] = ()
    """The columns that stand for processing time."""
    changes: Changes = "none"
    """`table` if rows replace earlier ones."""
    key: tuple[str, ...] = ()
    """The columns that identify a row of a table."""
    marked: bool = False
    """True if the rows of a table have the column `change`."""
    labelled: bool = False
    """True for a running aggregate: its rows are changes, and a sink in mode `changes` adds `change`."""
    replaces: bool = False
    """True for panes that replace earlier ones without retracting them."""
    window: Window | None = None
    """The window function of `FROM TUMBLE(...)`, until a `GROUP BY` uses it."""
    windowed: bool = False
    """True for panes: rows with the column `window`."""
    bounds: Mapping[str, str] = field(default_factory=dict)
    """The expressions that hold the bounds of the window of a row, each with `start`, `end` or `time`."""
    lookup: Mapping[str, Any] | None = None
    """The options of a lookup in the table, if its connector can be looked up in."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The declared types of columns, as far as they are known."""
    hidden: bool = False
    """True for the result of a subquery, whose columns `select *` leaves out."""
    side_outputs: Mapping[str, str] = field(default_factory=dict)
    """The side outputs by name, each with the entry that has it, or with the output of another name."""

    def visible(self) -> tuple[str, ...]:
        """Return the columns of `select *`."""
        hidden = {"window", "pane"} if self.windowed else set()
        plain = tuple(name for name in self.columns or () if name not in hidden)
        return (*plain, *(name for name in self.formulas if name not in plain))

    def find(self, name: str) -> str | None:
        """Return the expression of a column, whose name is not case-sensitive; None if there is none."""
        for known, formula in self.formulas.items():
            if known.lower() == name.lower():
                return formula
        column = next((known for known in self.columns or () if known.lower() == name.lower()), None)
        return quote(column) if column is not None else quote(name) if self.columns is None else None

    def is_time(self, name: str) -> bool:
        return name.lower() in {time.lower() for time in self.times}

    def is_clock(self, name: str) -> bool:
        return name == PROCTIME or name.lower() in {clock.lower() for clock in self.clock}


WINDOW_BOUNDS = {
    "window.start": "start",
    "window.end": "end",
    "window.end - interval 1 millisecond": "time",
}
"""The bounds of rows with the column `window`."""
WINDOW_FORMULAS = {
    "window_start": "window.start",
    "window_end": "window.end",
    "window_time": "window.end - interval 1 millisecond",
}


def quote(name: str) -> str:
    """Return a column name as it is written in an expression.

    >>> quote("card"), quote("total amount")
    ('card', '`total amount`')
    """
    plain = name.isidentifier() and name.isascii()
    return name if plain and name.lower() not in _RESERVED else f"`{name.replace('`', '``')}`"


_RESERVED = {
    "end",
    "start",
    "order",
    "group",
    "select",
    "from",
    "where",
    "table",
    "user",
    "interval",
    "window",
}
_RESERVED -= {"window", "start"}
