"""Lower windows to the kernel, or to Spark's operators, which fire once and can only count late rows.

The kernel receives a declaration as JSON (`declaration`), the frame with hidden columns, and the aggregates
as the analysed plan of `frame.groupBy(...).agg(...)`, which is not executed. It returns tagged rows:
`__output` is `main` or `late`, and the row is in the struct `__main` or `__late`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.code.aggregates import check_picklable, fold_results
from headrace.lowering.counts import Counts
from headrace.lowering.dispatch import lower, select_output
from headrace.lowering.event_times import AHEAD
from headrace.lowering.expressions import HIDDEN, OUTPUT, REFINED, TIME, add_keys, column, name_columns
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.lowering.outputs import output_of
from headrace.lowering.tables.changes import label_panes
from headrace.plan.changes import feeds_changes
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.grammar.values import MICROSECONDS
from headrace.windows import (
    Attached,
    Delta,
    Global,
    Landmark,
    Punctuation,
    Session,
    Sliding,
    Tumbling,
    Window,
)
from headrace.windows.declare import WindowAggregate
from headrace.windows.triggers import Emission

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.lowering.lowering import Lowering
    from headrace.steps.base import Ref
    from headrace.steps.facts import Time

BOUNDS = (f"{HIDDEN}window_start", f"{HIDDEN}window_end")
"""The last key columns of a step with attached windows."""


@lower.register(WindowAggregate)
def _window(node: WindowAggregate, lowering: Lowering) -> DataFrame:
    check_picklable(lowering.graph.where(node), node.aggregates)
    frame = lowering.changes(node.input)
    native = node.native and AHEAD not in frame.columns
    if native or is_native_batch(frame, node):
        return aggregate_native_windows(frame, node, name_columns(node.keys), name_columns(node.aggregates))
    aggregates = {name: column(item) for name, item in node.aggregates}
    ready, keys = add_keys(frame, node.keys)
    time = lowering.graph.facts(node.input).time
    if not frame.isStreaming:
        return aggregate_windows(ready, keys, node.window, Emission(), aggregates, time=time)
    refined = feeds_changes(lowering.graph, node)
    emission = replace(node.emission, mode="retracting") if refined else node.emission
    rows = aggregate_windows(
        ready, keys, node.window, emission, aggregates, time=time, ttl=node.ttl, counts=lowering.count(node)
    )
    return rows.withColumn(REFINED, F.lit(True)) if refined else rows


@select_output.register(WindowAggregate)
def _output(node: WindowAggregate, ref: Ref, raw: DataFrame) -> DataFrame:
    """Return panes, with the results of aggregates in Python, or late rows."""
    rows = output_of(node, ref, raw)
    if ref.output:
        return rows
    if OUTPUT in raw.columns:
        mode = "refined" if REFINED in raw.columns else node.emission.mode
        rows = label_panes(rows, "" if node.emission.fires_once else mode)
    return fold_results(rows, node.name, node.aggregates)


def declaration(window: Window, emission: Emission, *, time: Time = "event", ttl: int | None = None) -> str:
    """Return the declaration of a windowed step for the kernel.

    With `time="clock"` (ingestion and processing time) the watermark is the clock.

    >>> from headrace import windows
    >>> declaration(windows.session("10 seconds"), Emission())
    '{"window": {"kind": "session", "gap": 10000000}, "trigger": {"after_watermark": {}}, "lateness": 0,
    "mode": "accumulating", "time": "event"}'
    """
    fields = asdict(window).items()
    options = {
        name: value for name, value in fields if (value and not isinstance(value, str)) or name == "order"
    }
    spec: dict[str, Any] = {
        "window": {"kind": window.kind, **options},
        "trigger": {emission.firing.kind: emission.firing.document(MICROSECONDS)},
        "lateness": emission.lateness,
        "mode": emission.mode,
        "time": time,
    }
    if ttl is not None:
        spec["ttl"] = ttl
    return json.dumps(spec)


def aggregate_windows(
    frame: DataFrame,
    keys: Sequence[str],
    window: Window,
    emission: Emission,
    aggregates: Mapping[str, Column | str],
    *,
    time: Time = "event",
    ttl: int | None = None,
    counts: Counts | None = None,
) -> DataFrame:
    """Return the tagged rows of a windowed step.

    Args:
        frame: the input, as for `run_keyed_step`; a stream has a watermark, unless `time` is the clock.
        keys: the names of the key columns; empty for windows over all rows.
        window: the window.
        emission: trigger, lateness and mode.
        aggregates: Spark aggregates by the name of their column.
        time: `clock` for ingestion and processing time, where the watermark is the clock.
        ttl: how long after its last row the state of a key is kept.
        counts: the row counters of a stream.
    """
    ready = add_conditions(frame, window)
    declared = declaration(window, emission, time=time, ttl=ttl)
    all_keys = (*keys, *BOUNDS) if isinstance(window, Attached) else keys
    return run_keyed_step(ready, _step(ready, all_keys, aggregates, declared), counts)


def add_conditions(frame: DataFrame, window: Window) -> DataFrame:
    """Add the columns that a window reads: `__when` for a condition, `__of` for a value, and bounds."""
    if isinstance(window, Punctuation | Landmark) and window.when is not None:
        return frame.withColumn("__when", F.expr(window.when).cast("boolean"))
    if isinstance(window, Delta):
        return frame.withColumn("__of", F.expr(window.of).cast("double"))
    if isinstance(window, Attached):
        bounds = zip(BOUNDS, attached_bounds(window), strict=True)
        return frame.withColumns(dict(bounds))
    return frame


def attached_bounds(window: Attached) -> list[Column]:
    """Return the bounds of the window of a row."""
    return [F.expr(bound).cast("timestamp") for bound in (window.start, window.end)]


def aggregate_native_windows(
    frame: DataFrame, node: WindowAggregate, keys: list[Column], aggregates: list[Column]
) -> DataFrame:
    """Return panes of tumbling, sliding or session windows: keys, `window`, aggregates, `pane` and `__ts`."""
    grouped = frame.groupBy(*keys, _native_window(node.window).alias("window")).agg(*aggregates)
    names = [name for name, _ in node.keys]
    values = [name for name, _ in node.aggregates]
    pane = F.struct(
        F.lit(0).alias("index"), F.lit("on_time").alias("timing"), F.lit(False).alias("retraction")
    )
    return grouped.select(
        *names,
        _bounds(node.window).alias("window"),
        *values,
        pane.alias("pane"),
        F.expr(
            "window.end - interval 1 microsecond" if not isinstance(node.window, Session) else "window.end"
        ).alias(TIME),
    )


def is_native_batch(frame: DataFrame, node: WindowAggregate) -> bool:
    """True if Spark's operator returns the same rows: in a batch nothing is late, and a window fires once."""
    native = isinstance(node.window, Tumbling | Sliding | Session)
    return native and node.emission.fires_once and not frame.isStreaming


def _native_window(window: Window) -> Column:
    match window:
        case Tumbling(size, offset):
            return F.window(TIME, _micros(size), _micros(size), _micros(offset))
        case Sliding(size, every, offset):
            return F.window(TIME, _micros(size), _micros(every), _micros(offset))
        case Session(gap):
            # Spark merges sessions that touch; Headrace's are half open, so the gap is a microsecond less.
            return F.session_window(TIME, _micros(gap - 1))
    raise NotImplementedError(type(window).__name__)


def _bounds(window: Window) -> Column:
    end = "window.end + interval 1 microsecond" if isinstance(window, Session) else "window.end"
    return F.struct(F.col("window.start").alias("start"), F.expr(end).alias("end"))


def _micros(length: int) -> str:
    return f"{length} microseconds"


class WindowDriver:
    """Runs a windowed step in virtual time without a streaming query, like `KeyedStepDriver`; for tests."""

    def __init__(
        self,
        frame: DataFrame,
        keys: Sequence[str],
        aggregates: Mapping[str, Column | str],
        *,
        window: Window | None = None,
    ) -> None:
        """Create a driver over the columns of `frame`; `window` adds the columns that it reads."""
        ready = frame if window is None else add_conditions(frame, window)
        self._frame, self._ready = frame, ready
        self._step = _step(ready, keys, aggregates, declaration(Global(), Emission()))

    def run(self, declared: str, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the output of each batch of a script; see `KeyedStepDriver.run`."""
        step = self._step.withSpec(declared)
        return KeyedStepDriver(self._frame.sparkSession, step, self._frame, self._ready).run(script)


def _step(
    frame: DataFrame, keys: Sequence[str], aggregates: Mapping[str, Column | str], declared: str
) -> Any:
    """Return the kernel's step."""
    columns = [
        (F.expr(expression) if isinstance(expression, str) else expression).alias(name)
        for name, expression in aggregates.items()
    ]
    grouped = frame.groupBy(*keys).agg(*columns)
    steps = kernel(frame.sparkSession).windows.WindowStep
    return steps.apply(java_frame(frame), java_frame(grouped), declared)
