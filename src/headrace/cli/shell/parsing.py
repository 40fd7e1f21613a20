"""The statements that a shell takes: those of scripts, and those that only a shell has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headrace.errors import did_you_mean
from headrace.statements.declarations import (
    Create,
    CreateFunction,
    CreateView,
    Insert,
    Setting,
    Statement,
    parse_statement,
)
from headrace.statements.tokens import Cursor

Kind = Literal[
    "source", "table", "view", "sink", "function", "setting", "insert", "query", "explain", "describe",
    "show", "drop",
]  # fmt: skip
DECLARED: tuple[Kind, ...] = ("source", "table", "view", "sink", "function")
SHOWN = {"SOURCES": "source", "TABLES": "table", "VIEWS": "view", "SINKS": "sink", "FUNCTIONS": "function"}
_DROPPED = {"SOURCE": "source", "STREAM": "source"} | {kind.upper(): kind for kind in DECLARED}


@dataclass(frozen=True)
class Entered:
    """A statement that a user has entered.

    `start` and `end` are its place in the text of the session.
    """

    kind: Kind
    name: str
    start: int
    end: int
    value: str = ""
    """The value of a setting, the kind of `SHOW`, or the kind of what is dropped."""
    writes: bool = False
    """True for a sink with a query."""
    replaces: bool = False
    """True for `CREATE OR REPLACE`."""

    @property
    def key(self) -> str:
        return self.name.lower()


def read_statement(cursor: Cursor) -> Entered:
    """Return the statement under a cursor.

    Raises:
        DocumentError: its syntax is wrong.
    """
    tokens = cursor.tokens
    start, end = tokens[0].start, tokens[-1].end + 1
    own = _shell_statement(cursor)
    if own is not None:
        kind, name, value = own
        if kind == "explain":  # the rest is the statement to explain
            start = tokens[cursor.position].start
        return Entered(kind, name, start, end, value)
    replaces = cursor.peek("CREATE", "OR", "REPLACE")
    statement = parse_statement(cursor)
    writes = isinstance(statement, Create) and bool(statement.query)
    kind, name, value = _kind_of(statement)
    return Entered(kind, name, start, end, value, writes, replaces)


def _kind_of(statement: Statement) -> tuple[Kind, str, str]:
    """Return kind, name and value of a statement of a script."""
    match statement:
        case Create():
            return statement.kind, statement.name.text, ""
        case CreateView():
            return "view", statement.name.text, ""
        case CreateFunction():
            return "function", statement.name.text, ""
        case Insert():
            return "insert", statement.sink.text, ""
        case Setting():
            return "setting", statement.name.text, statement.value.text
    return "query", "", ""


def _shell_statement(cursor: Cursor) -> tuple[Kind, str, str] | None:
    """Return kind, name and value of a statement that only a shell has; None for others."""
    if cursor.take("EXPLAIN"):
        if cursor.current is None:
            cursor.fail("expected a query, got the end of the statement", "such as EXPLAIN SELECT * FROM tx")
        return "explain", "", ""
    if cursor.take("DESCRIBE") or cursor.take("DESC"):
        return "describe", _name(cursor), ""
    if cursor.take("SHOW"):
        word = cursor.next("SOURCES, TABLES, VIEWS, SINKS or FUNCTIONS").text.upper()
        if word not in SHOWN:
            cursor.position -= 1
            cursor.fail(f"expected {', '.join(SHOWN)}, got `{word}`", did_you_mean(word, list(SHOWN)))
        _end(cursor)
        return "show", "", SHOWN[word]
    if cursor.take("DROP"):
        cursor.take("MATERIALIZED")
        word = cursor.next("SOURCE, TABLE, VIEW, SINK or FUNCTION").text.upper()
        if word not in _DROPPED:
            cursor.position -= 1
            cursor.fail(f"expected SOURCE, TABLE, VIEW, SINK or FUNCTION, got `{word}`")
        cursor.take("IF", "EXISTS")
        return "drop", _name(cursor), _DROPPED[word]
    return None


def _name(cursor: Cursor) -> str:
    parts = [cursor.name("a name").text]
    while cursor.take("."):
        parts.append(cursor.name("a name").text)
    _end(cursor)
    return ".".join(parts)


def _end(cursor: Cursor) -> None:
    if cursor.current is not None:
        cursor.fail(f"expected the end of the statement, got `{cursor.current.text}`", "end it with ;")
