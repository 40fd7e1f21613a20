"""`Stream`: rows without time; `Routes`: the outputs of `route`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

from headrace.changelogs.declare import Changelog
from headrace.durations import Duration, microseconds
from headrace.errors import MovedVerbError, OptionError, did_you_mean
from headrace.expand.declare import Expand
from headrace.joins.declare import At, How, OnColumns, TableHow
from headrace.schemas.fields import Schema
from headrace.steps.base import Ref
from headrace.steps.code.functions import Filter, FlatMap, Map, MapBatches, OnFailure, function_node
from headrace.steps.expressions import expression_of, key_expressions, to_named_expressions
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.route import Route
from headrace.steps.rows.union import Union
from headrace.steps.stateful.distinct import Distinct
from headrace.streams.arrival import ArrivalVerbs
from headrace.streams.keyed import KeyedStream
from headrace.streams.over import OverVerb
from headrace.streams.rows import (
    Before,
    Diverted_co,
    Diverting,
    Next_co,
    Rows,
    missing_attribute,
    require_same_pipeline,
)
from headrace.streams.signatures import MIGRATE, verb

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.pipeline import Pipeline
    from headrace.streams.results import DivertingStream, QueryResult
    from headrace.streams.tables import Table
    from headrace.streams.timed import TimedStream

Code: TypeAlias = Callable[..., Any] | type | str
"""A function, a class that each worker instantiates once, or the text `"module:name"`."""

Output: TypeAlias = str | type | Schema | None
"""The columns that a function returns."""

JOIN_TABLE = f"a join with a table is join_table(...); {MIGRATE}"


Late_co = TypeVar("Late_co", covariant=True)


class Timed(Protocol[Late_co]):
    """A stream with time, whose verbs can have late rows, and then return the stage `Late_co`."""

    _pipeline: Pipeline
    _ref: Ref

    def _with_late_rows(self, ref: Ref, /) -> Late_co: ...


class Stream(ArrivalVerbs, OverVerb, Rows):
    """Rows without time. `event_time` (or a clock) makes it a `TimedStream`, which can be windowed.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.where("amount > 50").key_by("card")
    <KeyedStream of tx:where>
    """

    if not TYPE_CHECKING:  # a type checker reports a missing verb by itself

        def __getattr__(self, name: str) -> Any:
            from headrace.streams.timed import TimedStream

            if name == "join":
                raise MovedVerbError(
                    "join needs streams with a time", where=f"`{self._ref}`", hint=JOIN_TABLE
                )
            return missing_attribute(self, name, TimedStream)

    @verb(name="step_name=")
    def event_time(
        self,
        column: str,
        /,
        *,
        out_of_order: Duration = "0 seconds",
        idle: Duration | None = None,
        watermark_when: str | Column | None = None,
        max_ahead: Duration | None = None,
        step_name: str | None = None,
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
            step_name: the step's name.
        """
        from headrace.streams.timed import TimedStream

        if not isinstance(column, str):
            raise OptionError(f"expected the name of a column, got {column!r}", where="event_time: column")
        node = EventTime(
            step_name or self._new_name("event_time"),
            self._ref,
            column,
            microseconds(out_of_order, where="event_time: out_of_order"),
            None if idle is None else microseconds(idle, where="event_time: idle"),
            None if watermark_when is None else expression_of(watermark_when),
            None if max_ahead is None else microseconds(max_ahead, where="event_time: max_ahead"),
        )
        return TimedStream(self._pipeline, self._pipeline._add(node))

    @verb()
    def ingestion_time(self, *, step_name: str | None = None) -> TimedStream:
        """Use the clock of the micro-batch that read the row as its time, in the column `ingestion_time`."""
        from headrace.streams.timed import TimedStream

        node = ClockTime(step_name or self._new_name("ingestion_time"), self._ref, "ingestion")
        return TimedStream(self._pipeline, self._pipeline._add(node))

    @verb()
    def processing_time(self, *, step_name: str | None = None) -> TimedStream:
        """Use the clock at the step that needs the time, in the column `processing_time`."""
        from headrace.streams.timed import TimedStream

        node = ClockTime(step_name or self._new_name("processing_time"), self._ref, "processing")
        return TimedStream(self._pipeline, self._pipeline._add(node))

    @verb(name="step_name=")
    def changelog(self, *, step_name: str | None = None) -> Table:
        """Read the rows as the changes of a table.

        Their column `change` is `insert`, `update_before`, `update_after` or `delete`. The changes are
        applied as they are: an `update_before` or `delete` removes one row that equals it. With `latest`
        after it they are applied by key: `update_before` may be missing, and a `delete` needs only the key.

        >>> from headrace import Pipeline, connect
        >>> schema = "id int, name string, change string"
        >>> people = Pipeline("p").read("people", connect.memory(), schema=schema).changelog()
        >>> people.key_by("id").latest("current")
        <current of p>
        """
        from headrace.streams.tables import Table

        node = Changelog(step_name or self._new_name("changelog"), self._ref, True)
        return Table(self._pipeline, self._pipeline._add(node))

    @verb(name="step_name=")
    def expand(
        self: Before[Next_co], sets: Sequence[Sequence[str]], /, *, step_name: str | None = None
    ) -> Next_co:
        """Repeat each row for every grouping set, with nulls in the columns that the set lacks.

        An aggregate by the columns and by `grouping_id`, which is added, has a row for each group of each
        set. The column tells a total from a group whose key is null: it has a bit for each column of all
        sets, the last one lowest, which is 1 if the set lacks the column.

        Args:
            sets: lists of key columns; `[]` is the set of all rows.
            step_name: the name of the step.

        >>> from headrace import Pipeline, connect
        >>> shop = Pipeline("p").read("shop", connect.memory(), schema="country string, city string, n int")
        >>> sets = shop.expand([["country", "city"], ["country"], []])
        >>> sets.key_by("country", "city", "grouping_id").aggregate("totals", n="sum(n)")
        <totals of p>
        """
        node = Expand.create(step_name or self._new_name("expand"), self._ref, sets)
        return self._after(self._pipeline._add(node))

    @verb(name="step_name=")
    def union(self: Before[Next_co], *others: Rows, step_name: str | None = None) -> Next_co:
        """Return all rows of these streams. Columns are matched by name; a missing one is null."""
        where = f"union after `{self._ref}`"
        for other in others:
            if not isinstance(other, Rows):
                raise OptionError(f"expected a stream, got {other!r}", where=where)
            require_same_pipeline(self._pipeline, other, where)
        refs = (self._ref, *(other._ref for other in others))
        return self._after(self._pipeline._add(Union(step_name or self._new_name("union"), refs)))

    def route(self: Before[Next_co], name: str, /, **branches: str | Column) -> Routes[Next_co]:
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
        self._pipeline._add(Route(name, self._ref, to_named_expressions(branches)))
        return Routes({output: self._after(Ref(name, output)) for output in branches})

    @overload
    def distinct(
        self: Before[Next_co],
        name: str | None = ...,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        within: None = ...,
    ) -> Next_co: ...

    @overload
    def distinct(
        self: Timed[Late_co],
        name: str | None = ...,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        within: Duration,
    ) -> Late_co: ...

    @verb()
    def distinct(
        self,
        name: str | None = None,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        within: Duration | None = None,
    ) -> Any:
        """Drop rows that repeat the columns `on` of an earlier row.

        With `within`, only duplicates less than this apart in event time are dropped, and state expires;
        rows that arrive after the state for their key has expired go to `.late`. Without it, state never
        expires.
        """
        node = Distinct.create(name or self._new_name("distinct"), self._ref, on=on, within=within)
        ref = self._pipeline._add(node)
        return self._late_if(within is not None, ref)

    @overload
    def join_table(
        self: Before[Next_co],
        name: str,
        /,
        right: Rows,
        *,
        on: OnColumns,
        at: Literal["arrival"] = ...,
        how: TableHow = ...,
        where: str | Column | None = ...,
        select: Mapping[str, str | Column] | None = ...,
    ) -> Next_co: ...

    @overload
    def join_table(
        self: Timed[Late_co],
        name: str,
        /,
        right: Rows,
        *,
        on: OnColumns,
        at: Literal["event_time"],
        how: TableHow = ...,
        where: str | Column | None = ...,
        select: Mapping[str, str | Column] | None = ...,
    ) -> Late_co: ...

    @overload
    def join_table(
        self,
        name: str,
        /,
        right: Rows,
        *,
        on: OnColumns | None = ...,
        at: Literal["live"],
        how: How = ...,
        where: str | Column | None = ...,
        select: Mapping[str, str | Column] | None = ...,
    ) -> Table: ...

    @verb()
    def join_table(
        self,
        name: str,
        /,
        right: Rows,
        *,
        on: OnColumns | None = None,
        at: At = "arrival",
        how: How = "inner",
        where: str | Column | None = None,
        select: Mapping[str, str | Column] | None = None,
    ) -> Any:
        """Join with a table, or live with a table or another stream.

        A live join keeps all rows of both sides. Streams that are close in event time are joined with less
        state by `join(..., within=...)`.

        Args:
            name: the step's name.
            right: the table, or a CDC source whose rows `on` identifies; with `at="live"` also a stream.
            on: the key columns: one, a list, or a mapping from left to right. A null key matches nothing.
                Default with `at="live"`: none, so that one task compares all rows.
            at: `"arrival"`: the table row at the time of processing; `"event_time"`: the version that is
                valid at the event time of the row, once the watermark has passed it; `"live"`: the result is
                a table, and later rows and changes of both sides revise its results.
            how: `"inner"`, or `"left"`: a row without a match passes with nulls. With `at="live"` also
                `"right"`, `"full"`, `"semi"` (left rows with a match) and `"anti"` (those without one).
            where: an extra condition over `left.column` and `right.column`.
            select: the output columns, by name; default: the left ones, then the right ones except keys.

        >>> from headrace import Pipeline, connect
        >>> shop = Pipeline("p")
        >>> sales = shop.read("sales", connect.memory(), schema="item string, n int")
        >>> prices = shop.read("prices", connect.memory(), schema="item string, price double, at timestamp")
        >>> current = prices.event_time("at").key_by("item").latest("current")
        >>> sales.join_table("priced", current, on="item", at="arrival", how="left")
        <priced of p>
        """
        from headrace.streams.tables import Table, add_table_join

        ref = add_table_join(
            self._pipeline, self._ref, name, right, on=on, at=at, how=how, where=where, select=select
        )
        if at == "live":
            return Table(self._pipeline, ref)
        return self._late_if(at == "event_time", ref)

    def sql(self, name: str, query: str, /) -> QueryResult:
        """Add a step in Spark SQL: this stream is the table `this`; named streams are tables, too."""
        return self._pipeline._add_query(name, query, {"this": self._ref})

    def key_by(self, *columns: str, **named: str | Column) -> KeyedStream:
        """Group by columns or expressions. A null key is a key."""
        return KeyedStream(self._pipeline, self._ref, key_expressions(columns, named))

    def aggregate(self, name: str, /, **aggregates: str | Column) -> Table:
        """Aggregate all rows: a table with one row, updated in every micro-batch."""
        return KeyedStream(self._pipeline, self._ref, ()).aggregate(name, **aggregates)

    @overload
    def map(
        self: Before[Next_co],
        name: str,
        f: Code,
        /,
        *,
        on_error: Literal["fail"],
        arguments: Sequence[str] | None = ...,
        output: Output = ...,
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Next_co: ...

    @overload
    def map(
        self: Diverting[Diverted_co],
        name: str,
        f: Code,
        /,
        *,
        arguments: Sequence[str] | None = ...,
        output: Output = ...,
        on_error: OnFailure = ...,
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Diverted_co: ...

    @verb()
    def map(
        self,
        name: str,
        f: Code,
        /,
        *,
        arguments: Sequence[str] | None = None,
        output: Output = None,
        on_error: OnFailure = "divert",
        concurrency: int | None = None,
        timeout: Duration | None = None,
    ) -> Any:
        """Map each row to one row.

        A row whose call raises goes to `.dead_letters`, and the job continues.

        Args:
            name: the step's name.
            f: a function; a class, which each worker instantiates once, calling its `open()` if it has one;
                or the text `"module:name"`. Its argument is a row with attribute access: `row.amount`.
            arguments: columns; the function is called with their values instead of the row, and the columns
                that it returns are added to the row.
            output: the columns it returns; default: the dataclass or pydantic model of its return type.
            on_error: `"divert"`, or `"fail"` to stop the run.
            concurrency: the maximum number of concurrent calls of an async function; default 10. The order
                of rows is kept.
            timeout: the timeout of a call, after which the row has failed.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> def score(row):
        ...     return {"card": row.card, "score": row.amount / 100}
        >>> tx.map("scored", score, output="card string, score double").dead_letters
        <scored.dead_letters of p>
        >>> def tax(amount: float) -> float:
        ...     return amount * 0.25
        >>> tx.map("taxed", tax, arguments=["amount"], output="tax double")
        <taxed of p>
        """
        options = {
            "arguments": arguments,
            "on_error": on_error,
            "concurrency": concurrency,
            "timeout": timeout,
        }
        return self._apply(Map, name, f, output, options)

    @overload
    def flat_map(
        self: Before[Next_co],
        name: str,
        f: Code,
        /,
        *,
        on_error: Literal["fail"],
        output: Output = ...,
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Next_co: ...

    @overload
    def flat_map(
        self: Diverting[Diverted_co],
        name: str,
        f: Code,
        /,
        *,
        output: Output = ...,
        on_error: OnFailure = ...,
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Diverted_co: ...

    @verb()
    def flat_map(
        self,
        name: str,
        f: Code,
        /,
        *,
        output: Output = None,
        on_error: OnFailure = "divert",
        concurrency: int | None = None,
        timeout: Duration | None = None,
    ) -> Any:
        """Map each row to any number of rows: the function returns an iterable of rows, or yields them.

        The options are those of `map`.
        """
        options = {"on_error": on_error, "concurrency": concurrency, "timeout": timeout}
        return self._apply(FlatMap, name, f, output, options)

    @overload
    def filter(
        self: Before[Next_co], condition: str | Column, /, *, step_name: str | None = ...
    ) -> Next_co: ...

    @overload
    def filter(
        self: Before[Next_co],
        name: str,
        f: Code,
        /,
        *,
        on_error: Literal["fail"],
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Next_co: ...

    @overload
    def filter(
        self: Diverting[Diverted_co],
        name: str,
        f: Code,
        /,
        *,
        on_error: OnFailure = ...,
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Diverted_co: ...

    @verb()
    def filter(
        self,
        condition: str | Column,
        f: Code | None = None,
        /,
        *,
        on_error: OnFailure = "divert",
        concurrency: int | None = None,
        timeout: Duration | None = None,
        step_name: str | None = None,
    ) -> Any:
        """Keep the rows that satisfy a condition, or those for which a function returns True.

        `filter(condition)` is `where`. `filter(name, f)` calls a function; its options are those of `map`.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.filter("amount > 50", step_name="large")
        <large of p>
        >>> tx.filter("odd", lambda row: row.amount % 2 == 1).dead_letters
        <odd.dead_letters of p>
        """
        options = {"on_error": on_error, "concurrency": concurrency, "timeout": timeout}
        if f is not None:
            if step_name is not None or not isinstance(condition, str):
                hint = 'filter("large", is_large)'
                raise OptionError("a filter by a function has its name first", where="filter", hint=hint)
            return self._apply(Filter, condition, f, None, options)
        if callable(condition) and not hasattr(condition, "alias"):  # a Column has no call operator for users
            hint = 'filter("large", is_large)'
            raise OptionError("a filter by a function needs a name", where="filter", hint=hint)
        if options != {"on_error": "divert", "concurrency": None, "timeout": None}:
            hint = "on_error, concurrency and timeout are options of functions"
            raise OptionError("a condition has no options", where="filter", hint=hint)
        return self.where(condition, step_name=step_name)

    @overload
    def map_batches(
        self: Before[Next_co],
        name: str,
        f: Code,
        /,
        *,
        on_error: Literal["fail"],
        output: Output = ...,
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Next_co: ...

    @overload
    def map_batches(
        self: Diverting[Diverted_co],
        name: str,
        f: Code,
        /,
        *,
        output: Output = ...,
        on_error: OnFailure = ...,
        concurrency: int | None = ...,
        timeout: Duration | None = ...,
    ) -> Diverted_co: ...

    @verb()
    def map_batches(
        self,
        name: str,
        f: Code,
        /,
        *,
        output: Output = None,
        on_error: OnFailure = "divert",
        concurrency: int | None = None,
        timeout: Duration | None = None,
    ) -> Any:
        """Map each batch of rows to a table.

        The type hint of the parameter selects the type of the batch: `pyarrow.Table` (the default),
        `pandas.DataFrame` or `polars.DataFrame`. The function may return any of these. If it raises, all rows
        of the batch are dead letters. The options are those of `map`; the function is not async.
        """
        options = {"on_error": on_error, "concurrency": concurrency, "timeout": timeout}
        return self._apply(MapBatches, name, f, output, options)

    def _apply(
        self,
        kind: type[Map | FlatMap | Filter | MapBatches],
        name: str,
        f: Code,
        output: Output,
        options: Mapping[str, Any],
    ) -> Stream:
        node = function_node(kind, name, self._ref, f, output, **options)
        ref = self._pipeline._add(node)
        return self._diverting(ref) if node.collects_dead_letters else self._after(ref)

    def _after(self, ref: Ref, /) -> Stream:
        return Stream(self._pipeline, ref)

    def _diverting(self, ref: Ref, /) -> DivertingStream:
        from headrace.streams.results import DivertingStream

        return DivertingStream(self._pipeline, ref)

    def _late_if(self, has_late_rows: bool, ref: Ref) -> Stream:
        from headrace.streams.timed import TimedStream

        return (
            self._with_late_rows(ref) if has_late_rows and isinstance(self, TimedStream) else self._after(ref)
        )


class Routes(Generic[Next_co]):
    """The outputs of `route`, by name: `split.foreign` or `split["foreign"]`.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="country string")
    >>> tx.route("split", home="country = 'FI'", rest="true")["home"]
    <split.home of p>
    """

    def __init__(self, streams: dict[str, Next_co]) -> None:
        self._streams = streams

    def __getitem__(self, output: str) -> Next_co:
        if output not in self._streams:
            raise OptionError(
                f"unknown output `{output}`", where="route", hint=did_you_mean(output, self._streams)
            )
        return self._streams[output]

    def __getattr__(self, output: str) -> Next_co:
        if output.startswith("__"):
            raise AttributeError(output)
        return self[output]
