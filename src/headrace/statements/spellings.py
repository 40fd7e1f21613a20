"""Words of ksqlDB and Azure Stream Analytics for joins with bounds of event times.

ksqlDB writes `JOIN b WITHIN 10 SECONDS ON ...`, which becomes a condition `within(...)`; Azure writes
`DATEDIFF(second, a, b) BETWEEN 0 AND 10` over the streams themselves. Their other clauses are in
`foreign_clauses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.errors import DocumentError, Problem
from headrace.statements.durations import length_of
from headrace.statements.tokens import Cursor, Script

if TYPE_CHECKING:
    from sqlglot import expressions as exp
    from sqlglot.tokenizer_core import Token

Bounds = tuple[int | None, int | None]
_EXAMPLE = "such as JOIN b WITHIN 10 SECONDS ON a.id = b.id"


def move_within(script: Script, tokens: list[Token]) -> list[Token]:
    """Return tokens in which `WITHIN 10 SECONDS` of a join is a condition after `ON`.

    Raises:
        DocumentError: `WITHIN` has no duration, or no `ON` after it.
    """
    cursor = Cursor(script, tokens)
    words: list[Token] = []
    while (token := cursor.current) is not None:
        if token.text.upper() != "WITHIN" or cursor.is_quoted(token) or not _after_join(words):
            words.append(token)
            cursor.position += 1
            continue
        cursor.position += 1
        duration = cursor.until("ON", "GRACE")
        if cursor.take("GRACE", "PERIOD"):
            cursor.until("ON")
        if cursor.current is None or not duration:
            hint = _EXAMPLE
            raise DocumentError(
                [Problem(script.place(token), "expected a duration and ON after WITHIN", hint)]
            )
        words += [cursor.next("ON"), *_call(token, cursor.text_of(duration).strip("()"))]
    return words


def _after_join(words: Sequence[Token]) -> bool:
    """Return True after the name, and the alias, of what a join reads."""
    return any(word.text.upper().endswith("JOIN") for word in words[-4:])


def _call(token: Token, duration: str) -> list[Token]:
    """Return the tokens of `within('duration') AND`."""
    from sqlglot import TokenType
    from sqlglot.tokenizer_core import Token as Kind

    parts = [
        (TokenType.VAR, "within"),
        (TokenType.L_PAREN, "("),
        (TokenType.STRING, duration),
        (TokenType.R_PAREN, ")"),
        (TokenType.AND, "and"),
    ]
    return [Kind(kind, text, token.line, token.col, token.start, token.end, []) for kind, text in parts]


def find_bounds(condition: exp.Expr, name: str, others: Sequence[str], place: str) -> Bounds | None:
    """Return the bounds of right - left of these spellings, in microseconds; None for other conditions.

    Args:
        condition: a condition of the join.
        name: the right side.
        others: the relations of the left side.
        place: the place of the condition.
    """
    from sqlglot import expressions as exp

    if isinstance(condition, exp.Anonymous) and condition.name.lower() == "within":
        return _within(condition, place)
    if not isinstance(condition, exp.Between) or not isinstance(condition.this, exp.DateDiff):
        return None
    until, since = (_stream(condition.this.args[key]) for key in ("this", "expression"))
    known = {other.lower() for other in others}
    unit = condition.this.args.get("unit")
    limits = [
        length_of(f"{condition.args[key].name} {unit.name if unit else 'day'}") for key in ("low", "high")
    ]
    negative = [isinstance(condition.args[key], exp.Neg) for key in ("low", "high")]
    low, high = (
        None if length is None else -length if is_negative else length
        for length, is_negative in zip(limits, negative, strict=True)
    )
    if low is None or high is None:
        return None
    if until == name.lower() and since in known:
        return low, high
    return (-high, -low) if since == name.lower() and until in known else None


def _within(condition: exp.Anonymous, place: str) -> Bounds:
    lengths = [length_of(text) for text in condition.expressions[0].name.split(",")]
    if None in lengths or len(lengths) > 2:
        what = f"expected a duration after WITHIN, got `{condition.expressions[0].name}`"
        raise DocumentError([Problem(place, what, _EXAMPLE)])
    before, after = lengths[0], lengths[-1]
    return -(before or 0), after


def _stream(node: exp.Expr) -> str:
    """Return the stream whose time an argument of `DATEDIFF` means."""
    from sqlglot import expressions as exp

    column = node.this if isinstance(node, exp.TsOrDsToDate) else node
    return str(column.name).lower() if isinstance(column, exp.Column) and not column.table else ""
