"""Lower processors to the kernel, which calls them in Python workers.

The kernel reads the state of the keys of a task, passes rows and state to a Python function in Arrow batches,
and stores the changed state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from headrace.functions.arrow import arrow_schema
from headrace.lowering.code.functions import dead_letter_schema, map_in_arrow, task_function, token_of
from headrace.lowering.code.shipping import ship, user_paths
from headrace.lowering.code.totals import totals_of
from headrace.lowering.expressions import HIDDEN, OUTPUT, POSITION, TIME
from headrace.processors.batch import BatchLoop
from headrace.processors.codec import converters
from headrace.processors.stateful_map import StatefulMap
from headrace.processors.worker import ProcessorCall, ProcessorLoop
from headrace.schemas.datatypes import quote_name
from headrace.spark import arrow
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.base import DEAD_LETTERS
from headrace.steps.expressions import names_of
from headrace.steps.rows.event_time import ClockTime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lowering.counts import Counts
    from headrace.steps.code.process import Process
    from headrace.steps.facts import Time

_CONTROL = "__state binary, __changed boolean, __event_due bigint, __clock_due bigint, __buffered bigint"
"""The columns of the last result for a key: its state and timers; same list as in the kernel."""
_ALL = f"{HIDDEN}all"
"""The constant key of a step without keys, which Spark's state needs; same name as in the kernel."""


class Wake(ClockTime):
    """Heartbeats for a processor with clock timers and rows without time: timers may be due at the start."""

    @property
    def column(self) -> str:
        return f"{HIDDEN}wake"


@dataclass(frozen=True)
class WorkerOperator:
    """Code that workers run over the rows of each key, with state and several outputs."""

    name: str
    outputs: Mapping[str, StructType]
    """The columns of each output; the main one is `main`."""
    call: Callable[[Sequence[str], pyarrow.Schema], ProcessorCall]
    """Returns the call for the names of the key columns and the columns of results."""
    loop: type[ProcessorLoop]
    batch_loop: type[BatchLoop]
    uses_clock: bool
    """True if keys can be due by the clock."""


def apply_processor(
    frame: DataFrame, keys: Sequence[str], node: Process, where: str, *, time: Time, counts: Counts
) -> DataFrame:
    """Return the tagged rows of a processor: `__output` is `main`, a side output or `dead_letters`.

    Args:
        frame: the input with `__ts` if it is timed, and `__position` if arrival order is known.
        keys: the names of the key columns.
        node: the step.
        where: the location of the step, for errors.
        time: `clock` if the watermark is the clock.
        counts: the row counters.
    """
    timed = TIME in frame.columns
    declared = {"main": node.output, **dict(node.declaration.side_outputs)}
    outputs = {name: from_arrow_schema(arrow_schema(schema)) for name, schema in declared.items()}

    def call(columns: Sequence[str], results: pyarrow.Schema) -> ProcessorCall:
        return _call(frame.sparkSession, node, columns, results, timed=timed)

    operator = WorkerOperator(
        node.name, outputs, call, ProcessorLoop, BatchLoop, node.uses_clock(timed=timed)
    )
    return run_in_workers(frame, keys, operator, where, time=time, counts=counts)


def run_in_workers(
    frame: DataFrame,
    keys: Sequence[str],
    operator: WorkerOperator,
    where: str,
    *,
    time: Time,
    counts: Counts,
) -> DataFrame:
    """Return the tagged rows of the outputs of an operator, and those of `dead_letters`."""
    timed = TIME in frame.columns
    classes = kernel(frame.sparkSession)
    columns = list(classes.operators.OperatorPlan.stateNames(list(keys)))
    frame = frame.withColumns(
        {new: frame[quote_name(key)] for new, key in zip(columns, keys, strict=True) if new != key}
    )
    results = _results(frame, operator.outputs, timed=timed)
    if not frame.isStreaming:
        return _run_batch(frame, columns, operator, results, where)
    grouping = columns or [_ALL]
    frame = frame if columns else frame.withColumn(_ALL, F.lit(0))
    call = operator.call(columns, arrow.arrow_schema(results))
    function = ship(task_function(operator.loop, call), call.target, where)
    mapped = map_in_arrow(frame, function, results)
    rows = classes.python.PythonOperator.apply(
        java_frame(frame),
        operator.name,
        grouping,
        java_frame(mapped),
        timed,
        time == "clock",
        operator.uses_clock,
        counts._kernel,
    )
    return DataFrame(rows, frame.sparkSession)


def _run_batch(
    frame: DataFrame, keys: Sequence[str], operator: WorkerOperator, results: StructType, where: str
) -> DataFrame:
    """Return the tagged rows of a batch, which is processed like a stream that has ended."""
    tagged = StructType([field for field in results if field.name not in _control_names()])
    call = operator.call(keys, arrow.arrow_schema(tagged))
    order = [name for name in (POSITION, TIME) if name in frame.columns][:1]
    grouped = frame.repartition(*keys) if keys else frame.coalesce(1)
    function = ship(task_function(operator.batch_loop, call), call.target, where)
    return map_in_arrow(grouped.sortWithinPartitions(*keys, *order), function, tagged)


def _control_names() -> set[str]:
    control: Any = StructType.fromDDL(_CONTROL)
    return set(control.names)


def _results(frame: DataFrame, outputs: Mapping[str, StructType], *, timed: bool) -> StructType:
    """Return the columns of a result: the tag, a struct per output, and `_CONTROL`."""
    tagged = [StructField(OUTPUT, StringType())]
    for name, columns in outputs.items():
        fields = [_nullable(field) for field in columns]
        time = [StructField(TIME, TimestampType())] if timed else []
        tagged.append(StructField(f"{HIDDEN}{name}", StructType([*fields, *time])))
    tagged.append(StructField(f"{HIDDEN}{DEAD_LETTERS}", dead_letter_schema(frame.schema)))
    control: Any = StructType.fromDDL(_CONTROL)
    return StructType([*tagged, *control.fields])


def _nullable(field: StructField) -> StructField:
    return StructField(field.name, field.dataType)


def _call(
    spark: SparkSession, node: Process, keys: Sequence[str], results: pyarrow.Schema, *, timed: bool
) -> ProcessorCall:
    target = node.code.load()
    outputs = {"main": node.output, **dict(node.declaration.side_outputs)}
    own = target._stateful_function if isinstance(target, StatefulMap) else target
    return ProcessorCall(
        node.name,
        target,
        str(node.code),
        token_of(target),
        tuple(zip(names_of(node.keys), keys, strict=True)),
        {name: arrow_schema(schema) for name, schema in outputs.items()},
        results,
        timed,
        node.on_error,
        user_paths(own),
        None if node.timeout is None else node.timeout / 1_000_000,
        converters(target if isinstance(target, type) else type(target)),
        totals_of(spark, node.name, target),
    )
