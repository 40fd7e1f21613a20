"""A query with a `MATCH_RECOGNIZE` in its FROM: the clause is cut out, and the rest runs as it is over the matches.

The rest keeps its length, so that a place in it is a place in what was written.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.clause import MatchRecognize, read_clause
from headrace.sql.inputs import Chosen, Input, read_input
from headrace.sql.tokens import Reader, Token, tokens_of


@dataclass(frozen=True)
class Cut:
    """A query in two: the clause and the table it is over, and the query over what it gives."""

    clause: MatchRecognize
    table: str
    rest: str
    at: int
    """Where MATCH_RECOGNIZE stands."""
    chosen: Chosen | None = None
    """What is chosen of the table before the clause."""


def cut(query: str, *, where: str) -> Cut | None:
    """Cut the clause out of a query; None if it has none.

    >>> found = cut("select m.* from tx match_recognize (pattern (A) define A as v > 1) as m", where="hits")
    >>> found.table, found.rest.replace("  ", "")
    ('tx', 'select m.* from tx as m')

    Raises:
        OptionError: the clause can't be read; says line and column.
    """
    reader = Reader(query, tokens_of(query), where)
    places = [i for i, token in enumerate(reader.tokens) if _is_clause(reader.tokens, i)]
    if not places:
        return None
    if len(places) > 1:
        reader.refuse(
            reader.tokens[places[1]], "a second MATCH_RECOGNIZE in one query", "make a step of each"
        )
    given = read_input(reader, places[0])
    _refuse_with(reader, given)
    reader.i = places[0] + 1
    reader.need("(")
    inside = reader.inside()
    end = reader.tokens[reader.i - 1].end
    clause = read_clause(Reader(query, inside, where))
    name = f"`{given.table}`" if given.end - given.begin > len(given.table) + 1 else given.table
    rest = query[: given.begin] + name + _blank(query[given.begin + len(name) : end]) + query[end:]
    return Cut(clause, given.table, rest, reader.tokens[places[0]].at, given.chosen)


def _refuse_with(reader: Reader, given: Input) -> None:
    """Refuse a clause over a table of WITH: what it is over must be a stream, whose rows have their time and place."""
    tokens = reader.tokens
    for i, token in enumerate(tokens[:-3]):
        defines = token.says("WITH", ",") and tokens[i + 2].says("AS") and tokens[i + 3].says("(")
        if defines and tokens[i + 1].name.lower() == given.table.lower():
            over = next(t for t in tokens if t.at >= given.begin and t.names and t.name == given.table)
            hint = f"make a step `{given.table}` of that query, or write it in place: FROM (select ...) MATCH_RECOGNIZE (...)"
            reader.refuse(over, f"MATCH_RECOGNIZE over `{given.table}`, a table of WITH", hint)


def _is_clause(tokens: list[Token], i: int) -> bool:
    return tokens[i].says("MATCH_RECOGNIZE") and tokens[i + 1].says("(")


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)
