"""`Stream`: rows without time; `SourceStream`: the rows of a source; `Routes`: the outputs of `route`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, Unpack, cast, overload

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean
from headrace.steps.base import DEAD_LETTERS, Ref
from headrace.steps.expressions import column_names, expression_of, key_expressions, to_named_expressions
from headrace.steps.joins.sides import OnColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.route import Route
from headrace.steps.rows.union import Union
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.tables.join import At, TableHow, TableJoinKeywords
from headrace.streams.functions import FunctionVerbs
from headrace.streams.keyed import KeyedStream, Updates
from headrace.streams.rows import Rows, missing_attribute, require_same_pipeline

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.queried import Queried
    from headrace.streams.tables import Table
    from headrace.streams.timed import TimedStream

S = TypeVar("S", bound=Rows)


class Stream(FunctionVerbs):
    """Rows without time. `event_time` (or a clock) makes it a `TimedStream`, which can be windowed.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.where("amount > 50").key_by("card")
    <KeyedStream of tx:where>
    """

    if not TYPE_CHECKING:  # a type checker reports a missing verb by itself

        def __getattr__(self, name: str) -> Any:
            from headrace.streams.timed import TimedStream

            return missing_attribute(self, name, TimedStream)

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
        """Declare the column of event time.

        The watermark is the highest event time seen minus `out_of_order`; it takes effect in the next
        micro-batch. A row behind it is late: it is diverted to a side output, never dropped silently.

        Args:
            column: a timestamp column.
            out_of_order: how far behind the newest row a row may arrive.
            idle: after this time without a row, the watermark advances with the clock.
            watermark_when: only rows that satisfy this condition advance the watermark.
            max_ahead: a row further ahead of the clock than this does not advance the watermark; stateful
                steps send it to `.late` with reason `ahead_of_clock`.
            name: the step's name.
        """
        from headrace.streams.timed import TimedStream

        if not isinstance(column, str):
            raise OptionError(f"expected the name of a column, got {column!r}", where="event_time: column")
        node = EventTime(
            name or self._new_name("event_time"),
            self._ref,
            column,
            microseconds(out_of_order, where="event_time: out_of_order"),
            None if idle is None else microseconds(idle, where="event_time: idle"),
            None if watermark_when is None else expression_of(watermark_when),
            None if max_ahead is None else microseconds(max_ahead, where="event_time: max_ahead"),
        )
        return TimedStream(self._pipeline, self._pipeline.add(node))

    def ingestion_time(self) -> TimedStream:
        """Use the clock of the micro-batch that read the row as its time, in the column `ingestion_time`."""
        from headrace.streams.timed import TimedStream

        node = ClockTime(self._new_name("ingestion_time"), self._ref, "ingestion")
        return TimedStream(self._pipeline, self._pipeline.add(node))

    def processing_time(self) -> TimedStream:
        """Use the clock at the step that needs the time, in the column `processing_time`."""
        from headrace.streams.timed import TimedStream

        node = ClockTime(self._new_name("processing_time"), self._ref, "processing")
        return TimedStream(self._pipeline, self._pipeline.add(node))

    def union(self, *others: Rows, name: str | None = None) -> Self:
        """Return all rows of these streams. Columns are matched by name; a missing one is null."""
        where = f"union after `{self._ref}`"
        for other in others:
            if not isinstance(other, Rows):
                raise OptionError(f"expected a stream, got {other!r}", where=where)
            require_same_pipeline(self._pipeline, other, where)
        refs = (self._ref, *(other._ref for other in others))
        return self._then(Union(name or self._new_name("union"), refs))

    def route(self, name: str, /, **branches: str | Column) -> Routes[Self]:
        """Split into named outputs: a row goes to the first output whose condition is true, or to none.

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
        self._pipeline.add(Route(name, self._ref, to_named_expressions(branches)))
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
        """Drop rows that repeat the columns `on` of an earlier row.

        With `within`, only duplicates less than this apart in event time are dropped, and state expires.
        Without it, state never expires.
        """
        columns = column_names(on, "distinct: on")
        length = None if within is None else microseconds(within, where="distinct: within")
        return self._then(Distinct(name or self._new_name("distinct"), self._ref, columns, length))

    @overload
    def join(
        self, name: str, /, right: Rows, *, at: Literal["arrival"] = ..., **options: Unpack[TableJoinKeywords]
    ) -> Stream: ...

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
        at: At = "arrival",
        how: TableHow = "inner",
        select: Mapping[str, str | Column] | None = None,
    ) -> Rows:
        """Join with a table; `TimedStream.join` also joins with a stream.

        Args:
            name: the step's name.
            right: the table, or a CDC source whose rows `on` identifies.
            on: the key columns: one, a list, or a mapping from left to right. A null key matches nothing.
            at: `"arrival"`: the table row at the time of processing; `"event_time"`: the version that is
                valid at the event time of the row, once the watermark has passed it; `"live"`: the result is
                a table, and a change of the table revises its results.
            how: `"inner"`, or `"left"`: a row without a match passes with nulls.
            select: the output columns, by name; default: the left ones, then the right ones except keys.

        >>> from headrace import Pipeline, connect
        >>> shop = Pipeline("p")
        >>> sales = shop.read("sales", connect.memory(), schema="item string, n int")
        >>> prices = shop.read("prices", connect.memory(), schema="item string, price double, at timestamp")
        >>> current = prices.event_time("at").key_by("item").latest("current")
        >>> sales.join("priced", current, on="item", at="arrival", how="left")
        <priced of p>
        """
        from headrace.streams.tables import Table, add_table_join

        ref = add_table_join(self._pipeline, self._ref, name, right, on=on, at=at, how=how, select=select)
        return Table(self._pipeline, ref) if at == "live" else Stream(self._pipeline, ref)

    def sql(self, name: str, query: str, /) -> Queried:
        """Add a step in Spark SQL: this stream is the table `this`; named streams are tables, too."""
        return self._pipeline.add_query(name, query, {"this": self._ref})

    def key_by(self, *columns: str, **named: str | Column) -> KeyedStream:
        """Group by columns or expressions. A null key is a key."""
        return KeyedStream(self._pipeline, self._ref, key_expressions(columns, named))

    def aggregate(self, name: str, /, **aggregates: str | Column) -> Updates:
        """Aggregate all rows: one row, updated in every micro-batch."""
        return KeyedStream(self._pipeline, self._ref, ()).aggregate(name, **aggregates)


class SourceStream(Stream):
    """The rows of a source; `dead_letters` are the records that could not be decoded.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.dead_letters
    <tx.dead_letters of p>
    """

    stage_after = Stream

    @property
    def dead_letters(self) -> Stream:
        """Records that could not be decoded: `raw, reason, field, source, partition, position, read_at`."""
        return self._side_output(DEAD_LETTERS)


class Routes(Generic[S]):
    """The outputs of `route`, by name: `split.foreign` or `split["foreign"]`."""

    def __init__(self, streams: dict[str, S]) -> None:
        self._streams = streams

    def __getitem__(self, output: str) -> S:
        if output not in self._streams:
            raise OptionError(
                f"unknown output `{output}`", where="route", hint=did_you_mean(output, self._streams)
            )
        return self._streams[output]

    def __getattr__(self, output: str) -> S:
        if output.startswith("__"):
            raise AttributeError(output)
        return self[output]
