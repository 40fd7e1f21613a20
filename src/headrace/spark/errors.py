"""Convert errors of Spark's analyzer and parser to one line and a hint."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"== SQL[^=]*==\n(.*?)\n-*\^", re.DOTALL)


def describe_error(error: Exception) -> tuple[str, str]:
    """Return the message of a Spark error as one line, and its suggestion as the hint.

    Spark's text is `[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column ... cannot be resolved. Did you mean one of
    ...? SQLSTATE`; the SQL text of a syntax error follows it.
    """
    whole = str(getattr(error, "desc", None) or error)
    text = re.split("SQLSTATE|\n\nJVM stacktrace", whole, maxsplit=1)[0]
    text = re.sub(r"^\[[A-Z_.]+\]\s*", "", " ".join(text.split())).rstrip("; ")
    text = re.sub(r"`(__\w+)`(, )?", "", text)
    what, _, suggestion = text.partition(" Did you mean ")
    known = ", ".join(re.findall("`[^`]+`", suggestion)) or suggestion.rstrip("?. ")
    return what.rstrip(".") + quoted_expression(whole), f"did you mean {known}?" if known else ""


def quoted_expression(message: str) -> str:
    r"""Return the SQL text that an error quotes, as the end of a sentence; empty if it quotes none.

    >>> quoted_expression("Syntax error at or near end of input.\n\n== SQL ==\namount <\n--------^^^\n")
    ' in `amount <`'
    """
    expression = find_expression(message)
    return f" in `{' '.join(expression.split())}`" if expression else ""


def find_expression(message: str) -> str:
    """Return the SQL text that a Spark error quotes; empty if it quotes none."""
    quoted = _QUOTED.search(message)
    return quoted[1] if quoted else ""
