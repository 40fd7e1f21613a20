"""Queries as syntax trees: Spark's grammar, and what stream SQL adds to it.

sqlglot parses Spark SQL. Words that it lacks are taken out of the tokens first: `TABLE` before the input of a
window function, and `EMIT ...` at the end of a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.access.effort import check_effort
from headrace.errors import DocumentError, Problem
from headrace.sql.parsing import MAX_TOKENS, TOO_LONG, describe_fault, parse_tokens
from headrace.statements.declarations import Placed
from headrace.statements.foreign_clauses import translate_clauses
from headrace.statements.foreign_functions import translate_bounds, translate_functions
from headrace.statements.rewrites import rewrite, select_values
from headrace.statements.spellings import move_within
from headrace.statements.tokens import Cursor, Script

if TYPE_CHECKING:
    from sqlglot import expressions as exp
    from sqlglot.tokenizer_core import Token

_MODES = ("DISCARDING", "ACCUMULATING", "RETRACTING")
PARTITION_KEYS = "partition_keys"
"""The function that stands for `PARTITION BY` after the input of a window function."""
_AFTER_KEYS = ([",", "DESCRIPTOR"], [",", "TIMECOL"])
_AS_NAMES = {"WINDOW", "SESSION", "LIMIT", "OFFSET", "CUMULATE"}
"""Words that are columns or functions where sqlglot expects a clause."""


@dataclass(frozen=True)
class Emit:
    """The `EMIT` clause of a query."""

    where: str = ""
    changes: bool = False
    early: int | None = None
    """In microseconds, as all durations here."""
    lateness: int | None = None
    mode: str = ""

    def __bool__(self) -> bool:
        return self != Emit(where=self.where)


@dataclass(frozen=True)
class Select:
    """A parsed query with its clause of emission."""

    tree: exp.Query
    emit: Emit
    tokens: tuple[Token, ...]
    times: tuple[Placed, ...] = ()
    """The columns that `TIMESTAMP BY` names."""


def parse_query(script: Script, tokens: Sequence[Token]) -> Select:
    """Parse a query.

    Raises:
        DocumentError: its syntax is wrong; with line and column.
    """
    from sqlglot import expressions as exp
    from sqlglot.errors import ParseError

    if tokens[0].text.upper() not in ("SELECT", "WITH", "(", "VALUES"):
        what = f"expected a query, got `{tokens[0].text}`"
        raise DocumentError([Problem(script.place(tokens[0]), what, "such as SELECT * FROM tx")])
    check_effort()
    if len(tokens) > MAX_TOKENS:
        what, hint = TOO_LONG.format(len(tokens)), "divide the query into views"
        raise DocumentError([Problem(script.place(tokens[0]), what, hint)])
    body, emit = _split_emit(script, list(tokens))
    body, clauses = translate_clauses(script, body)
    if clauses.lateness is not None and emit.lateness is None:
        emit = replace(emit, where=emit.where or script.place(tokens[0]), lateness=clauses.lateness)
    words = _prepare(script, move_within(script, _move_keys(body)))
    try:
        [tree] = parse_tokens(words, script.text)
    except ParseError as error:
        fault = (error.errors or [{"description": str(error)}])[0]
        where = (
            f"{script.file}:{fault['line']}:{fault['col']}" if "line" in fault else script.place(tokens[0])
        )
        raise DocumentError([Problem(where, f"SQL syntax error: {describe_fault(fault)}")]) from None
    if isinstance(tree, exp.Values):
        tree = select_values(tree)
    if not isinstance(tree, exp.Query):
        where = script.place(tokens[0])
        raise DocumentError([Problem(where, "expected a query", "such as SELECT * FROM tx")])
    translated = translate_functions(rewrite(tree))
    assert isinstance(translated, exp.Query)
    if clauses.windowed:
        translate_bounds(translated)
    return Select(translated, emit, tuple(body), clauses.times)


def _prepare(script: Script, tokens: list[Token]) -> list[Token]:
    """Return tokens that sqlglot parses: without `TABLE` in window functions, with words as names."""
    from sqlglot import TokenType

    words: list[Token] = []
    skipped: list[int] = []
    opened: list[str] = []
    depth = 0
    for number, token in enumerate(tokens):
        before = tokens[number - 1].text.upper() if number else ""
        after = tokens[number + 1].text.upper() if number + 1 < len(tokens) else ""
        upper = token.text.upper()
        if token.text == "(":
            depth += 1
            opened.append(before)
        if token.text == ")":
            depth -= 1
            opened = opened[:-1]
            if skipped and skipped[-1] == depth:
                skipped.pop()
                continue
        if upper == "TABLE" and after == "(" and before in ("FROM", "JOIN", ",", "LATERAL"):
            continue  # FROM TABLE(TUMBLE(...)): the brackets go, too
        if token.text == "(" and before == "TABLE" and number > 1:
            skipped.append(depth - 1)
            continue
        if upper == "TABLE" and before in ("(", "=>"):
            continue  # TUMBLE(TABLE bid, ...)
        if upper == "ROW" and after == "<":
            words.append(_copy(token, TokenType.STRUCT, "STRUCT"))
        elif upper == "BYTES" and before == "AS" and opened[-1:] in (["CAST"], ["TRY_CAST"]):
            words.append(_copy(token, TokenType.BINARY, "BINARY"))
        elif upper == "SOME" and [t.text.upper() for t in tokens[number + 1 : number + 3]] == ["(", "SELECT"]:
            words.append(_copy(token, TokenType.ANY, "ANY"))
        elif upper in _AS_NAMES and (after in ("(", ".", ",", ")", "") or before == "GROUP BY"):
            words.append(_copy(token, TokenType.VAR))
        else:
            words.append(token)
    return words


def _move_keys(tokens: list[Token]) -> list[Token]:
    """Return tokens with `partition_keys(k)` for `PARTITION BY k` after the input of a window function."""
    from sqlglot import TokenType

    words = [token.text.upper() for token in tokens]
    for number, word in enumerate(words):
        if word != "PARTITION BY" or "TABLE" not in words[:number]:
            continue
        table = number - 1 - words[number - 1 :: -1].index("TABLE")
        end = next((n for n in range(number, len(words)) if words[n : n + 2] in _AFTER_KEYS), None)
        if words[table - 1] not in ("(", "=>") or number - table > 4 or end is None:
            continue
        keys, mark = tokens[number + 1 : end], tokens[number]
        if keys and keys[0].text == "(" and keys[-1].text == ")":
            keys = keys[1:-1]
        opened = [
            _copy(mark, TokenType.COMMA, ","),
            _copy(mark, TokenType.VAR, PARTITION_KEYS),
            _copy(mark, TokenType.L_PAREN, "("),
        ]
        closed = [_copy(mark, TokenType.R_PAREN, ")")]
        return _move_keys([*tokens[:number], *opened, *keys, *closed, *tokens[end:]])
    return tokens


def _copy(token: Token, kind: object, text: str = "") -> Token:
    from sqlglot.tokenizer_core import Token as Kind

    place = (token.line, token.col, token.start, token.end, token.comments)
    return Kind(kind, text or token.text, *place)  # type: ignore[arg-type]


def _split_emit(script: Script, tokens: list[Token]) -> tuple[list[Token], Emit]:
    depth = 0
    for number, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and number and token.text.upper() == "EMIT" and script.text[token.start] not in "`'\"":
            cursor = Cursor(script, tokens)
            cursor.position = number + 1
            emit = _emit(cursor, script.place(token))
            return [*tokens[:number], *cursor.tokens[cursor.position :]], emit
    return tokens, Emit()


def _emit(cursor: Cursor, where: str) -> Emit:
    emit = Emit(where)
    while cursor.current is not None and not cursor.peek("LIMIT"):  # of ksqlDB: EMIT CHANGES LIMIT 5
        if cursor.take("ON", "WINDOW", "CLOSE") or cursor.take("FINAL"):
            continue
        if cursor.take("CHANGES"):
            emit = replace(emit, changes=True)
        elif cursor.take("EARLY"):
            cursor.take("EVERY")
            emit = replace(emit, early=_duration(cursor))
        elif cursor.take("LATENESS"):
            emit = replace(emit, lateness=_duration(cursor))
        elif cursor.current.text.upper() in _MODES:
            emit = replace(emit, mode=cursor.next("a mode").text.lower())
        else:
            cursor.fail(
                f"unknown word `{cursor.current.text}` in EMIT",
                "write ON WINDOW CLOSE, CHANGES, EARLY EVERY d, LATENESS d, DISCARDING, ACCUMULATING or "
                "RETRACTING",
            )
    return emit


def _duration(cursor: Cursor) -> int:
    from headrace.statements.durations import UNITS, length_of

    hint = "such as INTERVAL '1' MINUTE"
    cursor.take("INTERVAL")
    number = cursor.next("a duration", hint).text
    unit = cursor.next("a unit of time", hint).text if not number.strip().count(" ") else ""
    length = length_of(f"{number} {unit}") if unit.lower().rstrip("s") in UNITS or not unit else None
    if length is None:
        cursor.position -= 1
        cursor.fail(f"expected a duration, got `{number} {unit}`", hint)
    return length
