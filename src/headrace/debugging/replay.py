"""What a step has read, read once more as a batch: for those who ask afterwards what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.lowering.expressions import column
from headrace.lowering.lowering import Lowering, hidden_key
from headrace.lowering.patterns import Declared
from headrace.lowering.sources import BatchInputs
from headrace.plan.facts import by_clock, is_timed
from headrace.runtime.exchanges.cleanup import CLEANED
from headrace.runtime.exchanges.exchange import Exchange, exchange_path
from headrace.spark.errors import spark_says
from headrace.spark.gateway import GatewayError
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.graph import Graph
    from headrace.plan.queries import Query


class CantBeReadAgain(Exception):  # noqa: N818 - a reason, told to the user as a note
    """The input can't be read again; the text says why."""

    @staticmethod
    @contextmanager
    def for_sparks_errors() -> Iterator[None]:
        """What a source or Spark says against reading is a reason, not a failure."""
        from pyspark.errors import PySparkException

        try:
            yield
        except HeadraceError as error:
            raise CantBeReadAgain(str(error.problem)) from error
        except (PySparkException, GatewayError) as error:
            raise CantBeReadAgain(spark_says(error)[0]) from error


def read_again(spark: SparkSession, graph: Graph, query: Query, directory: Path) -> DataFrame:
    """The rows that the stateful step of a query has had, and those it will have, with the columns it computes.

    Raises:
        CantBeReadAgain: a source can't, or the rows' time was the clock's.
    """
    node: Any = graph[query.output.step]
    if by_clock(graph, node.input):
        raise CantBeReadAgain("their time was the clock of the run that read them")
    for name in query.sources:
        _refuse_unreplayable(graph[name])
    with CantBeReadAgain.for_sparks_errors():
        for ref in query.reads:
            if (exchange_path(directory, ref) / CLEANED).exists():
                raise CantBeReadAgain(f"rows of `{ref}` were deleted after every query had read them")
        logs = {ref: _log(graph, directory, ref).rows(spark) for ref in query.reads}
        frame = Lowering(spark, graph, BatchInputs(spark, graph.name), frames=logs).frame(node.input)
        if isinstance(node, Match | MatchRules):
            frame = frame.withColumns({hidden_key(n): column(key) for n, key in node.keys if key != n})
        return Declared(node, ()).over(frame) if isinstance(node, Match) else frame


def _refuse_unreplayable(source: Any) -> None:
    if isinstance(source, FrameSource):
        raise CantBeReadAgain(f"`{source.name}` is a stream that was given as a DataFrame")
    if isinstance(source, Source) and not source.connector.replayable:
        raise CantBeReadAgain(f"the source `{source.name}` can't be read twice")


def _log(graph: Graph, directory: Path, ref: Any) -> Exchange:
    return Exchange(directory.absolute(), ref, delay=0 if is_timed(graph, ref) else None)
