"""Which nodes of a plan share an entry of its document.

A step of a document holds several nodes (`where`, then `window`, then `select`); in a plan each is a node, and those that
nobody named are anonymous. Folding puts anonymous nodes back into the entry that reads them, or into the one they
follow, as far as the order of a step's keys allows. What can't be folded becomes a step under its made-up name.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.lookup import Lookup
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate

_MIDDLE = (Aggregate, WindowAggregate, Match, MatchRules, Lookup, Distinct, Route, Sql, RowPattern)
_SLOTS: dict[type[Node], int] = {
    Union: 0,
    Where: 1,
    WithColumns: 2,
    EventTime: 3,
    ClockTime: 3,
    **dict.fromkeys(_MIDDLE, 4),
    Select: 5,
    Drop: 6,
}
"""The place of each kind in the order of a step's keys."""


@dataclass(frozen=True)
class FoldedStep:
    """An entry of `steps`: its name, its nodes in order, and what the first of them reads."""

    name: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class FoldedSource:
    """An entry of `sources`, and the node that gives its rows their time."""

    node: Source
    time: EventTime | ClockTime | None


class Folded:
    """A plan cut into the entries of a document."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._alias: dict[str, str] = {}
        self._after: dict[str, tuple[Node, ...]] = {}
        self.sources = [self._source(node) for node in graph.of(Source)]
        self.frames = graph.of(FrameSource)
        for node in graph:
            self._follow(node)
        self.steps = self._steps()

    def text(self, ref: Ref) -> str:
        """How the document refers to an output."""
        return self._alias.get(ref.step) or str(ref)

    def _source(self, node: Source) -> FoldedSource:
        readers = self._graph.consumers[Ref(node.name)]
        times = [other for other in readers if isinstance(other, EventTime | ClockTime) and other.anonymous]
        alike = len({dataclasses.replace(other, name="") for other in times}) == 1
        if len(times) < len(readers) or not alike or (len(times) > 1 and not all(map(self._read, times))):
            return FoldedSource(node, None)
        self._alias |= {other.name: node.name for other in times}
        return FoldedSource(node, times[0])

    def _follow(self, node: Node) -> None:
        """Fold a lone `select`, and then a lone `drop`, into the step whose rows they take."""
        if not isinstance(node, _MIDDLE) or isinstance(node, Route):
            return
        last: Node = node
        for kind in (Select, Drop):
            readers = self._graph.consumers[Ref(last.name)]
            if len(readers) == 1 and isinstance(readers[0], kind) and readers[0].anonymous:
                last = readers[0]
                self._alias[last.name] = node.name
                self._after[node.name] = (*self._after.get(node.name, ()), last)

    def _steps(self) -> list[FoldedStep]:
        chains = {node.name: self._chain(node) for node in self._graph if self._may_begin(node)}
        needed = [node.name for node in self._graph if not node.anonymous or not self._read(node)]
        needed += [sink.input.step for sink in self._graph.sinks]
        wanted: set[str] = set()
        while needed:
            name = self._owner(needed.pop())
            if name in chains and name not in wanted:
                wanted.add(name)
                needed += [ref.step for ref in chains[name][0].inputs]
        return [FoldedStep(name, chain) for name, chain in chains.items() if name in wanted]

    def _owner(self, name: str) -> str:
        """The entry that a node was folded into after its first, or the node itself."""
        return self._alias.get(name, name)

    def _may_begin(self, node: Node) -> bool:
        return type(node) in _SLOTS and node.name not in self._alias

    def _own(self, ref: Ref) -> bool:
        return self._graph[ref.step].anonymous and ref.step not in self._alias

    def _chain(self, node: Node) -> tuple[Node, ...]:
        """The node with the anonymous ones before it that fit into its step, and those folded after it."""
        chain = [node]
        while (before := self._before(chain[0])) is not None:
            chain.insert(0, before)
        return (*chain, *self._after.get(node.name, ()))

    def _before(self, node: Node) -> Node | None:
        ref = _reads(node)
        if ref is None or not self._own(ref) or ref.output != MAIN:
            return None
        before = self._graph[ref.step]
        fits = type(before) in _SLOTS and _SLOTS[type(before)] < _SLOTS[type(node)]
        return before if fits and not isinstance(before, _MIDDLE) else None

    def _read(self, node: Node) -> bool:
        return any(self._graph.consumers[Ref(node.name, out)] for out in node.outputs)


def _reads(node: Node) -> Ref | None:
    """What `from` of a node's step stands for; None where a step has no `from`."""
    if isinstance(node, Sql):
        return dict(node.tables).get("this")
    if isinstance(node, RowPattern) and node.table != "this":
        return None
    return None if isinstance(node, Union | Sink) else node.inputs[0]
