"""Starting over with a new checkpoint: the effect on the rows that sinks already hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import next_aside
from headrace.steps.endpoints.sink import Sink

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

_LOGS = ("kafka", "console")
"""Connectors whose sinks append also if they have a key."""


def describe_fresh_start(graph: Graph, directory: Path) -> Iterator[str]:
    """Yield lines that list, per sink, the effect of a new checkpoint.

    None if there is no previous checkpoint.
    """
    if not (directory / "queries").exists():
        return
    yield f"starting over: the previous checkpoint moves to {next_aside(directory)}; sinks keep their rows"
    for sink in graph.sinks:
        if isinstance(sink, Sink):
            yield f"  {sink.name} ({sink.connector.kind}): {_effect(sink)}"


def _effect(sink: Sink) -> str:
    if sink.mode == "complete":
        return "the new run replaces all rows"
    key = getattr(sink.connector, "key", None)
    if key and sink.connector.kind not in _LOGS:
        names = ", ".join([key] if isinstance(key, str) else key)
        return f"rows with the same key ({names}) are overwritten"
    return "rows are written again and appended to those of earlier runs"
