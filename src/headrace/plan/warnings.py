"""Warnings: advisory messages about a valid plan, printed by `check`, `explain` and `run`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headrace.errors import Problem
from headrace.plan.graph import Graph
from headrace.plan.types import type_warnings
from headrace.steps.base import Node, Ref
from headrace.steps.traits import Finding


def warnings_of(graph: Graph) -> list[Problem]:
    """Return the warnings about a checked plan, in the order of its steps.

    >>> from headrace import Pipeline, connect
    >>> pipeline = Pipeline("p")
    >>> _ = pipeline.read("tx", connect.memory(), schema="v int").where("v > 1", step_name="big")
    >>> [warning.what for warning in warnings_of(pipeline._plan())]
    ['no sink depends on it, so it does not run']
    """
    types = defaultdict[str, list[Finding]](list)
    for node, finding in type_warnings(graph):
        types[node.name].append(finding)
    return [
        graph.locate(node, finding)
        for node in graph
        for finding in (*_check_readers(graph, node), *types[node.name], *node.warnings(graph))
    ]


def _check_readers(graph: Graph, node: Node) -> Iterator[Finding]:
    if node.outputs and not any(graph.consumers[Ref(node.name, out)] for out in node.outputs):
        yield Finding("no sink depends on it, so it does not run", "end it with write(...), or remove it")
