"""Detectors of anomalies as steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, fields, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from pydantic import Field

from headrace.analytics.check import check_detect
from headrace.analytics.detectors import AnyDetector, Detector, Missing
from headrace.durations import text
from headrace.errors import OptionError
from headrace.steps.base import MAIN, Plan, Ref, out_of_order
from headrace.steps.expressions import Named, describe_keys, find_columns, stable_names, stable_texts
from headrace.steps.facts import Facts, late_facts
from headrace.steps.grammar.declaration import Choice, Input, StepNode, declare
from headrace.steps.grammar.kinds import KindKeys
from headrace.steps.grammar.step import PaletteEntry
from headrace.steps.grammar.values import KeyColumns
from headrace.steps.keyed import KeyedNode
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_stateful
from headrace.windows import Order

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


@declare
class Detect(StepNode, KeyedNode):
    """Compares each row of a key with the earlier ones."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    options: Annotated[DetectOptions, Field(alias="detect")]
    """Compares each row of a key with the earlier ones."""

    verb: ClassVar[str] = "detect"
    key: ClassVar[str] = "detect"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Analytics", "Detect anomalies", {"key_by": "key", "detect": {"z_score": {"on": "value"}}}
    )
    needs_time = True
    duplicate_hint: ClassVar[str] = "rename the column before the detector, which adds it"

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(inputs[0])
        columns = inputs[0].columns
        return replace(inputs[0], columns=None if columns is None else (*columns, *VERDICT), schema=None)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        yield from check_detect(self, plan)

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "Spark has no detectors")

    def state_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self) if self.options.order == "event_time" else 0
        waiting = f", and rows up to {text(behind)} behind" if behind else ""
        kept = f"{self.options.detector.kept()}{self.of_each_key}, never expired{waiting}"
        return StateBound(kept, f"the distinct values of {self.key_text}" if self.keys else "")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

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
    try:
        options = DetectOptions(detector, warm_up, order)
    except OptionError as error:
        location = f"{where}: {error.where.rpartition(': ')[2]}"
        raise OptionError(error.what, where=location, hint=error.hint) from None
    return Detect(name, ref, keys=keys, options=options)
