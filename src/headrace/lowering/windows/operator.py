"""The bridge to the kernel's windows: a frame in, tagged rows out.

The kernel gets a declaration as JSON (`declaration`), the frame with Headrace's own columns, and the
aggregates as the analysed plan of `frame.groupBy(...).agg(...)`, of which only the plan is looked at. What
comes out are tagged rows: `__output` is `main` or `late`, and the struct column `__main` or `__late` holds
the row.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, functions

from headrace.lowering.counts import Counts, Time
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.spark.gateway import java_frame, kernel
from headrace.triggers import (
    AfterCount,
    AfterWatermark,
    AllOf,
    AnyOf,
    Emission,
    Every,
    InSequence,
    OrFinally,
    Repeatedly,
    Trigger,
)
from headrace.windows import Delta, Global, Landmark, Punctuation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

    from headrace.windows import Window

_WORDS: dict[type[Trigger], str] = {
    AnyOf: "any_of",
    AllOf: "all_of",
    InSequence: "in_sequence",
    Repeatedly: "repeatedly",
    OrFinally: "or_finally",
}


def declaration(window: Window, emission: Emission, *, time: Time = "event", ttl: int | None = None) -> str:
    """Return a windowed step as the kernel reads it.

    With `time="clock"` the clock is the watermark: ingestion and processing time.

    >>> from headrace import windows
    >>> declaration(windows.session("10 seconds"), Emission())
    '{"window": {"kind": "session", "gap": 10000000}, "trigger": {"after_watermark": {}}, "lateness": 0,
    "mode": "accumulating", "time": "event"}'
    """
    options = {
        name: value
        for name, value in asdict(window).items()
        if name not in ("when", "of") and value not in (None, 0)
    }
    spec: dict[str, Any] = {
        "window": {"kind": type(window).__name__.lower(), **options},
        "trigger": _trigger(emission.trigger),
        "lateness": emission.lateness,
        "mode": emission.mode,
        "time": time,
    }
    if ttl is not None:
        spec["ttl"] = ttl
    return json.dumps(spec)


def _trigger(trigger: Trigger) -> dict[str, Any]:
    if isinstance(trigger, Every):
        return {"every": trigger.period}
    if isinstance(trigger, AfterCount):
        return {"after_count": trigger.rows}
    if isinstance(trigger, AfterWatermark):
        parts = {"early": trigger.early, "late": trigger.late}
        return {"after_watermark": {name: _trigger(part) for name, part in parts.items() if part}}
    return {_WORDS[type(trigger)]: _parts(trigger)}


def _parts(trigger: Trigger) -> Any:
    match trigger:
        case Repeatedly(part):
            return _trigger(part)
        case OrFinally(part, until):
            return [_trigger(part), _trigger(until)]
        case AnyOf(parts) | AllOf(parts) | InSequence(parts):
            return [_trigger(part) for part in parts]


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
        frame: The input with `__ts timestamp` (null: no event time), and `__position` where arrival order is
            known. A stream has a watermark, unless `time` is the clock. Over a batch no row is too late, and
            its end is the end of the input.
        keys: Names of the key's columns; none for one key over all rows.
        window: The kind of window.
        emission: When it emits.
        aggregates: Spark aggregates by the name of their column.
        time: `clock` for ingestion and processing time, where the clock is the watermark.
        ttl: How long after its last row the state of a key is kept.
        counts: The row accounting of a stream.
    """
    ready = add_conditions(frame, window)
    declared = declaration(window, emission, time=time, ttl=ttl)
    return run_keyed_step(ready, _step(ready, keys, aggregates, declared), counts)


def add_conditions(frame: DataFrame, window: Window) -> DataFrame:
    """Return the frame with the columns a window looks at: `__when` for a condition, `__of` for a value."""
    if isinstance(window, Punctuation | Landmark) and window.when is not None:
        return frame.withColumn("__when", functions.expr(window.when).cast("boolean"))
    if isinstance(window, Delta):
        return frame.withColumn("__of", functions.expr(window.of).cast("double"))
    return frame


class WindowDriver:
    """A windowed step in virtual time without a streaming query.

    The kernel's per-key logic over state in memory.

    For tests: a script of batches takes milliseconds. Times are whole microseconds in both directions.
    """

    def __init__(
        self,
        frame: DataFrame,
        keys: Sequence[str],
        aggregates: Mapping[str, Column | str],
        *,
        window: Window | None = None,
    ) -> None:
        """Take the step's columns from `frame`, whose rows are not looked at.

        `window` declares the columns that it reads.
        """
        ready = frame if window is None else add_conditions(frame, window)
        self._frame, self._ready = frame, ready
        self._step = _step(ready, keys, aggregates, declaration(Global(), Emission()))

    def run(self, declared: str, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the output of each batch of a script, from an empty state; see `KeyedStepDriver.run`."""
        step = self._step.withSpec(declared)
        return KeyedStepDriver(self._frame.sparkSession, step, self._frame, self._ready).run(script)


def _step(
    frame: DataFrame, keys: Sequence[str], aggregates: Mapping[str, Column | str], declared: str
) -> Any:
    """Return the kernel's step."""
    columns = [
        (functions.expr(expression) if isinstance(expression, str) else expression).alias(name)
        for name, expression in aggregates.items()
    ]
    grouped = frame.groupBy(*keys).agg(*columns)
    steps = kernel(frame.sparkSession).windows.WindowStep
    return steps.apply(java_frame(frame), java_frame(grouped), declared)
