"""Bind the outputs of a query to what it writes: the sinks of the plan, and exchanges to other queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.layout import checkpoint_of, read_checkpoint_id, watermark_of_epoch
from headrace.connectors.base import Upserting, WriteContext, WriteMode, Writer
from headrace.lowering.tables.changes import for_sink
from headrace.plan.queries import Query, is_dead_letters
from headrace.runtime.delivery import SinkBinding
from headrace.runtime.exchanges.exchange import Exchange
from headrace.runtime.progress.log import EXCHANGE
from headrace.steps.endpoints.sink import Sink
from headrace.steps.stateful.updates import replaces_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.plan.graph import Graph
    from headrace.steps.base import Ref


@dataclass(frozen=True)
class Bindings:
    """Creates the sinks and exchanges of the queries of a plan."""

    graph: Graph
    directory: Path
    """The checkpoint directory of the pipeline."""
    build_writer: Callable[[Sink], Writer]

    def bind(self, query: Query) -> list[SinkBinding]:
        """Return the exchanges and the sinks that a query writes."""
        exchanges = [self._bind_exchange(ref, query) for ref in query.writes]
        return [*exchanges, *(self._bind_sink(sink, query) for sink in sinks_of(self.graph, query))]

    def exchange(self, ref: Ref) -> Exchange:
        """Return the exchange of an output."""
        facts = self.graph.facts(ref)
        return Exchange(self.directory, ref, timed=facts.timed, hold=facts.hold or 0)

    def _bind_sink(self, sink: Sink, query: Query) -> SinkBinding:
        writer = self.build_writer(sink)
        facts, mode = self.graph.facts(sink.input), sink.write_mode(self.graph)
        replaces = replaces_rows(sink, facts)
        key = writer.upsert_key if isinstance(writer, Upserting) and replaces else ()
        return SinkBinding(
            sink.name,
            sink.input,
            writer,
            self._context(query, sink.name, mode),
            lambda frame, epoch: for_sink(frame, key, mode, grows=facts.grows),
            of_dead_letters=is_dead_letters(self.graph, sink.input, query.reads),
        )

    def _bind_exchange(self, ref: Ref, query: Query) -> SinkBinding:
        name, exchange, checkpoint = (
            f"{EXCHANGE}{ref}",
            self.exchange(ref),
            checkpoint_of(self.directory, query),
        )

        def prepare(frame: DataFrame, epoch: int) -> DataFrame:
            return exchange.add_marker(frame, watermark_of_epoch(checkpoint, epoch))

        return SinkBinding(
            name,
            ref,
            exchange.writer(),
            self._context(query, name, "append"),
            prepare,
            of_dead_letters=is_dead_letters(self.graph, ref, query.reads),
            every_epoch=True,
        )

    def _context(self, query: Query, sink: str, mode: WriteMode) -> WriteContext:
        checkpoint_id = read_checkpoint_id(checkpoint_of(self.directory, query))
        return WriteContext(self.graph.name, sink, checkpoint_id, mode, str(self.directory / "sinks" / sink))


def sinks_of(graph: Graph, query: Query) -> list[Sink]:
    """Return the sinks of a query, without exchanges."""
    return [node for name in query.sinks if isinstance(node := graph[name], Sink)]
