"""Steps that emit rows, not aggregates, with the window that contains them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from pydantic import Field

from headrace.durations import text
from headrace.steps.base import MAIN, Plan, out_of_order
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import describe_keys, one_line, stable_names
from headrace.steps.facts import Facts, late_facts, plain_column
from headrace.steps.grammar.declaration import Declaration, Input, StepNode, declare
from headrace.steps.grammar.step import PaletteEntry
from headrace.steps.grammar.values import Expected, KeyColumns, SqlText
from headrace.steps.keyed import KeyedNode
from headrace.steps.tables.changelog import keyed_columns, row_columns
from headrace.steps.tables.retractions import has_retractions
from headrace.steps.tables.top_n import RANK, parse_order
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_stateful
from headrace.windows import (
    AnyWindow,
    Attached,
    Cumulating,
    Global,
    Session,
    Sliding,
    Tumbling,
)

WINDOW = "window"
_BY_TIME = (Tumbling, Sliding, Cumulating)


@declare
class AssignWindow(StepNode, KeyedNode):
    """Rows with the window that contains them, once for each of their windows."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    window: Annotated[AnyWindow, Field(alias="assign_window")]
    """Adds the column `window` to rows."""

    verb: ClassVar[str] = "assign_window"
    key: ClassVar[str] = "assign_window"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Time and state", "Assign window", {"assign_window": {"tumbling": "10 minutes"}}
    )
    needs_time = True
    drops_rows: ClassVar[bool] = True
    keeps_labels: ClassVar[bool] = True
    duplicate_hint: ClassVar[str] = "rename the column before: `window` is a column of the results"

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """True for sessions, whose bounds are known when they close."""
        return isinstance(self.window, Session)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.stateful else (MAIN,)

    def fires_by_clock(self, facts: Facts) -> bool:
        return self.stateful and facts.by_clock

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(inputs[0])
        columns = inputs[0].columns
        added = None if columns is None else (*columns, WINDOW)
        if self.stateful:
            return Facts(columns=added, timed=True)
        return replace(inputs[0], columns=added, schema=None, time_column=None)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        if not isinstance(self.window, (*_BY_TIME, Session)):
            what = (
                f"rows are assigned to tumbling, sliding, cumulating and session windows, "
                f"not to {self.window.describe()}"
            )
            yield Finding(what, "aggregate the window instead", ("assign_window", WINDOW))
        if self.keys and not self.stateful:
            what = f"the key does not change {self.window.describe()} windows"
            yield Finding(what, "remove key_by; only the sessions of each key differ", ("key_by",))

    def tier(self, plan: Plan) -> Tier:
        if self.stateful:
            return Tier("kernel", "emits the rows of a session when it closes; late rows go to .late")
        return Tier("native", "a Spark expression")

    def state_bound(self, plan: Plan) -> StateBound | None:
        if not isinstance(self.window, Session):
            return None
        kept = text(self.window.gap + out_of_order(plan, self))
        return StateBound(f"the rows of open sessions{self.of_each_key}, kept {kept} from the last row")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.stateful:
            yield from note_stateful(plan, self)

    def description(self) -> list[str]:
        return [self.window.describe(), describe_keys(self.keys) if self.stateful else ""]

    def state_fields(self) -> Mapping[str, Any]:
        return {"window": self.window, "keys": stable_names(self.keys)} if self.stateful else {}


@declare
class TopRows(Declaration):
    """The value of `top_n` beside `window` in a document."""

    label: ClassVar[str] = "top_n"
    example: ClassVar[str] = "such as {n: 3, order_by: score desc}"
    n: Annotated[int, Ge(1), Expected("a whole number of rows, 1 or more")]
    """The number of rows of each key and window."""
    order_by: Annotated[SqlText, Expected("columns to order by", "such as score desc")]
    """The order of the rows, such as `score desc, name`."""

    def __post_init__(self) -> None:
        parse_order(self.order_by)


@declare
class WindowTopN(StepNode, KeyedNode):
    """The first rows of each key and window, when the window closes, with their rank."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    window: AnyWindow
    """Groups by time or by order."""
    top: Annotated[TopRows, Field(alias="top_n")]
    """Keeps the first rows of each key and window."""

    verb: ClassVar[str] = "window_top_n"
    key: ClassVar[str] = "top_n"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Time and state",
        "Window top N",
        {"window": {"tumbling": "10 minutes"}, "top_n": {"n": 3}},
    )
    needs_time = True
    accepts_changes = True
    duplicate_hint: ClassVar[str] = (
        "rename the column before: the results have the columns `window` and `rank`"
    )

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        return "top_n" in keys and "window" in keys

    @property
    def orders(self) -> tuple[tuple[str, str], ...]:
        """The expressions to order by, each with its direction, such as `desc nulls last`."""
        return parse_order(self.top.order_by)

    @property
    def adds_window(self) -> bool:
        """True if the rows get the column `window`; attached windows are columns already."""
        return not isinstance(self.window, Attached)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(inputs[0])
        columns = keyed_columns(self.keys, row_columns(inputs[0]))
        added = (*((WINDOW,) if self.adds_window else ()), RANK)
        return Facts(columns=None if columns is None else (*columns, *added), timed=True)

    def check(self, plan: Plan) -> Iterator[Finding]:
        facts = plan.facts(self.input)
        yield from super().check(plan)
        yield from check_expressions([expression for expression, _ in self.orders], facts.columns, "order_by")
        if isinstance(self.window, Attached):
            yield from check_expressions((self.window.start, self.window.end), facts.columns, WINDOW)
        elif not isinstance(self.window, (*_BY_TIME, Session, Global)):
            what = f"the first rows of {self.window.describe()} windows are not supported"
            yield Finding(what, "use tumbling, sliding, cumulating, session or attached windows", (WINDOW,))
        if has_retractions(facts) and isinstance(self.window, Session):
            hint = "use tumbling, sliding, cumulating or attached windows"
            yield Finding("the first rows of a session over a table are not supported", hint, (WINDOW,))

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "emits ranks when a window closes; late rows go to .late")

    def state_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self)
        rows = "all rows" if has_retractions(plan.facts(self.input)) else f"{self.top.n} rows"
        kept = f"{rows}{self.of_each_key} and open window"
        if isinstance(self.window, Global):
            return StateBound(f"{kept}, until the input ends")
        size = getattr(self.window, "size", getattr(self.window, "gap", 0))
        since = "end" if isinstance(self.window, Attached) else "start"
        return StateBound(f"{kept}, kept {text(size + behind)} from its {since}")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def description(self) -> list[str]:
        first = f"first {self.top.n}"
        return [first, self.window.describe(), describe_keys(self.keys), f"ordered by {self.top.order_by}"]

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "window": self.window,
            "keys": stable_names(self.keys),
            "n": self.top.n,
            "order_by": one_line(self.top.order_by),
        }


def computed_keys(node: KeyedNode) -> tuple[str, ...]:
    """Return the names of keys that are not columns of the input."""
    return tuple(name for name, key in node.keys if plain_column(key) != name)
