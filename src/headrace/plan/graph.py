"""A plan: the nodes of one pipeline, in the order they were written, each after its inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from headrace.connectors.base import Connector
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink

NodeType = TypeVar("NodeType", bound=Node)


class Graph:
    """The nodes of a pipeline, looked up by name and by who reads whom.

    Two graphs are equal when they would do the same: names that were made up (`tx:where`) don't count, given ones do.
    """

    def __init__(self, name: str, nodes: Mapping[str, Node], places: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.nodes = dict(nodes)
        self.places = dict(places or {})

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.canonical() == other.canonical()

    __hash__ = None  # type: ignore[assignment]

    def plus(self, *nodes: Node) -> Graph:
        """The plan with more nodes at its end."""
        return Graph(self.name, {**self.nodes, **{node.name: node for node in nodes}}, self.places)

    def of(self, kind: type[NodeType]) -> list[NodeType]:
        """The nodes of one kind.

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
        held = (getattr(node, name, None) for node in self for name in ("connector", "table"))
        return [connector for connector in held if isinstance(connector, Connector)]

    @cached_property
    def consumers(self) -> Mapping[Ref, tuple[Node, ...]]:
        """Who reads each output."""
        found: dict[Ref, tuple[Node, ...]] = {
            Ref(node.name, out): () for node in self for out in node.outputs
        }
        for node in self:
            for ref in dict.fromkeys(node.inputs):
                found[ref] = (*found.get(ref, ()), node)
        return found

    def upstream(self, node: Node) -> list[Node]:
        """All that the node depends on, itself included, in plan order."""
        wanted, todo = set[str](), [node.name]
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                todo += [ref.step for ref in self.nodes[name].inputs]
        return [other for other in self if other.name in wanted]

    def where(self, node: Node, *parts: str) -> str:
        """How errors name a node: the place it was written, if known, and its name.

        With `parts`, the place of the first of these keys of its document that was written, such as `key_by`.
        """
        known = (self.places.get(f"{node.name}/{part}") for part in parts)
        place = next((found for found in known if found), self.places.get(node.name))
        label = f"{node.verb} after `{node.name.split(':')[0]}`" if node.anonymous else f"`{node.name}`"
        return f"{place}: {label}" if place else label

    def canonical(self) -> tuple[Any, ...]:
        """A form in which two plans that do the same are equal: anonymous nodes are written out where they are read."""
        given = [self._written_out(node) for node in self if not node.anonymous or not self._read(node)]
        return (self.name, *sorted(given, key=repr))

    def _read(self, node: Node) -> bool:
        return any(self.consumers[Ref(node.name, out)] for out in node.outputs)

    def _written_out(self, node: Node) -> tuple[Any, ...]:
        held = {f.name: getattr(node, f.name) for f in dataclasses.fields(node)}
        name = "" if node.anonymous else held.pop("name")
        held.pop("name", None)
        return (type(node).__name__, name, *((key, self._resolved(value)) for key, value in held.items()))

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, Ref):
            target = self.nodes[value.step]
            return (self._written_out(target), value.output) if target.anonymous else value
        if isinstance(value, tuple):
            return tuple(self._resolved(item) for item in value)
        return value
