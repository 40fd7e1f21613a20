"""The builder of patterns: each verb returns a new stage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError
from headrace.patterns.elements import Contiguity, Either, Element, Group, Repeats, Times, Where, steps_of

if TYPE_CHECKING:
    from pyspark.sql import Column

_UNSET: Any = object()


@dataclass(frozen=True)
class Pattern:
    """A sequence of steps, to which further steps can be appended."""

    elements: tuple[Element, ...]

    def next(self, step: str | Pattern, where: str | Column | Pattern | None = None) -> Once:
        """Append a step for the very next row (strict contiguity)."""
        return Once((*self.elements, _element("next", step, where)))

    def followed_by(self, step: str | Pattern, where: str | Column | Pattern | None = None) -> Once:
        """Append a step for the next row that satisfies the condition (relaxed contiguity).

        >>> from headrace import patterns
        >>> patterns.step("small", "amount < 1").followed_by("large", "amount > 500").names
        ('small', 'large')
        """
        return Once((*self.elements, _element("followed_by", step, where)))

    def followed_by_any(self, step: str | Pattern, where: str | Column | Pattern | None = None) -> Once:
        """Append a step for every later row that satisfies the condition, each in a separate match.

        State grows with every such row.
        """
        return Once((*self.elements, _element("followed_by_any", step, where)))

    def not_next(self, step: str, where: str | Column) -> Negated:
        """Require that the very next row does not satisfy the condition; it is not part of the match."""
        return Negated((*self.elements, _element("not_next", step, where)))

    def not_followed_by(self, step: str, where: str | Column) -> Negated:
        """Require that no row satisfies the condition before the next step, or before `within` ends."""
        return Negated((*self.elements, _element("not_followed_by", step, where)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its steps, in order."""
        return tuple(step.name for step in steps_of(self.elements))

    def _with(self, **changes: Any) -> tuple[Element, ...]:
        return (*self.elements[:-1], replace(self.elements[-1], **changes))


class Negated(Pattern):
    """A pattern whose last step must not occur."""


class Once(Pattern):
    """A pattern whose last step has no quantifier."""

    def times(self, least: int, most: int | None = _UNSET) -> Repeated:
        """Repeat the last step.

        `times(3)` exactly, `times(2, 4)` two to four times, `times(2, None)` two or more.

        Raises:
            OptionError: a number is negative, or `least` is above `most`.
        """
        most = least if most is _UNSET else most
        where = f"times of `{self.elements[-1].name}`"
        numbers = [least] if most is None else [least, most]
        if not all(isinstance(number, int) for number in numbers):
            raise OptionError(f"expected whole numbers, got {least!r} and {most!r}", where=where)
        if least < 0 or most == 0 or (most is not None and most < least):
            raise OptionError(
                f"expected 0 <= least <= most and most > 0, got {least} and {most}",
                where=where,
                hint="such as times(3), times(2, 4) or times(2, None)",
            )
        return Repeated(self._with(times=Times(least, most)))

    def one_or_more(self) -> Repeated:
        """Repeat the last step one or more times.

        Without `greedy`, each number of repetitions is a separate match.
        """
        return Repeated(self._with(times=Times(1, None)))

    def optional(self) -> Self:
        """Make the last step optional."""
        return type(self)(self._with(optional=True))


class Repeated(Pattern):
    """A pattern whose last step is repeated."""

    def optional(self) -> Self:
        """Make the last step optional."""
        return type(self)(self._with(optional=True))

    def greedy(self) -> Self:
        """Match as many rows as possible before the next step."""
        return type(self)(self._with(greedy=True))

    def consecutive(self) -> Self:
        """Require that the repeated rows are consecutive."""
        return self._repeating("consecutive")

    def combinations(self) -> Self:
        """Match every combination of the rows, each in a separate match. State grows fast."""
        return self._repeating("combinations")

    def until(self, condition: str | Column) -> Self:
        """End the repetition before a row that satisfies the condition."""
        last = self.elements[-1]
        if last.until is not None:
            raise OptionError(
                f"`until` is already set: {last.until}",
                where=f"until of `{last.name}`",
                hint="join the conditions with `or`",
            )
        return type(self)(self._with(until=condition_of(condition)))

    def gap(self, length: Duration) -> Self:
        """Require that each repeated row is less than this after the previous row of the match.

        The first row is compared with the previous step, unless this step is optional.
        """
        return type(self)(self._with(gap=microseconds(length, where="gap")))

    def _repeating(self, repeats: Repeats) -> Self:
        last = self.elements[-1]
        if last.repeats not in ("relaxed", repeats):
            raise OptionError(
                f"`{last.name}` is already {last.repeats}",
                where=f"{repeats} of `{last.name}`",
                hint="remove one of them",
            )
        return type(self)(self._with(repeats=repeats))


def step(name: str, where: str | Column | Pattern | None = None) -> Once:
    """Begin a pattern with a row that satisfies a condition.

    A condition can refer to rows matched so far by the names of their steps: `small.amount` is that of the
    last row, `first(small.amount)` of the first, `last(rise.price, 1)` of the one before the last;
    `count(rise)`, `sum(rise.price)` and all other aggregates of Spark can be used. The current row is not
    included.

    >>> from headrace import patterns
    >>> low = patterns.step("low", "price < 10")
    >>> rise = low.followed_by("rise", "price > last(rise.price)").one_or_more()
    >>> rise.names
    ('low', 'rise')
    """
    return Once((_element("first", step=name, where=where),))


def group(pattern: Pattern) -> Once:
    """Use a pattern as one step of another, to quantify it as a whole.

    >>> from headrace import patterns
    >>> pair = patterns.group(patterns.step("a", "kind = 'a'").next("b", "kind = 'b'")).times(2)
    >>> patterns.step("start", "kind = 's'").followed_by(pair).names
    ('start', 'a', 'b')
    """
    elements = _elements_of(pattern, "group")
    return Once((Element(_group_name("group", elements), "first", Group(elements)),))


def either(*patterns: Pattern) -> Once:
    """Match one of several patterns.

    >>> from headrace import patterns
    >>> patterns.either(patterns.step("card", "kind = 'card'"), patterns.step("cash", "kind = 'cash'")).names
    ('card', 'cash')

    Raises:
        OptionError: fewer than two were given.
    """
    if len(patterns) < 2:
        raise OptionError(f"expected two or more patterns, got {len(patterns)}", where="either")
    parts = tuple(_elements_of(pattern, "either") for pattern in patterns)
    return Once((Element(_group_name("either", parts[0]), "first", Either(parts)),))


def condition_of(condition: Any) -> Any:
    """Return a condition: Spark SQL text or a pyspark Column.

    Raises:
        OptionError: it is neither.
    """
    if condition is None or isinstance(condition, str) or type(condition).__module__.startswith("pyspark."):
        return condition
    raise OptionError(
        f"expected Spark SQL text or a pyspark Column, got {condition!r}", hint='such as "amount > 50"'
    )


def _element(contiguity: Contiguity, step: str | Pattern, where: Any = None) -> Element:
    """Return a step with a name and a condition, or a pattern as a group."""
    if isinstance(step, Pattern):
        return replace(_as_element(step), contiguity=contiguity)
    if isinstance(where, Pattern):
        return replace(_as_element(where), contiguity=contiguity, name=step)
    return Element(step, contiguity, Where(condition_of(where)))


def _elements_of(pattern: Pattern, where: str) -> tuple[Element, ...]:
    if not isinstance(pattern, Pattern):
        raise OptionError(
            f"expected a pattern, got {pattern!r}", where=where, hint='such as patterns.step("a", "n > 1")'
        )
    return pattern.elements


def _as_element(pattern: Pattern) -> Element:
    alone = len(pattern.elements) == 1 and bool(pattern.elements[0].parts)
    return pattern.elements[0] if alone else group(pattern).elements[0]


def _group_name(kind: str, elements: tuple[Element, ...]) -> str:
    """Return the name of a group: that of its first step. Only documents name groups."""
    return f"{kind} of {next(steps_of(elements)).name}"
