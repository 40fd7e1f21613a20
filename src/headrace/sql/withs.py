"""The tables that a WITH in front of a statement defines, read off its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.sql.tokens import Token


@dataclass(frozen=True)
class Definition:
    """A table of WITH: the names of its columns where they are given, its query, and its place in the statement."""

    name: str
    names: tuple[str, ...]
    body: tuple[Token, ...]
    """The tokens of the query, an end token last."""
    at: int
    end: int
    before: Mapping[str, Definition]
    """The definitions that it sees, in lower case: those that stand before it."""


def definitions(tokens: list[Token]) -> dict[str, Definition]:
    """The tables of the WITH that a statement begins with, by name in lower case; none if it begins otherwise.

    >>> from headrace.sql.tokens import tokens_of
    >>> list(definitions(tokens_of("with a as (select 1), b(x) as (select * from a) select * from b")))
    ['a', 'b']
    """
    found: dict[str, Definition] = {}
    i = 1
    while i and tokens[0].says("WITH") and (one := _definition(tokens, i, dict(found))) is not None:
        found[one.name.lower()] = one
        after = next(n for n, token in enumerate(tokens) if token.at >= one.end)
        i = after + 1 if tokens[after].says(",") else 0
    return found


def _definition(tokens: list[Token], i: int, before: Mapping[str, Definition]) -> Definition | None:
    name, i = tokens[i], i + 1
    names: tuple[str, ...] = ()
    if name.names and i < len(tokens) and tokens[i].says("("):
        close = _closing(tokens, i)
        names = tuple(token.name for token in tokens[i + 1 : close] if token.names)
        i = close + 1
    if not name.names or i + 1 >= len(tokens) or not tokens[i].says("AS") or not tokens[i + 1].says("("):
        return None
    close = _closing(tokens, i + 1)
    end = tokens[close]
    body = (*tokens[i + 2 : close], Token("end", "", end.at, end.at))
    return Definition(name.name, names, body, name.at, end.end, before)


def _closing(tokens: list[Token], opened: int) -> int:
    """The place of the bracket that closes one, or of the end."""
    depth, i = 0, opened
    while i < len(tokens) - 1:
        depth += 1 if tokens[i].says("(") else -1 if tokens[i].says(")") else 0
        if not depth:
            break
        i += 1
    return i


def without(statement: str, known: Mapping[str, Definition], at: int) -> str:
    """The statement, blank where definitions stand that end before a place; of the same length.

    >>> from headrace.sql.tokens import tokens_of
    >>> said = "with a as (select 1), b as (select 2) select * from b"
    >>> without(said, definitions(tokens_of(said)), 30)
    'with                  b as (select 2) select * from b'
    >>> without(said, definitions(tokens_of(said)), 40).strip()
    'select * from b'
    """
    gone = [one for one in known.values() if one.end <= at]
    if not gone:
        return statement
    kept = next((one for one in known.values() if one.end > at), None)
    begin, end = (0, gone[-1].end) if kept is None else (gone[0].at, kept.at)
    return statement[:begin] + blank(statement[begin:end]) + statement[end:]


def blank(text: str) -> str:
    """Spaces instead of the text, its lines kept."""
    return "".join("\n" if character == "\n" else " " for character in text)
