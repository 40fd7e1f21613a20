"""State diagrams of `MATCH_RECOGNIZE` patterns: a state for each occurrence of a variable.

As in `pattern_diagram`, the edges are those of Glushkov's automaton. The preferred alternative is first;
anchors are labels of edges; a PERMUTE is a single state.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce

from headrace.durations import text
from headrace.explain.pattern_diagram import END, START, Diagram, Edge, State
from headrace.sql.match_recognize.pattern import (
    Alternatives,
    Anchor,
    Exclusion,
    Pattern,
    Permutation,
    Repeat,
    Sequence,
    Variable,
    variables_of,
)
from headrace.steps.patterns.match_recognize import RowPattern

_ANCHORS = {"start": "first of the partition", "end": "last of the partition"}


@dataclass(frozen=True)
class _Part:
    """The first and last states of a part, the edges inside it, and whether it may match no row."""

    firsts: tuple[tuple[str, str], ...] = ()
    """States it can begin with, each with the label of the edge that leads there."""
    lasts: tuple[tuple[str, str], ...] = ()
    """States it can end with, each with the label of the edge that leaves it."""
    empty: str | None = ""
    """The condition under which it matches no row; None if it always matches a row."""
    edges: tuple[Edge, ...] = ()


def row_diagram_of(node: RowPattern) -> Diagram:
    """Return the diagram of the pattern of a clause.

    >>> from headrace.steps.base import Ref
    >>> from headrace.sql.match_recognize.statement import split_statement
    >>> query = "select * from t match_recognize (pattern (^ A B*?) define B as v > 1)"
    >>> clause = split_statement(query, where="m").clause
    >>> found = row_diagram_of(RowPattern("m", Ref("t"), "t", query, "", clause))
    >>> [(edge.source, edge.target, edge.label) for edge in found.edges][:2]
    [('start', 'A', 'first of the partition'), ('A', 'B', '')]
    >>> [(edge.source, edge.target, edge.label) for edge in found.edges][2:]
    [('B', 'B', 'again (reluctant)'), ('B', 'end', ''), ('A', 'end', '')]
    """
    clause = node.clause
    states = _States({name: " ".join(condition.text.split()) for name, condition in clause.define})
    whole = states.part(clause.pattern)
    edges = [
        *(Edge(START, name, label) for name, label in whole.firsts),
        *whole.edges,
        *(Edge(name, END, label) for name, label in whole.lasts),
        *([Edge(START, END, _join("no row", whole.empty))] if whole.empty is not None else ()),
    ]
    limit = f"within {text(clause.within)}" if clause.within is not None else ""
    return Diagram(node.name, tuple(states.states), _merge(edges), limit)


def _merge(edges: list[Edge]) -> tuple[Edge, ...]:
    """Merge the edges between two states into one with all labels; nested repetitions have duplicates."""
    labels: dict[tuple[str, str], dict[str, None]] = {}
    for edge in edges:
        labels.setdefault((edge.source, edge.target), {})[edge.label] = None
    return tuple(Edge(*ends, " or ".join(filter(None, texts))) for ends, texts in labels.items())


@dataclass
class _States:
    """Builds the parts of a pattern, and a state for each occurrence of a variable."""

    define: dict[str, str]
    states: list[State] = field(default_factory=list)
    times: Counter[str] = field(default_factory=Counter)

    def part(self, pattern: Pattern) -> _Part:
        match pattern:
            case Variable(name):
                return self._state(name, self.define.get(name, ""))
            case Anchor(at):
                return _Part(empty=_ANCHORS[at])
            case Sequence(parts) | Alternatives(parts):
                inner = [self.part(part) for part in parts]
                return reduce(_then, inner, _Part()) if isinstance(pattern, Sequence) else _any_of(inner)
            case Permutation(parts):
                return self._permute(parts)
            case Repeat():
                return self._repeat(pattern)
            case Exclusion(of):
                return self._exclude(of)

    def _state(self, name: str, condition: str) -> _Part:
        self.times[name] += 1
        own = name if self.times[name] == 1 else f"{name} ({self.times[name]})"
        self.states.append(State(own, condition))
        return _Part(((own, ""),), ((own, ""),), empty=None)

    def _permute(self, parts: tuple[Pattern, ...]) -> _Part:
        names = tuple(dict.fromkeys(name for part in parts for name in variables_of(part)))
        parts_text = [" ".join(variables_of(part)) for part in parts]
        conditions = [f"{name}: {self.define[name]}" for name in names if name in self.define]
        return self._state(f"PERMUTE({', '.join(parts_text)})", "; ".join(conditions))

    def _repeat(self, repeat: Repeat) -> _Part:
        part = self.part(repeat.of)
        edges = part.edges
        if repeat.most != 1:
            again = f"again{_often(repeat)}"
            edges += tuple(Edge(last, name, again) for last, _ in part.lasts for name, _ in part.firsts)
        return replace(part, empty="" if repeat.least == 0 else part.empty, edges=edges)

    def _exclude(self, of: Pattern) -> _Part:
        begin = len(self.states)
        part = self.part(of)
        self.states[begin:] = [
            State(state.name, _join(state.condition, "not shown")) for state in self.states[begin:]
        ]
        return part


def _then(before: _Part, part: _Part) -> _Part:
    def entered(label: str | None) -> list[tuple[str, str]]:
        return [] if label is None else [(name, _join(label, own)) for name, own in part.firsts]

    def left(label: str | None) -> list[tuple[str, str]]:
        return [] if label is None else [(name, _join(own, label)) for name, own in before.lasts]

    none = before.empty is None or part.empty is None
    between = [Edge(last, name, text) for last, label in before.lasts for name, text in entered(label)]
    return _Part(
        (*before.firsts, *entered(before.empty)),
        (*part.lasts, *left(part.empty)),
        None if none else _join(before.empty, part.empty),
        (*before.edges, *between, *part.edges),
    )


def _any_of(parts: list[_Part]) -> _Part:
    return _Part(
        tuple(first for part in parts for first in part.firsts),
        tuple(last for part in parts for last in part.lasts),
        next((part.empty for part in parts if part.empty is not None), None),
        tuple(edge for part in parts for edge in part.edges),
    )


def _often(repeat: Repeat) -> str:
    least, most = repeat.least, repeat.most
    counted = f"{least} times" if least == most else f"{least} to {most} times"
    if most is None:
        counted = f"{least} times or more" if least > 1 else ""
    phrase = _join(counted, "" if repeat.greedy else "reluctant")
    return f" ({phrase})" if phrase else ""


def _join(*phrases: str | None) -> str:
    return ", ".join(filter(None, phrases))
