"""Check the frame and the functions of an OVER window."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headrace.errors import OptionError
from headrace.sql.functions import spark_functions
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import Named
from headrace.steps.traits import Finding

if TYPE_CHECKING:
    from headrace.over.declare import OverWindow

PLACES = ("lag", "lead", "row_number", "rank", "dense_rank")
"""Window functions that are no aggregates."""
_WHOLE = ("ntile", "percent_rank", "cume_dist")
_CALL = re.compile(r"\b([a-z_]\w*)\s*\(", re.IGNORECASE)
_TEXT = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
_OVER = re.compile(r"\bover\s*(\(|\w)", re.IGNORECASE)


def calls_of(expression: str) -> set[str]:
    """Return the names of the functions that an expression calls, in lower case.

    >>> sorted(calls_of("Sum(amount) - lag(amount, 1)"))
    ['lag', 'sum']
    """
    return {name.lower() for name in _CALL.findall(_TEXT.sub("''", expression))}


def check_frame(window: OverWindow) -> None:
    """Reject options of a frame that exclude each other.

    Raises:
        OptionError: a frame has two bounds, or its order is missing or ambiguous.
    """
    if window.rows is not None and window.range is not None:
        raise OptionError("a frame has either rows or range", where="range", hint="remove one of them")
    framed = "rows" if window.rows is not None else "range"
    if window.order_by is None and (window.rows is not None or window.range is not None):
        raise OptionError(f"`{framed}` needs an order", where=framed, hint="add order_by, such as ts")
    if window.range is not None and window.bound is not None and len(window.orders) != 1:
        hint = "order by one column, or use rows"
        raise OptionError("a range with a bound has one order column", where="range", hint=hint)


def check_columns(columns: Named, known: Sequence[str] | None) -> Iterator[Finding]:
    """Yield the problems of the results of an OVER window."""
    yield from check_expressions([item for _, item in columns], known, "aggregate")
    for name, item in columns:
        if not isinstance(item, str):
            continue
        calls = calls_of(item)
        if _OVER.search(_TEXT.sub("''", item)):
            yield _finding(f"`{name}` has an OVER clause", "leave it out: the step is the window")
        elif unknown := [call for call in _WHOLE if call in calls]:
            what = f"{unknown[0]} needs all rows of the key, and a stream has no last row"
            yield _finding(what, "use row_number(), rank() or count(*)")
        elif "nth_value" in calls:
            yield _finding("nth_value is not supported", "use element_at(collect_list(x), n)")
        elif not any(call in PLACES or spark_functions().get(call) for call in calls):
            hint = "such as sum(amount), lag(amount) or row_number(); with_columns adds other columns"
            yield _finding(f"`{name}` has no window function", hint)


def _finding(what: str, hint: str) -> Finding:
    return Finding(what, hint, ("aggregate", "over"))
