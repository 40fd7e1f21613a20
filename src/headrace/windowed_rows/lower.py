"""Lower rows with their windows: an expression, or a windowed step of the kernel that collects its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.dispatch import lower, select_output
from headrace.lowering.expressions import HIDDEN, OUTPUT, TIME, add_keys, hidden_columns, visible_columns
from headrace.lowering.outputs import output_of
from headrace.lowering.tables.changes import is_changelog, label_panes
from headrace.spark.gateway import java_column, kernel
from headrace.steps.expressions import hidden_key
from headrace.steps.facts import CHANGE
from headrace.steps.tables.top_n import RANK
from headrace.triggers import Emission
from headrace.windowed_rows.declare import WINDOW, AssignWindow, WindowTopN, computed_keys
from headrace.windows import Cumulating, Sliding, Tumbling, Window
from headrace.windows.lower import aggregate_windows

if TYPE_CHECKING:
    from headrace.lowering.lowering import Lowering
    from headrace.steps.base import Ref

_ROWS = f"{HIDDEN}rows"
_ROW = f"{HIDDEN}row"
_TYPE = "array<struct<start: timestamp, end: timestamp>>"


@lower.register(AssignWindow)
def _assign(node: AssignWindow, lowering: Lowering) -> DataFrame:
    frame = lowering.frame(node.input)
    if not node.stateful:
        return assign_windows(frame, node.window)
    rows = F.collect_list(F.struct(*visible_columns(frame)))
    return _collect(frame, node, rows, lowering)


@lower.register(WindowTopN)
def _top(node: WindowTopN, lowering: Lowering) -> DataFrame:
    frame = lowering.changes(node.input)
    computed = {name: key for name, key in node.keys if name in computed_keys(node)}
    added = [F.col(hidden_key(name)).alias(name) for name in computed]
    ready, _ = add_keys(frame, node.keys)
    shown = visible_columns(ready.drop(CHANGE) if is_changelog(frame) else ready)
    return _collect(frame, node, first_rows(ready, F.struct(*added, *shown), node), lowering)


@select_output.register(AssignWindow)
def _assigned(node: AssignWindow, ref: Ref, raw: DataFrame) -> DataFrame:
    if ref.output or not node.stateful:
        return output_of(node, ref, raw)
    rows = _panes(node, ref, raw).withColumn(_ROW, F.explode(_ROWS))
    return rows.select(f"{_ROW}.*", WINDOW, TIME)


@select_output.register(WindowTopN)
def _ranked(node: WindowTopN, ref: Ref, raw: DataFrame) -> DataFrame:
    rows = _panes(node, ref, raw)
    if ref.output:
        return rows
    window = [WINDOW] if node.adds_window else []
    ranked = rows.select(*window, TIME, F.posexplode(_ROWS).alias(RANK, _ROW))
    return ranked.select(f"{_ROW}.*", *window, (F.col(RANK) + 1).alias(RANK), TIME)


def assign_windows(frame: DataFrame, window: Window) -> DataFrame:
    """Return the rows once for each of their windows, with the column `window`.

    The event time of a row becomes that of a pane, just before the end of the window, so that a row is late
    when its window has closed. A row without event time has no window.
    """
    rows = frame.withColumn(WINDOW, F.explode_outer(windows_of(window)))
    time = F.col(WINDOW)["end"] - F.expr("interval 1 microsecond")
    shown = [name for name in rows.columns if name != WINDOW and not name.startswith(HIDDEN)]
    hidden = [name for name in hidden_columns(frame) if name != TIME]
    metadata = frame.schema[TIME].metadata
    return rows.select(
        *(F.col(f"`{name}`") for name in (*shown, WINDOW)), time.alias(TIME, metadata=metadata), *hidden
    )


def windows_of(window: Window) -> Column:
    """Return the windows of a row as an array of bounds, by the formulas of the kernel; null without time."""
    time = f"unix_micros({TIME})"
    match window:
        case Tumbling(size, offset):
            bounds = _sliding(time, size, size, offset)
        case Sliding(size, every, offset):
            bounds = _sliding(time, size, every, offset)
        case Cumulating(size, step, offset):
            start = f"({time} - pmod({time} - {offset}L, {size}L))"
            ends = (
                f"sequence({time} - pmod({time} - {offset}L, {step}L) + {step}L, {start} + {size}L, {step}L)"
            )
            bounds = f"transform({ends}, e -> {_struct(start, 'e')})"
        case _:
            raise NotImplementedError(type(window).__name__)
    return F.expr(bounds).cast(_TYPE)


def _sliding(time: str, size: int, every: int, offset: int) -> str:
    last = f"({time} - pmod({time} - {offset}L, {every}L))"
    if size == every:
        return f"if({TIME} is null, null, array({_struct(last, f'({last} + {size}L)')}))"
    first = f"({time} - {size}L + 1L)"  # the first start that is not before it is a multiple of `every`
    starts = f"sequence({first} + pmod({last} - {first}, {every}L), {last}, {every}L)"
    return f"transform({starts}, s -> {_struct('s', f'(s + {size}L)')})"


def _struct(start: str, end: str) -> str:
    return f"named_struct('start', timestamp_micros({start}), 'end', timestamp_micros({end}))"


def first_rows(frame: DataFrame, row: Column, node: WindowTopN) -> Column:
    """Return the kernel's aggregate with the first rows in order."""
    rows = kernel(frame.sparkSession).operators.FirstRows.of(java_column(row), node.top.n)
    for expression, direction in node.orders:
        rows = rows.by(java_column(F.expr(expression)), direction)
    return Column(rows.column())


def _collect(
    frame: DataFrame, node: AssignWindow | WindowTopN, rows: Column, lowering: Lowering
) -> DataFrame:
    """Return the tagged rows of a windowed step whose only aggregate is an array of rows."""
    ready, keys = add_keys(frame, node.keys)
    time = lowering.graph.facts(node.input).time
    counts = lowering.count(node) if frame.isStreaming else None
    return aggregate_windows(ready, keys, node.window, Emission(), {_ROWS: rows}, time=time, counts=counts)


def _panes(node: AssignWindow | WindowTopN, ref: Ref, raw: DataFrame) -> DataFrame:
    """Return the panes of a windowed step, or its late rows."""
    rows = output_of(node, ref, raw)
    return rows if ref.output or OUTPUT not in raw.columns else label_panes(rows, "")
