"""A query with a `MATCH_RECOGNIZE` in its FROM: the clause is cut out, and the rest runs as it is over the matches.

The rest keeps its length, so that a place in it is a place in what was written.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.clause import MatchRecognize, read_clause
from headrace.sql.tokens import Reader, Token, tokens_of


@dataclass(frozen=True)
class Cut:
    """A query in two: the clause and the table it is over, and the query over what it gives."""

    clause: MatchRecognize
    table: str
    rest: str
    at: int
    """Where MATCH_RECOGNIZE stands."""


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
    begin, table = _table(reader, places[0])
    reader.i = places[0] + 1
    reader.need("(")
    inside = reader.inside()
    end = reader.tokens[reader.i - 1].end
    clause = read_clause(Reader(query, inside, where))
    rest = query[:begin] + _blank(query[begin:end]) + query[end:]
    return Cut(clause, table.name, rest, reader.tokens[places[0]].at)


def _is_clause(tokens: list[Token], i: int) -> bool:
    return tokens[i].says("MATCH_RECOGNIZE") and tokens[i + 1].says("(")


def _table(reader: Reader, at: int) -> tuple[int, Token]:
    """The table before the clause, and where what is to be blanked begins: after the table's name."""
    i = at - 1
    alias = i >= 1 and reader.tokens[i].names and not reader.tokens[i - 1].says("FROM", ",")
    if alias:
        i -= 2 if reader.tokens[i - 1].says("AS") else 1
    table = reader.tokens[i] if i >= 0 else reader.tokens[at]
    if not table.names or table.says("FROM") or (i and reader.tokens[i - 1].says(".")):
        reader.refuse(
            table,
            f"MATCH_RECOGNIZE is over a stream by its name, got {table}",
            "make what stands there a step of its own, then write FROM <step> MATCH_RECOGNIZE (...)",
        )
    return table.end, table


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)
