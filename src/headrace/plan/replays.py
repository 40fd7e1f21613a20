"""The effect of a replay on sinks: rows are computed again under a new checkpoint id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import FrameSource, Source

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.steps.base import Node

ReplayEffect = Literal["replaced", "overwritten", "appended"]

_APPENDING = ("kafka", "console")
"""Connectors whose sinks append rows even if they have a key."""


def replay_effect(sink: Sink) -> ReplayEffect:
    """Return the effect of a replay on the present rows of a sink."""
    if sink.mode == "complete":
        return "replaced"
    return "overwritten" if sink_key(sink) and sink.connector.kind not in _APPENDING else "appended"


def sink_key(sink: Sink) -> tuple[str, ...]:
    """Return the key columns of a sink; empty if it has none."""
    key = getattr(sink.connector, "key", None) or ()
    return (key,) if isinstance(key, str) else tuple(key)


def describe_effect(sink: Sink) -> str:
    """Describe the effect of a replay on a sink in one phrase.

    >>> from headrace import connect
    >>> from headrace.steps.base import Ref
    >>> describe_effect(Sink("out", Ref("tx"), connect.sqlite(path="x.db", table="t", key=["card"])))
    'rows with the same key (card) are overwritten'
    """
    match replay_effect(sink):
        case "replaced":
            return "the new run replaces all rows"
        case "overwritten":
            return f"rows with the same key ({', '.join(sink_key(sink))}) are overwritten"
        case _:
            return "rows are written again and appended to those of earlier runs"


def replay_starts(graph: Graph, step: Node) -> Iterator[str]:
    """Yield, for each source of a step, the position from which a replay reads."""
    for node in graph.upstream(step):
        if isinstance(node, FrameSource):
            yield f"{node.name}: the start of the DataFrame"
        elif isinstance(node, Source):
            yield f"{node.name} ({', '.join(node.connector.offset_identity)}): {_start(node)}"


def _start(source: Source) -> str:
    if not source.connector.replayable:
        return "rows read so far cannot be read again"
    start = getattr(source.connector, "start", None)
    return "the beginning" if start in (None, "earliest") else f"start={start}"
