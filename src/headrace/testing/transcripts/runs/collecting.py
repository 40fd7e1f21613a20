"""The sinks that replace those of a case and collect rows for `expect`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.connectors.base import Staged, WriteContext, WriteMode
from headrace.connectors.memory import Memory
from headrace.plan.graph import Graph
from headrace.runtime.virtual_time import CollectedRows, collect
from headrace.steps.endpoints.sink import Sink
from headrace.testing.transcripts.results.outputs import Output, rows_of
from headrace.testing.transcripts.script import output_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Collector:
    """The rows of one output, each epoch once, across restarts."""

    def __init__(self, mode: WriteMode | None) -> None:
        self.complete = mode == "complete"
        self.history: list[Output] = []
        """All rows."""
        self._rows: list[Output] = []
        self._epochs: dict[str, int] = {}

    def take(self) -> list[Output]:
        """Return the rows since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def last(self, checkpoint_id: str) -> int:
        return self._epochs.get(checkpoint_id, -1)

    def add(self, checkpoint_id: str, epoch: int, rows: list[Output]) -> None:
        if epoch > self.last(checkpoint_id):
            self._epochs[checkpoint_id] = epoch
            self.history = rows if self.complete else [*self.history, *rows]
            self._rows = rows if self.complete else [*self._rows, *rows]


class _StagedRows:
    def __init__(self, collected: CollectedRows) -> None:
        self.content = rows_of(collected.schema, collected.rows)

    @property
    def rows(self) -> int:
        return len(self.content)


class CollectingWriter:
    """A writer that collects rows."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._checkpoint_id = ""

    def open(self, run: WriteContext) -> int:
        self._checkpoint_id = run.checkpoint_id
        return self._collector.last(run.checkpoint_id)

    def stage(self, epoch: int, frame: DataFrame) -> Staged:
        return _StagedRows(collect(frame))

    def commit(self, epoch: int, staged: Staged) -> None:
        assert isinstance(staged, _StagedRows)
        self._collector.add(self._checkpoint_id, epoch, staged.content)

    def close(self) -> None: ...


def with_outputs(graph: Graph, outputs: tuple[str, ...]) -> Graph:
    """Return the plan with exactly one sink for each expected output.

    A sink with a key collects the changes of a running aggregate whose rows can be removed.
    """
    nodes = {node.name: node for node in graph if not isinstance(node, Sink) or node.name in outputs}
    bare = Graph(graph.name, nodes, graph.places)
    added = []
    for name in outputs:
        ref = output_of(graph, name)
        if ref is not None and not isinstance(graph.nodes.get(name), Sink):
            added.append(Sink(sink_name(graph, name), ref, Memory()))
    deleting = [sink for sink in bare.sinks if sink.connector.row_key and _deletes(bare, sink)]
    return bare.plus(*added, *(replace(sink, mode="changes") for sink in deleting))


def _deletes(graph: Graph, sink: Sink) -> bool:
    facts = graph.facts(sink.input)
    return facts.change == "table" and facts.keyed and not facts.grows and sink.mode in (None, "update")


def sink_name(graph: Graph, output: str) -> str:
    """Return the sink that collects an expected output."""
    return output if isinstance(graph.nodes.get(output), Sink) else f"{output.replace('.', '_')}:expected"
