"""Sinks for unrouted side outputs: files in the checkpoint directory."""

from __future__ import annotations

from pathlib import Path

from headrace.connectors.files import Files
from headrace.plan.graph import Graph
from headrace.steps.base import Ref
from headrace.steps.endpoints.sink import Sink

DIRECTORY = "unrouted"


def with_unrouted_sinks(graph: Graph, directory: Path) -> Graph:
    """Return the plan with a file sink for each side output that no step reads."""
    needed = {node.name for sink in graph.sinks for node in graph.upstream(sink)}
    unrouted = [
        Ref(node.name, output)
        for node in graph
        if node.name in needed
        for output in node.stored_outputs
        if not graph.consumers[Ref(node.name, output)]
        and not node.leaves_empty(output, [graph.facts(ref) for ref in node.inputs])
    ]
    return graph.plus(*(_sink(ref, directory) for ref in unrouted))


def is_unrouted(sink: str) -> bool:
    """True if `with_unrouted_sinks` has added the sink of this name."""
    return f":{DIRECTORY}_" in sink


def side_output_of(sink: str) -> str:
    """Return the side output that the sink of an unrouted output stores, as `step.output`."""
    return sink.replace(f":{DIRECTORY}_", ".")


def _sink(ref: Ref, directory: Path) -> Sink:
    files = Files(path=str(directory / DIRECTORY / str(ref)), format="json")
    return Sink(f"{ref.step}:{DIRECTORY}_{ref.output}", ref, files)
