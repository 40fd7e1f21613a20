"""A query with a `MATCH_RECOGNIZE` in its FROM: the clause is cut out, and the rest runs as it is over the matches.

The rest keeps its length, so that a place in it is a place in what was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.sql.clause import MatchRecognize, read_clause
from headrace.sql.inputs import MORE, Chosen, Input, read_input
from headrace.sql.tokens import Reader, Token, tokens_of
from headrace.sql.withs import Definition, blank, definitions, without


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

    Tables of a WITH before the clause serve it alone, and leave the rest with it.

    Raises:
        OptionError: the clause can't be read; says line and column.
    """
    reader = Reader(query, tokens_of(query), where)
    places = [i for i, token in enumerate(reader.tokens) if _is_clause(reader.tokens, i)]
    if not places:
        return None
    if len(places) > 1:
        reader.refuse(
            reader.tokens[places[1]],
            "a second MATCH_RECOGNIZE in one query",
            "make a step of each, and unite them in a third",
        )
    withs = definitions(reader.tokens)
    at = reader.tokens[places[0]].at
    given = read_input(reader, places[0], _seen(withs, at))
    _refuse_with(reader, given)
    reader.i = places[0] + 1
    reader.need("(")
    inside = reader.inside()
    end = reader.tokens[reader.i - 1].end
    clause = read_clause(Reader(query, inside, where), given.called)
    name = f"`{given.table}`" if given.end - given.begin > len(given.table) + 1 else given.table
    if given.defined and not _aliased(reader.now):
        name = f"{name} as `{given.defined}`"
    rest = query[: given.begin] + name + blank(query[given.begin + len(name) : end]) + query[end:]
    return Cut(clause, given.table, without(rest, withs, at), at, given.chosen)


def _seen(withs: Mapping[str, Definition], at: int) -> Mapping[str, Definition]:
    """The tables of WITH that a place sees: of one inside a definition, those before it."""
    around = next((one for one in withs.values() if one.at < at < one.end), None)
    return withs if around is None else around.before


def _aliased(token: Token) -> bool:
    """Whether a name for the matches stands behind the clause."""
    return token.says("AS") or (token.names and not token.says("WHERE", *MORE))


def _refuse_with(reader: Reader, given: Input) -> None:
    """Refuse a clause over a table of a WITH that is not at the beginning."""
    tokens = reader.tokens
    if given.defined:
        return
    for i, token in enumerate(tokens[1:-3], 1):
        defines = token.says("WITH") and tokens[i + 2].says("AS") and tokens[i + 3].says("(")
        if defines and tokens[i + 1].name.lower() == given.table.lower():
            over = next(t for t in tokens if t.at >= given.begin and t.names and t.name == given.table)
            hint = "let the statement begin with that WITH, or write the query in place: FROM (select ...) MATCH_RECOGNIZE (...)"
            reader.refuse(over, f"MATCH_RECOGNIZE over `{given.table}`, a table of a WITH inside", hint)


def _is_clause(tokens: list[Token], i: int) -> bool:
    return tokens[i].says("MATCH_RECOGNIZE") and tokens[i + 1].says("(")
