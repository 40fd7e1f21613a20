"""Lower windows to the kernel.

The kernel receives a declaration as JSON (`declaration`), the frame with hidden columns, and the aggregates
as the analysed plan of `frame.groupBy(...).agg(...)`, which is not executed. It returns tagged rows:
`__output` is `main` or `late`, and the row is in the struct `__main` or `__late`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, functions

from headrace.lowering.counts import Counts
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

    from headrace.steps.facts import Time
    from headrace.windows import Window

_WORDS: dict[type[Trigger], str] = {
    AnyOf: "any_of",
    AllOf: "all_of",
    InSequence: "in_sequence",
    Repeatedly: "repeatedly",
    OrFinally: "or_finally",
}


def declaration(window: Window, emission: Emission, *, time: Time = "event", ttl: int | None = None) -> str:
    """Return the declaration of a windowed step for the kernel.

    With `time="clock"` (ingestion and processing time) the watermark is the clock.

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
    return run_keyed_step(ready, _step(ready, keys, aggregates, declared), counts)


def add_conditions(frame: DataFrame, window: Window) -> DataFrame:
    """Add the columns that a window reads: `__when` for a condition, `__of` for a value."""
    if isinstance(window, Punctuation | Landmark) and window.when is not None:
        return frame.withColumn("__when", functions.expr(window.when).cast("boolean"))
    if isinstance(window, Delta):
        return frame.withColumn("__of", functions.expr(window.of).cast("double"))
    return frame


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
        (functions.expr(expression) if isinstance(expression, str) else expression).alias(name)
        for name, expression in aggregates.items()
    ]
    grouped = frame.groupBy(*keys).agg(*columns)
    steps = kernel(frame.sparkSession).windows.WindowStep
    return steps.apply(java_frame(frame), java_frame(grouped), declared)
