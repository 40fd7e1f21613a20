"""A plan: the nodes of one pipeline, in the order they were declared, each after its inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from headrace.connectors.base import Connector
from headrace.errors import Location, Problem
from headrace.plan.hints import in_document
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.endpoints.table import TableReader
from headrace.steps.facts import Facts
from headrace.steps.traits import Finding

NodeType = TypeVar("NodeType", bound=Node)


class Graph:
    """The nodes of a pipeline, by name, with the facts about their outputs.

    Two graphs are equal if they differ only in generated names such as `tx:where`.
    """

    def __init__(self, name: str, nodes: Mapping[str, Node], places: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.nodes = dict(nodes)
        self.places = dict(places or {})
        self._facts: dict[Ref, Facts] = {}

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.canonical() == other.canonical()

    __hash__ = None  # type: ignore[assignment]

    def plus(self, *nodes: Node) -> Graph:
        """Return the plan with more nodes at its end."""
        return Graph(self.name, {**self.nodes, **{node.name: node for node in nodes}}, self.places)

    def of(self, kind: type[NodeType]) -> list[NodeType]:
        """Return the nodes of one kind.

        >>> from headrace.steps.endpoints.sink import Sink
        >>> Graph("empty", {}).of(Sink)
        []
        """
        return [node for node in self if isinstance(node, kind)]

    @property
    def sinks(self) -> list[Sink]:
        return self.of(Sink)

    @property
    def connectors(self) -> list[Connector]:
        """The connectors of its sources, sinks and lookups."""
        values = (getattr(node, name, None) for node in self for name in ("connector", "table"))
        return [value for value in values if isinstance(value, Connector)]

    @cached_property
    def consumers(self) -> Mapping[Ref, tuple[Node, ...]]:
        """The steps that read each output."""
        readers: dict[Ref, tuple[Node, ...]] = {
            Ref(node.name, out): () for node in self for out in node.outputs
        }
        for node in self:
            for ref in dict.fromkeys(node.inputs):
                readers[ref] = (*readers.get(ref, ()), node)
        return readers

    def facts(self, ref: Ref) -> Facts:
        """Return the facts about an output.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.drop("amount", step_name="cards")._pipeline._graph.facts(Ref("cards")).columns
        ('card',)
        """
        if ref not in self._facts:
            node = self.nodes[ref.step]
            facts = node.output_facts(ref.output, [self.facts(source) for source in node.inputs])
            self._facts[ref] = replace(facts, grows=facts.grows and not node.drops_rows)
        return self._facts[ref]

    def upstream(self, node: Node) -> list[Node]:
        """Return the steps that a step depends on, itself included, in plan order."""
        wanted, todo = set[str](), [node.name]
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                todo += [ref.step for ref in self.nodes[name].inputs]
        return [other for other in self if other.name in wanted]

    def sinks_of(self, node: Node) -> list[Sink]:
        """Return the sinks that depend on a step."""
        return [sink for sink in self.sinks if node in self.upstream(sink)]

    def where(self, node: Node, *parts: str) -> str:
        """Return the location of a step for errors: the place where it is declared, if known, and its name.

        With `parts`, the place of the first of these keys that the document has, such as `key_by`.
        """
        return _labelled(self._place(node, parts), self._label(node))

    def locate(self, node: Node, finding: Finding) -> Problem:
        """Return a finding of a step as a problem, at its item and its character in the document.

        In Python, only the line of the step is known; the name of the item follows that of the step.
        """
        items = [f"{key}/{finding.item}" for key in finding.keys] if finding.item else []
        at_item = not finding.item or any(f"{node.name}/{item}" in self.places for item in items)
        place = self._place(node, (*items, *finding.keys))
        if at_item and isinstance(place, Location):
            place = place.inside(finding.offset)
        label = self._label(node)
        if not at_item and f"`{finding.item}`" not in finding.what:
            label = f"{label}: {finding.item}"
        documented = isinstance(place, Location) and place.column > 0
        hint = (finding.document_hint or in_document(finding.hint)) if documented else finding.hint
        return Problem(_labelled(place, label), finding.what, hint)

    def _place(self, node: Node, parts: Iterable[str]) -> str | None:
        known = (self.places.get(f"{node.name}/{part}") for part in parts)
        return next((part for part in known if part), self.places.get(node.name))

    @staticmethod
    def _label(node: Node) -> str:
        return f"{node.verb} after `{node.name.split(':')[0]}`" if node.anonymous else f"`{node.name}`"

    def canonical(self) -> tuple[Any, ...]:
        """Return a form for comparison, in which anonymous nodes are inlined where they are read."""
        nodes = [self._inline(node) for node in self if not node.anonymous or not self._is_read(node)]
        return (self.name, *sorted(nodes, key=repr))

    def _is_read(self, node: Node) -> bool:
        return any(self.consumers[Ref(node.name, out)] for out in node.outputs)

    def _inline(self, node: Node) -> tuple[Any, ...]:
        values = {f.name: getattr(node, f.name) for f in dataclasses.fields(node) if f.name != "name"}
        name = "" if node.anonymous else node.name
        return (type(node).__name__, name, *((key, self._resolve(value)) for key, value in values.items()))

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, Ref):
            target = self.nodes[value.step]
            return (self._inline(target), value.output) if target.anonymous else value
        if isinstance(value, tuple):
            return tuple(self._resolve(item) for item in value)
        return value


def is_in_memory(graph: Graph) -> bool:
    """Return True if all sources are rows in memory, and all sinks are in memory or on the console.

    >>> is_in_memory(Graph("empty", {}))
    True
    """
    sources = [node for node in graph if not node.inputs and not isinstance(node, TableReader)]
    return all(isinstance(node, Source) and node.connector.kind == "memory" for node in sources) and all(
        sink.connector.kind in ("memory", "console") for sink in graph.sinks
    )


def _labelled(place: str | None, label: str) -> str:
    if isinstance(place, Location):
        return place.labelled(label)
    return f"{place}: {label}" if place else label
