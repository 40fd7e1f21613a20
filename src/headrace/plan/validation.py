"""Validates a plan before Spark sees it.

Collects the problems of all steps, so that they are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Problem, did_you_mean
from headrace.plan.changes import are_panes
from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.facts import duplicates
from headrace.steps.traits import Finding


def problems_of(graph: Graph) -> list[Problem]:
    """Return every problem of a plan, in the order of its steps."""
    if not graph.nodes:
        return [Problem(f"pipeline `{graph.name}`", "it has no steps", "begin with pipeline.read(...)")]
    unknown = [problem for node in graph for problem in _unknown_inputs(graph, node)]
    if unknown:  # all other checks look at inputs, so they must exist
        return unknown
    return [
        Problem(graph.where(node, *finding.keys), finding.what, finding.hint)
        for node in graph
        for finding in _findings(graph, node)
    ]


def _findings(graph: Graph, node: Node) -> Iterator[Finding]:
    yield from node.check(graph)
    yield from _check_columns(graph, node)
    yield from _check_time(graph, node)
    yield from _check_changes(graph, node)
    yield from _check_wait(graph, node)
    yield from _check_target(graph, node)


def _unknown_inputs(graph: Graph, node: Node) -> Iterator[Problem]:
    for ref in node.inputs:
        if ref.step not in graph.nodes:
            known = [name for name, other in graph.nodes.items() if not other.anonymous]
            yield Problem(graph.where(node), f"unknown step `{ref.step}`", did_you_mean(ref.step, known))
        elif ref.output not in graph[ref.step].outputs:
            if (finding := node.missing_input(ref)) is not None:
                yield Problem(graph.where(node, *finding.keys), finding.what, finding.hint)
                continue
            outputs = [str(Ref(ref.step, out)) for out in graph[ref.step].outputs]
            yield Problem(graph.where(node), f"unknown output `{ref}`", did_you_mean(str(ref), outputs))


def _check_columns(graph: Graph, node: Node) -> Iterator[Finding]:
    """Two columns of the same name, unless an input already has them.

    A reference to them would be ambiguous.
    """
    if MAIN not in node.outputs:
        return
    inherited = {name.lower() for ref in node.inputs for name in duplicates(graph.facts(ref).columns or ())}
    for name in duplicates(graph.facts(Ref(node.name)).columns or ()):
        if name.lower() not in inherited:
            keys = ("select", "aggregate", "measures", "match", "lookup", "schema")
            yield Finding(f"two columns are called `{name}`", node.duplicate_hint, keys)


def _check_time(graph: Graph, node: Node) -> Iterator[Finding]:
    if node.needs_time and not all(graph.facts(ref).timed for ref in node.inputs):
        yield Finding(
            f"{node.verb} needs rows with time",
            "add event_time(column), ingestion_time() or processing_time() before",
            ("window", "distinct", "match", "match_rules", "join", "join_as_of", "sql"),
        )


def _check_changes(graph: Graph, node: Node) -> Iterator[Finding]:
    for ref in node.inputs if node.stateful else ():
        facts = graph.facts(ref)
        if facts.change == "table" and not node.accepts_changes:
            yield Finding(
                f"{node.verb} takes rows that never change, and `{ref}` is a table",
                "use the stream that the table is made of; aggregate, window, top_n and join take tables",
                ("from", node.verb),
            )
        elif facts.change == "updates" or (facts.change == "refinements" and not facts.adds):
            yield from _check_replaced(graph, node, ref)


def _check_replaced(graph: Graph, node: Node, ref: Ref) -> Iterator[Finding]:
    """Yield a problem with rows that replace earlier ones, unless the step takes them as changes."""
    if not node.accepts_changes or not are_panes(graph, ref):
        yield Finding(
            f"its input `{ref}` emits a row again when it changes, so it would be counted twice",
            "let the step before fire once (no early or late firings), or write it out and read the table",
            ("from",),
        )


def _check_wait(graph: Graph, node: Node) -> Iterator[Finding]:
    """A stateful step waits as long as its input may delay a row, so that must have a bound."""
    for ref in _stateful_inputs(graph, node) if node.stateful else ():
        if graph.facts(ref).hold is None:
            yield Finding(
                f"it waits for rows of `{ref.step}`, whose delay has no bound",
                graph[ref.step].delay_hint,
                ("from",),
            )


def _stateful_inputs(graph: Graph, node: Node) -> Iterator[Ref]:
    for ref in node.inputs:
        step = graph[ref.step]
        if step.stateful:
            yield ref
        else:
            yield from _stateful_inputs(graph, step)


def _check_target(graph: Graph, node: Node) -> Iterator[Finding]:
    """Two sinks with one target would overwrite or mix each other's rows."""
    earlier = graph.sinks[: graph.sinks.index(node)] if node in graph.sinks else []
    target = node.connector.target() if node in graph.sinks else None
    for sink in earlier:
        if target is not None and sink.connector.target() == target:
            hint = "write a union of the two streams, or to another table or directory"
            yield Finding(f"`{sink.name}` writes to the same target, {target}", hint)
