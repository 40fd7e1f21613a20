"""Patterns in words, as `explain` shows them."""

from __future__ import annotations

from headrace.durations import text
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Either, Element, Group, Where, steps_of

_VERBS = {
    "next": "next",
    "followed_by": "followed by",
    "followed_by_any": "followed by any",
    "not_next": "not next",
    "not_followed_by": "not followed by",
}


def pattern_phrase(pattern: Pattern) -> str:
    """A pattern in words.

    >>> from headrace import patterns
    >>> pattern_phrase(patterns.step("low").followed_by("rise", "price > low.price").times(2, 4).greedy())
    'low, followed by rise (2 to 4 times, greedy)'
    """
    return _sequence(pattern.elements)


def condition_phrases(pattern: Pattern) -> list[str]:
    """The conditions of a pattern's steps, each with the step's name; a step that takes any row has none.

    >>> from headrace import patterns
    >>> condition_phrases(patterns.step("low").followed_by("rise", "price > low.price"))
    ['rise: price > low.price']
    """
    steps = ((step.name, step.body) for step in steps_of(pattern.elements))
    return [
        f"{name}: {' '.join(str(body.condition).split())}"
        for name, body in steps
        if isinstance(body, Where) and body.condition is not None
    ]


def quantifier_phrase(element: Element) -> str:
    """How often an element comes, in words; empty for once."""
    said = [_times(element), "optional" if element.optional else "", "greedy" if element.greedy else ""]
    said.append("" if element.repeats == "relaxed" else element.repeats)
    said.append(f"until {element.until}" if element.until is not None else "")
    said.append(f"less than {text(element.gap)} apart" if element.gap is not None else "")
    return ", ".join(filter(None, said))


def _sequence(elements: tuple[Element, ...]) -> str:
    return ", ".join(_element(element) for element in elements)


def _element(element: Element) -> str:
    verb, said = _VERBS.get(element.contiguity, ""), quantifier_phrase(element)
    return " ".join(filter(None, [verb, _body(element), f"({said})" if said else ""]))


def _body(element: Element) -> str:
    if isinstance(element.body, Group):
        return f"[{_sequence(element.body.elements)}]"
    if isinstance(element.body, Either):
        return f"[{' or '.join(_sequence(part) for part in element.body.alternatives)}]"
    return element.name


def _times(element: Element) -> str:
    times = element.times
    if times is None:
        return ""
    if times.most is None:
        return "once or more" if times.least == 1 else f"{times.least} times or more"
    return f"{times.least} times" if times.least == times.most else f"{times.least} to {times.most} times"
