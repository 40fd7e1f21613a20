"""The places of the options in a script, for those who mask them."""

from __future__ import annotations

from headrace.errors import DocumentError
from headrace.statements.tokens import Cursor, Script, split_statements


def option_values(text: str) -> list[tuple[str, int, int]] | None:
    """Return name, start and end of the value of each option in `WITH (...)`; None if a quote is not closed.

    >>> option_values("CREATE SINK s WITH (connector = 'redis')")
    [('connector', 32, 39)]
    """
    script = Script(text, "")
    try:
        statements = split_statements(script)
    except DocumentError:
        return None
    return [value for tokens in statements for value in _values(Cursor(script, tokens))]


def _values(cursor: Cursor) -> list[tuple[str, int, int]]:
    values = []
    while cursor.current is not None:
        if not cursor.take("WITH", "("):
            cursor.position += 1
            continue
        while cursor.current is not None and not cursor.take(")"):
            name = "".join(token.text for token in cursor.until("=", ")"))
            if cursor.take("=") and (value := cursor.until(",", ")")):
                values.append((name, value[0].start, value[-1].end + 1))
            cursor.take(",")
    return values
