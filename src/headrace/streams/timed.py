"""`TimedStream` and `TimedKeyedStream`: rows that have a time, so that they can be windowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.durations import Duration
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Order, Skip, Within
from headrace.streams.keyed import KeyedStream, keys_of
from headrace.streams.stream import Stream
from headrace.streams.windowed import WindowedStream
from headrace.triggers import LateRows
from headrace.windows import Window, state_ttl

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.connectors.base import Connector
    from headrace.schemas.fields import Schema
    from headrace.streams.matches import Matches, RuleMatches
    from headrace.streams.panes import Deduplicated


class TimedStream(Stream):
    """Rows with event, ingestion or processing time. The time stays with a row, whatever becomes of the column."""

    def key_by(self, *columns: str, **named: str | Column) -> TimedKeyedStream:
        """Group by columns or expressions. A null key is a key."""
        return TimedKeyedStream(self._pipeline, self._ref, keys_of(columns, named))

    def window(self, window: Window, /, *, ttl: Duration | None = None) -> WindowedStream:
        """Group all rows by window; see `TimedKeyedStream.window`."""
        return TimedKeyedStream(self._pipeline, self._ref, ()).window(window, ttl=ttl)

    def match(
        self,
        name: str,
        pattern: Pattern,
        /,
        *,
        within: Duration | Mapping[str, Duration] | Within | None = None,
        skip: str | Mapping[str, str] | Skip = "past_last",
        order: Order = "event_time",
        select: Mapping[str, str] | None = None,
        late_rows: LateRows = "divert",
        timeouts: LateRows = "divert",
    ) -> Matches:
        """Find a pattern in all rows, as if they had one key; see `TimedKeyedStream.match`. One task does all the work."""
        keyed = TimedKeyedStream(self._pipeline, self._ref, ())
        return keyed.match(
            name,
            pattern,
            within=within,
            skip=skip,
            order=order,
            select=select,
            late_rows=late_rows,
            timeouts=timeouts,
        )

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
        """Find the patterns of a table of rules in all rows, as if they had one key; see `TimedKeyedStream.match_rules`."""
        keyed = TimedKeyedStream(self._pipeline, self._ref, ())
        return keyed.match_rules(
            name,
            rules=rules,
            measures=measures,
            order=order,
            longest=longest,
            late_rows=late_rows,
            timeouts=timeouts,
        )

    def distinct(
        self,
        name: str | None = None,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        within: Duration | None = None,
    ) -> Deduplicated:
        """Drop rows that repeat the columns `on` of a row already kept, less than `within` apart in event time."""
        from headrace.streams.panes import Deduplicated

        return Deduplicated(self._pipeline, super().distinct(name, on=on, within=within)._ref)


class TimedKeyedStream(KeyedStream):
    """Rows with time, grouped by key."""

    def window(self, window: Window, /, *, ttl: Duration | None = None) -> WindowedStream:
        """Group the rows of each key by window.

        Args:
            window: from `windows`.
            ttl: expire the state of a key this long after its last row, by the watermark (or the clock, where that is its
                time). For windows without an end of their own: global, count, delta, punctuation and landmark. Rows that
                no pane has emitted are counted as expired. A key that returns starts with window number 0.
        """
        return WindowedStream(self._pipeline, self._ref, self._keys, window, ttl=state_ttl(ttl))

    def match(
        self,
        name: str,
        pattern: Pattern,
        /,
        *,
        within: Duration | Mapping[str, Duration] | Within | None = None,
        skip: str | Mapping[str, str] | Skip = "past_last",
        order: Order = "event_time",
        select: Mapping[str, str] | None = None,
        late_rows: LateRows = "divert",
        timeouts: LateRows = "divert",
    ) -> Matches:
        """Find a pattern in the rows of each key, taken in event-time order.

        A row waits until the watermark has passed it; one behind the watermark goes to `.late`. Without `within` a
        pattern that was begun is remembered for ever.

        Args:
            name: the step's name.
            pattern: from `patterns`.
            within: the longest time from the first row to the last (a match needs less), or
                `{"whole": ..., "between": ...}`; `between` is from each row to the next.
            skip: where the search goes on after a match: `"past_last"` row of it, `"none"` (every match is found),
                `"to_next"` (after its first row), `patterns.to_first(step)`, `patterns.to_last(step)`.
            order: `"arrival"` takes rows as they come; then none is late.
            select: what a match gives, by name; else one array of rows for each step.
            late_rows: `"divert"` to `.late`, or `"count"`: they are counted and dropped.
            timeouts: `"divert"` to `.timeouts`, or `"count"`. With both counted and a `select`, only the columns that are
                looked at travel and are kept in state, which is faster.

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
        from headrace.steps.patterns.match import match_node
        from headrace.streams.matches import Matches

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
        return Matches(self._pipeline, self._pipeline.add(node))

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
        """Find the patterns of a table of rules in the rows of each key; the table may change while the job runs.

        The table is looked at when a batch begins. A rule that was added sees the rows that come from that batch on. A rule
        that was changed begins anew: partial matches of the old version are dropped and counted. Other rules keep theirs.
        A rule that can't be used goes to `.faults`, and its version before stays in force; at the start of a run it is
        an error. All rules run in one operator over one shuffle.

        Args:
            name: the step's name.
            rules: a file (`.yaml`, `.json`, `.jsonl`, `.csv`), or a table of `connect.postgres`, `mysql` or `sqlite`.
            measures: the columns that matches of all rules give, such as `"at timestamp, amount double"`; a rule's `select`
                says how it computes them, and those it leaves out are null. Without it matches carry their rows.
            order: `"arrival"` takes rows as they come; then none is late.
            longest: the longest `within` that a rule may have; a step with state that reads the matches needs it.
            late_rows: `"divert"` to `.late`, or `"count"`: they are counted and dropped.
            timeouts: `"divert"` to `.timeouts`, or `"count"`. Many rules that wait for much have many timeouts.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
        >>> alerts = tx.event_time("ts").key_by("card").match_rules(
        ...     "alerts", rules="rules.yaml", measures="at timestamp, amount double"
        ... )
        >>> alerts.faults
        <alerts.faults of p>
        """
        from headrace.steps.patterns.match_rules import rules_node
        from headrace.streams.matches import RuleMatches

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
        return RuleMatches(self._pipeline, self._pipeline.add(node))
