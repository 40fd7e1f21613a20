"""Lower processors to the kernel, which calls them in Python workers.

The kernel reads the state of the keys of a task, passes rows and state to a Python function in Arrow batches,
and stores the changed state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
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
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.base import DEAD_LETTERS
from headrace.steps.expressions import names_of
from headrace.steps.rows.event_time import ClockTime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lowering.counts import Counts
    from headrace.steps.code.process import Process
    from headrace.steps.facts import Time

_CONTROL = "__state binary, __changed boolean, __event_due bigint, __clock_due bigint"
"""The columns of the last result for a key: its state and timers; same list as in the kernel."""


class Wake(ClockTime):
    """Heartbeats for a processor with clock timers and rows without time: timers may be due at the start."""

    @property
    def column(self) -> str:
        return f"{HIDDEN}wake"


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
    columns = list(kernel(frame.sparkSession).operators.OperatorPlan.stateNames(list(keys)))
    frame = frame.withColumns(
        {new: frame[quote_name(key)] for new, key in zip(columns, keys, strict=True) if new != key}
    )
    keys = columns
    if not frame.isStreaming:
        return _apply_to_batch(frame, keys, node, where, timed=timed)
    results = _results(frame, node, timed=timed)
    call = _call(frame.sparkSession, node, keys, results, timed=timed)
    function = ship(task_function(ProcessorLoop, call), call.target, where)
    mapped = map_in_arrow(frame, function, results)
    operator = kernel(frame.sparkSession).python.PythonOperator
    rows = operator.apply(
        java_frame(frame),
        node.name,
        list(keys),
        java_frame(mapped),
        timed,
        time == "clock",
        node.uses_clock(timed=timed),
        counts._kernel,
    )
    return DataFrame(rows, frame.sparkSession)


def _apply_to_batch(
    frame: DataFrame, keys: Sequence[str], node: Process, where: str, *, timed: bool
) -> DataFrame:
    """Return the tagged rows of a processor over a batch, which is processed like a stream that has ended."""
    results = _results(frame, node, timed=timed)
    tagged = StructType([field for field in results if field.name not in _control_names()])
    call = _call(frame.sparkSession, node, keys, tagged, timed=timed)
    order = [name for name in (POSITION, TIME) if name in frame.columns][:1]
    grouped = frame.repartition(*keys) if keys else frame.coalesce(1)
    function = ship(task_function(BatchLoop, call), call.target, where)
    return map_in_arrow(grouped.sortWithinPartitions(*keys, *order), function, tagged)


def _control_names() -> set[str]:
    control: Any = StructType.fromDDL(_CONTROL)
    return set(control.names)


def _results(frame: DataFrame, node: Process, *, timed: bool) -> StructType:
    """Return the columns of a result: the tag, a struct per output, and `_CONTROL`."""
    columns = {"main": node.output, **dict(node.declaration.side_outputs)}
    tagged = [StructField(OUTPUT, StringType())]
    for name, schema in columns.items():
        fields = [_nullable(field) for field in from_arrow_schema(arrow_schema(schema))]
        time = [StructField(TIME, TimestampType())] if timed else []
        tagged.append(StructField(f"{HIDDEN}{name}", StructType([*fields, *time])))
    tagged.append(StructField(f"{HIDDEN}{DEAD_LETTERS}", dead_letter_schema(frame.schema)))
    control: Any = StructType.fromDDL(_CONTROL)
    return StructType([*tagged, *control.fields])


def _nullable(field: StructField) -> StructField:
    return StructField(field.name, field.dataType)


def _call(
    spark: SparkSession, node: Process, keys: Sequence[str], results: StructType, *, timed: bool
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
        to_arrow_schema(results, timezone="UTC"),
        timed,
        node.on_error,
        user_paths(own),
        None if node.timeout is None else node.timeout / 1_000_000,
        converters(target if isinstance(target, type) else type(target)),
        totals_of(spark, node.name, target),
    )
