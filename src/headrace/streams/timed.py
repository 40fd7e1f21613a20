"""`TimedStream` and `TimedKeyedStream`: rows with time, which can be windowed and matched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, cast, overload

from headrace.durations import Duration
from headrace.errors import OptionError
from headrace.patterns.building import Pattern
from headrace.steps.expressions import key_expressions
from headrace.steps.joins.as_of import AsOfHow, Direction, as_of_join
from headrace.steps.joins.bounds import Within
from headrace.steps.joins.interval import interval_join
from headrace.steps.joins.sides import How, OnColumns
from headrace.steps.patterns.match import MatchKeywords, match_node
from headrace.steps.patterns.match_rules import MatchRulesKeywords, rules_node
from headrace.steps.tables.join import At, TableHow, TableJoinKeywords
from headrace.streams.functions import TimedFunctionVerbs
from headrace.streams.keyed import KeyedStream
from headrace.streams.rows import Rows
from headrace.streams.stream import Stream
from headrace.streams.tables import Table, add_table_join
from headrace.streams.windowed import WindowedStream, right_stream
from headrace.windows import Window

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.connectors.base import Connector
    from headrace.streams.matches import Matches, RuleMatches
    from headrace.streams.panes import Deduplicated, Joined


class TimedStream(TimedFunctionVerbs, Stream):
    """Rows with event, ingestion or processing time. A row keeps its time even if the column is dropped.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts", out_of_order="1 minute").distinct("unique", on="card", within="1 hour").late
    <unique.late of p>
    """

    def key_by(self, *columns: str, **named: str | Column) -> TimedKeyedStream:
        """Group by columns or expressions. A null key is a key."""
        return TimedKeyedStream(self._pipeline, self._ref, key_expressions(columns, named))

    def window(self, window: Window, /, *, ttl: Duration | None = None) -> WindowedStream:
        """Group all rows by window; see `TimedKeyedStream.window`."""
        return TimedKeyedStream(self._pipeline, self._ref, ()).window(window, ttl=ttl)

    def match(self, name: str, pattern: Pattern, /, **options: Unpack[MatchKeywords]) -> Matches:
        """Find a pattern in all rows, in a single task; see `TimedKeyedStream.match`."""
        return TimedKeyedStream(self._pipeline, self._ref, ()).match(name, pattern, **options)

    def match_rules(
        self, name: str, /, *, rules: str | Path | Connector, **options: Unpack[MatchRulesKeywords]
    ) -> RuleMatches:
        """Find the patterns of a table of rules in all rows, in a single task.

        See `TimedKeyedStream.match_rules`.
        """
        return TimedKeyedStream(self._pipeline, self._ref, ()).match_rules(name, rules=rules, **options)

    def distinct(
        self,
        name: str | None = None,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        within: Duration | None = None,
    ) -> Deduplicated:
        """Drop rows that repeat the columns `on` of an earlier row less than `within` apart in event time."""
        from headrace.streams.panes import Deduplicated

        return Deduplicated(self._pipeline, super().distinct(name, on=on, within=within)._ref)

    @overload
    def join(
        self,
        name: str,
        /,
        right: TimedStream,
        *,
        on: OnColumns,
        within: Within,
        how: How = ...,
        where: str | Column | None = ...,
        select: Mapping[str, str | Column] | None = ...,
    ) -> Joined: ...

    @overload
    def join(
        self, name: str, /, right: Rows, *, at: Literal["arrival"] = ..., **options: Unpack[TableJoinKeywords]
    ) -> TimedStream: ...

    @overload
    def join(
        self, name: str, /, right: Rows, *, at: Literal["event_time"], **options: Unpack[TableJoinKeywords]
    ) -> Joined: ...

    @overload
    def join(
        self, name: str, /, right: Rows, *, at: Literal["live"], **options: Unpack[TableJoinKeywords]
    ) -> Table: ...

    def join(
        self,
        name: str,
        /,
        right: Rows,
        *,
        on: OnColumns,
        within: Within | None = None,
        at: At | None = None,
        how: How = "inner",
        where: str | Column | None = None,
        select: Mapping[str, str | Column] | None = None,
    ) -> Rows:
        """Join with another stream, by `within`: rows with equal keys that are close in event time.

        A pair is emitted when its second row arrives. An unmatched row is emitted when the watermark of both
        streams has passed the last time at which a partner could arrive. A row behind the watermark goes to
        `.late`. Without `within`, join with a table, by `at`; see `Stream.join`.

        Args:
            name: the step's name.
            right: the other stream, or a table.
            on: the key columns: one, a list, or a mapping from left to right. A null key matches nothing.
            within: the maximum distance of event times, or the bounds of `right - left`, both inclusive:
                `("-15 minutes", "0 seconds")` matches right rows up to 15 minutes before the left one.
            at: with a table, `"arrival"` (default), `"event_time"` or `"live"`.
            how: `"inner"`, `"left"`, `"right"`, `"full"`, `"semi"` (left rows with a partner, once) or
                `"anti"` (left rows without a partner); with a table, `"inner"` or `"left"`.
            where: an extra condition over `left.column` and `right.column`, for streams.
            select: the output columns, by name; default: the left ones, then the right ones except keys.

        >>> from headrace import Pipeline, connect
        >>> ads = Pipeline("p")
        >>> views = ads.read("views", connect.memory(), schema="ad string, seen timestamp").event_time("seen")
        >>> clicks = ads.read("clicks", connect.memory(), schema="ad string, at timestamp").event_time("at")
        >>> views.join("attributed", clicks, on="ad", within="15 minutes", how="left")
        <attributed of p>
        """
        from headrace.streams.panes import Joined

        if within is None:
            if where is not None:
                hint = "filter the result: join(...).where(...)"
                raise OptionError("a join with a table has no where", where=f"`{name}`", hint=hint)
            return self._join_table(
                name, right, at or "arrival", on=on, how=cast("TableHow", how), select=select
            )
        if at is not None or isinstance(right, Table):
            hint = "a join with a table has `at`, one with a stream has `within`"
            raise OptionError("a join with a table has no within", where=f"`{name}`", hint=hint)
        ref = right_stream(name, self._pipeline, cast("TimedStream", right))
        node = interval_join(name, self._ref, ref, on=on, within=within, how=how, where=where, select=select)
        return Joined(self._pipeline, self._pipeline.add(node))

    def _join_table(
        self, name: str, right: Rows, at: At, **options: Unpack[TableJoinKeywords]
    ) -> TimedStream | Table:
        from headrace.streams.panes import Joined

        ref = add_table_join(self._pipeline, self._ref, name, right, at=at, **options)
        if at == "live":
            return Table(self._pipeline, ref)
        return (Joined if at == "event_time" else TimedStream)(self._pipeline, ref)

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
    ) -> Joined:
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
        from headrace.streams.panes import Joined

        ref = right_stream(name, self._pipeline, right)
        node = as_of_join(
            name, self._ref, ref, on=on, direction=direction, tolerance=tolerance, how=how, select=select
        )
        return Joined(self._pipeline, self._pipeline.add(node))


class TimedKeyedStream(KeyedStream):
    """Rows with time, grouped by key.

    >>> from headrace import Pipeline, connect, windows
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> keyed = tx.event_time("ts").key_by("card")
    >>> keyed.window(windows.session("30 seconds")).aggregate("visits", n="count(*)")
    <visits of p>
    """

    def window(self, window: Window, /, *, ttl: Duration | None = None) -> WindowedStream:
        """Group the rows of each key by window.

        Args:
            window: from `windows`.
            ttl: expire the state of a key this long after its last row, by the watermark (or by the clock, if
                that is the time). For windows that do not end by themselves: global, count, delta,
                punctuation and landmark. Rows that no pane has emitted are counted as expired. A key that
                returns starts with window number 0.
        """
        return WindowedStream(self._pipeline, self._ref, self._keys, window, ttl=ttl)

    def match(self, name: str, pattern: Pattern, /, **options: Unpack[MatchKeywords]) -> Matches:
        """Find a pattern in the rows of each key, in event-time order.

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
        from headrace.streams.matches import Matches

        node = match_node(name, self._ref, self._keys, pattern, **options)
        return Matches(self._pipeline, self._pipeline.add(node))

    def match_rules(
        self, name: str, /, *, rules: str | Path | Connector, **options: Unpack[MatchRulesKeywords]
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
        from headrace.streams.matches import RuleMatches

        node = rules_node(name, self._ref, self._keys, rules, **options)
        return RuleMatches(self._pipeline, self._pipeline.add(node))
