"""Aggregates of windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from math import gcd
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, Field

from headrace.durations import text
from headrace.steps.base import MAIN, Plan, out_of_order
from headrace.steps.expression_checks import check_aggregates, check_expressions
from headrace.steps.expressions import (
    PythonFold,
    describe_columns,
    describe_keys,
    find_columns,
    names_of,
    stable_names,
    stable_texts,
)
from headrace.steps.facts import Change, Facts, late_facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.problems import expect
from headrace.steps.grammar.step import PaletteEntry
from headrace.steps.grammar.values import Aggregates, KeyColumns, Length
from headrace.steps.keyed import KeyedNode
from headrace.steps.stateful.rows_in_state import with_rows_in_state
from headrace.steps.tables.changelog import row_columns
from headrace.steps.tables.retractions import describe_retractions, has_retractions, with_kept_values
from headrace.steps.traits import Blocks, Differs, Finding, RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_arrival_order, note_unrouted
from headrace.windows import (
    AnyWindow,
    Attached,
    Cumulating,
    Global,
    Landmark,
    Session,
    Sliding,
    Trailing,
    Tumbling,
)
from headrace.windows.check import (
    check_emission,
    check_native,
    check_retractions,
    check_ttl,
    late_trigger,
    moving_bounds,
)
from headrace.windows.triggers import Emission, uses_clock

Engine: TypeAlias = Literal["kernel", "native"]
"""Where a window is aggregated: in the kernel of Headrace, or by Spark's own operator."""


_EXPRESSIONS = ("when", "of", "start", "end")
"""The fields of windows that are expressions over the input."""


def _require_millisecond(ttl: Length) -> Length:
    if ttl < 1000:  # the resolution of the watermark
        raise expect("a millisecond or more")
    return ttl


Ttl = Annotated[Length, AfterValidator(_require_millisecond)]


@declare
class WindowAggregate(StepNode, KeyedNode):
    """Aggregates of windows."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    window: AnyWindow
    """Groups by time or by order."""
    emission: Annotated[Emission, Field(alias="emit")] = Emission()
    """When windows emit results, and how these refine each other."""
    ttl: Ttl | None = None
    """Expires the state of a key this long after its last row."""
    engine: Engine = "kernel"
    """`native`: Spark's operator, which drops and counts late rows."""
    aggregates: Annotated[Aggregates, Field(alias="aggregate")]

    verb: ClassVar[str] = "window"
    key: ClassVar[str] = "aggregate"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Time and state", "Window", {"window": {"tumbling": "10 minutes"}, "aggregate": {"n": "count(*)"}}
    )
    needs_time = True
    accepts_changes = True
    emits_panes = True
    duplicate_hint: ClassVar[str] = (
        'rename the key or aggregate, such as key_by(of_window="window"); '
        "`window` and `pane` are columns of the results"
    )

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        return "aggregate" in keys and "window" in keys

    def __post_init__(self) -> None:
        """Accept `late_rows="count"`, the spelling of 0.2 for the native engine."""
        if self.emission.late_rows == "count":
            object.__setattr__(self, "engine", "native")
            object.__setattr__(self, "emission", replace(self.emission, late_rows="divert"))

    @property
    def native(self) -> bool:
        """True if it runs on Spark's own operators, which drop late rows."""
        return self.engine == "native"

    @property
    def subtracts(self) -> bool:
        """True if its aggregates process a row that a changelog removes.

        Windows whose bounds are not fixed buffer their rows, and the removed row is deleted there.
        """
        return isinstance(self.window, Tumbling | Sliding | Cumulating | Attached | Global)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN,) if self.native else (MAIN, "late")

    def fires_by_clock(self, facts: Facts) -> bool:
        return not self.native and (facts.by_clock or uses_clock(self.emission.firing))

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(inputs[0])
        change: Change = "none" if self.emission.fires_once else "refinements"
        adds = change == "refinements" and self.emission.mode == "discarding"
        return Facts(columns=self._columns(row_columns(inputs[0])), timed=True, change=change, adds=adds)

    def _columns(self, inputs: tuple[str, ...] | None) -> tuple[str, ...] | None:
        keys, results = names_of(self.keys), ("window", *names_of(self.aggregates), "pane")
        if not isinstance(self.window, Trailing):
            return (*keys, *results)
        if inputs is None:  # a result of a trailing window has the columns of its row
            return None
        carried = (*(name for name in keys if name not in inputs), *inputs)
        return (*(name for name in carried if name in keys or name not in results), *results)

    def check(self, plan: Plan) -> Iterator[Finding]:
        columns = plan.facts(self.input).columns
        yield from super().check(plan)
        yield from check_aggregates(self.aggregates, self.keys, columns)
        boundary = (getattr(self.window, field, None) for field in _EXPRESSIONS)
        yield from check_expressions(boundary, columns, "window")
        yield from check_emission(self.window, self.emission)
        if self.native:
            yield from check_native(self.window, self.emission)
        yield from check_ttl(self.window, self.ttl)
        if has_retractions(plan.facts(self.input)):
            yield from check_retractions(self, by_clock=plan.facts(self.input).by_clock)

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if (stale := moving_bounds(self.window, self.emission)) is not None:
            for sink in plan.sinks_of(self):
                by_window = "window" in (getattr(sink.connector, "key", None) or ())
                if by_window and sink.input.output != "late":
                    yield Finding(stale.format(sink.name), 'mode="retracting" removes it')
        yield from late_trigger(self.window, self.emission)

    def tier(self, plan: Plan) -> Tier:
        folded = ", ".join(str(item) for _, item in self.aggregates if isinstance(item, PythonFold))
        if folded:
            operator = "Spark's own operator" if self.native else "the kernel"
            why = f"windows in {operator}; {folded} folds in Python, through Arrow, when a pane fires"
            return Tier("arrow", why, folded)
        if self.native:
            return Tier("native", 'Spark\'s own window: with engine="native" it drops late rows')
        changes = has_retractions(plan.facts(self.input))
        removal = (
            describe_retractions(self.aggregates) if self.subtracts else "deleted from the buffered rows"
        )
        removed = [f"removed rows: {removal}"] if changes else []
        return Tier("kernel", "; ".join([*self._kernel_reasons(), *self._slice_notes(plan), *removed]))

    def _kernel_reasons(self) -> Iterator[str]:
        in_spark = isinstance(self.window, Tumbling | Sliding | Session)
        if not in_spark:
            yield f"Spark has no such window ({self.window.describe()})"
        if not self.emission.fires_once:
            yield "Spark fires a window once"
        if self.emission.mode == "retracting":
            yield "Spark has no retractions"
        could_be_native = in_spark and self.emission.fires_once
        yield "late rows go to .late" + (' (native with engine="native")' if could_be_native else "")

    def _slice_notes(self, plan: Plan) -> Iterator[str]:
        """Yield a note if the kernel aggregates overlapping windows from shared slices."""
        window, length = self.window, 0
        if isinstance(window, Sliding) and window.size > window.every:
            length = gcd(window.size, window.every)
        if isinstance(window, Cumulating) and window.size > window.step:
            length = window.step
        if length and self.emission.fires_once and not plan.facts(self.input).by_clock:
            yield f"windows share slices of {text(length)}, if no aggregate depends on the order of rows"

    def state_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self) + self.emission.lateness
        if has_retractions(plan.facts(self.input)) and self.subtracts:
            return with_kept_values(self._window_bound(behind), self.aggregates)
        return with_rows_in_state(self._window_bound(behind), self.aggregates)

    def _window_bound(self, behind: int) -> StateBound:
        each = self.of_each_key
        match self.window:
            case Global():
                return self._key_bound(f"one window{each}", ", never expired")
            case Trailing(size):
                return StateBound(f"the rows{each} of the last {text(size + behind)}")
            case Session(gap):
                return StateBound(f"open sessions{each}, kept {text(gap + behind)} from their last row")
            case Attached():
                return StateBound(f"open windows{each}, kept {text(behind)} from their end")
            case Tumbling(size) | Sliding(size) | Cumulating(size):
                return StateBound(f"open windows{each}, kept {text(size + behind)} from their start")
        resets = isinstance(self.window, Landmark) and self.window.reset
        until = ", and its number" if resets else ", until the row that closes it arrives"
        waits = f", and rows up to {text(behind)} behind" if behind else ""
        return self._key_bound(f"the open window{each}{until}{waits}")

    def _key_bound(self, kept: str, without_ttl: str = "") -> StateBound:
        """Return the bound of a window that has no end; `without_ttl` is added if keys do not expire."""
        if self.ttl is not None:
            return StateBound(f"{kept}, expired {text(self.ttl)} after its last row")
        if not self.keys:
            return StateBound(kept + without_ttl)
        hint = "window(..., ttl=...) expires idle ones"
        return StateBound(kept + without_ttl, f"the distinct values of {self.key_text}", hint)

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.native:
            yield Blocks(
                "Spark's own windows give final results in append mode; real-time mode has update only "
                '(the kernel could: remove engine="native")'
            )
            return
        yield from note_unrouted(plan, self)
        yield Differs("triggers are evaluated after each row, not after each batch")
        if self.fires_by_clock(plan.facts(self.input)):
            yield Differs("timers fire on the next row of their task, or at the batch's end")
        if self.window.order_dependent:
            yield from note_arrival_order()

    def description(self) -> list[str]:
        return [
            self.window.describe(),
            describe_keys(self.keys),
            *self.emission.describe(self.window.on_time),
            "late rows are only counted" if self.native else "",
            f"state of a key expires {text(self.ttl)} after its last row" if self.ttl is not None else "",
            describe_columns(self.aggregates),
        ]

    def state_fields(self) -> Mapping[str, Any]:
        emission = self.emission
        return {
            "window": self.window,
            "keys": stable_names(self.keys),
            "aggregates": stable_texts(self.aggregates),
            "trigger": emission.firing,
            "lateness": emission.lateness,
            "mode": emission.mode,
            "late_rows": "count" if self.native else "divert",
            "ttl": self.ttl,
        }

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        """Return all columns if rows are buffered in the state, otherwise those of the expressions."""
        buffers = self.window.order_dependent and getattr(self.window, "order", "") != "arrival"
        if buffers or isinstance(self.window, Trailing):
            return columns
        conditions = [str(getattr(self.window, name, None) or "") for name in _EXPRESSIONS]
        return find_columns(columns, [*stable_texts(self.keys), *stable_texts(self.aggregates), *conditions])
