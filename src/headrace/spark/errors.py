"""Errors of Spark's analysis as one line for the user."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"== SQL[^=]*==\n(.*?)\n-*\^", re.DOTALL)


def describe_error(error: Exception) -> tuple[str, str]:
    """Spark's complaint in one line, and its own suggestion as the hint.

    Spark writes `[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column ... cannot be resolved. Did you mean one of
    ...? SQLSTATE`, and of a syntax error, after that, the text in which it is.
    """
    whole = str(getattr(error, "desc", None) or error)
    text = re.split("SQLSTATE|\n\nJVM stacktrace", whole, maxsplit=1)[0]
    text = re.sub(r"^\[[A-Z_.]+\]\s*", "", " ".join(text.split())).rstrip("; ")
    text = re.sub(r"`(__\w+)`(, )?", "", text)
    what, _, suggestion = text.partition(" Did you mean ")
    known = ", ".join(re.findall("`[^`]+`", suggestion)) or suggestion.rstrip("?. ")
    return what.rstrip(".") + quoted_expression(whole), f"did you mean {known}?" if known else ""


def quoted_expression(message: str) -> str:
    r"""Return the text that Spark could not parse, as the end of a sentence.

    Nothing where that is not what is wrong.

    >>> written_in("Syntax error at or near end of input.\n\n== SQL ==\namount <\n--------^^^\n")
    ' in `amount <`'
    """
    quoted = _QUOTED.search(message)
    return f" in `{' '.join(quoted[1].split())}`" if quoted else ""
