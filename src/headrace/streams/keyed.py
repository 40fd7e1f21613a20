"""`KeyedStream`: rows grouped by key, without time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from headrace.durations import Duration
from headrace.schemas.fields import Schema
from headrace.steps.base import Ref
from headrace.steps.code.functions import OnFailure
from headrace.steps.code.process import process_node, stateful_map_node
from headrace.steps.expressions import Named, aggregate_expressions
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.tables.latest import Latest, LatestOrder
from headrace.steps.tables.top_n import Ties, TopN
from headrace.streams.arrival import ArrivalVerbs
from headrace.streams.over import OverVerb
from headrace.streams.rows import missing_attribute
from headrace.streams.signatures import verb

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.processors.processor import Processor
    from headrace.streams.pipeline import Pipeline
    from headrace.streams.results import DivertingStream, LatestTable, Processed
    from headrace.streams.stream import Stream
    from headrace.streams.tables import Table


Out_co = TypeVar("Out_co", covariant=True)


class Keyed(Protocol):
    """A stage whose rows are grouped by key."""

    _pipeline: Pipeline
    _ref: Ref
    _keys: Named


class Processing(Keyed, Protocol[Out_co]):
    """Keyed rows; a processor over them returns the stage `Out_co`."""

    def _processed(self, ref: Ref, /) -> Out_co: ...


class Mapping(Keyed, Protocol[Out_co]):
    """Keyed rows; a function over them that can divert rows returns the stage `Out_co`."""

    def _mapped(self, ref: Ref, /) -> Out_co: ...


class Emitting(Keyed, Protocol[Out_co]):
    """Keyed rows; a function over them that diverts none returns the stage `Out_co`."""

    def _rows(self, ref: Ref, /) -> Out_co: ...


class KeyedStream(ArrivalVerbs, OverVerb):
    """Rows grouped by key.

    Stateless verbs, such as `where` and `with_columns`, change the rows and return the same stage with the
    same keys. A key is an expression, which the stateful step evaluates on the rows that it reads: if
    `with_columns` replaces a key column, rows are grouped by the new value, and if a key column is dropped,
    the key is a plan error.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.key_by("card").where("amount > 0").aggregate("totals", total="sum(amount)")
    <totals of p>
    """

    def __init__(self, pipeline: Pipeline, ref: Ref, keys: Named) -> None:
        super().__init__(pipeline, ref)
        self._keys = keys

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._ref}>"

    if not TYPE_CHECKING:  # a type checker reports a missing verb by itself

        def __getattr__(self, name: str) -> Any:
            from headrace.streams.timed import TimedKeyedStream

            return missing_attribute(self, name, TimedKeyedStream)

    def aggregate(self, name: str, /, **aggregates: str | Column) -> Table:
        """Return a running aggregate: a table with one row for each key, updated in every micro-batch.

        A sink with a key applies its changes. Others get the new row of each changed key, or every change in
        mode `changes`. Its state grows with the number of keys and never expires; that of a window does.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.key_by("card").aggregate("totals", n="count(*)", total="sum(amount)")
        <totals of p>
        """
        named = aggregate_expressions(name, aggregates)
        node = Aggregate.create(name, self._ref, keys=self._keys, aggregates=named)
        from headrace.streams.tables import Table

        return Table(self._pipeline, self._pipeline._add(node))

    @verb()
    def top_n(self, name: str, /, *, n: int, order_by: str, ties: Ties = "rows") -> Table:
        """Keep the first `n` rows of each key: a table with the column `rank`, starting at 1.

        A micro-batch emits the ranks that it has changed. Of equal rows, the earlier ones are first. To rank
        the latest row of each player instead of all rows, apply `latest` first.

        Args:
            name: the step's name.
            n: the number of rows of each key.
            order_by: Spark SQL text such as `"score desc, name"`.
            ties: how equal rows are ranked: `"rows"` one after the other; `"rank"` and `"dense_rank"` alike,
                as in SQL, so that there can be more than `n` rows.

        >>> from headrace import Pipeline, connect
        >>> schema = "game string, player string, score int"
        >>> games = Pipeline("p").read("games", connect.memory(), schema=schema)
        >>> games.key_by("game").top_n("leaders", n=3, order_by="score desc")
        <leaders of p>
        """
        from headrace.streams.tables import Table

        node = TopN.create(name, self._ref, keys=self._keys, n=n, order_by=order_by, ties=ties)
        return Table(self._pipeline, self._pipeline._add(node))

    @verb()
    def latest(
        self,
        name: str,
        /,
        *,
        delete_when: str | Column | None = None,
        ttl: Duration | None = None,
        order: LatestOrder | None = None,
    ) -> LatestTable:
        """Keep the row with the highest event time of each key: a table. Without time, it is the last row.

        The rows of a table are its changes, with the column `change`: `insert`, `update_before`,
        `update_after` or `delete`. A row older than that of its key is counted as superseded. Of rows with
        equal times, the last arrival is kept. The changes of a CDC source or of `changelog()` are applied in
        the order of arrival, and a delete removes its key.

        Args:
            name: the step's name.
            delete_when: a row that satisfies it removes its key.
            ttl: remove a key this long after its last row, by the watermark.
            order: `"event_time"` or `"arrival"`; default: by event time if the rows have one.

        >>> from headrace import Pipeline, connect
        >>> schema = "symbol string, price double, ts timestamp"
        >>> prices = Pipeline("p").read("prices", connect.memory(), schema=schema)
        >>> prices.event_time("ts").key_by("symbol").latest("current", delete_when="price is null")
        <current of p>
        """
        from headrace.streams.results import LatestTable

        options = {"delete_when": delete_when, "ttl": ttl, "order": order}
        node = Latest.create(name, self._ref, keys=self._keys, **options)
        return LatestTable(self._pipeline, self._pipeline._add(node))

    @verb()
    def process(
        self: Processing[Out_co],
        name: str,
        processor: type[Processor] | Processor | str,
        /,
        *,
        on_error: OnFailure = "divert",
        timeout: Duration | None = None,
    ) -> Out_co:
        """Run a `headrace.Processor` over the rows of each key: a class with state, timers and side outputs.

        Args:
            name: the step's name.
            processor: the class, an instance, or the text `"module:name"`.
            on_error: `"divert"` sends a row whose call raised to `.dead_letters`; `"fail"` stops the run.
            timeout: the timeout of a call, after which the call has failed.

        >>> from headrace import Pipeline, Processor, connect, state
        >>> class Total(Processor):
        ...     output = "card string, total double"
        ...     total: float = state.value(0.0)
        ...
        ...     def process(self, row):
        ...         self.total += row.amount
        ...         yield {"card": row.card, "total": self.total}
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.key_by("card").process("totals", Total).dead_letters
        <totals.dead_letters of p>
        """
        node = process_node(name, self._ref, self._keys, processor, on_error=on_error, timeout=timeout)
        return self._processed(self._pipeline._add(node))

    @overload
    def stateful_map(
        self: Emitting[Out_co],
        name: str,
        f: Callable[[Any, Any], tuple[Any, Any]] | str,
        /,
        *,
        initial: Any,
        output: str | type | Schema,
        on_error: Literal["fail"],
        timeout: Duration | None = ...,
    ) -> Out_co: ...

    @overload
    def stateful_map(
        self: Mapping[Out_co],
        name: str,
        f: Callable[[Any, Any], tuple[Any, Any]] | str,
        /,
        *,
        initial: Any,
        output: str | type | Schema,
        on_error: OnFailure = ...,
        timeout: Duration | None = ...,
    ) -> Out_co: ...

    @verb()
    def stateful_map(
        self,
        name: str,
        f: Callable[[Any, Any], tuple[Any, Any]] | str,
        /,
        *,
        initial: Any,
        output: str | type | Schema,
        on_error: OnFailure = "divert",
        timeout: Duration | None = None,
    ) -> Any:
        """Call `f(state, row)` for each row; it returns the new state of the key and a row of `output`.

        Args:
            name: the step's name.
            f: the function; None instead of a row emits nothing, None instead of the state removes the key.
            initial: the state of a new key.
            output: the columns of the rows.
            on_error: as in `process`.
            timeout: as in `process`.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> def total(so_far, row):
        ...     so_far += row.amount
        ...     return so_far, {"card": row.card, "total": so_far}
        >>> tx.key_by("card").stateful_map("totals", total, initial=0.0, output="card string, total double")
        <totals of p>
        """
        node = stateful_map_node(
            name,
            self._ref,
            self._keys,
            f,
            initial=initial,
            output=output,
            on_error=on_error,
            timeout=timeout,
        )
        ref = self._pipeline._add(node)
        return self._mapped(ref) if node.on_error == "divert" else self._rows(ref)

    def _after(self, ref: Ref, /) -> KeyedStream:
        return KeyedStream(self._pipeline, ref, self._keys)

    def _rows(self, ref: Ref, /) -> Stream:
        from headrace.streams.stream import Stream

        return Stream(self._pipeline, ref)

    def _mapped(self, ref: Ref, /) -> DivertingStream:
        return self._rows(ref)._diverting(ref)

    def _processed(self, ref: Ref, /) -> Processed:
        from headrace.streams.results import Processed

        return Processed(self._pipeline, ref)
