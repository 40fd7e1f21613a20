"""The base of joins: key columns, output columns and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from headrace.errors import OptionError
from headrace.sql.expression_check import qualifiers
from headrace.steps.base import MAIN, Node, Plan, Ref
from headrace.steps.expression_checks import check_named_pairs
from headrace.steps.expressions import Named, expression_of, names_of
from headrace.steps.facts import Facts, late_facts, union_facts
from headrace.steps.traits import Finding, RealTimeNote, Tier, unknown_columns
from headrace.steps.unrouted import note_stateful

How = Literal["inner", "left", "right", "full", "semi", "anti"]
OnColumns = str | list[str] | tuple[str, ...] | Mapping[str, str]
On = tuple[tuple[str, str], ...]
"""Pairs of a left and a right key column."""

_KEYS = ("on", "join", "join_as_of", "key_by")


@dataclass(frozen=True)
class TwoInputs(Node):
    """The base of steps that read two streams and have a `late` output."""

    input: Ref
    other: Ref
    """The right stream; `with` in a document."""
    select: Named | None = field(default=None, kw_only=True)
    """The selected output columns; None for all."""
    stateful = True
    needs_time = True
    duplicate_hint: ClassVar[str] = (
        'both streams have it; choose the columns, such as select={"amount": "left.amount"}'
    )

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return (self.input, self.other)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")

    @property
    def key_pairs(self) -> On:
        """The key columns of both sides."""
        raise NotImplementedError

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of its key columns; those of the left side if they differ."""
        return super().key_names or tuple(left for left, _ in self.key_pairs)

    @property
    def omits_right(self) -> bool:
        """True if results have only the columns of the left stream."""
        return False

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(union_facts(inputs))
        return Facts(columns=self.result_columns(inputs[0].columns, inputs[1].columns), timed=True)

    def result_columns(
        self, left: Sequence[str] | None, right: Sequence[str] | None
    ) -> tuple[str, ...] | None:
        """Return the output columns: the left ones, then the right ones that are not keys."""
        if self.select is not None:
            return names_of(self.select)
        if left is None or (right is None and not self.omits_right):
            return None
        keys = {key.lower() for _, key in self.key_pairs}
        rest = () if self.omits_right else tuple(name for name in right or () if name.lower() not in keys)
        return (*left, *rest)

    def check(self, plan: Plan) -> Iterator[Finding]:
        left, right = plan.facts(self.input), plan.facts(self.other)
        yield from unknown_columns((key for key, _ in self.key_pairs), left.columns, "left key", _KEYS)
        yield from unknown_columns((key for _, key in self.key_pairs), right.columns, "right key", _KEYS)
        if left.timed and right.timed and left.by_clock != right.by_clock:
            yield Finding(
                "one stream has event time, the other the time of a clock",
                "declare the same kind of time for both",
                _KEYS,
            )
        sides = self.sides(plan)
        yield from check_named_pairs(self.select or (), sides, "select")
        yield from self._check_selected_sides()

    def _check_selected_sides(self) -> Iterator[Finding]:
        for name, item in self.select or () if self.omits_right else ():
            if isinstance(item, str) and "right" in qualifiers(item):
                yield Finding(
                    f"semi and anti joins return columns of the left stream, but `{name}` is `{item}`",
                    "select left columns, or use how=inner or how=left",
                    ("select",),
                )

    def sides(self, plan: Plan) -> dict[str, tuple[str, ...] | None]:
        """Return the columns of each qualifier of expressions over pairs of rows."""
        return {"left": plan.facts(self.input).columns, "right": plan.facts(self.other).columns}

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "late rows go to .late")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)


@dataclass(frozen=True)
class JoinOn(TwoInputs):
    """The base of joins with `on`; a join inside windows has the keys of its input instead."""

    on: On

    @property
    def key_pairs(self) -> On:
        return self.on


def key_pairs_of(on: Any, where: str) -> On:
    """Return the value of `on` as pairs: a column, a list of columns, or a mapping from left to right.

    >>> key_pairs_of({"id": "ad"}, "")
    (('id', 'ad'),)

    Raises:
        OptionError: the value has another type.
    """
    pairs = tuple(on.items()) if isinstance(on, Mapping) else _same_names(on)
    if not pairs or not all(isinstance(name, str) and name for pair in pairs for name in pair):
        hint = 'such as on="card", on=["card", "country"] or on={"id": "ad_id"}'
        raise OptionError(f"expected the key columns, got {on!r}", where=where, hint=hint)
    return pairs


def _same_names(on: Any) -> On:
    names = on if isinstance(on, list | tuple) else (on,)
    return tuple((name, name) for name in names)


def write_pairs(pairs: On) -> Any:
    """Return the shortest form of `on`."""
    if any(left != right for left, right in pairs):
        return dict(pairs)
    names = [left for left, _ in pairs]
    return names[0] if len(names) == 1 else names


def selection_of(select: Mapping[str, Any] | None, where: str) -> Named | None:
    """Return the selected output columns as (name, expression) pairs.

    Raises:
        OptionError: there is none, or a value is not an expression.
    """
    if select is None:
        return None
    if not isinstance(select, Mapping) or not select:
        hint = 'such as select={"price": "right.price"}'
        raise OptionError(f"expected names and columns, got {select!r}", where=where, hint=hint)
    return tuple((name, expression_of(item, where)) for name, item in select.items())


def describe_on(pairs: On) -> str:
    """Describe the key columns: `on card`, `on id = ad_id`."""
    return "on " + ", ".join(left if left == right else f"{left} = {right}" for left, right in pairs)
