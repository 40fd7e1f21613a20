"""Queries with `MATCH_RECOGNIZE`: the step reads its stream as `this`, with its time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headrace.errors import OptionError, did_you_mean
from headrace.sql import facts
from headrace.sql.match_recognize.statement import SplitStatement, split_statement
from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.relations import Relation
from headrace.statements.tokens import Script, tokenize

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from headrace.statements.queries import QueryBuilder

_ALL = "SELECT * FROM "
_EXAMPLE = "such as FROM tx MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE A AS A.amount > 1)"
_CLOCK = "processing_time"
"""The column that the step `processing_time` adds."""


def is_row_pattern(tokens: Sequence[Token]) -> bool:
    """Return True if a query has the clause `MATCH_RECOGNIZE`."""
    return any(token.text.upper() == "MATCH_RECOGNIZE" for token in tokens)


def is_plain(queries: QueryBuilder, tokens: Sequence[Token]) -> bool:
    """Return True if a query only selects columns and rows of its matches, which their step can do."""
    text = queries.script.text[tokens[0].start : tokens[-1].end + 1]
    try:
        facts.read(text, where="")
    except OptionError:
        return False
    return True


def extract(
    queries: QueryBuilder, name: str, tokens: Sequence[Token]
) -> tuple[tuple[Token, ...], dict[str, Relation]]:
    """Add a step for each clause of a query, and return the query over their matches.

    Returns:
        The tokens, with a name in place of each clause and what it reads, and the relations of the names.

    Raises:
        DocumentError: a clause has no step.
    """
    words, matches = list(tokens), dict[str, Relation]()
    while (at := _clause_of(words)) is not None:
        start = _start_of_input(words, at)
        end = _closing(words, at + 1)
        place = queries.script.place(words[start])
        if start == 0 or end is None:
            raise refuse(place, "expected FROM x MATCH_RECOGNIZE (...)", _EXAMPLE)
        # The query of the clause alone, at its place in the script.
        text = queries.script.text
        head = re.sub(r"[^\n]", " ", text[: max(0, words[start].start - len(_ALL))])
        script = Script(f"{head}{_ALL}{text[words[start].start : words[end].end + 1]}", queries.script.file)
        step = queries.draft.new_name(name, "match")
        inner = type(queries)(script, queries.draft, queries.catalog)
        matches[step] = build(inner, step, tuple(tokenize(script.text)), place)
        words[start : end + 1] = [_named(words[start], step)]
    return tuple(words), matches


def _clause_of(tokens: Sequence[Token]) -> int | None:
    return next((n for n, token in enumerate(tokens) if token.text.upper() == "MATCH_RECOGNIZE"), None)


def _start_of_input(tokens: Sequence[Token], clause: int) -> int:
    """Return the position of the name or of the bracket before a clause."""
    if clause == 0 or tokens[clause - 1].text != ")":
        return max(0, clause - 1)
    depth = 0
    for number in range(clause - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(tokens[number].text, 0)
        if depth == 0:
            return number
    return 0


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for number in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[number].text, 0)
        if depth == 0:
            return number if number > opening else None
    return None


def _named(token: Token, name: str) -> Token:
    from sqlglot import TokenType
    from sqlglot.tokenizer_core import Token as Kind

    return Kind(TokenType.VAR, name, token.line, token.col, token.start, token.end, [])


def build(queries: QueryBuilder, name: str, tokens: tuple[Token, ...], where: str) -> Relation:
    """Add the step of a query with `MATCH_RECOGNIZE`.

    Raises:
        DocumentError: the query reads an unknown stream, or its syntax is wrong.
    """
    text = queries.script.text[tokens[0].start : tokens[-1].end + 1]
    try:
        split = split_statement(text, where="")
    except OptionError as error:
        raise refuse(where, f"{error.where}: {error.what}".removeprefix(": "), error.hint) from None
    relation = _input(queries, split, where)
    order = _order_column(tokens)
    by_clock = order is not None and relation.is_clock(order.text) and not relation.is_time(order.text)
    entry: dict[str, Any] = {"from": relation.ref}
    replaced = dict.fromkeys(_names_of(tokens, split.table if split else ""), "this")
    if by_clock and order is not None:
        entry["processing_time"] = True
        replaced[order] = _CLOCK
    entry["sql"] = Placed(_replace(queries.script.text, tokens, replaced), where)
    queries.add(name, where, entry)
    return Relation(name, _columns(split, relation), side_outputs={"late": name})


def _input(queries: QueryBuilder, split: SplitStatement | None, where: str) -> Relation:
    table = split.table if split is not None else ""
    relation = queries.catalog.get(table.lower())
    if relation is None:
        raise refuse(where, f"unknown source or view `{table}`", did_you_mean(table, queries.catalog))
    if relation.changes == "table":
        raise refuse(
            where,
            f"MATCH_RECOGNIZE needs rows that do not change, but those of `{table}` do",
            "match the rows of the stream behind it",
        )
    return relation


def _names_of(tokens: Sequence[Token], table: str) -> list[Token]:
    """Return the tokens after FROM that name the stream."""
    return [
        token
        for before, token in pairwise(tokens)
        if before.text.upper() in ("FROM", ",") and token.text.lower() == table.lower()
    ]


def _order_column(tokens: Sequence[Token]) -> Token | None:
    """Return the first column of ORDER BY inside the clause."""
    clause = next(n for n, token in enumerate(tokens) if token.text.upper() == "MATCH_RECOGNIZE")
    for number in range(clause, len(tokens) - 1):
        if tokens[number].text.upper() in ("ORDER BY", "BY") and (
            tokens[number].text.upper() == "ORDER BY" or tokens[number - 1].text.upper() == "ORDER"
        ):
            return tokens[number + 1]
    return None


def _replace(script: str, tokens: Sequence[Token], replaced: dict[Token, str]) -> str:
    """Return the written text of tokens, with others in the place of some."""
    starts = {token.start: (token.end, text) for token, text in replaced.items()}
    text, at = "", tokens[0].start
    for start, (end, other) in sorted(starts.items()):
        text, at = f"{text}{script[at:start]}{other}", end + 1
    return text + script[at : tokens[-1].end + 1]


def _columns(split: SplitStatement | None, relation: Relation) -> tuple[str, ...] | None:
    """Return the columns of the query over the matches; None if only the plan knows them."""
    from sqlglot import ErrorLevel, parse_one
    from sqlglot import expressions as exp
    from sqlglot.errors import ParseError

    if split is None:
        return None
    clause = split.clause
    own = relation.columns if split.input_query is None else None
    if clause.rows != "one" and own is None:
        return None
    matches = (
        *(clause.partition_by if clause.rows == "one" else own or ()),
        *(name for name, _ in clause.measures),
    )
    try:
        tree = parse_one(split.rest, dialect="spark", error_level=ErrorLevel.IGNORE)
    except ParseError:  # reported by the check of the step
        return None
    if not isinstance(tree, exp.Select):
        return None
    names: list[str] = []
    for item in tree.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star):
            names += matches
        elif item.alias_or_name:
            names.append(item.alias_or_name)
        else:
            return None
    return tuple(names)
