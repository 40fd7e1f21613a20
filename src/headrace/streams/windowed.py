"""`WindowedStream`: rows grouped by window, to be aggregated or joined; `NativeWindowedStream`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.aggregates import Aggregate
from headrace.durations import Duration
from headrace.errors import MovedVerbError, OptionError
from headrace.joins.declare import How, WindowJoin
from headrace.steps.base import Ref
from headrace.steps.expressions import Named, aggregate_expressions
from headrace.streams.rows import Rows, Stage, require_same_pipeline
from headrace.streams.signatures import MIGRATE, verb
from headrace.triggers import Emission, Mode, Trigger
from headrace.windowed_rows.declare import TopRows, WindowTopN
from headrace.windows import Window
from headrace.windows.declare import WindowAggregate

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.pipeline import Pipeline
    from headrace.streams.results import Panes, TimedResult
    from headrace.streams.timed import TimedStream


class WindowedStream(Stage):
    """Rows grouped by window.

    Stateless verbs, such as `where`, change the rows and keep the window, the emission and the keys.

    >>> from headrace import Pipeline, connect, triggers, windows
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> hourly = tx.event_time("ts").window(windows.tumbling("1 hour"))
    >>> hourly.emit(early=triggers.every("1 minute"), lateness="1 day").aggregate("totals", n="count(*)")
    <totals of p>
    """

    def __init__(
        self,
        pipeline: Pipeline,
        ref: Ref,
        keys: Named,
        window: Window,
        emits: Emission | None = None,
        *,
        ttl: Duration | None = None,
    ) -> None:
        super().__init__(pipeline, ref)
        self._keys = keys
        self._window = _require_window(window)
        self._emission = emits or Emission()
        self._ttl = ttl

    if not TYPE_CHECKING:  # a type checker reports a missing verb by itself

        def __getattr__(self, name: str) -> Any:
            if name == "join":
                hint = f"write join_window(...); {MIGRATE}"
                raise MovedVerbError(
                    "a join inside windows is join_window", where=f"`{self._ref}`", hint=hint
                )
            return super().__getattr__(name)

    @verb(late_rows='window(..., engine="native") in place of late_rows="count"')
    def emit(
        self,
        *,
        early: Trigger | None = None,
        late: Trigger | None = None,
        trigger: Trigger | None = None,
        lateness: Duration = "0 seconds",
        mode: Mode = "accumulating",
        allow_loss: bool = False,
    ) -> WindowedStream:
        """Set the trigger, lateness and accumulation mode.

        The default is one result per window, when the watermark passes its end.

        Args:
            early: a trigger that fires repeatedly before the watermark passes the end.
            late: a trigger that fires repeatedly after it; default with `lateness`: `after_count(1)`.
            trigger: the long form, instead of `early` and `late`.
            lateness: how long after its end a window accepts rows.
            mode: `"discarding"`, `"accumulating"` or `"retracting"`.
            allow_loss: accept a trigger that may leave rows unemitted.
        """
        emits = Emission.create(early, late, trigger, lateness, mode, allow_loss)
        return self._copy(self._ref, emits)

    def aggregate(self, name: str, /, **aggregates: str | Column | Aggregate) -> Panes:
        """Aggregate the rows of each window with Spark's aggregates or a `headrace.Aggregate`.

        >>> from headrace import Pipeline, connect, windows
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
        >>> timed = tx.event_time("ts", out_of_order="1 minute")
        >>> timed.key_by("card").window(windows.tumbling("10 minutes")).aggregate("totals", n="count(*)")
        <totals of p>
        """
        from headrace.streams.results import Panes

        values = aggregate_expressions(name, aggregates)
        node = WindowAggregate.create(
            name,
            self._ref,
            keys=self._keys,
            window=self._window,
            emission=self._emission,
            ttl=self._ttl,
            aggregates=values,
        )
        return Panes(self._pipeline, self._pipeline._add(node))

    @verb()
    def top_n(self, name: str, /, *, n: int, order_by: str) -> TimedResult:
        """Emit the first `n` rows of each key and window, with the column `rank`, when the window closes.

        The rows have the column `window`, unless they had it before (`windows.attached()`). Of equal rows,
        the earlier ones are first. Windows are tumbling, sliding, cumulating, session, global or attached.

        Args:
            name: the step's name.
            n: the number of rows of each key and window.
            order_by: Spark SQL text such as `"score desc, name"`.

        >>> from headrace import Pipeline, connect, windows
        >>> bids = Pipeline("p").read("bids", connect.memory(), schema="item string, price int, ts timestamp")
        >>> hourly = bids.event_time("ts").key_by("item").window(windows.tumbling("1 hour"))
        >>> hourly.top_n("best", n=3, order_by="price desc")
        <best of p>
        """
        from headrace.streams.results import TimedResult

        self._require_single_firing(name, "the first rows of a window are emitted when it closes")
        top = TopRows.create(n, order_by)
        node = WindowTopN.create(name, self._ref, keys=self._keys, window=self._window, top=top)
        return TimedResult(self._pipeline, self._pipeline._add(node))

    @verb()
    def join_window(
        self,
        name: str,
        /,
        right: TimedStream,
        *,
        how: How = "inner",
        where: str | Column | None = None,
        select: Mapping[str, str | Column] | None = None,
    ) -> TimedResult:
        """Join with the rows of another stream that have the same key and are in the same window.

        The other stream must have the key columns. Windows are tumbling, sliding or cumulating, or attached
        to the rows of both streams; results have the column `window` and are emitted when the watermark of
        both streams has passed its end.

        Args:
            name: the step's name.
            right: the other stream.
            how: `"inner"`, `"left"`, `"right"`, `"full"`, `"semi"` or `"anti"`.
            where: an extra condition over `left.column` and `right.column`.
            select: the output columns, by name; default: the left ones, then the right ones except keys.

        >>> from headrace import Pipeline, connect, windows
        >>> ads = Pipeline("p")
        >>> views = ads.read("views", connect.memory(), schema="ad string, seen timestamp").event_time("seen")
        >>> clicks = ads.read("clicks", connect.memory(), schema="ad string, at timestamp").event_time("at")
        >>> views.key_by("ad").window(windows.tumbling("1 hour")).join_window("hourly", clicks, how="left")
        <hourly of p>
        """
        from headrace.streams.results import TimedResult

        self._require_single_firing(name, "a join emits results when a window closes")
        ref = right_stream(name, self._pipeline, right)
        node = WindowJoin.create(
            name,
            self._ref,
            ref,
            keys=self._keys,
            window=self._window,
            how=how,
            where=where,
            select=select,
        )
        return TimedResult(self._pipeline, self._pipeline._add(node))

    def _after(self, ref: Ref, /) -> WindowedStream:
        return self._copy(ref, self._emission)

    def _require_single_firing(self, name: str, what: str, /) -> None:
        if self._emission != Emission() or self._ttl is not None:
            raise OptionError(what, where=f"`{name}`", hint="remove emit(...) and ttl=")

    def _copy(self, ref: Ref, emits: Emission) -> WindowedStream:
        return WindowedStream(self._pipeline, ref, self._keys, self._window, emits, ttl=self._ttl)


class NativeWindowedStream(Stage):
    """Rows grouped by window, to be aggregated by Spark's operator, which drops and counts late rows.

    Windows are tumbling, sliding or session windows that fire once, when the watermark passes their end.

    >>> from headrace import Pipeline, connect, windows
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> hourly = tx.event_time("ts").window(windows.tumbling("1 hour"), engine="native")
    >>> hourly.aggregate("totals", n="count(*)")
    <totals of p>
    """

    def __init__(self, pipeline: Pipeline, ref: Ref, keys: Named, window: Window) -> None:
        super().__init__(pipeline, ref)
        self._keys = keys
        self._window = _require_window(window)

    def aggregate(self, name: str, /, **aggregates: str | Column | Aggregate) -> TimedStream:
        """Aggregate the rows of each window with Spark's aggregates; there is no `.late`."""
        from headrace.streams.timed import TimedStream

        values = aggregate_expressions(name, aggregates)
        node = WindowAggregate.create(
            name, self._ref, keys=self._keys, window=self._window, engine="native", aggregates=values
        )
        return TimedStream(self._pipeline, self._pipeline._add(node))

    def _after(self, ref: Ref, /) -> NativeWindowedStream:
        return NativeWindowedStream(self._pipeline, ref, self._keys, self._window)


def _require_window(window: object) -> Window:
    if not isinstance(window, Window):
        hint = 'such as windows.tumbling("10 minutes")'
        raise OptionError(f"expected a window, got {window!r}", where="window", hint=hint)
    return window


def right_stream(name: str, pipeline: Pipeline, right: TimedStream) -> Ref:
    """Return the output that a join reads as its right stream.

    Raises:
        OptionError: it is not a stream of this pipeline.
    """
    if not isinstance(right, Rows):
        hint = "such as orders.event_time('at')"
        raise OptionError(f"expected a stream with time, got {right!r}", where=f"`{name}`", hint=hint)
    require_same_pipeline(pipeline, right, f"`{name}`")
    return right._ref
