"""Starting over with a new checkpoint: the effect on the rows that sinks already hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import next_aside
from headrace.plan.replays import describe_effect

if TYPE_CHECKING:
    from headrace.plan.graph import Graph


def describe_fresh_start(graph: Graph, directory: Path) -> Iterator[str]:
    """Yield lines that list, per sink, the effect of a new checkpoint.

    None if there is no previous checkpoint.
    """
    if not (directory / "queries").exists():
        return
    yield f"starting over: the previous checkpoint moves to {next_aside(directory)}; sinks keep their rows"
    for sink in graph.sinks:
        yield f"  {sink.name} ({sink.connector.kind}): {describe_effect(sink)}"
