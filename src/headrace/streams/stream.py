"""`Stream`: rows without a notion of time yet; `SourceStream`: one that was just read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean
from headrace.steps.base import Ref
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.route import Route
from headrace.steps.rows.union import Union
from headrace.steps.stateful.distinct import Distinct
from headrace.streams.keyed import KeyedStream, Updates, keys_of
from headrace.streams.rows import Rows, expression, named_expressions

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.queried import Queried
    from headrace.streams.timed import TimedStream

S = TypeVar("S", bound=Rows)


class Stream(Rows):
    """Rows as they come. `event_time` (or a clock) makes it a `TimedStream`, which can be windowed."""

    def event_time(
        self,
        column: str,
        /,
        *,
        out_of_order: Duration = "0 seconds",
        idle: Duration | None = None,
        watermark_when: str | Column | None = None,
        max_ahead: Duration | None = None,
        name: str | None = None,
    ) -> TimedStream:
        """Say which column is event time.

        The watermark is the highest event time seen less `out_of_order`; it acts from the next micro-batch on. A row
        further behind is late: it is diverted, never dropped in silence.

        Args:
            column: a timestamp column.
            out_of_order: how far behind the newest row a row may come.
            idle: after so long without a row the watermark goes on with the clock.
            watermark_when: only rows that satisfy this move the watermark.
            max_ahead: a row further ahead of the clock than this does not move the watermark; stateful steps send it to
                `.late` with reason `ahead_of_clock`.
            name: the step's name.
        """
        from headrace.streams.timed import TimedStream

        node = EventTime(
            name or self._unnamed("event_time"),
            self._ref,
            column,
            microseconds(out_of_order, where="event_time: out_of_order"),
            None if idle is None else microseconds(idle, where="event_time: idle"),
            None if watermark_when is None else expression(watermark_when),
            None if max_ahead is None else microseconds(max_ahead, where="event_time: max_ahead"),
        )
        return TimedStream(self._pipeline, self._pipeline.add(node))

    def ingestion_time(self) -> TimedStream:
        """Time is the clock of the batch that read the row; it becomes the column `ingestion_time`."""
        from headrace.streams.timed import TimedStream

        node = ClockTime(self._unnamed("ingestion_time"), self._ref, "ingestion")
        return TimedStream(self._pipeline, self._pipeline.add(node))

    def processing_time(self) -> TimedStream:
        """Time is the clock at the step that uses it; it becomes the column `processing_time`."""
        from headrace.streams.timed import TimedStream

        node = ClockTime(self._unnamed("processing_time"), self._ref, "processing")
        return TimedStream(self._pipeline, self._pipeline.add(node))

    def union(self, *others: Rows, name: str | None = None) -> Self:
        """Return all rows of these streams. Columns are matched by name; a missing one is null."""
        refs = (self._ref, *(other._ref for other in others))
        if any(other._pipeline is not self._pipeline for other in others):
            raise OptionError("a union takes streams of one pipeline", where=f"union after `{self._ref}`")
        return self._then(Union(name or self._unnamed("union"), refs))

    def route(self, name: str, /, **branches: str | Column) -> Routes[Self]:
        """Split into named outputs: a row goes to the first whose condition holds, or nowhere.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="country string")
        >>> split = tx.route("split", home="country = 'FI'", rest="true")
        >>> split.rest
        <split.rest of p>
        """
        if not branches:
            raise OptionError(
                "expected at least one named condition", where=f"`{name}`", hint="route(name, big='a > 5')"
            )
        self._pipeline.add(Route(name, self._ref, named_expressions(branches)))
        stage = self.stage_after or type(self)
        return Routes({out: cast("Self", stage(self._pipeline, Ref(name, out))) for out in branches})

    def distinct(
        self,
        name: str | None = None,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        within: Duration | None = None,
    ) -> Self:
        """Drop rows that repeat the columns `on` of a row already kept.

        With `within`, only repeats less than that apart in event time are dropped, and state is forgotten after it;
        without, every value ever seen is kept in state.
        """
        columns = (on,) if isinstance(on, str) else tuple(on)
        length = None if within is None else microseconds(within, where="distinct: within")
        return self._then(Distinct(name or self._unnamed("distinct"), self._ref, columns, length))

    def sql(self, name: str, query: str, /) -> Queried:
        """Go on in Spark SQL; this stream is the table `this`, the pipeline's named streams have their names."""
        from headrace.steps.rows.sql import sql_node
        from headrace.streams.queried import Queried

        known = {node.name: Ref(node.name) for node in self._pipeline.graph if not node.anonymous}
        timed = self._pipeline.timed_tables()
        node = sql_node(name, query, {**known, "this": self._ref}, timed=timed)
        return Queried(self._pipeline, self._pipeline.add(node))

    def key_by(self, *columns: str, **named: str | Column) -> KeyedStream:
        """Group by columns or expressions. A null key is a key."""
        return KeyedStream(self._pipeline, self._ref, keys_of(columns, named))

    def aggregate(self, name: str, /, **aggregates: str | Column) -> Updates:
        """A running aggregate over all rows: one row, brought up to date with every batch."""
        return KeyedStream(self._pipeline, self._ref, ()).aggregate(name, **aggregates)


class SourceStream(Stream):
    """A stream that was just read; `dead_letters` are its records that didn't decode."""

    stage_after = Stream

    @property
    def dead_letters(self) -> Stream:
        """Records that couldn't be decoded: `raw, reason, field, source, partition, position, read_at`."""
        return Stream(self._pipeline, Ref(self._ref.step, "dead_letters"))


class Routes(Generic[S]):
    """The outputs of `route`, by name: `split.foreign` or `split["foreign"]`."""

    def __init__(self, streams: dict[str, S]) -> None:
        self._streams = streams

    def __getitem__(self, output: str) -> S:
        if output not in self._streams:
            raise OptionError(
                f"there is no output `{output}`", where="route", hint=did_you_mean(output, self._streams)
            )
        return self._streams[output]

    def __getattr__(self, output: str) -> S:
        if output.startswith("__"):
            raise AttributeError(output)
        return self[output]
