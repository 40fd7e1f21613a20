"""Clauses of ksqlDB and Azure Stream Analytics after the stream that a query reads.

`WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 1 HOUR)` of ksqlDB is a window in `GROUP BY` and a lateness;
`TIMESTAMP BY ts` of Azure names the event time, which the source declares. Clauses without a counterpart are
refused with a rewrite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.statements.declarations import Placed
from headrace.statements.durations import length_of
from headrace.statements.tokens import Cursor, Script

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_FUNCTIONS = {"TUMBLING": "tumblingwindow", "HOPPING": "hoppingwindow", "SESSION": "sessionwindow"}
_EXAMPLE = (
    "such as WINDOW TUMBLING (SIZE 10 SECONDS), HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS) or "
    "SESSION (5 SECONDS)"
)
_PARTITION_HINT = (
    "leave it out: steps distribute rows by their own keys; the key of a Kafka record is the option `key` of "
    "its sink"
)
_DURATION_HINT = "write OVER (PARTITION BY k ORDER BY ts), and compare both times if only recent rows count"
_ENDS = ("WHERE", "GROUP BY", "GROUP", "HAVING", "ORDER BY", "LIMIT", "EMIT")
"""The words after the `FROM` clause of a query."""


@dataclass(frozen=True)
class Clauses:
    """What the clauses of a query say besides its tokens."""

    times: tuple[Placed, ...] = ()
    """The columns of `TIMESTAMP BY`."""
    lateness: int | None = None
    """The grace period of the window, in microseconds."""
    windowed: bool = False
    """True if the query has a window, whose bounds ksqlDB calls `windowstart` and `windowend`."""


def translate_clauses(script: Script, tokens: Sequence[Token]) -> tuple[list[Token], Clauses]:
    """Return the tokens of a query without clauses of other systems, and what those say.

    Raises:
        DocumentError: a clause has no counterpart, or its syntax is wrong.
    """
    cursor = Cursor(script, tokens)
    words: list[Token] = []
    times: list[Placed] = []
    window: list[Token] = []
    lateness = None
    while (token := cursor.current) is not None:
        if cursor.take("TIMESTAMP", "BY"):
            column = cursor.name("the column of the event time")
            times.append(Placed(column.text, script.place(column)))
        elif _begins_window(cursor, words):
            if _depth(words):
                hint = (
                    "write FROM TUMBLE(TABLE x, DESCRIPTOR(ts), INTERVAL '10' SECOND), or move it to a view"
                )
                cursor.fail("WINDOW of ksqlDB in a subquery is not supported", hint)
            window, lateness = _window(cursor)
        elif token.text.upper() == "PARTITION BY" and _follows_from(words):
            cursor.fail("PARTITION BY of a whole stream is not supported", _PARTITION_HINT)
        elif cursor.peek("LIMIT", "DURATION", "("):
            cursor.fail("LIMIT DURATION of Azure Stream Analytics is not supported", _DURATION_HINT)
        else:
            words.append(token)
            cursor.position += 1
    return _group_by(words, window), Clauses(tuple(times), lateness, bool(window))


def _begins_window(cursor: Cursor, words: Sequence[Token]) -> bool:
    """Return True at `WINDOW TUMBLING (`; other windows have names: `WINDOW w AS (...)`."""
    kinds = any(cursor.peek("WINDOW", kind, "(") for kind in _FUNCTIONS)
    return kinds and any(word.text.upper() == "FROM" for word in words)


def _follows_from(words: Sequence[Token]) -> bool:
    """Return True after `FROM`, outside of the brackets of windows and functions."""
    return not _depth(words) and any(word.text.upper() == "FROM" for word in words)


def _depth(words: Sequence[Token]) -> int:
    """Return the number of brackets that are open after the words."""
    return sum({"(": 1, ")": -1}.get(word.text, 0) for word in words)


def _window(cursor: Cursor) -> tuple[list[Token], int | None]:
    """Return the tokens of a window function with lengths in milliseconds, and the grace period."""
    mark = cursor.next("WINDOW")
    kind = cursor.next("the kind of the window").text.upper()
    cursor.expect("(")
    lengths: dict[str, int] = {}
    while not cursor.take(")"):
        word = "SIZE" if kind == "SESSION" and not cursor.peek("GRACE") else ""
        for name, parts in (
            ("SIZE", ("SIZE",)),
            ("ADVANCE", ("ADVANCE", "BY")),
            ("GRACE", ("GRACE", "PERIOD")),
        ):
            word = name if cursor.take(*parts) else word
        if cursor.take("RETENTION"):
            word = "RETENTION"  # of the table behind the window, which sinks hold
        written = cursor.text_of(cursor.until(",", ")"))
        length = length_of(written)
        if not word or length is None:
            cursor.fail(f"expected a length of the window, got `{written}`", _EXAMPLE)
        lengths[word] = length
        if not cursor.take(",") and not cursor.peek(")"):
            cursor.fail("expected , or ) after a length of the window", _EXAMPLE)
    needed = ("SIZE", "ADVANCE") if kind == "HOPPING" else ("SIZE",)
    if any(name not in lengths for name in needed):
        cursor.fail(f"expected {' and '.join(needed)} of the window", _EXAMPLE)
    numbers = [lengths[name] // 1000 for name in needed]
    return _call(mark, _FUNCTIONS[kind], ["millisecond", *map(str, numbers)]), lengths.get("GRACE")


def _group_by(words: list[Token], window: list[Token]) -> list[Token]:
    """Return tokens with the window as the last item of `GROUP BY`."""
    from sqlglot import TokenType

    if not window:
        return words
    depth, position, grouped = 0, len(words), False
    for number, word in enumerate(words):
        depth += {"(": 1, ")": -1}.get(word.text, 0)
        upper = word.text.upper()
        if depth or upper not in _ENDS:
            continue
        if grouped or upper in ("HAVING", "ORDER BY", "LIMIT", "EMIT"):
            position = number
            break
        grouped = upper in ("GROUP BY", "GROUP")
    mark = window[0]
    joint = _token(mark, TokenType.COMMA, ",") if grouped else _token(mark, TokenType.GROUP_BY, "GROUP BY")
    return [*words[:position], joint, *window, *words[position:]]


def _call(mark: Token, name: str, arguments: Sequence[str]) -> list[Token]:
    from sqlglot import TokenType

    tokens = [_token(mark, TokenType.VAR, name), _token(mark, TokenType.L_PAREN, "(")]
    for number, argument in enumerate(arguments):
        if number:
            tokens.append(_token(mark, TokenType.COMMA, ","))
        kind = TokenType.NUMBER if argument.isdigit() else TokenType.VAR
        tokens.append(_token(mark, kind, argument))
    return [*tokens, _token(mark, TokenType.R_PAREN, ")")]


def _token(mark: Token, kind: object, text: str) -> Token:
    from sqlglot.tokenizer_core import Token as Kind

    return Kind(kind, text, mark.line, mark.col, mark.start, mark.end, [])  # type: ignore[arg-type]
