"""Split a query with `MATCH_RECOGNIZE` in its FROM into the clause and the query over its matches.

The outer query keeps its length, so that a position in it is a position in the original text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.sql.match_recognize.clause import MatchRecognize, read_clause
from headrace.sql.match_recognize.ctes import Definition, blank, definitions, without_definitions
from headrace.sql.match_recognize.input_query import NOT_ALLOWED, Input, InputQuery, read_input
from headrace.sql.match_recognize.tokens import Token, TokenReader, tokens_of


@dataclass(frozen=True)
class SplitStatement:
    """The clause, the table it reads, and the outer query over the matches."""

    clause: MatchRecognize
    table: str
    rest: str
    input_query: InputQuery | None = None
    """The query between the table and the clause."""


def split_statement(query: str, *, where: str) -> SplitStatement | None:
    """Split a query at its MATCH_RECOGNIZE clause; None if it has none.

    >>> query = "select m.* from tx match_recognize (pattern (A) define A as v > 1) as m"
    >>> split = split_statement(query, where="hits")
    >>> split.table, split.rest.replace("  ", "")
    ('tx', 'select m.* from tx as m')

    Common table expressions before the clause are part of its input and removed from the outer query.

    Raises:
        OptionError: syntax error, with line and column.
    """
    reader = TokenReader(query, tokens_of(query), where)
    places = [i for i, token in enumerate(reader.tokens) if _is_clause(reader.tokens, i)]
    if not places:
        return None
    if len(places) > 1:
        reader.fail(
            reader.tokens[places[1]],
            "expected one MATCH_RECOGNIZE, got a second one",
            "write a step for each and a union of both",
        )
    ctes = definitions(reader.tokens)
    at = reader.tokens[places[0]].at
    source = read_input(reader, places[0], _visible(ctes, at))
    _check_inner_with(reader, source)
    reader.i = places[0] + 1
    reader.expect("(")
    inside = reader.read_bracketed()
    end = reader.tokens[reader.i - 1].end
    clause = read_clause(TokenReader(query, inside, where), source.alias)
    name = f"`{source.table}`" if source.end - source.begin > len(source.table) + 1 else source.table
    if source.cte and not _is_alias(reader.current):
        name = f"{name} as `{source.cte}`"
    rest = query[: source.begin] + name + blank(query[source.begin + len(name) : end]) + query[end:]
    return SplitStatement(clause, source.table, without_definitions(rest, ctes, at), source.input_query)


def _visible(ctes: Mapping[str, Definition], at: int) -> Mapping[str, Definition]:
    """Return the common table expressions that are visible at a position."""
    enclosing = next((cte for cte in ctes.values() if cte.at < at < cte.end), None)
    return ctes if enclosing is None else enclosing.before


def _is_alias(token: Token) -> bool:
    """True if the token is an alias of the clause."""
    return token.matches("AS") or (token.names and not token.matches("WHERE", *NOT_ALLOWED))


def _check_inner_with(reader: TokenReader, source: Input) -> None:
    """Raise an error if the clause reads a table of a WITH that is not at the start of the statement."""
    tokens = reader.tokens
    if source.cte:
        return
    for i, token in enumerate(tokens[1:-3], 1):
        defines = token.matches("WITH") and tokens[i + 2].matches("AS") and tokens[i + 3].matches("(")
        if defines and tokens[i + 1].name.lower() == source.table.lower():
            over = next(t for t in tokens if t.at >= source.begin and t.names and t.name == source.table)
            hint = "move the WITH to the start, or write FROM (select ...) MATCH_RECOGNIZE (...)"
            reader.fail(over, f"MATCH_RECOGNIZE reads `{source.table}` of a nested WITH", hint)


def _is_clause(tokens: list[Token], i: int) -> bool:
    return tokens[i].matches("MATCH_RECOGNIZE") and tokens[i + 1].matches("(")
