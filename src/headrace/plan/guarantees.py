"""End-to-end delivery guarantees of the sinks of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import get_args

from headrace.connectors import registry
from headrace.connectors.base import Guarantee
from headrace.errors import OptionError, PlanError, Problem, did_you_mean
from headrace.plan.graph import Graph
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import FrameSource, Source

_ORDER: tuple[Guarantee, ...] = get_args(Guarantee)


@dataclass(frozen=True)
class SinkGuarantee:
    """The end-to-end guarantee of one sink, and its reason."""

    sink: str
    guarantee: Guarantee
    because: str
    better: str = ""
    """How to get a stronger guarantee; empty if there is none."""


def sink_guarantees(graph: Graph) -> list[SinkGuarantee]:
    """Return the guarantee of each sink."""
    return [_sink_guarantee(graph, sink) for sink in graph.sinks]


def require(graph: Graph, wanted: Guarantee | None) -> None:
    """Reject a plan that provides less than the required guarantee.

    Raises:
        PlanError: lists every sink with a weaker guarantee.
    """
    if wanted is None:
        return
    if wanted not in _ORDER:
        raise OptionError(
            f"expected one of {', '.join(_ORDER)}, got {wanted!r}",
            where="guarantee",
            hint=did_you_mean(wanted, _ORDER),
        )
    problems = [
        Problem(
            graph.where(graph[each.sink]),
            f"{wanted} is required, but {each.because}",
            f"{each.better}; or require {each.guarantee}",
        )
        for each in sink_guarantees(graph)
        if _is_weaker(each.guarantee, wanted)
    ]
    if problems:
        raise PlanError(problems)


def _sink_guarantee(graph: Graph, sink: Sink) -> SinkGuarantee:
    sources = [node for node in graph.upstream(sink) if isinstance(node, Source | FrameSource)]
    for source in sources:
        if isinstance(source, Source) and not source.connector.replayable:
            because = f"the source `{source.name}` ({source.connector.kind}) cannot be replayed after a crash"
            return SinkGuarantee(
                sink.name, "at_most_once", because, "write its rows to Kafka or files, and read those"
            )
        if isinstance(source, FrameSource):
            because = f"`{source.name}` is a DataFrame whose sources are unknown"
            return SinkGuarantee(sink.name, "at_least_once", because, "read them with a connector instead")
    best = sink.connector.sink_guarantee
    because = f"the sink's connector ({sink.connector.kind}) delivers {best.replace('_', ' ')}"
    for source in sources:
        if isinstance(source, Source) and _is_weaker(source.connector.source_guarantee, best):
            best = source.connector.source_guarantee
            label = f"the source `{source.name}` ({source.connector.kind})"
            because = f"{label} delivers {best.replace('_', ' ')}"
            return SinkGuarantee(sink.name, best, because, "read from Kafka, files or a table")
    assumed = [source.connector.replay_assumption for source in sources if isinstance(source, Source)]
    because += "".join(f", provided that {assumption}" for assumption in dict.fromkeys(assumed) if assumption)
    return SinkGuarantee(sink.name, best, because, _improvement(sink, best))


def _improvement(sink: Sink, guarantee: Guarantee) -> str:
    """Return the change of a sink that gives exactly once; empty if it does."""
    if guarantee == "exactly_once":
        return ""
    if sink.connector.kind == "kafka":
        return "remove `guarantee: at_least_once` from the sink"
    return f"write to {_exactly_once_sinks()}, which deliver exactly once"


def _is_weaker(guarantee: Guarantee, other: Guarantee) -> bool:
    return _ORDER.index(guarantee) < _ORDER.index(other)


@cache
def _exactly_once_sinks() -> str:
    """Return the built-in durable sinks that deliver exactly once, for a hint."""
    kinds = [kind for kind in registry.built_in() if registry.connector(kind).delivers == "exactly_once"]
    *most, last = sorted(kind for kind in kinds if kind != "memory")
    return f"{', '.join(most)} or {last}"
