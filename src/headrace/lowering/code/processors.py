"""The bridge to the kernel's processors: a frame in, tagged rows out.

The kernel restores the state of the keys of a task, passes rows and state through one Python function in
Arrow batches, and stores what changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from headrace.functions.arrow import arrow_schema
from headrace.functions.failures import REASON, TRACEBACK, dead_letter_names
from headrace.lowering.code.functions import map_in_arrow, token_of
from headrace.lowering.code.shipping import ship, user_paths
from headrace.lowering.code.totals import totals_of
from headrace.lowering.expressions import HIDDEN, OUTPUT, POSITION, TIME
from headrace.processors.batch import BatchLoop
from headrace.processors.codec import converters
from headrace.processors.stateful_map import StatefulMap
from headrace.processors.worker import ProcessorCall, ProcessorLoop
from headrace.schemas.datatypes import quote_name
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.code.functions import DEAD_LETTERS
from headrace.steps.expressions import names_of
from headrace.steps.rows.event_time import ClockTime

if TYPE_CHECKING:
    from headrace.lowering.counts import Counts, Time
    from headrace.steps.code.process import Process

Batches = Iterator[pyarrow.RecordBatch]
_CONTROL = "__state binary, __changed boolean, __event_due bigint, __clock_due bigint"
"""The columns of a result that ends the visit of a key; the kernel has the same list."""


class Wake(ClockTime):
    """Heartbeats for a processor with clock timers whose rows have no time.

    Timers may be due when a run starts.
    """

    @property
    def column(self) -> str:
        return f"{HIDDEN}wake"


def apply_processor(
    frame: DataFrame, keys: Sequence[str], node: Process, where: str, *, time: Time, counts: Counts
) -> DataFrame:
    """Return the tagged rows of a processor: `__output` is `main`, a side output or `dead_letters`.

    Args:
        frame: The input with `__ts` if it is timed, and `__position` if arrival order is known.
        keys: Names of the key's columns.
        node: The step.
        where: The location of the step, for errors.
        time: `clock` if the clock is the watermark.
        counts: Where rows are counted.
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
    call = _call(node, keys, results, timed=timed)
    function = ship(_loop(call), call.target, where)
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
    """Return the tagged rows of a processor over rows that are all there, as at the end of a stream."""
    results = _results(frame, node, timed=timed)
    tagged = StructType([field for field in results if field.name not in _control_names()])
    call = _call(node, keys, tagged, timed=timed)
    order = [name for name in (POSITION, TIME) if name in frame.columns][:1]
    grouped = frame.repartition(*keys) if keys else frame.coalesce(1)
    function = ship(_loop(call, BatchLoop), call.target, where)
    return map_in_arrow(grouped.sortWithinPartitions(*keys, *order), function, tagged)


def _control_names() -> set[str]:
    control: Any = StructType.fromDDL(_CONTROL)
    return set(control.names)


def _results(frame: DataFrame, node: Process, *, timed: bool) -> StructType:
    """Return the columns of a result.

    The tag, one struct per output, and those that end the visit of a key.
    """
    columns = {"main": node.output, **dict(node.declaration.side_outputs)}
    tagged = [StructField(OUTPUT, StringType())]
    for name, schema in columns.items():
        fields = [_nullable(field) for field in from_arrow_schema(arrow_schema(schema))]
        time = [StructField(TIME, TimestampType())] if timed else []
        tagged.append(StructField(f"{HIDDEN}{name}", StructType([*fields, *time])))
    tagged.append(StructField(f"{HIDDEN}{DEAD_LETTERS}", _dead_letters(frame)))
    control: Any = StructType.fromDDL(_CONTROL)
    return StructType([*tagged, *control.fields])


def _nullable(field: StructField) -> StructField:
    return StructField(field.name, field.dataType)


def _dead_letters(frame: DataFrame) -> StructType:
    fields = [field for field in frame.schema if not field.name.startswith(HIDDEN)]
    names = [*dead_letter_names([field.name for field in fields]), REASON, TRACEBACK]
    kinds = [*(field.dataType for field in fields), StringType(), StringType()]
    return StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])


def _call(node: Process, keys: Sequence[str], results: StructType, *, timed: bool) -> ProcessorCall:
    target = node.code.load()
    outputs = {"main": node.output, **dict(node.declaration.side_outputs)}
    own = target._f if isinstance(target, StatefulMap) else target
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
        totals_of(node.name, target),
    )


def _loop(call: ProcessorCall, loop: type[ProcessorLoop] = ProcessorLoop) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from loop(call).run(batches, None if context is None else context.taskAttemptId())

    return run
