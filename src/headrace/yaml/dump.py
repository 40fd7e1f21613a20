"""Writes a plan as the document that loads back to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from headrace.errors import DocumentError, HeadraceError, OptionError, Problem
from headrace.plan.graph import Graph
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink, SinkModel
from headrace.steps.endpoints.source import FrameSource, Source, SourceModel
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union
from headrace.yaml.entries import STEPS
from headrace.yaml.errors import ErrorCollector
from headrace.yaml.fold import Entry, FoldedPlan, input_of
from headrace.yaml.printing import print_document

Keys = dict[str, Any]


def dump(graph: Graph) -> str:
    """Write a plan as YAML text; `from_text` reads it back to an equal plan.

    Steps without a name are folded into the steps that read them. One that cannot be folded keeps its generated name, such
    as `tx:select`.

    >>> from headrace import yaml
    >>> graph = yaml.from_text("sources: {tx: {memory: {}, schema: amount double}}", name="p")
    >>> print(yaml.dump(graph), end="")
    name: p
    sources:
      tx: {memory: {}, schema: amount double}

    Raises:
        DocumentError: the plan holds values that a document cannot: a pyspark Column, a DataFrame, a `datetime` in an option.
    """
    plan, errors = FoldedPlan(graph), ErrorCollector()
    for frame in graph.of(FrameSource):
        errors.add(
            graph.where(frame), "a DataFrame cannot be written in a document", "read it from a connector"
        )

    def write(entry: Entry, convert: Callable[[Entry, FoldedPlan], Keys]) -> Keys | None:
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
    graph: Graph, entry: Entry, plan: FoldedPlan, convert: Callable[[Entry, FoldedPlan], Keys]
) -> Keys:
    node = entry[0] if isinstance(entry[0], Source) else entry[-1]
    try:
        return convert(entry, plan)
    except HeadraceError as error:
        raise DocumentError([Problem(graph.where(node), error.what, error.hint)]) from None


def _source(entry: Entry, plan: FoldedPlan) -> Keys:
    source, *time = entry
    assert isinstance(source, Source)
    keys: Keys = SourceModel.from_values(source).document()
    return keys | _keys(time)


def _step(entry: Entry, plan: FoldedPlan) -> Keys:
    first, *rest = entry
    if isinstance(first, Union):
        streams = tuple(Ref(plan.reference(ref)) for ref in first.streams)
        return _keys([dataclasses.replace(first, streams=streams), *rest])
    tables = first.tables if isinstance(first, Sql) else ()
    for table, ref in ((first.table, first.input),) if isinstance(first, RowPattern) else tables:
        if table not in ("this", plan.reference(ref)):
            what = f"the query refers to `{plan.reference(ref)}` as `{table}`"
            raise OptionError(what, hint="use the name of the stream")
    main = input_of(first)
    return ({} if main is None else {"from": plan.reference(main)}) | _keys(entry)


def _sink(entry: Entry, plan: FoldedPlan) -> Keys:
    [sink] = entry
    assert isinstance(sink, Sink)
    keys: Keys = SinkModel.from_values(
        dataclasses.replace(sink, input=Ref(plan.reference(sink.input)))
    ).document()
    return keys


def _keys(nodes: list[Node] | Entry) -> Keys:
    keys: Keys = {}
    for node in nodes:
        model = next(model for model in STEPS if model.represents(node))
        keys |= model.from_values(node).document()
    return keys
