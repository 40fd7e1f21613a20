"""Patterns as a document says them: the other way of `matching`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.durations import text as length
from headrace.patterns.elements import Either, Element, Group, Skip, Where, Within
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_rules import MatchRules

Text = Callable[[Any], str]
"""Spark SQL text out of an expression; raises where it can't be written."""


def match_of(node: Match, text: Text) -> dict[str, Any]:
    """What a document says for `match`.

    >>> from headrace import patterns
    >>> from headrace.steps.base import Ref
    >>> match_of(Match("m", Ref("tx"), (), patterns.step("a", "x = 1").next("b", "x = 2").times(2)), str)
    {'steps': [{'a': 'x = 1'}, {'b': {'next': 'x = 2', 'times': 2}}]}
    """
    shown: dict[str, Any] = {"steps": _steps(node.pattern.elements, text)}
    if node.within != Within():
        shown["within"] = _within(node.within)
    if node.skip != Skip():
        shown["skip"] = {node.skip.kind: node.skip.step} if node.skip.step else node.skip.kind
    if node.order != "event_time":
        shown["order"] = node.order
    if node.select is not None:
        shown["select"] = {name: text(item) for name, item in node.select}
    return shown | fates_of(node)


def fates_of(node: Match | MatchRules) -> dict[str, str]:
    """What becomes of rows that are no match, where it isn't the usual."""
    said = {"late_rows": node.late_rows, "timeouts": node.timeouts}
    return {option: fate for option, fate in said.items() if fate != "divert"}


def _steps(elements: tuple[Element, ...], text: Text) -> list[dict[str, Any]]:
    return [_step(element, text) for element in elements]


def _step(element: Element, text: Text) -> dict[str, Any]:
    body, said = _body(element, text), _quantifiers(element, text)
    first = element.contiguity == "first"
    if first and not said and not isinstance(body, dict):
        return {element.name: body}
    return {element.name: {"where" if first else element.contiguity: body, **said}}


def _body(element: Element, text: Text) -> Any:
    match element.body:
        case Group(elements):
            return _steps(elements, text)
        case Either(alternatives):
            parts = [_steps(part, text) for part in alternatives]
            return {"either": [part[0] if len(part) == 1 else part for part in parts]}
        case Where(condition):
            return True if condition is None else text(condition)


def _quantifiers(element: Element, text: Text) -> dict[str, Any]:
    said: dict[str, Any] = {}
    times = element.times
    if times is not None and (times.least, times.most) == (1, None):
        said["one_or_more"] = True
    elif times is not None and times.least == times.most:
        said["times"] = times.least
    elif times is not None:
        said["times"] = {"from": times.least, **({} if times.most is None else {"to": times.most})}
    said |= {word: True for word in ("optional", "greedy") if getattr(element, word)}
    if element.repeats != "relaxed":
        said[element.repeats] = True
    if element.until is not None:
        said["until"] = text(element.until)
    if element.gap is not None:
        said["gap"] = length(element.gap)
    return said


def _within(within: Within) -> Any:
    lengths = {"whole": within.whole, "between": within.between}
    said = {key: length(given) for key, given in lengths.items() if given is not None}
    return said["whole"] if list(said) == ["whole"] else said
