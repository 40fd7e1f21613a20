"""Query the committed state of a pipeline: the rows of its tables, and the windows that are open.

A step `latest`, `top_n` or a running aggregate is a table of its rows as they are after the last committed
epoch. A windowed aggregate is a table of its open windows with their results so far.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from headrace.checkpoints.layout import checkpoint_of, progress_of, queries_with_state
from headrace.connectors import flatten
from headrace.debugging.state_entries import StateFiles, key_text, table_frame, without_key
from headrace.debugging.table_query import WHERE, TableQuery, read_query
from headrace.errors import OptionError, did_you_mean
from headrace.runtime.queries.inspection import plan_queries
from headrace.runtime.queries.signatures import check_signatures
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.tables.latest import Latest
from headrace.steps.tables.top_n import TopN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.checkpoints.layout import Progress
    from headrace.plan.graph import Graph
    from headrace.plan.queries import Query

ROWS, MAX_ROWS = 100, 10_000
"""The number of rows of an answer: default and maximum."""
MAX_BYTES = 4 << 20
"""The maximum size of the rows of an answer, as JSON."""
SECONDS = 30.0
"""The time after which a query is cancelled."""
_KINDS = (Latest, TopN, Aggregate)


@dataclass(frozen=True)
class TableRows:
    """The answer of a query."""

    rows: list[dict[str, Any]]
    epochs: dict[str, int | None]
    """The last committed epoch of each table that was read; None before the first."""
    watermarks: dict[str, str | None]
    truncated: bool

    def as_json(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return dict(vars(self))


def table_names(graph: Graph) -> dict[str, str]:
    """Return the tables of a plan, each with its step.

    A table of a script has the name of its CREATE TABLE, not that of its step `name:latest`.
    """
    steps = [node.name for node in graph if isinstance(node, _KINDS) or node.emits_panes]
    short = {name.partition(":")[0]: name for name in reversed(steps)}
    return {
        **{name: step for name, step in short.items() if name not in steps},
        **{name: name for name in steps},
    }


def query_tables(
    graph: Graph,
    directory: Path,
    sql: str,
    *,
    limit: int = ROWS,
    seconds: float = SECONDS,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> TableRows:
    """Run a query over the committed state of a pipeline.

    Args:
        graph: the plan.
        directory: the checkpoint directory.
        sql: one query in Spark SQL over the tables of `table_names`.
        limit: the maximum number of rows.
        seconds: the time after which it is cancelled.
        master: the Spark master.
        conf: Spark settings.

    Raises:
        OptionError: the query is invalid or takes too long, or a table has no checkpoint.
    """
    query = read_query(sql, table_names(graph))
    with _frames(graph, directory, query.names, master, conf) as (spark, frames, progress):
        return _answer(spark, _run(spark, query, frames), progress, limit, seconds)


def read_table(
    graph: Graph,
    directory: Path,
    name: str,
    *,
    key: str | None = None,
    limit: int = ROWS,
    seconds: float = SECONDS,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> TableRows:
    """Return the rows of a table, or those of one key: the values of its columns, separated by commas.

    Raises:
        OptionError: there is no such table, it has no checkpoint, or reading takes too long.
    """
    known = table_names(graph)
    if name not in known:
        raise OptionError(f"unknown table `{name}`", where="table", hint=did_you_mean(name, known))
    with _frames(graph, directory, (name,), master, conf, key=key) as (spark, frames, progress):
        return _answer(spark, frames[name], progress, limit, seconds)


@contextmanager
def _frames(
    graph: Graph,
    directory: Path,
    names: tuple[str, ...],
    master: str | None,
    conf: Mapping[str, str] | None,
    *,
    key: str | None = None,
) -> Iterator[tuple[SparkSession, dict[str, DataFrame], dict[str, Progress]]]:
    """Yield the session, and the content and the progress of each table."""
    steps = table_names(graph)
    queries: dict[str, Query] = {}
    for name in names:
        queries[name] = queries_with_state(graph, directory, steps[name])[0]
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_queries(spark, graph) as planned:
        wanted = {query.name for query in queries.values()}
        chosen = {each.query.name: each for each in planned if each.query.name in wanted}
        check_signatures(graph, list(chosen.values()), directory)
        frames, progress = {}, {}
        for name, query in queries.items():
            checkpoint = checkpoint_of(directory, query)
            progress[name] = progress_of(checkpoint)
            if progress[name].epoch is None:
                raise OptionError(
                    f"`{name}` has no committed epoch yet", where="table", hint="try again later"
                )
            files = StateFiles(spark, checkpoint, progress[name].epoch)
            node = graph[query.output.step]
            frame = table_frame(files, node, chosen[query.name].stream_plan)
            if key is not None:
                frame = frame.where(key_text(frame) == key)
            frames[name] = without_key(frame)
        yield spark, frames, progress


def _run(spark: SparkSession, query: TableQuery, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the result of a query; views stand for its tables while it is planned."""
    views = {name: f"headrace_{uuid.uuid4().hex}" for name in frames}
    try:
        for name, view in views.items():
            frames[name].createTempView(view)
        return spark.sql(query.over(views))
    except PySparkException as error:
        raise OptionError(_first_line(error), where=WHERE) from None
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


def _answer(
    spark: SparkSession, frame: DataFrame, progress: Mapping[str, Progress], limit: int, seconds: float
) -> TableRows:
    columns = frame.selectExpr(*flatten.json_expressions(frame.schema.jsonValue()))
    lines = columns.select(F.to_json(F.struct("*"), flatten.JSON).alias("line")).limit(limit + 1)
    with _time_limit(spark, seconds) as expired:
        try:
            texts = [row.line for row in lines.collect()]
        except Exception as error:
            if expired.is_set():
                what, hint = f"the query took more than {seconds:g} seconds", "read one key, or less rows"
                raise OptionError(what, where=WHERE, hint=hint) from None
            if isinstance(error, PySparkException):
                raise OptionError(_first_line(error), where=WHERE) from None
            raise
    kept, size = [], 0
    for text in texts[:limit]:
        size += len(text)
        if size > MAX_BYTES:
            break
        kept.append(json.loads(text))
    epochs = {name: each.epoch for name, each in progress.items()}
    watermarks = {name: each.watermark for name, each in progress.items()}
    return TableRows(kept, epochs, watermarks, truncated=len(kept) < len(texts))


@contextmanager
def _time_limit(spark: SparkSession, seconds: float) -> Iterator[threading.Event]:
    """Cancel the jobs of this thread after a time; the event is set by then."""
    context, group, expired = spark.sparkContext, f"headrace-query-{uuid.uuid4().hex}", threading.Event()

    def cancel() -> None:
        expired.set()
        context.cancelJobGroup(group)

    timer = threading.Timer(seconds, cancel)
    context.setJobGroup(group, "query of tables", interruptOnCancel=True)
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
