"""`over`: window functions over the rows of each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.durations import Duration
from headrace.over.declare import Over, OverWindow
from headrace.steps.expressions import Named, aggregate_expressions
from headrace.streams.rows import Stage

if TYPE_CHECKING:
    from headrace.streams.results import TimedResult
    from headrace.streams.tables import Table


class OverVerb(Stage):
    """The verb of window functions, of all rows or of those of each key."""

    _keys: Named = ()

    def over(
        self,
        name: str,
        /,
        *,
        order_by: str | None = None,
        rows: int | Literal["unbounded"] | None = None,
        range: Duration | float | Literal["unbounded"] | None = None,  # noqa: A002
        **aggregates: str,
    ) -> TimedResult | Table:
        """Compute window functions: every row is emitted with its results, as `OVER` in SQL.

        An expression has aggregates over the frame of the row, `row_number()`, `rank()`, `dense_rank()`,
        `lag(value, n, default)` and `lead(...)`, such as `"amount - lag(amount)"`. Without `rows` and
        `range`, the frame is the rows up to the current one and its peers, which have equal order.

        Ordered by the event time of a stream (and, for equal times, by further columns), rows wait until the
        watermark has passed them and are emitted once; a row behind it goes to `.late`, and `lead` waits for
        the following row. Ordered by `processing_time`, rows are processed as they arrive.

        In any other order, and over a table, the result is a table: a row revises the results of others. It
        stores all rows.

        Args:
            name: the step's name.
            order_by: columns such as `"ts"` or `"score desc, name"`; default: the frame is all rows.
            rows: aggregates cover this many rows before the row, and the row.
            range: aggregates cover rows at most this far before the row: a duration, or a number.
            aggregates: names and expressions in Spark SQL.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
        >>> cards = tx.event_time("ts").key_by("card")
        >>> cards.over("sums", order_by="ts", rows=2, total="sum(amount)", change="amount - lag(amount)").late
        <sums.late of p>
        >>> tx.key_by("card").over("places", order_by="amount desc", place="rank()")
        <places of p>
        """
        from headrace.streams.results import TimedResult
        from headrace.streams.tables import Table

        window = OverWindow.create(order_by=order_by, rows=rows, range=range)
        columns = aggregate_expressions(name, aggregates)
        node = Over(name, self._ref, keys=self._keys, over=window, aggregates=columns)
        facts = self._pipeline._graph.facts(self._ref)
        ref = self._pipeline._add(node)
        kind = Table if node.form(facts) == "table" else TimedResult
        return kind(self._pipeline, ref)
