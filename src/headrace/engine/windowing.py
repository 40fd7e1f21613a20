"""The bridge to the kernel's windows: a frame in, tagged rows out.

The kernel gets a declaration as JSON (`declaration`), the frame with Headrace's own columns, and the aggregates as
the analysed plan of `frame.groupBy(...).agg(...)`, of which only the plan is looked at. What comes out are tagged rows:
`__output` is `main` or `late`, and the struct column `__main` or `__late` holds the row.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from headrace.triggers import (
    AfterCount,
    AfterWatermark,
    AllOf,
    AnyOf,
    EachOf,
    Emission,
    Every,
    OrFinally,
    Repeatedly,
    Trigger,
)
from headrace.windows import Everything

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from headrace.windows import Window

Time = Literal["event", "clock"]

_WORDS: dict[type[Trigger], str] = {
    AnyOf: "any_of",
    AllOf: "all_of",
    EachOf: "each_of",
    Repeatedly: "repeatedly",
    OrFinally: "or_finally",
}


def declaration(window: Window, emission: Emission, *, time: Time = "event") -> str:
    """A windowed step as the kernel reads it.

    With `time="clock"` the clock is the watermark: ingestion and processing time.

    >>> from headrace import windows
    >>> declaration(windows.session("10 seconds"), Emission())
    '{"window": {"kind": "session", "gap": 10000000}, "trigger": {"after_watermark": {}}, "lateness": 0, "mode": "accumulating", "time": "event"}'
    """
    given = {
        name: value
        for name, value in asdict(window).items()
        if name not in ("when", "of") and value not in (None, 0)
    }
    spec = {
        "window": {"kind": type(window).__name__.lower(), **given},
        "trigger": _trigger(emission.trigger),
        "lateness": emission.lateness,
        "mode": emission.mode,
        "time": time,
    }
    return json.dumps(spec)


def _trigger(trigger: Trigger) -> dict[str, Any]:
    if isinstance(trigger, Every):
        return {"every": trigger.period}
    if isinstance(trigger, AfterCount):
        return {"after_count": trigger.rows}
    if isinstance(trigger, AfterWatermark):
        given = {"early": trigger.early, "late": trigger.late}
        return {"after_watermark": {name: _trigger(part) for name, part in given.items() if part}}
    return {_WORDS[type(trigger)]: _parts(trigger)}


def _parts(trigger: Trigger) -> Any:
    match trigger:
        case Repeatedly(part):
            return _trigger(part)
        case OrFinally(part, until):
            return [_trigger(part), _trigger(until)]
        case AnyOf(parts) | AllOf(parts) | EachOf(parts):
            return [_trigger(part) for part in parts]


class WindowDriver:
    """A windowed step in virtual time without a streaming query: the kernel's per-key logic over state in memory.

    For tests: a script of batches takes milliseconds. Times are whole microseconds in both directions.
    """

    def __init__(self, frame: DataFrame, keys: Sequence[str], aggregates: Mapping[str, Column | str]) -> None:
        """Take the step's columns from `frame`, whose rows are not looked at."""
        jvm = frame.sparkSession.sparkContext._jvm
        grouped = _grouped(frame, keys, aggregates)
        some = declaration(Everything(), Emission())
        self._kernel = jvm.org.apache.spark.sql.headrace.windows.WindowDriver(frame._jdf, grouped._jdf, some)  # type: ignore[union-attr]

    def run(self, declared: str, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What each batch of a script emits, from an empty state.

        A batch is `{"rows": [...], "watermark": t, "clock": t}`; without a watermark the last one holds. The answer has
        `events` (tagged rows for each batch), `counts` and `open` (rows in open windows).
        """
        answer: dict[str, Any] = json.loads(self._kernel.run(declared, json.dumps(list(script))))
        return answer


def _grouped(frame: DataFrame, keys: Sequence[str], aggregates: Mapping[str, Column | str]) -> DataFrame:
    from pyspark.sql import functions

    columns = [
        (functions.expr(given) if isinstance(given, str) else given).alias(name)
        for name, given in aggregates.items()
    ]
    return frame.groupBy(*keys).agg(*columns)
