"""The elements of a pattern: frozen, and validated with the plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean

Contiguity = Literal["first", "next", "followed_by", "followed_by_any", "not_next", "not_followed_by"]
Repeats = Literal["relaxed", "consecutive", "combinations"]
SkipKind = Literal["none", "past_last", "to_next", "to_first", "to_last"]

_CALL = re.compile(r"(to_first|to_last)\((.+)\)")

NEGATED: tuple[Contiguity, ...] = ("not_next", "not_followed_by")


@dataclass(frozen=True)
class Where:
    """A step: one row that satisfies a condition (text or a pyspark Column; None for any row)."""

    condition: Any = None


@dataclass(frozen=True)
class Group:
    """Elements that are quantified as one."""

    elements: tuple[Element, ...]


@dataclass(frozen=True)
class Either:
    """Alternatives, of which one occurs; each is a sequence of elements."""

    alternatives: tuple[tuple[Element, ...], ...]


@dataclass(frozen=True)
class Times:
    """The number of occurrences of an element; `most` is None without an upper bound."""

    least: int
    most: int | None


@dataclass(frozen=True)
class Element:
    """One element of a pattern: a step, a group or alternatives, with its contiguity and quantifier."""

    name: str
    contiguity: Contiguity
    body: Where | Group | Either
    times: Times | None = None
    optional: bool = False
    greedy: bool = False
    repeats: Repeats = "relaxed"
    until: Any = None
    gap: int | None = None

    @property
    def negated(self) -> bool:
        return self.contiguity in NEGATED

    @property
    def may_be_absent(self) -> bool:
        """True if a match can omit it."""
        return self.optional or (self.times is not None and self.times.least == 0)

    @property
    def looping(self) -> bool:
        """True if its number of occurrences has no upper bound."""
        return self.times is not None and self.times.most is None

    @property
    def parts(self) -> tuple[tuple[Element, ...], ...]:
        """The sequences inside a group or alternatives; none inside a step."""
        if isinstance(self.body, Group):
            return (self.body.elements,)
        return self.body.alternatives if isinstance(self.body, Either) else ()


@dataclass(frozen=True)
class Within:
    """The time limits of a match, in microseconds: for the whole match, and between consecutive rows."""

    whole: int | None = None
    between: int | None = None


@dataclass(frozen=True)
class Skip:
    """The position at which the search continues after a match."""

    kind: SkipKind = "past_last"
    step: str = ""

    def __str__(self) -> str:
        return f"{self.kind}({self.step})" if self.step else self.kind


def steps_of(elements: tuple[Element, ...]) -> Iterator[Element]:
    """Yield all steps of a pattern in order, those of groups and alternatives included."""
    for element in elements:
        if element.parts:
            for part in element.parts:
                yield from steps_of(part)
        else:
            yield element


def within_of(within: Duration | Mapping[str, Duration] | Within | None) -> Within:
    """Parse a duration for the whole match, or `{"whole": ..., "between": ...}`.

    >>> within_of("1 minute")
    Within(whole=60000000, between=None)

    Raises:
        OptionError: unknown key, or a duration of 0.
    """
    if isinstance(within, Within) or within is None:
        return within or Within()
    lengths = within if isinstance(within, Mapping) else {"whole": within}
    for key in lengths:
        if key not in ("whole", "between"):
            raise OptionError(
                f"unknown key {key!r}", where="within", hint=did_you_mean(key, ("whole", "between"))
            )
    limits = {key: microseconds(length, where=f"within: {key}") for key, length in lengths.items()}
    if 0 in limits.values():
        raise OptionError("expected a duration above zero", where="within")
    return Within(**limits)


def skip_of(skip: str | Mapping[str, str] | Skip) -> Skip:
    """Parse a skip strategy: a word, `to_first(step)`, or `{"to_first": "step"}`.

    >>> skip_of("to_next"), skip_of({"to_first": "b"})
    (Skip(kind='to_next', step=''), Skip(kind='to_first', step='b'))

    Raises:
        OptionError: unknown strategy, or the step is missing.
    """
    if isinstance(skip, Skip):
        return skip
    kinds = get_args(SkipKind)
    called = _CALL.fullmatch(skip) if isinstance(skip, str) else None
    if called:
        skip = {called.group(1): called.group(2)}
    kind, step = next(iter(skip.items())) if isinstance(skip, Mapping) and len(skip) == 1 else (skip, "")
    if not isinstance(kind, str) or kind not in kinds:
        raise OptionError(
            f"expected one of {', '.join(kinds)}, got {skip!r}",
            where="skip",
            hint=did_you_mean(str(kind), kinds),
        )
    if kind.startswith("to_") and kind != "to_next" and not step:
        raise OptionError(
            f"{kind} needs the name of a step", where="skip", hint=f'such as patterns.{kind}("large")'
        )
    return Skip(kind, step)  # type: ignore[arg-type]
