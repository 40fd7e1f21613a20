"""Validate a plan without Spark; collect the problems of all steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from headrace.access.effort import TOO_DEEP, TOO_DEEP_HINT, check_effort
from headrace.errors import Problem, did_you_mean
from headrace.plan.changes import are_panes
from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.facts import duplicates
from headrace.steps.tables.changelog import ACCEPT_TABLES
from headrace.steps.traits import Finding


def problems_of(graph: Graph) -> list[Problem]:
    """Return every problem of a plan, in the order of its steps."""
    if not graph.nodes:
        return [Problem(f"pipeline `{graph.name}`", "it has no steps", "begin with pipeline.read(...)")]
    unknown = [problem for node in graph for problem in _unknown_inputs(graph, node)]
    if unknown:  # all other checks need the inputs
        return unknown
    try:
        return [graph.locate(node, finding) for node in graph for finding in _findings(graph, node)]
    except RecursionError:  # the facts of a step are those of the steps before it
        return [Problem(f"pipeline `{graph.name}`", TOO_DEEP, TOO_DEEP_HINT)]


def _findings(graph: Graph, node: Node) -> Iterator[Finding]:
    for finding in node.check(graph):
        check_effort()
        yield finding
    check_effort()
    yield from _check_columns(graph, node)
    yield from _check_time(graph, node)
    yield from _check_changes(graph, node)
    yield from _check_cdc(graph, node)
    yield from _check_delay(graph, node)
    yield from _check_target(graph, node)


def _unknown_inputs(graph: Graph, node: Node) -> Iterator[Problem]:
    for ref in node.inputs:
        if ref.step not in graph.nodes:
            known = [name for name, other in graph.nodes.items() if not other.anonymous]
            yield Problem(graph.where(node), f"unknown step `{ref.step}`", did_you_mean(ref.step, known))
        elif ref.output not in graph[ref.step].outputs:
            if (finding := node.missing_input(ref)) is not None:
                yield graph.locate(node, finding)
                continue
            outputs = [str(Ref(ref.step, out)) for out in graph[ref.step].outputs]
            yield Problem(graph.where(node), f"unknown output `{ref}`", did_you_mean(str(ref), outputs))


def _check_columns(graph: Graph, node: Node) -> Iterator[Finding]:
    """Reject two columns of the same name, unless an input already has them."""
    if MAIN not in node.outputs:
        return
    inherited = {name.lower() for ref in node.inputs for name in duplicates(graph.facts(ref).columns or ())}
    for name in duplicates(graph.facts(Ref(node.name)).columns or ()):
        if name.lower() not in inherited:
            keys = ("select", "aggregate", "measures", node.verb, "schema")
            yield Finding(f"two columns are called `{name}`", node.duplicate_hint, keys, name)


def _check_time(graph: Graph, node: Node) -> Iterator[Finding]:
    if node.needs_time and not all(graph.facts(ref).timed for ref in node.inputs):
        yield Finding(
            f"{node.verb} needs rows with time",
            f"{node.time_hint}add event_time(column), ingestion_time() or processing_time() before",
            ("window", node.verb, "sql"),
        )


def _check_changes(graph: Graph, node: Node) -> Iterator[Finding]:
    for ref in node.inputs if node.stateful else ():
        facts = graph.facts(ref)
        if facts.change == "table" and not (
            node.accepts_changes or (facts.delivered and node.applies_changes)
        ):
            yield Finding(
                f"{node.verb} does not accept a table as input, and `{ref}` is a table",
                ACCEPT_TABLES,
                ("from", node.verb),
            )
        elif facts.change == "updates" or (facts.change == "refinements" and not facts.adds):
            yield from _check_replaced(graph, node, ref)


def _check_cdc(graph: Graph, node: Node) -> Iterator[Finding]:
    """Reject the changes of a CDC source as the rows of a stateful step: old rows would never be removed."""
    for ref in node.row_inputs if node.stateful else ():
        if graph.facts(ref).cdc:
            yield Finding(
                f"{node.verb} reads the changes of a CDC source, `{ref.step.split(':')[0]}`",
                "make it a table first, with key_by(<its key>).latest(...); to process the changes as rows, "
                'select their fields without the column `change`, such as select("id", op="change.op")',
                ("from", node.verb),
            )


def _check_replaced(graph: Graph, node: Node, ref: Ref) -> Iterator[Finding]:
    """Reject rows that replace earlier ones, unless the step accepts them as changes."""
    if not node.accepts_changes or not are_panes(graph, ref):
        yield Finding(
            f"its input `{ref}` emits changed rows again, which would be counted twice",
            "let the previous step fire once (no early or late firings), or write a table and read that",
            ("from",),
        )


def _check_delay(graph: Graph, node: Node) -> Iterator[Finding]:
    """Reject inputs with an unbounded delay, for which a stateful step would wait forever."""
    for ref in _stateful_inputs(graph, node) if node.stateful else ():
        if graph.facts(ref).hold is None:
            yield Finding(
                f"the delay of its input `{ref.step}` has no bound",
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
    """Reject two sinks with the same target, which would overwrite or mix rows."""
    target = node.connector.target() if isinstance(node, Sink) else None
    if target is None:
        return
    for sink in itertools.takewhile(lambda other: other is not node, graph.sinks):
        if sink.connector.target() == target:
            hint = "write a union of the two streams, or to another table or directory"
            yield Finding(f"`{sink.name}` writes to the same target, {target}", hint)
