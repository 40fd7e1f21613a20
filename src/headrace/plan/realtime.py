"""Determine whether Spark's real-time mode can run a step, and what differs in it.

In real-time mode all tasks run concurrently and pass rows on as they arrive, within milliseconds. It supports
Kafka sources and sinks and the kernel's operators, but no Python and no `foreachBatch`.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.plan.graph import Graph
from headrace.plan.queries import Query
from headrace.steps.base import Node, Ref
from headrace.steps.traits import Blocks, Differs, RealTime, RealTimeNote


def real_time_of(graph: Graph, node: Node, queries: tuple[Query, ...], *, python: str = "") -> RealTime:
    """Return the obstacles to real-time mode for a step, and the differences in it.

    Args:
        graph: the plan.
        node: the step.
        queries: the Spark queries of the plan.
        python: the part of the step that runs in Python; empty if none does.
    """
    notes = [*node.real_time(graph), *_query_notes(graph, node, queries)]
    if python:
        notes.append(Blocks(f"{python} runs in Python; real-time mode supports none"))
    return RealTime(
        tuple(note.text for note in notes if isinstance(note, Blocks)),
        tuple(note.text for note in notes if isinstance(note, Differs)),
    )


def _query_notes(graph: Graph, node: Node, queries: tuple[Query, ...]) -> Iterator[RealTimeNote]:
    """Yield obstacles of the query of a step: exchanges and branches (a topic per output is no branch)."""
    for query in queries:
        if query.output.step != node.name:
            continue
        if query.reads:
            yield Blocks(
                f"it reads the exchange of {', '.join(map(str, query.reads))}, which is stored in files"
            )
        if query.writes:
            yield Blocks(
                "another query reads its rows through an exchange, which is written with foreachBatch"
            )
        for output in node.outputs:
            sinks = [
                name
                for name in _sinks_and_stateful_steps(graph, Ref(node.name, output))
                if name in query.sinks
            ]
            if len(sinks) > 1:
                names = ", ".join(sinks)
                yield Blocks(
                    f"its rows go to several sinks ({names}); real-time mode runs a chain without branches"
                )


def _sinks_and_stateful_steps(graph: Graph, ref: Ref) -> list[str]:
    """Return the sinks and stateful steps that rows of an output reach through stateless steps."""
    names: list[str] = []
    for step in graph.consumers[ref]:
        if not step.outputs or step.stateful:
            names.append(step.name)
        else:
            names += [
                name for out in step.outputs for name in _sinks_and_stateful_steps(graph, Ref(step.name, out))
            ]
    return list(dict.fromkeys(names))
