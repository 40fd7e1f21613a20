"""The options and side outputs that `match` and `match_rules` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.durations import text
from headrace.errors import require_choice
from headrace.patterns.elements import Order
from headrace.steps.base import Node, Plan, out_of_order
from headrace.steps.expressions import Named, names_of
from headrace.triggers import LateRows


def side_outputs(*, timeouts: LateRows, late: LateRows) -> tuple[str, ...]:
    """Return the names of the side outputs that a pattern diverts rows to."""
    return tuple(name for name, choice in (("timeouts", timeouts), ("late", late)) if choice == "divert")


def describe_counted(outputs: Sequence[str]) -> Iterator[str]:
    """Describe the rows that are counted instead of diverted to a side output."""
    for output, rows in (("timeouts", "timeouts"), ("late", "late rows")):
        if output not in outputs:
            yield f"{rows} are only counted"


def describe_buffered(plan: Plan, node: Node, keys: Named, order: Order) -> tuple[str, str]:
    """Return two phrases for the state of a pattern: ` of each <key>`, and the buffered rows."""
    each = f" of each {', '.join(names_of(keys))}" if keys else ""
    behind = out_of_order(plan, node)
    return each, f", and rows up to {text(behind)} behind" if behind and order != "arrival" else ""


def require_choices(where: str, *, order: str, late_rows: str, timeouts: str) -> None:
    """Reject invalid values of the options.

    Raises:
        OptionError: invalid value; the hint has the nearest choice.
    """
    require_choice(order, Order, "order", where)
    require_choice(late_rows, LateRows, "late_rows", where)
    require_choice(timeouts, LateRows, "timeouts", where)
