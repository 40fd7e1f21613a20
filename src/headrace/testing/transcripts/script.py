"""The lines of a script: input, time and expected output of a pipeline in virtual time.

rows       one micro-batch for each query that reads the source, then at most one without data
watermark  sets the watermark of a source; from then on only the script moves it
expect     the rows emitted since the last comparison, in any order
contents   the whole content of a sink: the rows that remain after all changes
rules      replaces the rules of a step from the next micro-batch on
advance    advances the clock; then one micro-batch and at most one without data
restart    kills the run and restarts it from its checkpoint
end        ends the input, the same as a drain
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headrace.formats import Format, Json, Raw
from headrace.plan.graph import Graph
from headrace.schemas.fields import Schema
from headrace.steps.base import MAIN, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.yaml.positions import Value

Moment = Literal["between_epochs", "before_commit"]


@dataclass(frozen=True)
class Rows:
    """Rows for sources: JSON objects that fit the schema, or records to decode."""

    where: str
    rows: Mapping[str, tuple[Mapping[str, Any] | bytes, ...]]
    partitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The partition of each row, for sources whose rows are listed by partition."""


@dataclass(frozen=True)
class Watermark:
    """Watermarks of sources, in microseconds since 1970."""

    where: str
    marks: Mapping[str, int]


@dataclass(frozen=True)
class Expect:
    """Expected rows per output, and the location of each list."""

    where: str
    outputs: Mapping[str, tuple[Mapping[str, Any], ...]]
    places: Mapping[str, str]


@dataclass(frozen=True)
class Contents(Expect):
    """Expected whole contents of sinks."""


@dataclass(frozen=True)
class Advance:
    """An advance of the clock, in microseconds."""

    where: str
    length: int


@dataclass(frozen=True)
class Restart:
    """A kill and restart: between two epochs, or in the last one before its commit."""

    where: str
    moment: Moment


@dataclass(frozen=True)
class End:
    """The end of the input."""

    where: str


@dataclass(frozen=True)
class Rules:
    """Rule tables by step."""

    where: str
    tables: Mapping[str, Value]


Line = Rows | Rules | Watermark | Expect | Advance | Restart | End


def output_of(graph: Graph, name: str) -> Ref | None:
    """Return the output of a step name, `step.output` or sink name; None if there is none."""
    node = graph.nodes.get(name)
    if isinstance(node, Sink):
        return node.input
    step, _, output = name.partition(".")
    node = graph.nodes.get(step)
    if node is None or output not in node.outputs:
        return None
    return _after_select(graph, Ref(step)) if output == MAIN else Ref(step, output)


def _after_select(graph: Graph, ref: Ref) -> Ref:
    """Return the rows after the `select` and `drop` of a step, which its name refers to."""
    for key in ("select", "drop"):
        columns = graph.nodes.get(f"{ref.step.partition(':')[0]}:{key}")
        if columns is not None and columns.inputs == (ref,):
            ref = Ref(columns.name)
    return ref


def outputs_of(graph: Graph) -> list[str]:
    """Return all names that `output_of` accepts."""
    named = [node for node in graph if not node.anonymous]
    return [str(Ref(node.name, output)) for node in named for output in node.outputs] + [
        sink.name for sink in graph.sinks if not sink.anonymous
    ]


def times_of(graph: Graph, source: str) -> list[EventTime | ClockTime]:
    """Return the steps that assign event time to the rows of a source."""
    timed: list[EventTime | ClockTime] = [*graph.of(EventTime), *graph.of(ClockTime)]
    return [node for node in timed if any(before.name == source for before in graph.upstream(node))]


def schema_of(source: Source) -> Schema:
    """Return the schema of a source; a validated plan has one."""
    own = source.format.default_schema if source.format is not None else None
    return source.schema or own or Schema(())


def only(graph: Graph, kind: type[Any]) -> Any:
    """Return the only node of a kind."""
    [node] = graph.of(kind)
    return node


def record_format(source: Source) -> Format | None:
    """Return the format of a script's records: that of the source, or JSON instead of Avro and Protobuf."""
    chosen = source.format
    return Json() if chosen is not None and chosen.is_binary and not isinstance(chosen, Raw) else chosen


def decodes(source: Source) -> bool:
    """Return true if the source decodes records."""
    return source.connector.carries == "bytes" and source.format is not None
