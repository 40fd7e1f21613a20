"""Write a plan as a document that loads to an equal plan.

An entry of a document can have several nodes (`where`, then `window`, then `select`). Anonymous nodes are
folded into the entry that reads them, or that they read, if the order of the keys of a step allows it;
otherwise they become entries under their generated names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from headrace.changelogs.declare import Changelog
from headrace.errors import DocumentError, HeadraceError, OptionError, Problem
from headrace.joins.declare import TwoInputs
from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.endpoints.sink import Sink, SinkModel
from headrace.steps.endpoints.source import FrameSource, Source, SourceModel
from headrace.steps.grammar.step import Inputs, Slot
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.columns import Drop, Select
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union
from headrace.yaml.entries import STEPS
from headrace.yaml.errors import ErrorCollector
from headrace.yaml.printing import print_document

Keys = dict[str, Any]
EntryNodes = tuple[Node, ...]
"""The nodes of an entry of the document, in order."""


def dump(graph: Graph) -> str:
    """Write a plan as YAML text; `from_text` reads it back to an equal plan.

    Anonymous steps are folded into named ones. A step that cannot be folded has its generated name, such as
    `tx:select`.

    >>> from headrace import yaml
    >>> graph = yaml.from_text("sources: {tx: {memory: {}, schema: amount double}}", name="p")
    >>> print(yaml.dump(graph), end="")
    name: p
    sources:
      tx: {memory: {}, schema: amount double}

    Raises:
        DocumentError: the plan has values that a document cannot have: a pyspark Column, a DataFrame, a
            `datetime` in an option.
    """
    plan, errors = FoldedPlan(graph), ErrorCollector()
    for frame in graph.of(FrameSource):
        errors.add(
            graph.where(frame), "a DataFrame cannot be written in a document", "read it from a connector"
        )

    def write(entry: EntryNodes, convert: Callable[[EntryNodes, FoldedPlan], Keys]) -> Keys | None:
        return errors.attempt(_convert, graph, entry, plan, convert)

    sections = {
        "sources": {name: write(entry, _source) for name, entry in plan.sources.items()},
        "steps": {name: write(entry, _step) for name, entry in plan.steps.items()},
        "sinks": {sink.name: write((sink,), _sink) for sink in graph.sinks},
    }
    errors.raise_any()
    return print_document(
        {"name": graph.name, **{key: entries for key, entries in sections.items() if entries}}
    )


def _convert(
    graph: Graph, entry: EntryNodes, plan: FoldedPlan, convert: Callable[[EntryNodes, FoldedPlan], Keys]
) -> Keys:
    node = entry[0] if isinstance(entry[0], Source) else entry[-1]
    try:
        return convert(entry, plan)
    except HeadraceError as error:
        raise DocumentError([Problem(graph.where(node), error.what, error.hint)]) from None


def _source(entry: EntryNodes, plan: FoldedPlan) -> Keys:
    source, *time = entry
    assert isinstance(source, Source)
    keys: Keys = SourceModel.from_values(source).document()
    return keys | _keys(time)


def _step(entry: EntryNodes, plan: FoldedPlan) -> Keys:
    first, *rest = entry
    if isinstance(first, Union):
        streams = tuple(Ref(plan.reference(ref)) for ref in first.streams)
        return _keys([dataclasses.replace(first, streams=streams), *rest])
    tables = first.tables if isinstance(first, Sql) else ()
    for table, ref in ((first.table, first.input),) if isinstance(first, RowPattern) else tables:
        if table not in ("this", plan.reference(ref)):
            what = f"the query refers to `{plan.reference(ref)}` as `{table}`"
            raise OptionError(what, hint="use the name of the stream")
    entry = tuple(_with_reference(node, plan) for node in entry)
    main = _input_of(first)
    return ({} if main is None else {"from": plan.reference(main)}) | _keys(entry)


def _with_reference(node: Node, plan: FoldedPlan) -> Node:
    """Replace the second input of a step by its name in the document."""
    if not isinstance(node, TwoInputs):
        return node
    return node.build(node.name, Inputs((node.input, Ref(plan.reference(node.other)))))


def _sink(entry: EntryNodes, plan: FoldedPlan) -> Keys:
    [sink] = entry
    assert isinstance(sink, Sink)
    keys: Keys = SinkModel.from_values(
        dataclasses.replace(sink, input=Ref(plan.reference(sink.input)))
    ).document()
    return keys


def _keys(nodes: list[Node] | EntryNodes) -> Keys:
    keys: Keys = {}
    for node in nodes:
        model = next(model for model in STEPS if model.represents(node))
        keys |= model.from_values(node).document()
    return keys


def _slot_of(node: Node) -> Slot | None:
    """Return the place of a node in its entry; None for sources and sinks."""
    return next((model.slot for model in STEPS if model.represents(node)), None)


class FoldedPlan:
    """The entries of a document for a plan."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._alias: dict[str, str] = {}
        self._after: dict[str, EntryNodes] = {}
        self.sources: dict[str, EntryNodes] = {node.name: self._fold_time(node) for node in graph.of(Source)}
        for node in graph:
            self._fold_after(node)
        self.steps: dict[str, EntryNodes] = self._fold_steps()

    def reference(self, ref: Ref) -> str:
        """Return the text by which the document refers to an output."""
        return self._alias.get(ref.step) or str(ref)

    def _fold_time(self, node: Source) -> EntryNodes:
        """Fold the time of a source into its entry, if all readers use the same time."""
        readers = self._graph.consumers[Ref(node.name)]
        times = [other for other in readers if isinstance(other, EventTime | ClockTime) and other.anonymous]
        equal = len({dataclasses.replace(other, name="") for other in times}) == 1
        if len(times) < len(readers) or not equal or (len(times) > 1 and not all(map(self._is_read, times))):
            return self._fold_changelog((node,))
        self._alias |= {other.name: node.name for other in times}
        return self._fold_changelog((node, times[0]))

    def _fold_changelog(self, entry: EntryNodes) -> EntryNodes:
        """Fold the reading as changes into the entry of a source, if nothing else reads its rows."""
        readers = self._graph.consumers[Ref(entry[-1].name)]
        if len(readers) != 1 or not isinstance(readers[0], Changelog) or not readers[0].anonymous:
            return entry
        self._alias[readers[0].name] = entry[0].name
        return (*entry, readers[0])

    def _fold_after(self, node: Node) -> None:
        """Fold a `select` and a `drop` into an operation if each is the only reader."""
        if _slot_of(node) != Slot.OPERATION or isinstance(node, Route):
            return
        last: Node = node
        for kind in (Select, Drop):
            readers = self._graph.consumers[Ref(last.name)]
            if len(readers) == 1 and isinstance(readers[0], kind) and readers[0].anonymous:
                last = readers[0]
                self._alias[last.name] = node.name
                self._after[node.name] = (*self._after.get(node.name, ()), last)

    def _fold_steps(self) -> dict[str, EntryNodes]:
        entries = {
            node.name: self._entry(node)
            for node in self._graph
            if _slot_of(node) is not None and node.name not in self._alias
        }
        needed = [node.name for node in self._graph if not node.anonymous or not self._is_read(node)]
        needed += [sink.input.step for sink in self._graph.sinks]
        written: set[str] = set()
        while needed:
            name = needed.pop()
            name = self._alias.get(name, name)
            if name in entries and name not in written:
                written.add(name)
                needed += [ref.step for ref in entries[name][0].inputs]
                needed += [node.other.step for node in entries[name] if isinstance(node, TwoInputs)]
        return {name: entry for name, entry in entries.items() if name in written}

    def _entry(self, node: Node) -> EntryNodes:
        """Return the node and the anonymous nodes before and after it that can be in its entry."""
        entry = [node]
        while (before := self._before(entry[0])) is not None:
            entry.insert(0, before)
        return (*entry, *self._after.get(node.name, ()))

    def _before(self, node: Node) -> Node | None:
        ref = _input_of(node)
        if ref is None or ref.output != MAIN or ref.step in self._alias:
            return None
        before = self._graph[ref.step]
        slot, own = _slot_of(before), _slot_of(node)
        if not before.anonymous or slot is None or own is None or slot == Slot.OPERATION or slot >= own:
            return None
        return before

    def _is_read(self, node: Node) -> bool:
        return any(self._graph.consumers[Ref(node.name, out)] for out in node.outputs)


def _input_of(node: Node) -> Ref | None:
    """Return the output that `from` names in the entry of a node; None if it has no `from`."""
    if isinstance(node, Sql):
        return dict(node.tables).get("this")
    if isinstance(node, RowPattern) and node.table != "this":
        return None
    return None if isinstance(node, Union | Sink) else node.inputs[0]
