"""`WindowedStream`: rows in windows, waiting to be aggregated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.aggregates import Aggregate
from headrace.durations import Duration
from headrace.steps.base import Ref
from headrace.steps.expressions import Named
from headrace.steps.stateful.window import WindowAggregate
from headrace.streams.keyed import aggregates_of
from headrace.triggers import Emission, LateRows, Mode, Trigger, emission
from headrace.windows import Window

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.panes import Panes
    from headrace.streams.pipeline import Pipeline


class WindowedStream:
    """Rows in windows, waiting to be aggregated."""

    def __init__(
        self,
        pipeline: Pipeline,
        ref: Ref,
        keys: Named,
        window: Window,
        emits: Emission | None = None,
        *,
        ttl: int | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._ref = ref
        self._keys = keys
        self._window = window
        self._emission = emits or Emission()
        self._ttl = ttl

    def emit(
        self,
        *,
        early: Trigger | None = None,
        late: Trigger | None = None,
        trigger: Trigger | None = None,
        lateness: Duration = "0 seconds",
        mode: Mode = "accumulating",
        allow_loss: bool = False,
        late_rows: LateRows = "divert",
    ) -> WindowedStream:
        """Say when results come and how they refine each other.

        Without it, a window gives one result, when the watermark passes its end.

        Args:
            early: fires before the watermark passes the end, repeatedly.
            late: fires after it, repeatedly; `after_count(1)` where there is lateness.
            trigger: the long form, instead of `early` and `late`.
            lateness: how long after its end a window takes rows.
            mode: `"discarding"`, `"accumulating"` or `"retracting"`.
            allow_loss: take a trigger that may leave rows unemitted.
            late_rows: `"divert"` to `.late`, or `"count"`: let Spark's native operator drop and count them.
        """
        emits = emission(
            early=early,
            late=late,
            trigger=trigger,
            lateness=lateness,
            mode=mode,
            allow_loss=allow_loss,
            late_rows=late_rows,
        )
        return WindowedStream(self._pipeline, self._ref, self._keys, self._window, emits, ttl=self._ttl)

    def aggregate(self, name: str, /, **aggregates: str | Column | Aggregate) -> Panes:
        """Any Spark aggregates of each window, and your own in Python (`headrace.Aggregate`).

        >>> from headrace import Pipeline, connect, windows
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
        >>> timed = tx.event_time("ts", out_of_order="1 minute")
        >>> timed.key_by("card").window(windows.tumbling("10 minutes")).aggregate("totals", n="count(*)")
        <totals of p>
        """
        from headrace.streams.panes import Panes

        found = aggregates_of(name, aggregates)
        node = WindowAggregate(name, self._ref, self._keys, self._window, self._emission, found, self._ttl)
        return Panes(self._pipeline, self._pipeline.add(node))
