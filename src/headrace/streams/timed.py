"""`TimedStream` and `TimedKeyedStream`: rows with time, which can be windowed and matched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from headrace.durations import Duration
from headrace.patterns.building import Pattern
from headrace.steps.expressions import key_expressions
from headrace.steps.patterns.match import MatchKeywords, match_node
from headrace.steps.patterns.match_rules import MatchRulesKeywords, rules_node
from headrace.streams.keyed import KeyedStream
from headrace.streams.stream import Stream
from headrace.streams.windowed import WindowedStream
from headrace.windows import Window, state_ttl

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.connectors.base import Connector
    from headrace.streams.matches import Matches, RuleMatches
    from headrace.streams.panes import Deduplicated


class TimedStream(Stream):
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
            ttl: expire the state of a key this long after its last row, by the watermark (or the clock, where
                that is its time). For windows without an end of their own: global, count, delta, punctuation
                and landmark. Rows that no pane has emitted are counted as expired. A key that returns starts
                with window number 0.
        """
        return WindowedStream(self._pipeline, self._ref, self._keys, window, ttl=state_ttl(ttl))

    def match(self, name: str, pattern: Pattern, /, **options: Unpack[MatchKeywords]) -> Matches:
        """Find a pattern in the rows of each key, taken in event-time order.

        A row is buffered until the watermark has passed it; a row behind the watermark goes to `.late`.
        Without `within` a partial match never expires.

        Args:
            name: the step's name.
            pattern: from `patterns`.
            within: the time from the first row to the last must be less than this; or
                `{"whole": ..., "between": ...}`, where `between` is the time from each row to the next.
            skip: where the search continues after a match: `"past_last"` row of it (the default), `"none"`
                (every match is found), `"to_next"` (after its first row), `patterns.to_first(step)`,
                `patterns.to_last(step)`.
            order: `"arrival"` processes rows in arrival order; then no row is late.
            select: the measures of a match, by name; default: one array of rows per step of the pattern.
            late_rows: `"divert"` to `.late`, or `"count"`: they are counted and dropped.
            timeouts: `"divert"` to `.timeouts`, or `"count"`. With both counted and a `select`, only the
                columns in use are shuffled and stored, which is faster.

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
        """Find the patterns of a table of rules in the rows of each key.

        The table may change while the job runs.

        The table is read at the start of each micro-batch. A new rule applies to the rows of that and later
        micro-batches. A changed rule starts over: partial matches of the old version are dropped and counted.
        Other rules keep theirs. A rule that cannot be used goes to `.faults` and its previous version stays
        active; at the start of a run it is an error. All rules run in one operator over one shuffle.

        Args:
            name: the step's name.
            rules: a file (`.yaml`, `.json`, `.jsonl`, `.csv`), or a table of `connect.postgres`, `mysql` or
                `sqlite`.
            measures: the columns of the matches of all rules, such as `"at timestamp, amount double"`; the
                `select` of a rule computes them, and those that it omits are null. Default: matches carry
                their rows.
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
