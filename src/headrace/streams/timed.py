"""`TimedStream` and `TimedKeyedStream`: rows with time, which can be windowed and matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from headrace.analytics.declare import alert_node, detect_node, smooth_node
from headrace.detectors import Detector
from headrace.durations import Duration
from headrace.errors import MovedVerbError, OptionError, require_choice
from headrace.joins.declare import AsOfHow, AsOfJoin, Direction, How, IntervalJoin, OnColumns, Within
from headrace.learning.declare import Predicts, learn_node
from headrace.models import OnlineModel
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Skip
from headrace.patterns.elements import Within as PatternWithin
from headrace.schemas.fields import Schema
from headrace.smoothing import Smoothing
from headrace.steps.base import Ref
from headrace.steps.code.functions import OnFailure
from headrace.steps.expressions import Named, key_expressions
from headrace.steps.patterns.match import match_node
from headrace.steps.patterns.match_rules import rules_node
from headrace.streams.keyed import KeyedStream
from headrace.streams.rows import Stage
from headrace.streams.signatures import verb
from headrace.streams.stream import JOIN_TABLE, Stream
from headrace.streams.windowed import NativeWindowedStream, WindowedStream, right_stream
from headrace.triggers import LateRows
from headrace.windowed_rows.declare import AssignWindow
from headrace.windows import Order, Session, Window
from headrace.windows.declare import Engine

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.connectors.base import Connector
    from headrace.streams.results import (
        Learned,
        Matches,
        RuleMatches,
        TimedDivertingStream,
        TimedProcessed,
        TimedResult,
    )


class TimedVerbs(Stage):
    """The verbs of rows with time, which process all rows, or those of each key."""

    _keys: Named = ()

    @overload
    def assign_window(self, name: str, window: Session, /) -> TimedResult: ...

    @overload
    def assign_window(self, name: str, window: Window, /) -> TimedStream: ...

    @verb()
    def assign_window(self, name: str, window: Window, /) -> TimedStream:
        """Add the column `window` to the rows: a row is emitted once for each of its windows.

        Tumbling, sliding and cumulating windows need no state. The rows of a session are emitted when it
        closes, and later ones go to `.late`; after `key_by`, each key has sessions of its own. The event time
        of a row becomes that of a pane: the end of its window minus 1 microsecond. Later steps group by the
        column with `windows.attached()`.

        Args:
            name: the step's name.
            window: from `windows`.

        >>> from headrace import Pipeline, connect, windows
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
        >>> rows = tx.event_time("ts").assign_window("rows", windows.sliding("1 hour", every="10 minutes"))
        >>> rows.key_by("card").window(windows.attached()).aggregate("totals", total="sum(amount)")
        <totals of p>
        """
        from headrace.streams.results import TimedResult

        node = AssignWindow.create(name, self._ref, keys=self._keys, window=window)
        ref = self._pipeline._add(node)
        return TimedResult(self._pipeline, ref) if node.stateful else TimedStream(self._pipeline, ref)

    @overload
    def window(
        self, window: Window, /, *, ttl: Duration | None = ..., engine: Literal["kernel"] = ...
    ) -> WindowedStream: ...

    @overload
    def window(self, window: Window, /, *, engine: Literal["native"]) -> NativeWindowedStream: ...

    @verb()
    def window(
        self, window: Window, /, *, ttl: Duration | None = None, engine: Engine = "kernel"
    ) -> WindowedStream | NativeWindowedStream:
        """Group the rows by window; those of each key after `key_by`.

        Args:
            window: from `windows`.
            ttl: expire the state of a key this long after its last row, by the watermark (or by the clock, if
                that is the time). For windows that do not end by themselves: global, count, delta,
                punctuation and landmark. Rows that no pane has emitted are counted as expired. A key that
                returns starts with window number 0.
            engine: `"native"` aggregates with Spark's operator, which drops and counts late rows, so that
                there is no `.late`; for tumbling, sliding and session windows that fire once.
        """
        require_choice(engine, Engine, "engine", "window")
        if engine == "kernel":
            return WindowedStream(self._pipeline, self._ref, self._keys, window, ttl=ttl)
        if ttl is not None:
            hint = "size and out_of_order determine how long state is kept"
            raise OptionError('a window with engine="native" has no ttl', where="window", hint=hint)
        return NativeWindowedStream(self._pipeline, self._ref, self._keys, window)

    @verb()
    def match(
        self,
        name: str,
        pattern: Pattern,
        /,
        *,
        within: Duration | Mapping[str, Duration] | PatternWithin | None = None,
        skip: str | Mapping[str, str] | Skip = "past_last",
        order: Order = "event_time",
        select: Mapping[str, str] | None = None,
        late_rows: LateRows = "divert",
        timeouts: LateRows = "divert",
    ) -> Matches:
        """Find a pattern in the rows of each key, in event-time order.

        Without `key_by`, all rows are searched in a single task.

        A row is buffered until the watermark has passed it; a row behind the watermark goes to `.late`.
        Without `within` a partial match never expires.

        Args:
            name: the step's name.
            pattern: from `patterns`.
            within: the time from the first row to the last must be less than this; or
                `{"whole": ..., "between": ...}`, where `between` is the time from each row to the next.
            skip: where the search continues after a match: `"past_last"` row of it (the default), `"none"`
                (find every match), `"to_next"` (after its first row), `patterns.to_first(step)`,
                `patterns.to_last(step)`.
            order: `"arrival"` processes rows in arrival order; then no row is late.
            select: the measures of a match, by name; default: one array of rows per step of the pattern.
            late_rows: `"divert"` to `.late`, or `"count"`: they are counted and dropped.
            timeouts: `"divert"` to `.timeouts`, or `"count"`. If both are counted and there is a `select`,
                only the columns in use are shuffled and stored, which is faster.

        >>> from headrace import Pipeline, connect, patterns
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
        >>> hits = tx.event_time("ts").key_by("card").match(
        ...     "hits",
        ...     patterns.step("small", "amount < 1").followed_by("large", "amount > 100 * small.amount"),
        ...     within="1 minute",
        ...     select={"at": "large.ts"},
        ... )
        >>> hits.timeouts
        <hits.timeouts of p>
        """
        from headrace.streams.results import Matches

        node = match_node(
            name,
            self._ref,
            self._keys,
            pattern,
            within=within,
            skip=skip,
            order=order,
            select=select,
            late_rows=late_rows,
            timeouts=timeouts,
        )
        return Matches(self._pipeline, self._pipeline._add(node))

    @verb()
    def detect(
        self,
        name: str,
        detector: Detector,
        /,
        *,
        on: str | Sequence[str] | None = None,
        warm_up: int | None = None,
        order: Order = "event_time",
    ) -> TimedResult:
        """Compare each row of a key with the earlier ones: the row with a score, and whether it is anomalous.

        A row has the columns of the input, `score` from 0 to 1, `expected`, `low`, `high`, `anomalous` and
        `reason`. A row without a value has no score and is not learned. Without `key_by`, all rows are
        compared in a single task. The state of a key never expires.

        Args:
            name: the step's name.
            detector: from `detectors`.
            on: the column or the expression that is compared; several for `half_space_trees`.
            warm_up: the number of rows of a key that are only learned, with score 0; default: that of the
                detector.
            order: `"arrival"` processes rows in arrival order; then no row is late.

        >>> from headrace import Pipeline, connect, detectors
        >>> schema = "station string, value double, ts timestamp"
        >>> rows = Pipeline("p").read("rows", connect.memory(), schema=schema).event_time("ts")
        >>> spikes = rows.key_by("station").detect("spikes", detectors.quantile(q=0.999), on="value")
        >>> spikes.where("anomalous")
        <spikes:where of p>
        """
        from headrace.streams.results import TimedResult

        node = detect_node(name, self._ref, self._keys, detector, on=on, warm_up=warm_up, order=order)
        return TimedResult(self._pipeline, self._pipeline._add(node))

    @verb()
    def smooth(
        self, name: str, method: Smoothing, /, *, on: str | None = None, order: Order = "event_time"
    ) -> TimedResult:
        """Add the column `<on>_smooth`: the column without its noise, from this row and the earlier ones.

        A row without a value has none there either, and changes nothing. The state of a key never expires.

        Args:
            name: the step's name.
            method: from `smoothing`.
            on: the column.
            order: `"arrival"` processes rows in arrival order; then no row is late.

        >>> from headrace import Pipeline, connect, smoothing
        >>> schema = "room string, celsius double, ts timestamp"
        >>> rows = Pipeline("p").read("rows", connect.memory(), schema=schema).event_time("ts")
        >>> rows.key_by("room").smooth("clean", smoothing.median(rows=5), on="celsius")
        <clean of p>
        """
        from headrace.streams.results import TimedResult

        node = smooth_node(name, self._ref, self._keys, method, on=on, order=order)
        return TimedResult(self._pipeline, self._pipeline._add(node))

    @verb()
    def alert(
        self,
        name: str,
        /,
        *,
        when: str,
        resolve: str | None = None,
        severity: str = "warning",
        repeat: Duration | None = None,
        group: str | Sequence[str] | None = None,
        order: Order = "event_time",
    ) -> TimedResult:
        """Make alerts of rows: one row for each change of a key between firing and resolved.

        It is the row that made the change, with `state` (`firing`, `repeated` or `resolved`), `since`, the
        event time at which it began to fire, and `severity`. A null condition is false.

        Args:
            name: the step's name.
            when: the condition of rows that fire.
            resolve: the condition of rows that resolve; default: any row that does not fire.
            severity: the text of the column `severity`.
            repeat: a row that still fires this long after the last report repeats the alert.
            group: columns; a group of keys fires with its first key and is resolved with its last one.
            order: `"arrival"` processes rows in arrival order; then no row is late.

        >>> from headrace import Pipeline, connect
        >>> schema = "room string, score double, ts timestamp"
        >>> rows = Pipeline("p").read("rows", connect.memory(), schema=schema).event_time("ts")
        >>> rows.key_by("room").alert("alerts", when="score > 0.9", resolve="score < 0.5", repeat="1 hour")
        <alerts of p>
        """
        from headrace.streams.results import TimedResult

        node = alert_node(
            name,
            self._ref,
            self._keys,
            when=when,
            resolve=resolve,
            severity=severity,
            repeat=repeat,
            group=group,
            order=order,
        )
        return TimedResult(self._pipeline, self._pipeline._add(node))

    @verb()
    def learn(
        self,
        name: str,
        model: OnlineModel,
        /,
        *,
        features: str | Sequence[str],
        label: str | None = None,
        on: str | None = None,
        label_delay: Duration | None = None,
        output: Predicts = "label",
        metrics: str | Sequence[str] | None = None,
        every: Duration = "1 hour",
        on_error: OnFailure = "divert",
    ) -> Learned:
        """Predict each row with a model of its key, which then learns from it.

        A row gets `prediction`, null while the model has learned nothing, and `model_rows`, the number of
        rows that the model had learned. Rows are processed in event-time order. The model is state: it is
        part of the checkpoint and never expires. Without `key_by`, all rows have one model, in a single task.

        If labels arrive later, unite both streams: rows whose label is null are predicted and wait for
        `label_delay`; a row with a label teaches the model the earlier row that has the same value in `on`,
        as it was predicted, and is not predicted itself.

        Args:
            name: the step's name.
            model: from `models`: `models.river(...)` or `models.learner(...)`.
            features: the columns that the model gets; a null is left out.
            label: the column with the true value; a row whose label is null is only predicted. None for a
                model that learns without labels, such as a detector of anomalies.
            on: the column that a row shares with the later row that has its label.
            label_delay: how long a row waits for its label, by event time.
            output: `"probability"`: the prediction is the probability of the label `true`.
            metrics: metrics of River, such as `["F1", "LogLoss"]`; default: `Accuracy` for a classifier,
                `MAE` for a regressor.
            every: the size of the windows of `.metrics`.
            on_error: `"divert"` sends a row for which the model raises to `.dead_letters`; `"fail"` stops the
                run.

        >>> from headrace import Pipeline, connect, models
        >>> schema = "card string, amount double, fraud boolean, ts timestamp"
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema=schema).event_time("ts")
        >>> model = models.river("preprocessing.StandardScaler() | linear_model.LogisticRegression()")
        >>> tx.learn("risk", model, features="amount", label="fraud", output="probability").metrics
        <risk.metrics of p>
        """
        from headrace.streams.results import Learned

        node = learn_node(
            name,
            self._ref,
            self._keys,
            model,
            features=features,
            label=label,
            on=on,
            label_delay=label_delay,
            output=output,
            metrics=metrics,
            every=every,
            on_error=on_error,
        )
        return Learned(self._pipeline, self._pipeline._add(node))

    @verb()
    def match_rules(
        self,
        name: str,
        /,
        *,
        rules: str | Path | Connector,
        measures: str | type | Schema | None = None,
        order: Order = "event_time",
        longest: Duration | None = None,
        late_rows: LateRows = "divert",
        timeouts: LateRows = "divert",
    ) -> RuleMatches:
        """Find the patterns of a table of rules, which may change during a run, in the rows of each key.

        The table is read at the start of each micro-batch. A new rule applies to the rows of that and later
        micro-batches. If a rule changes, its partial matches are dropped and counted; those of other rules
        are kept. A rule that cannot be used goes to `.faults` and its previous version stays active; at the
        start of a run it is an error. All rules run in one operator over one shuffle.

        Args:
            name: the step's name.
            rules: a file (`.yaml`, `.json`, `.jsonl`, `.csv`), or a table of `connect.postgres`, `mysql` or
                `sqlite`.
            measures: the columns of the matches of all rules, such as `"at timestamp, amount double"`; the
                `select` of a rule computes them, and those that it omits are null. Default: matches have
                the matched rows.
            order: `"arrival"` processes rows in arrival order; then no row is late.
            longest: the longest `within` that a rule may have; a stateful step that reads the matches needs
                it.
            late_rows: `"divert"` to `.late`, or `"count"`: they are counted and dropped.
            timeouts: `"divert"` to `.timeouts`, or `"count"`: many rules may produce many timeouts.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
        >>> alerts = tx.event_time("ts").key_by("card").match_rules(
        ...     "alerts", rules="rules.yaml", measures="at timestamp, amount double"
        ... )
        >>> alerts.faults
        <alerts.faults of p>
        """
        from headrace.streams.results import RuleMatches

        node = rules_node(
            name,
            self._ref,
            self._keys,
            rules,
            measures=measures,
            order=order,
            longest=longest,
            late_rows=late_rows,
            timeouts=timeouts,
        )
        return RuleMatches(self._pipeline, self._pipeline._add(node))


class TimedStream(TimedVerbs, Stream):
    """Rows with event, ingestion or processing time. A row keeps its time even if the column is dropped.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts", out_of_order="1 minute").distinct("unique", on="card", within="1 hour").late
    <unique.late of p>
    """

    def key_by(self, *columns: str, **named: str | Column) -> TimedKeyedStream:
        """Group by columns or expressions. A null key is a key."""
        return TimedKeyedStream(self._pipeline, self._ref, key_expressions(columns, named))

    @verb(at="join_table(..., at=...)")
    def join(
        self,
        name: str,
        /,
        right: TimedStream,
        *,
        on: OnColumns,
        within: Within | None = None,
        how: How = "inner",
        where: str | Column | None = None,
        select: Mapping[str, str | Column] | None = None,
    ) -> TimedResult:
        """Join with the rows of another stream that have equal keys and are close in event time.

        A pair is emitted when its second row arrives. An unmatched row is emitted when the watermark of both
        streams has passed the last time at which a partner could arrive. A row behind the watermark goes to
        `.late`.

        Args:
            name: the step's name.
            right: the other stream.
            on: the key columns: one, a list, or a mapping from left to right. A null key matches nothing.
            within: the maximum distance of event times, or the bounds of `right - left`, both inclusive:
                `("-15 minutes", "0 seconds")` matches right rows up to 15 minutes before the left one.
            how: `"inner"`, `"left"`, `"right"`, `"full"`, `"semi"` (left rows with a partner, once) or
                `"anti"` (left rows without a partner).
            where: an extra condition over `left.column` and `right.column`.
            select: the output columns, by name; default: the left ones, then the right ones except keys.

        >>> from headrace import Pipeline, connect
        >>> ads = Pipeline("p")
        >>> views = ads.read("views", connect.memory(), schema="ad string, seen timestamp").event_time("seen")
        >>> clicks = ads.read("clicks", connect.memory(), schema="ad string, at timestamp").event_time("at")
        >>> views.join("attributed", clicks, on="ad", within="15 minutes", how="left")
        <attributed of p>
        """
        from headrace.streams.results import TimedResult
        from headrace.streams.tables import Table

        if within is None or isinstance(right, Table):
            what = "join needs a stream and within=..."
            raise MovedVerbError(what, where=f"`{name}`", hint=JOIN_TABLE)
        ref = right_stream(name, self._pipeline, right)
        options = {"on": on, "within": within, "how": how, "where": where, "select": select}
        node = IntervalJoin.create(name, self._ref, ref, **options)
        return TimedResult(self._pipeline, self._pipeline._add(node))

    @verb()
    def join_as_of(
        self,
        name: str,
        /,
        right: TimedStream,
        *,
        on: OnColumns,
        direction: Direction = "backward",
        tolerance: Duration | None = None,
        how: AsOfHow = "left",
        select: Mapping[str, str | Column] | None = None,
    ) -> TimedResult:
        """Join each row with the row of another stream that has the same key and is closest in event time.

        A row is emitted with its event time, when the watermark rules out a closer partner.

        Args:
            name: the step's name.
            right: the other stream.
            on: the key columns: one, a list, or a mapping from left to right.
            direction: `"backward"` (the last right row at or before it), `"forward"` (the first one at or
                after it) or `"nearest"` (of two, the earlier). Of right rows of equal time, the one that
                arrived last.
            tolerance: the maximum distance of a partner. Without it, `"forward"` and `"nearest"` store a row
                until a later right row arrives.
            how: `"left"`: a row without a partner passes with nulls; `"inner"`: it is dropped.
            select: the output columns, by name; default: the left ones, then the right ones except keys.

        >>> from headrace import Pipeline, connect
        >>> fx = Pipeline("p")
        >>> orders = fx.read("orders", connect.memory(), schema="cur string, eur double, at timestamp")
        >>> rates = fx.read("rates", connect.memory(), schema="cur string, rate double, since timestamp")
        >>> orders.event_time("at").join_as_of("converted", rates.event_time("since"), on="cur")
        <converted of p>
        """
        from headrace.streams.results import TimedResult

        ref = right_stream(name, self._pipeline, right)
        node = AsOfJoin.create(
            name, self._ref, ref, on=on, direction=direction, tolerance=tolerance, how=how, select=select
        )
        return TimedResult(self._pipeline, self._pipeline._add(node))

    def _after(self, ref: Ref, /) -> TimedStream:
        return TimedStream(self._pipeline, ref)

    def _diverting(self, ref: Ref, /) -> TimedDivertingStream:
        from headrace.streams.results import TimedDivertingStream

        return TimedDivertingStream(self._pipeline, ref)

    def _with_late_rows(self, ref: Ref, /) -> TimedResult:
        from headrace.streams.results import TimedResult

        return TimedResult(self._pipeline, ref)


class TimedKeyedStream(TimedVerbs, KeyedStream):
    """Rows with time, grouped by key.

    >>> from headrace import Pipeline, connect, windows
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> keyed = tx.event_time("ts").key_by("card")
    >>> keyed.window(windows.session("30 seconds")).aggregate("visits", n="count(*)")
    <visits of p>
    """

    def _after(self, ref: Ref, /) -> TimedKeyedStream:
        return TimedKeyedStream(self._pipeline, ref, self._keys)

    def _rows(self, ref: Ref, /) -> TimedStream:
        return TimedStream(self._pipeline, ref)

    def _mapped(self, ref: Ref, /) -> TimedDivertingStream:
        return self._rows(ref)._diverting(ref)

    def _processed(self, ref: Ref, /) -> TimedProcessed:
        from headrace.streams.results import TimedProcessed

        return TimedProcessed(self._pipeline, ref)
