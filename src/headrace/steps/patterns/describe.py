"""Describe patterns."""

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


def describe_pattern(pattern: Pattern) -> str:
    """Describe a pattern.

    >>> from headrace import patterns
    >>> describe_pattern(patterns.step("low").followed_by("rise", "price > low.price").times(2, 4).greedy())
    'low, followed by rise (2 to 4 times, greedy)'
    """
    return _sequence(pattern.elements)


def describe_conditions(pattern: Pattern) -> list[str]:
    """Describe the conditions of the steps of a pattern. A step that accepts any row has none.

    >>> from headrace import patterns
    >>> describe_conditions(patterns.step("low").followed_by("rise", "price > low.price"))
    ['rise: price > low.price']
    """
    steps = ((step.name, step.body) for step in steps_of(pattern.elements))
    return [
        f"{name}: {' '.join(str(body.condition).split())}"
        for name, body in steps
        if isinstance(body, Where) and body.condition is not None
    ]


def describe_quantifier(element: Element) -> str:
    """Describe how often an element occurs; empty for once."""
    phrases = [_times(element), "optional" if element.optional else "", "greedy" if element.greedy else ""]
    phrases.append("" if element.repeats == "relaxed" else element.repeats)
    phrases.append(f"until {element.until}" if element.until is not None else "")
    phrases.append(f"less than {text(element.gap)} apart" if element.gap is not None else "")
    return ", ".join(filter(None, phrases))


def _sequence(elements: tuple[Element, ...]) -> str:
    return ", ".join(_element(element) for element in elements)


def _element(element: Element) -> str:
    verb, quantifier = _VERBS.get(element.contiguity, ""), describe_quantifier(element)
    return " ".join(filter(None, [verb, _body(element), f"({quantifier})" if quantifier else ""]))


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
