"""The stages of a pattern that is being written: each verb returns the next one, and none changes what it was called on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError
from headrace.patterns.elements import Contiguity, Either, Element, Group, Repeats, Times, Where, steps_of

if TYPE_CHECKING:
    from pyspark.sql import Column

_UNSAID: Any = object()


@dataclass(frozen=True)
class Pattern:
    """Steps that follow each other. Whatever follows the last one can be said of any pattern."""

    elements: tuple[Element, ...]

    def next(self, step: str | Pattern, where: str | Column | Pattern | None = None) -> Once:
        """The very next row satisfies this: nothing lies between."""
        return Once((*self.elements, _element("next", step, where)))

    def followed_by(self, step: str | Pattern, where: str | Column | Pattern | None = None) -> Once:
        """The next row that satisfies this, whatever lies between.

        >>> from headrace import patterns
        >>> patterns.step("small", "amount < 1").followed_by("large", "amount > 500").names
        ('small', 'large')
        """
        return Once((*self.elements, _element("followed_by", step, where)))

    def followed_by_any(self, step: str | Pattern, where: str | Column | Pattern | None = None) -> Once:
        """Every later row that satisfies this, each in a match of its own. State grows with each of them."""
        return Once((*self.elements, _element("followed_by_any", step, where)))

    def not_next(self, step: str, where: str | Column) -> Negated:
        """The very next row does not satisfy this; it is no part of the match."""
        return Negated((*self.elements, _element("not_next", step, where)))

    def not_followed_by(self, step: str, where: str | Column) -> Negated:
        """No row satisfies this before the next step does; as the last step, before the time of `within` is up."""
        return Negated((*self.elements, _element("not_followed_by", step, where)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its steps, in order."""
        return tuple(step.name for step in steps_of(self.elements))

    def _with(self, **changes: Any) -> tuple[Element, ...]:
        return (*self.elements[:-1], replace(self.elements[-1], **changes))


class Negated(Pattern):
    """A pattern whose last step must not come."""


class Once(Pattern):
    """A pattern whose last step comes once, so far."""

    def times(self, least: int, most: int | None = _UNSAID) -> Repeated:
        """So many times: `times(3)` exactly, `times(2, 4)` two to four, `times(2, None)` two or more.

        Raises:
            OptionError: the numbers are negative, or the wrong way round.
        """
        most = least if most is _UNSAID else most
        where = f"times of `{self.elements[-1].name}`"
        if least < 0 or most == 0 or (most is not None and most < least):
            raise OptionError(
                f"expected 0 <= least <= most and most > 0, got {least} and {most}",
                where=where,
                hint="such as times(3), times(2, 4) or times(2, None)",
            )
        return Repeated(self._with(times=Times(least, most)))

    def one_or_more(self) -> Repeated:
        """Once or more often. Without `greedy` every number of repeats that ends in a match is a match of its own."""
        return Repeated(self._with(times=Times(1, None)))

    def optional(self) -> Self:
        """A match can do without it."""
        return type(self)(self._with(optional=True))


class Repeated(Pattern):
    """A pattern whose last step comes several times."""

    def optional(self) -> Self:
        """A match can do without it."""
        return type(self)(self._with(optional=True))

    def greedy(self) -> Self:
        """It takes as many rows as it can before the next step is looked for."""
        return type(self)(self._with(greedy=True))

    def consecutive(self) -> Self:
        """Nothing lies between its rows."""
        return self._repeating("consecutive")

    def combinations(self) -> Self:
        """Any of the rows that satisfy it, some left out: every choice is a match of its own. State grows fast."""
        return self._repeating("combinations")

    def until(self, condition: str | Column) -> Self:
        """A row that satisfies this ends the repeats, and is none of them."""
        last = self.elements[-1]
        if last.until is not None:
            raise OptionError(
                f"it is said already: {last.until}",
                where=f"until of `{last.name}`",
                hint="join the conditions with `or`",
            )
        return type(self)(self._with(until=condition_of(condition)))

    def gap(self, length: Duration) -> Self:
        """Each of its rows is less than this after the row of the match before it.

        For the first of them that row is one of the step before, unless this step is optional: then any time may pass.
        """
        return type(self)(self._with(gap=microseconds(length, where="gap")))

    def _repeating(self, repeats: Repeats) -> Self:
        last = self.elements[-1]
        if last.repeats not in ("relaxed", repeats):
            raise OptionError(
                f"`{last.name}` is {last.repeats} already",
                where=f"{repeats} of `{last.name}`",
                hint="leave out one of them",
            )
        return type(self)(self._with(repeats=repeats))


def step(name: str, where: str | Column | Pattern | None = None) -> Once:
    """The first step of a pattern: a row that satisfies a condition.

    The condition may speak of rows matched so far by the names of their steps: `small.amount` is the last one's,
    `first(small.amount)` the first one's, `last(rise.price, 1)` the one before the last, and there are `count(rise)`,
    `sum(rise.price)` and all of Spark's other aggregates. The row under test is not among them.

    >>> from headrace import patterns
    >>> rise = patterns.step("low", "price < 10").followed_by("rise", "price > last(rise.price)").one_or_more()
    >>> rise.names
    ('low', 'rise')
    """
    return Once((_element("first", step=name, where=where),))


def group(pattern: Pattern) -> Once:
    """A pattern as one step of another: to repeat it, to leave it out, to let it follow as a whole.

    >>> from headrace import patterns
    >>> pair = patterns.group(patterns.step("a", "kind = 'a'").next("b", "kind = 'b'")).times(2)
    >>> patterns.step("start", "kind = 's'").followed_by(pair).names
    ('start', 'a', 'b')
    """
    return Once((Element(_unnamed("group", pattern.elements), "first", Group(pattern.elements)),))


def either(*patterns: Pattern) -> Once:
    """One of several patterns, whichever comes.

    >>> from headrace import patterns
    >>> patterns.either(patterns.step("card", "kind = 'card'"), patterns.step("cash", "kind = 'cash'")).names
    ('card', 'cash')

    Raises:
        OptionError: fewer than two were given.
    """
    if len(patterns) < 2:
        raise OptionError(f"expected two or more patterns, got {len(patterns)}", where="either")
    parts = tuple(pattern.elements for pattern in patterns)
    return Once((Element(_unnamed("either", parts[0]), "first", Either(parts)),))


def condition_of(given: Any) -> Any:
    """Spark SQL text, or a pyspark Column as it is.

    Raises:
        OptionError: it is neither.
    """
    if given is None or isinstance(given, str) or type(given).__module__.startswith("pyspark."):
        return given
    raise OptionError(
        f"expected Spark SQL text or a pyspark Column, got {given!r}", hint='such as "amount > 50"'
    )


def _element(contiguity: Contiguity, step: str | Pattern, where: Any = None) -> Element:
    """A step by its name and condition; or a pattern, which follows as a group unless it is one already."""
    if isinstance(step, Pattern):
        return replace(_whole(step), contiguity=contiguity)
    if isinstance(where, Pattern):
        return replace(_whole(where), contiguity=contiguity, name=step)
    return Element(step, contiguity, Where(condition_of(where)))


def _whole(pattern: Pattern) -> Element:
    alone = len(pattern.elements) == 1 and bool(pattern.elements[0].parts)
    return pattern.elements[0] if alone else group(pattern).elements[0]


def _unnamed(kind: str, elements: tuple[Element, ...]) -> str:
    """A group has a name only in documents; it is called after its first step."""
    return f"{kind} of {next(steps_of(elements)).name}"
