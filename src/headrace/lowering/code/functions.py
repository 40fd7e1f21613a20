"""Lower functions to Python workers: declared columns as output, failures as dead letters."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType
from pyspark.util import PythonEvalType

from headrace.functions.dead_letters import FAILED, ROW, decode_dead_letter
from headrace.functions.failures import REASON, TRACEBACK, dead_letter_names
from headrace.functions.signatures import frame_library
from headrace.functions.worker import FunctionCall, FunctionLoop
from headrace.lowering.code.shipping import ship, user_paths
from headrace.lowering.code.totals import totals_of
from headrace.lowering.decode import DEAD_LETTER_BYTES, DeadLetters
from headrace.lowering.expressions import HIDDEN, POSITION, drop_hidden, hidden_columns
from headrace.schemas.datatypes import quote_name
from headrace.spark.arrow import arrow_schema
from headrace.spark.gateway import java_column, java_frame, java_session, kernel
from headrace.steps.code.functions import DEFAULT_CONCURRENCY, FunctionStep, Map, WorkerStep
from headrace.steps.rows.event_time import EventTime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.plan.graph import Graph
    from headrace.steps.base import Node

Batches = Iterator[pyarrow.RecordBatch]


class Loop(Protocol):
    """A loop over the batches of a task that calls user code."""

    def run(self, batches: Batches, task: int | None) -> Batches: ...


_tokens: dict[int, tuple[Any, str]] = {}
"""User code and its token by the id of the code; workers open the code of a token once."""


def apply_function(
    frame: DataFrame, node: FunctionStep, where: str, time_column: str | None, *, ordered: bool
) -> DataFrame:
    """Return the rows that a function returns.

    Args:
        frame: the input; hidden columns are kept.
        node: the step.
        where: the location of the step, for errors.
        time_column: the column of event time.
        ordered: True if a later step uses the position of the rows.
    """
    declared: Any = None if node.output is None else StructType.fromDDL(node.output.ddl)
    columns: StructType = drop_hidden(frame).schema if declared is None else declared
    call = _call(frame.sparkSession, node, arrow_schema(columns), time_column)
    if call.arguments:
        columns = StructType([*drop_hidden(frame).schema, *columns])
    return run_calls(frame, call, columns, where, ordered=ordered)


def run_calls(
    frame: DataFrame,
    call: FunctionCall,
    columns: StructType,
    where: str,
    *,
    ordered: bool,
    loop: type[FunctionLoop] = FunctionLoop,
) -> DataFrame:
    """Return the rows that the calls in Python workers return.

    `__failed` is the dead letter of a row that failed, and `__row` its number in the task.

    Args:
        frame: the input; hidden columns are kept.
        call: the calls; its output is the Arrow schema of `columns`, or of those that it adds.
        columns: the columns that the calls return.
        where: the location of the step, for errors.
        ordered: True if a later step uses the position of the rows.
        loop: makes the calls.
    """
    if POSITION in frame.columns:
        rows = kernel(frame.sparkSession).python.NoteRows.note(java_frame(frame), call.step, ordered)
        frame = DataFrame(rows, frame.sparkSession)
    hidden = [frame.schema[name] for name in hidden_columns(frame)]
    # A failed row has no values, so columns that are NOT NULL are nullable until it is diverted.
    fields = [StructField(field.name, field.dataType, True, field.metadata) for field in (*columns, *hidden)]
    function = ship(task_function(loop, call), call.target, where)
    failed = [StructField(FAILED, BinaryType()), StructField(ROW, LongType())]
    mapped = map_in_arrow(frame, function, StructType([*fields, *failed]))
    watched = kernel(frame.sparkSession).python.WatchWorker.watch(java_frame(mapped), call.step)
    return DataFrame(watched, frame.sparkSession)


def is_ordered(node: Node, graph: Graph) -> bool:
    """Return True if a later step uses the arrival order or the partitions of the source."""
    later = [step for step in graph if any(other is node for other in graph.upstream(step))]
    return any(step.stateful or isinstance(step, EventTime) for step in later if step is not node)


def keep_succeeded(rows: DataFrame, dead_letters: DeadLetters | None) -> DataFrame:
    """Return the rows of `apply_function` that did not fail; collect the others, if there is a collector."""
    if dead_letters is None:
        return rows.where(F.col(FAILED).isNull()).drop(FAILED, ROW)
    partition, offset = _identity(rows)
    condition = kernel(rows.sparkSession).python.Divert.column(
        dead_letters.collector, java_column(F.col(FAILED)), java_column(partition), java_column(offset)
    )
    return rows.where(Column(condition)).drop(FAILED, ROW)


def select_failed(rows: DataFrame, source: DataFrame) -> DataFrame:
    """Return the decoded dead letters of `apply_function`; `source` is the input of the step."""
    return _decode(rows.where(F.col(FAILED).isNotNull()).select(FAILED), source.schema)


def collector_of(spark: SparkSession, node: WorkerStep, source: StructType, directory: Path) -> DeadLetters:
    """Return a collector of the rows that a step diverts in one query."""
    collector = kernel(spark).decode.DeadLetterCollector.open(
        java_session(spark), node.name, DEAD_LETTER_BYTES, False, str(directory.absolute())
    )
    return DeadLetters(node.name, spark, collector, lambda rows: _decode(rows.select("raw"), source))


def _call(
    spark: SparkSession, node: FunctionStep, output: pyarrow.Schema, time_column: str | None
) -> FunctionCall:
    target = node.code.load()
    return FunctionCall(
        node.name,
        node.verb,
        target,
        str(node.code),
        output,
        token_of(target),
        node.on_error,
        frame_library(target),
        time_column,
        node.concurrency or DEFAULT_CONCURRENCY,
        None if node.timeout is None else node.timeout / 1_000_000,
        user_paths(target),
        totals_of(spark, node.name, target),
        node.arguments if isinstance(node, Map) else (),
    )


def map_in_arrow(frame: DataFrame, function: Callable[[Batches], Batches], schema: StructType) -> DataFrame:
    """Call `DataFrame.mapInArrow`, also with dots in column names, which pyspark reads as struct fields."""
    if not any("." in name for name in frame.columns):
        return frame.mapInArrow(cast("Any", function), schema)
    udf: Any = pandas_udf(cast("Any", function), schema, cast("Any", PythonEvalType.SQL_MAP_ARROW_ITER_UDF))
    call = udf(*(frame[quote_name(name)] for name in frame.columns))
    return DataFrame(java_frame(frame).mapInArrow(java_column(call), False, None), frame.sparkSession)


def token_of(target: Any) -> str:
    """Return the token of user code, the same for every task of this process."""
    return _tokens.setdefault(id(target), (target, uuid.uuid4().hex))[1]


def task_function(loop: Callable[[Any], Loop], call: Any) -> Callable[[Batches], Batches]:
    """Return the function that runs a loop over the batches of a task."""

    def run(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from loop(call).run(batches, None if context is None else context.taskAttemptId())

    return run


def dead_letter_schema(source: StructType) -> StructType:
    """Return the schema of dead letters: the input columns, `reason` and `traceback`."""
    fields = [field for field in source if not field.name.startswith(HIDDEN)]
    names = [*dead_letter_names([field.name for field in fields]), REASON, TRACEBACK]
    kinds = [*(field.dataType for field in fields), StringType(), StringType()]
    return StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])


def _identity(rows: DataFrame) -> tuple[Column, Column]:
    """Return the columns that identify a dead letter if a stage runs twice."""
    if POSITION not in rows.columns:
        return F.spark_partition_id().cast("string"), F.col(ROW)
    return F.concat_ws("/", f"{POSITION}.source", f"{POSITION}.partition"), F.col(f"{POSITION}.offset")


def _decode(letters: DataFrame, source: StructType) -> DataFrame:
    """Return encoded dead letters as rows; `source` is the schema of the input."""

    def decode(batches: Batches) -> Batches:
        for batch in batches:
            for payload in batch.column(0).to_pylist():
                yield decode_dead_letter(payload)

    return letters.mapInArrow(cast("Any", ship(decode, decode, "")), dead_letter_schema(source))
