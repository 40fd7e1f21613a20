"""Replay the input of a step as a batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.lowering.expressions import add_keys
from headrace.lowering.lowering import Lowering
from headrace.lowering.sources import BatchInputs
from headrace.runtime.exchanges.cleanup import CLEANED
from headrace.runtime.exchanges.exchange import Exchange, exchange_path
from headrace.spark.errors import describe_error
from headrace.spark.gateway import GatewayError
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.patterns.declaration import PatternDeclaration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.graph import Graph
    from headrace.plan.queries import Query


class NotReplayable(Exception):  # noqa: N818 - a reason, shown as a note
    """The input cannot be replayed; the message has the reason."""

    @staticmethod
    @contextmanager
    def wrap_spark_errors() -> Iterator[None]:
        """Convert errors of a source or of Spark to `NotReplayable`."""
        from pyspark.errors import PySparkException

        try:
            yield
        except HeadraceError as error:
            raise NotReplayable(str(error.problem)) from error
        except (PySparkException, GatewayError) as error:
            raise NotReplayable(describe_error(error)[0]) from error


def replay_input(spark: SparkSession, graph: Graph, query: Query, directory: Path) -> DataFrame:
    """Return the past and pending input rows of a stateful step, with its computed columns.

    Raises:
        NotReplayable: a source is not replayable, or time is the clock.
    """
    node: Any = graph[query.output.step]
    if graph.facts(node.input).by_clock:
        raise NotReplayable("their time is the clock of the run that read them")
    for name in query.sources:
        _check_replayable(graph[name])
    with NotReplayable.wrap_spark_errors():
        for ref in query.reads:
            if (exchange_path(directory, ref) / CLEANED).exists():
                raise NotReplayable(f"rows of the exchange of `{ref}` were deleted after they had been read")
        frames = {ref: _exchange(graph, directory, ref).rows(spark) for ref in query.reads}
        frame = Lowering(spark, graph, BatchInputs(spark, graph.name), frames=frames).frame(node.input)
        frame, _ = add_keys(frame, getattr(node, "keys", ()))
        return PatternDeclaration(node, ()).over(frame) if hasattr(node, "pattern") else frame


def _check_replayable(source: Any) -> None:
    if isinstance(source, FrameSource):
        raise NotReplayable(f"the source `{source.name}` is a DataFrame")
    if isinstance(source, Source) and not source.connector.replayable:
        raise NotReplayable(f"the source `{source.name}` cannot be replayed")


def _exchange(graph: Graph, directory: Path, ref: Any) -> Exchange:
    return Exchange(directory.absolute(), ref, timed=graph.facts(ref).timed)
