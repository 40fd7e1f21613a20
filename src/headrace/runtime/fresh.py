"""Describe the effect on sinks of a fresh start or a restored savepoint; both have new checkpoint ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import next_aside
from headrace.plan.replays import describe_effect
from headrace.steps.endpoints.source import Source

if TYPE_CHECKING:
    from headrace.plan.graph import Graph


def describe_fresh_start(graph: Graph, directory: Path) -> Iterator[str]:
    """Yield lines that list, per sink, the effect of a new checkpoint; none if there is no previous one."""
    if not (directory / "queries").exists():
        return
    yield f"starting over: the previous checkpoint moves to {next_aside(directory)}; sinks keep their rows"
    for sink in graph.sinks:
        yield f"  {sink.name} ({sink.connector.kind}): {describe_effect(sink)}"


def describe_restore(graph: Graph, directory: Path, name: str) -> Iterator[str]:
    """Yield lines that list, per source and sink, the effect of restoring a savepoint."""
    aside = f"the current checkpoint moves to {next_aside(directory)}; " if directory.exists() else ""
    yield f"restoring the savepoint {name}: {aside}sinks keep their rows"
    yield from (f"  {effect}" for effect in restore_effects(graph))


def restore_effects(graph: Graph) -> Iterator[str]:
    """Yield the effect of a restored savepoint on each sink, and the sources that cannot be read again."""
    for source in graph.of(Source):
        if not source.connector.replayable:
            kind = source.connector.kind
            yield f"{source.name} ({kind}): rows read since the savepoint cannot be read again"
    for sink in graph.sinks:
        since = describe_effect(sink).replace("to those of earlier runs", "to those written since")
        yield f"{sink.name} ({sink.connector.kind}): {since}"
