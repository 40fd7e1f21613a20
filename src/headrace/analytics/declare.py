"""Detectors, smoothing and alerts, which process the rows of each key in order; and expectations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, fields, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from annotated_types import Ge
from pydantic import Field

from headrace.analytics.check import check_detect
from headrace.analytics.detectors import AnyDetector, Detector, Missing
from headrace.analytics.smoothing import AnySmoothing, Smoothing
from headrace.durations import Duration, text
from headrace.errors import OptionError
from headrace.functions.failures import REASON, rename_reserved
from headrace.steps.base import DEAD_LETTERS, MAIN, Plan, Ref, out_of_order
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import Named, describe_keys, find_columns, stable_names, stable_texts
from headrace.steps.facts import Facts, late_facts
from headrace.steps.grammar.declaration import Choice, Declaration, Input, StepNode, declare
from headrace.steps.grammar.kinds import KindKeys
from headrace.steps.grammar.step import PaletteEntry
from headrace.steps.grammar.values import (
    Condition,
    Expected,
    KeyColumns,
    NamedExpressions,
    Names,
    PositiveLength,
    Text,
)
from headrace.steps.keyed import KeyedNode
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier, unknown_columns
from headrace.steps.unrouted import note_stateful, note_unrouted
from headrace.windows import Order

ALERT = ("state", "since", "severity")
"""The columns that an alert adds to a row."""
OnFail = Literal["dead_letter", "drop", "warn", "fail"]
VIOLATED = "violated"
"""The column of dead letters with the names of the violated rules."""
T = TypeVar("T", bound=Declaration)
VERDICT = ("score", "expected", "low", "high", "anomalous", "reason")
"""The columns that a detector adds to a row."""


@declare
class DetectOptions(KindKeys):
    """A detector, beside its warm-up and its order."""

    detector: AnyDetector
    """Compares a row with the earlier ones."""
    warm_up: Annotated[int, Ge(0)] | None = None
    """The number of rows of a key that are only learned; default: that of the detector."""
    order: Order = "event_time"
    """`arrival`: rows are processed in arrival order, and none is late."""

    label: ClassVar[str] = "detect"
    example: ClassVar[str] = "such as {quantile: {on: value, q: 0.999}, warm_up: 100}"
    kind_field: ClassVar[str] = "detector"
    choice: ClassVar[type[Choice]] = Detector

    @property
    def rows_learned(self) -> int:
        """The number of rows of a key that have no verdict."""
        if self.warm_up is not None:
            return self.warm_up
        return max(part.warm_up_rows for part in self.detector.parts())


class InOrderNode(KeyedNode):
    """A step that processes the rows of each key in order, and sends late rows to `.late`."""

    duplicate_hint: ClassVar[str] = "rename the column before the step, which adds it"
    reads_time: ClassVar[bool] = False
    """True if its rows need a time also in arrival order."""

    @property
    def needs_time(self) -> bool:
        return self.reads_time or self.order == "event_time"

    @property
    def order(self) -> Order:
        """The order of the rows."""
        chosen: Order = self.options.order  # type: ignore[attr-defined]
        return chosen

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")

    def leaves_empty(self, output: str, inputs: Sequence[Facts]) -> bool:
        """Return True for the late rows of an input without time."""
        return output == "late" and not inputs[0].timed

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "Spark does not process the rows of a key in order")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def add_columns(self, output: str, facts: Facts, names: Sequence[str]) -> Facts:
        """Return the facts of an output, whose rows are those of the input with more columns."""
        if output == "late":
            return late_facts(facts)
        columns = None if facts.columns is None else (*facts.columns, *names)
        return replace(facts, columns=columns, schema=None)

    def bound(self, plan: Plan, kept: str) -> StateBound:
        """Return the bound of the state; `kept` is that of a key."""
        behind = out_of_order(plan, self) if self.order == "event_time" else 0
        waiting = f", and rows up to {text(behind)} behind" if behind else ""
        kept = f"{kept}{self.of_each_key}, never expired{waiting}"
        return StateBound(kept, f"the distinct values of {self.key_text}" if self.keys else "")


@declare
class Detect(StepNode, InOrderNode):
    """Compares each row of a key with the earlier ones."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    options: Annotated[DetectOptions, Field(alias="detect")]
    """Compares each row of a key with the earlier ones."""

    verb: ClassVar[str] = "detect"
    time_hint: ClassVar[str] = 'set order="arrival", or '
    is_explained: ClassVar[bool] = True
    key: ClassVar[str] = "detect"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Analytics", "Detect anomalies", {"key_by": None, "detect": {"z_score": {}}}
    )

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return self.add_columns(output, inputs[0], VERDICT)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        yield from check_detect(self, plan)

    def state_bound(self, plan: Plan) -> StateBound:
        return self.bound(plan, self.options.detector.kept())

    def description(self) -> list[str]:
        detector, learned = self.options.detector, self.options.rows_learned
        return [
            detector.phrase(),
            f"of {', '.join(detector.columns)}" if detector.columns else "",
            describe_keys(self.keys),
            f"warm-up of {learned} rows" if learned else "",
            "in arrival order" if self.options.order == "arrival" else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "keys": stable_names(self.keys),
            "detector": self.options.detector,
            "warm_up": self.options.rows_learned,
            "order": self.options.order,
        }

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        """Return all columns if rows are stored, otherwise those of the expressions."""
        detector = self.options.detector
        stores = any(isinstance(part, Missing) for part in detector.parts())
        if stores or self.options.order == "event_time":
            return columns
        return find_columns(columns, [*stable_texts(self.keys), *detector.columns])


@declare
class SmoothOptions(KindKeys):
    """A smoothing method, beside its order."""

    method: AnySmoothing
    """Removes the noise of a column."""
    order: Order = "event_time"
    """`arrival`: rows are processed in arrival order, and none is late."""

    label: ClassVar[str] = "smooth"
    example: ClassVar[str] = "such as {median: {on: value, rows: 5}}"
    kind_field: ClassVar[str] = "method"
    choice: ClassVar[type[Choice]] = Smoothing


@declare
class Smooth(StepNode, InOrderNode):
    """Adds a column without the noise of another."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    options: Annotated[SmoothOptions, Field(alias="smooth")]
    """Adds a column without the noise of another."""

    verb: ClassVar[str] = "smooth"
    time_hint: ClassVar[str] = 'set order="arrival", or '
    key: ClassVar[str] = "smooth"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Analytics", "Smooth", {"key_by": None, "smooth": {"median": {}}}
    )

    @property
    def added(self) -> str:
        """The name of the column that it adds."""
        return f"{self.options.method.on}_smooth"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return self.add_columns(output, inputs[0], (self.added,))

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        column = self.options.method.on
        if column is None:
            yield Finding(f"`{self.options.method.kind}` has no column", 'set on="..."', ("smooth",))
        else:
            yield from unknown_columns((column,), plan.facts(self.input).columns, "smooth", ("smooth",))

    def state_bound(self, plan: Plan) -> StateBound:
        return self.bound(plan, self.options.method.kept)

    def description(self) -> list[str]:
        return [
            self.options.method.phrase(),
            f"of {self.options.method.on}",
            describe_keys(self.keys),
            "in arrival order" if self.options.order == "arrival" else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        return {"keys": stable_names(self.keys), "method": self.options.method, "order": self.options.order}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        """Return all columns if rows are buffered, otherwise those of the expressions."""
        if self.options.order == "event_time":
            return columns
        return find_columns(columns, [*stable_texts(self.keys), str(self.options.method.on)])


@declare
class AlertOptions(Declaration):
    """The conditions of an alert."""

    when: Condition
    """The condition of rows that fire."""
    resolve: Condition | None = None
    """The condition of rows that resolve; default: any row that does not fire."""
    severity: Text = "warning"
    """The text of the column `severity`."""
    repeat: PositiveLength | None = None
    """A row that still fires this long after the last report repeats the alert."""
    group: Names | None = None
    """The columns of a group: it fires with the first key that fires and is resolved with the last."""
    order: Order = "event_time"
    """`arrival`: rows are processed in arrival order, and none is late."""

    label: ClassVar[str] = "alert"
    example: ClassVar[str] = "such as {when: score > 0.9, resolve: score < 0.5, severity: high}"


@declare
class AlertRows(StepNode, InOrderNode):
    """Makes one row of each change of a key between firing and resolved."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    options: Annotated[AlertOptions, Field(alias="alert")]
    """Makes one row of each change of a key between firing and resolved."""

    verb: ClassVar[str] = "alert"
    reads_time: ClassVar[bool] = True
    key: ClassVar[str] = "alert"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Analytics", "Alert", {"key_by": None, "alert": {"when": None}}
    )

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return self.add_columns(output, inputs[0], ALERT)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        columns = plan.facts(self.input).columns
        yield from check_expressions((self.options.when, self.options.resolve), columns, "alert")
        yield from unknown_columns(self.options.group or (), columns, "group", ("alert",))

    def state_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self) if self.order == "event_time" else 0
        waiting = f", and rows up to {text(behind)} behind" if behind else ""
        return StateBound(f"the alerts that fire{self.of_each_key}, until they are resolved{waiting}")

    def description(self) -> list[str]:
        options = self.options
        return [
            f"when {options.when}",
            f"resolved when {options.resolve}" if options.resolve else "",
            describe_keys(self.keys),
            f"one per {', '.join(options.group)}" if options.group else "",
            f"severity {options.severity}",
            f"repeated after {text(options.repeat)}" if options.repeat is not None else "",
            "in arrival order" if options.order == "arrival" else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        group = list(self.options.group or ())
        return {
            "keys": stable_names(self.keys),
            "group": group,
            "repeat": self.options.repeat,
            "order": self.options.order,
        }


@declare
class Expect(StepNode):
    """Passes on the rows that satisfy all rules."""

    input: Input
    _: KW_ONLY
    rules: Annotated[NamedExpressions, Expected("names and conditions", "such as {amount: amount >= 0}")]
    """Names and conditions; a null condition is a violation."""
    on_fail: OnFail = "dead_letter"
    """`dead_letter`, `drop`, `warn` or `fail` for a row that violates a rule."""

    verb: ClassVar[str] = "expect"
    key: ClassVar[str] = "expect"
    nested: ClassVar[bool] = True
    label: ClassVar[str] = "expect"
    example: ClassVar[str] = "such as {rules: {amount: amount >= 0}, on_fail: dead_letter}"
    palette: ClassVar[PaletteEntry] = PaletteEntry("Analytics", "Expect", {"expect": {"rules": None}})

    def __post_init__(self) -> None:
        """Require conditions."""
        if not self.rules:
            raise OptionError("expected at least one rule", hint='such as positive="amount > 0"')
        for name, condition in self.rules:
            if not isinstance(condition, str) or not condition.strip():
                hint = 'such as positive="amount > 0"'
                raise OptionError(f"{name}: expected a condition in Spark SQL, got {condition!r}", hint=hint)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, DEAD_LETTERS) if self.on_fail == "dead_letter" else (MAIN,)

    @property
    def drops_rows(self) -> bool:  # type: ignore[override]
        return self.on_fail in ("dead_letter", "drop")

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output != DEAD_LETTERS:
            return inputs[0]
        columns = inputs[0].columns
        if columns is None:
            return Facts()
        return Facts(columns=(*rename_reserved(columns, (REASON, VIOLATED)), REASON, VIOLATED))

    def check(self, plan: Plan) -> Iterator[Finding]:
        conditions = (condition for _, condition in self.rules)
        yield from check_expressions(conditions, plan.facts(self.input).columns, "expect")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_unrouted(plan, self)

    def description(self) -> list[str]:
        failed = {
            "dead_letter": "other rows go to .dead_letters",
            "drop": "other rows are dropped and counted",
            "warn": "other rows are counted",
            "fail": "another row stops the run",
        }
        return [*(f"{name}: {condition}" for name, condition in self.rules), failed[self.on_fail]]


def detect_node(
    name: str,
    ref: Ref,
    keys: Named,
    detector: Detector,
    *,
    on: str | Sequence[str] | None = None,
    warm_up: int | None = None,
    order: Order = "event_time",
) -> Detect:
    """Return the node of a detector.

    Raises:
        OptionError: an option has an invalid value.
    """
    where = f"`{name}`"
    if not isinstance(detector, Detector):
        hint = "such as detectors.quantile(q=0.999)"
        raise OptionError(f"expected a detector, got {detector!r}", where=where, hint=hint)
    if on is not None:
        if "on" not in {field.name for field in fields(detector)}:
            raise OptionError(f"`{detector.kind}` compares no column", where=where, hint="remove `on`")
        compared: Any = detector
        detector = replace(compared, on=on)
    options = _options(where, DetectOptions, detector, warm_up, order)
    return Detect(name, ref, keys=keys, options=options)


def smooth_node(
    name: str,
    ref: Ref,
    keys: Named,
    method: Smoothing,
    *,
    on: str | None = None,
    order: Order = "event_time",
) -> Smooth:
    """Return the node of a smoothing method.

    Raises:
        OptionError: an option has an invalid value.
    """
    where = f"`{name}`"
    if not isinstance(method, Smoothing):
        hint = "such as smoothing.median(rows=5)"
        raise OptionError(f"expected a smoothing method, got {method!r}", where=where, hint=hint)
    if on is not None:
        method = replace(method, on=on)
    return Smooth(name, ref, keys=keys, options=_options(where, SmoothOptions, method, order))


def alert_node(
    name: str,
    ref: Ref,
    keys: Named,
    *,
    when: str,
    resolve: str | None = None,
    severity: str = "warning",
    repeat: Duration | None = None,
    group: str | Sequence[str] | None = None,
    order: Order = "event_time",
) -> AlertRows:
    """Return the node of an alert.

    Raises:
        OptionError: an option has an invalid value.
    """
    values = (when, resolve, severity, repeat, group, order)
    return AlertRows(name, ref, keys=keys, options=_options(f"`{name}`", AlertOptions, *values))


def _options(where: str, kind: type[T], *values: Any) -> T:
    """Create options whose errors have the name of the step."""
    try:
        return kind(*values)
    except OptionError as error:
        option = error.where.rpartition(": ")[2]
        location = f"{where}: {option}" if option != kind.__name__.lower() else where
        raise OptionError(error.what, where=location, hint=error.hint) from None
