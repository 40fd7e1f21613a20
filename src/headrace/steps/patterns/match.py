"""A pattern over the rows of each key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from pydantic import Field

from headrace.durations import Duration, text
from headrace.errors import OptionError
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Skip, Within, skip_of, within_of
from headrace.steps.base import MAIN, Plan, Ref
from headrace.steps.expressions import Named, describe_columns, describe_keys, names_of, stable_names
from headrace.steps.facts import Facts, late_facts
from headrace.steps.grammar.patterns import LateRowsValue, OrderValue, PatternModel, TimeoutsValue
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import KeyColumns
from headrace.steps.patterns.checks import check_pattern, check_state_bound, null_references
from headrace.steps.patterns.describe import describe_conditions, describe_pattern
from headrace.steps.patterns.keyed import KeyedPattern
from headrace.steps.traits import Finding, StateBound, Tier
from headrace.triggers import LateRows
from headrace.windows import Order


@dataclass(frozen=True)
class Match(KeyedPattern):
    """Finds a pattern in the rows of each key.

    `select` is None for one array of rows per step of the pattern.
    """

    pattern: Pattern
    within: Within = field(default_factory=Within)
    skip: Skip = field(default_factory=Skip)
    select: Named | None = None
    verb: ClassVar[str] = "match"
    duplicate_hint: ClassVar[str] = "a match has the columns of its key; rename the measure"

    @property
    def narrow(self) -> bool:
        """True if no output has whole rows, so that only the columns in use are shuffled and stored."""
        return self.select is not None and self.outputs == (MAIN,)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(inputs[0])
        values = self.pattern.names if output or self.select is None else names_of(self.select)
        facts = Facts(columns=(*names_of(self.keys), *values), timed=True, time_column=inputs[0].time_column)
        waits = self.skip.kind != "none" or self.pattern.elements[-1].negated
        hold = (self.within.whole or self.within.between or 0) if waits and not output else 0
        return replace(facts, hold=hold, order_from=inputs[0].order_from)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        yield from self.check_pattern(plan)

    def check_pattern(self, plan: Plan) -> Iterator[Finding]:
        """Yield the problems of the pattern alone."""
        yield from check_pattern(
            self.pattern,
            within=self.within,
            skip=self.skip,
            select=self.select or (),
            keys=self.keys,
            columns=plan.facts(self.input).columns,
        )

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if unbounded := check_state_bound(self.pattern, self.within):
            yield Finding(*unbounded)
        yield from (Finding(*problem) for problem in null_references(self.pattern, self.select or ()))

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "Spark has no patterns")

    def state_bound(self, plan: Plan) -> StateBound:
        each, waiting = self.of_each_key, self.describe_buffer(plan)
        if within := self.within.whole or self.within.between:
            return StateBound(f"partial matches{each}, kept {text(within)}{waiting}")
        kept = f"partial matches{each}, never expired{waiting}"
        return StateBound(kept, "the rows that may begin one", "set within=")

    def description(self) -> list[str]:
        within = self.within
        return [
            describe_pattern(self.pattern),
            describe_keys(self.keys),
            f"within {text(within.whole)}" if within.whole else "",
            f"rows less than {text(within.between)} apart" if within.between else "",
            "in arrival order" if self.order == "arrival" else "",
            "" if self.skip.kind == "past_last" else f"skip {self.skip}",
            *describe_conditions(self.pattern),
            describe_columns(self.select) if self.select else "",
            *self.describe_counted(),
        ]

    def state_fields(self) -> Mapping[str, Any]:
        """Return the fields; measures are included only if they determine the stored columns."""
        return {
            "keys": stable_names(self.keys),
            "pattern": self.pattern.elements,
            "within": self.within,
            "skip": self.skip,
            "order": self.order,
            "select": stable_names(self.select or ()) if self.narrow else None,
        }


def match_node(
    name: str,
    ref: Ref,
    keys: Named,
    pattern: Pattern,
    *,
    within: Duration | Mapping[str, Duration] | Within | None = None,
    skip: str | Mapping[str, str] | Skip = "past_last",
    order: Order = "event_time",
    select: Mapping[str, str] | None = None,
    late_rows: LateRows = "divert",
    timeouts: LateRows = "divert",
) -> Match:
    """Return the node of a pattern.

    Raises:
        OptionError: an option has an invalid value.
    """
    where = f"`{name}`"
    if not isinstance(pattern, Pattern):
        hint = 'begin one with patterns.step("small", "amount < 1")'
        raise OptionError(f"expected a pattern, got {pattern!r}", where=where, hint=hint)
    return Match(
        name,
        ref,
        keys,
        Pattern(pattern.elements),  # without the type of the builder stage
        within_of(within),
        skip_of(skip),
        None if select is None else _measures(where, select),
        order=order,
        late_rows=late_rows,
        timeouts=timeouts,
    )


def _measures(where: str, select: Mapping[str, str]) -> Named:
    if not select:
        raise OptionError("select is empty", where=where, hint="remove it to get the matched rows")
    if not isinstance(select, Mapping):
        hint = 'such as select={"price": "last(a.price)"}'
        raise OptionError(f"expected names and measures, got {select!r}", where=where, hint=hint)
    for measure in select.values():
        if not isinstance(measure, str):
            hint = 'a Column cannot refer to steps; write text such as "large.ts"'
            raise OptionError(f"expected a measure in Spark SQL, got {measure!r}", where=where, hint=hint)
    return tuple(select.items())


class MatchOptions(PatternModel):
    """The value of `match` in a document."""

    order: OrderValue = "event_time"
    late_rows: LateRowsValue = "divert"
    timeouts: TimeoutsValue = "divert"


class MatchModel(StepModel):
    """`match` in a document."""

    node = Match
    key = "match"
    keys: KeyColumns = Field(default=(), alias="key_by")
    options: MatchOptions = Field(alias="match", description="Finds a pattern in the rows of each key")
