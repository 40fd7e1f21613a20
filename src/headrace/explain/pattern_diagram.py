"""State diagrams of patterns: a state per step, an edge for each possible next step.

The edges are those of Glushkov's automaton, from the first and last steps of each part and the steps that can
follow each other. Negated steps are labels of the edges that they forbid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.durations import text
from headrace.patterns.elements import Either, Element, Where, Within, steps_of
from headrace.steps.patterns.describe import describe_quantifier
from headrace.steps.patterns.match import Match

START, END = "start", "end"


@dataclass(frozen=True)
class State:
    """A step: its name and the condition of its rows."""

    name: str
    condition: str = ""


@dataclass(frozen=True)
class Edge:
    """A transition between steps, the start or the end; the label has contiguity and negated steps."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class Diagram:
    """The states and edges of one pattern."""

    name: str
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    limit: str = ""
    """The time limit of a match."""


@dataclass(frozen=True)
class _Part:
    """The first and last states of a sequence, the edges inside it, and whether it may be empty."""

    firsts: tuple[tuple[str, str], ...]
    """Steps it can begin with, each with the label of the edge that leads there."""
    lasts: tuple[str, ...]
    empty: bool
    edges: tuple[Edge, ...]
    forbidden: str = ""
    """Label of the negated steps after it."""


def diagram_of(node: Match) -> Diagram:
    """Return the diagram of the pattern of a step.

    >>> from headrace import patterns
    >>> from headrace.steps.base import Ref
    >>> pattern = patterns.step("a", "x = 1").followed_by("b").one_or_more()
    >>> found = diagram_of(Match("m", Ref("tx"), (), pattern))
    >>> [(edge.source, edge.target, edge.label) for edge in found.edges]
    [('start', 'a', ''), ('a', 'b', 'followed by'), ('b', 'b', 'again'), ('b', 'end', '')]
    """
    whole = _sequence(node.pattern.elements)
    limit = _limit(node.within)
    ends = _join(whole.forbidden, limit if whole.forbidden else "")
    edges = [
        *(Edge(START, name, label) for name, label in whole.firsts),
        *whole.edges,
        *(Edge(name, END, ends) for name in whole.lasts),
    ]
    states = [_state(step) for step in steps_of(node.pattern.elements) if not step.negated]
    return Diagram(node.name, tuple(states), tuple(dict.fromkeys(edges)), limit)


def mermaid(diagram: Diagram) -> str:
    """Return the diagram as Mermaid's `stateDiagram-v2`."""
    ids = {state.name: f"s{number}" for number, state in enumerate(diagram.states)}
    ends = {START: "[*]", END: "[*]"}
    return "\n".join([*_lines(diagram, {**ids, **ends}), ""])


def _lines(diagram: Diagram, ids: dict[str, str]) -> Iterator[str]:
    yield "stateDiagram-v2"
    yield "  direction LR"
    for state in diagram.states:
        text = f"{state.name}: {state.condition}" if state.condition else state.name
        yield f'  state "{_escape(text)}" as {ids[state.name]}'
    for edge in diagram.edges:
        label = f" : {_escape(edge.label)}" if edge.label else ""
        yield f"  {ids[edge.source]} --> {ids[edge.target]}{label}"


def _sequence(elements: Iterable[Element]) -> _Part:
    part = _Part((), (), True, ())
    for element in elements:
        part = _then(part, element)
    return part


def _then(before: _Part, element: Element) -> _Part:
    verb = "" if element.contiguity == "first" else element.contiguity.replace("_", " ")
    if element.negated:
        text = _join(before.forbidden, f"{verb} {element.name}{_condition(element)}")
        return _Part(before.firsts, before.lasts, before.empty, before.edges, text)
    part = _repeat(element)
    label = _join(before.forbidden, verb)
    entered = tuple((name, _join(label, own)) for name, own in part.firsts)
    edges = [Edge(last, name, text) for last in before.lasts for name, text in entered]
    return _Part(
        (*before.firsts, *(part.firsts if before.empty else ())),  # edges to the first row have no label
        (*part.lasts, *(before.lasts if part.empty else ())),
        before.empty and part.empty,
        (*before.edges, *edges, *part.edges),
        before.forbidden if part.empty else "",
    )


def _repeat(element: Element) -> _Part:
    """Return the part of an element, with the edges of its repetitions."""
    part = _alone(element)
    edges = part.edges
    if element.times is not None and element.times.most != 1:
        label = "again" + (f" ({phrase})" if (phrase := _repeats(element)) else "")
        edges += tuple(Edge(last, name, label) for last in part.lasts for name, _ in part.firsts)
    return _Part(part.firsts, part.lasts, part.empty or element.may_be_absent, edges)


def _alone(element: Element) -> _Part:
    if isinstance(element.body, Where):
        return _Part(((element.name, ""),), (element.name,), False, ())
    parts = [_sequence(part) for part in element.parts]
    if not isinstance(element.body, Either):
        return parts[0]
    return _Part(
        tuple(first for part in parts for first in part.firsts),
        tuple(last for part in parts for last in part.lasts),
        any(part.empty for part in parts),
        tuple(edge for part in parts for edge in part.edges),
    )


def _repeats(element: Element) -> str:
    phrase = describe_quantifier(element).removeprefix("once or more").removeprefix(", ")
    return phrase.removeprefix("optional").removeprefix(", ")


def _state(step: Element) -> State:
    assert isinstance(step.body, Where)
    return State(step.name, "" if step.body.condition is None else str(step.body.condition))


def _condition(element: Element) -> str:
    condition = element.body.condition if isinstance(element.body, Where) else None
    return f" ({condition})" if condition is not None else ""


def _limit(within: Within) -> str:
    if within.whole is not None:
        return f"within {text(within.whole)}"
    return f"rows less than {text(within.between)} apart" if within.between is not None else ""


def _join(*phrases: str) -> str:
    return ", ".join(filter(None, phrases))


def _escape(text: str) -> str:
    return " ".join(text.split()).replace(";", "#59;").replace(":", "#58;").replace('"', "#quot;")
