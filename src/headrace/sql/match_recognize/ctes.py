"""Common table expressions at the start of a statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.sql.match_recognize.tokens import Token


@dataclass(frozen=True)
class Definition:
    """A common table expression: its column names if declared, its query and its position."""

    name: str
    names: tuple[str, ...]
    body: tuple[Token, ...]
    """The tokens of the query, with an end token."""
    at: int
    end: int
    before: Mapping[str, Definition]
    """The definitions before this one, by lower-case name."""


def definitions(tokens: list[Token]) -> dict[str, Definition]:
    """Return the common table expressions of a statement by lower-case name.

    >>> from headrace.sql.match_recognize.tokens import tokens_of
    >>> list(definitions(tokens_of("with a as (select 1), b(x) as (select * from a) select * from b")))
    ['a', 'b']
    """
    ctes: dict[str, Definition] = {}
    follows = tokens[0].matches("WITH")
    i = 1
    while follows and (definition := _definition(tokens, i, dict(ctes))) is not None:
        ctes[definition.name.lower()] = definition
        after = next(n for n, token in enumerate(tokens) if token.at >= definition.end)
        follows, i = tokens[after].matches(","), after + 1
    return ctes


def _definition(tokens: list[Token], i: int, before: Mapping[str, Definition]) -> Definition | None:
    name, i = tokens[i], i + 1
    names: tuple[str, ...] = ()
    if name.names and i < len(tokens) and tokens[i].matches("("):
        close = _closing(tokens, i)
        names = tuple(token.name for token in tokens[i + 1 : close] if token.names)
        i = close + 1
    if (
        not name.names
        or i + 1 >= len(tokens)
        or not tokens[i].matches("AS")
        or not tokens[i + 1].matches("(")
    ):
        return None
    close = _closing(tokens, i + 1)
    end = tokens[close]
    body = (*tokens[i + 2 : close], Token("end", "", end.at, end.at))
    return Definition(name.name, names, body, name.at, end.end, before)


def _closing(tokens: list[Token], opened: int) -> int:
    """Return the index of the closing bracket, or of the end token."""
    depth, i = 0, opened
    while i < len(tokens) - 1:
        depth += 1 if tokens[i].matches("(") else -1 if tokens[i].matches(")") else 0
        if not depth:
            break
        i += 1
    return i


def without_definitions(statement: str, known: Mapping[str, Definition], at: int) -> str:
    """Return the statement with the definitions that end before a position replaced by blanks.

    >>> from headrace.sql.match_recognize.tokens import tokens_of
    >>> query = "with a as (select 1), b as (select 2) select * from b"
    >>> without_definitions(query, definitions(tokens_of(query)), 30)
    'with                  b as (select 2) select * from b'
    >>> without_definitions(query, definitions(tokens_of(query)), 40).strip()
    'select * from b'
    """
    gone = [definition for definition in known.values() if definition.end <= at]
    if not gone:
        return statement
    kept = next((definition for definition in known.values() if definition.end > at), None)
    begin, end = (0, gone[-1].end) if kept is None else (gone[0].at, kept.at)
    return statement[:begin] + blank(statement[begin:end]) + statement[end:]


def blank(text: str) -> str:
    """Replace every character except line breaks by a blank."""
    return "".join("\n" if character == "\n" else " " for character in text)
