"""What Spark says against an expression, as one line for the user."""

from __future__ import annotations

import re


def spark_says(error: Exception) -> tuple[str, str]:
    """Spark's complaint in one line, and its own suggestion as the hint.

    Spark writes `[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column ... cannot be resolved. Did you mean one of ...? SQLSTATE`.
    """
    text = str(getattr(error, "desc", None) or error).split("SQLSTATE")[0].split("\n\nJVM stacktrace")[0]
    text = re.sub(r"^\[[A-Z_.]+\]\s*", "", " ".join(text.split())).rstrip("; ")
    text = re.sub(r"`(__\w+)`(, )?", "", text)
    what, _, suggestion = text.partition(" Did you mean ")
    return what.rstrip("."), f"did you mean {suggestion.strip()}" if suggestion else ""
