"""`Table`: the changelog of a table; `KeyedTable`: its rows, grouped by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.errors import OptionError, TableInputError, require_choice
from headrace.joins.declare import At, How, OnColumns, TableHow, TableJoin
from headrace.steps.base import Ref
from headrace.steps.expressions import key_expressions
from headrace.steps.tables.changelog import ACCEPT_TABLES
from headrace.streams.keyed import KeyedStream
from headrace.streams.over import OverVerb
from headrace.streams.rows import Rows, require_same_pipeline
from headrace.streams.signatures import verb

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.pipeline import Pipeline
    from headrace.streams.windowed import WindowedStream
    from headrace.windows import Window


class Table(OverVerb, Rows):
    """A table: one row per key, and its changes as rows.

    The rows have the column `change`: `insert`, `update_before`, `update_after` or `delete`. A sink with a
    key applies the changes; a Kafka sink with a key writes upserts and tombstones; others write the changes.
    The rows of a running aggregate have the column in sinks of mode `changes` only; by default, a sink
    without a key gets the new row of each changed key.

    >>> from headrace import Pipeline, connect
    >>> schema = "symbol string, price double, ts timestamp"
    >>> prices = Pipeline("p").read("prices", connect.memory(), schema=schema)
    >>> current = prices.event_time("ts").key_by("symbol").latest("current")
    >>> current.where("price > 10").write("expensive", connect.memory(key=["symbol"]))
    """

    def key_by(self, *columns: str, **named: str | Column) -> KeyedTable:
        """Group the rows by columns or expressions. A null key is a key."""
        return KeyedTable(self._pipeline, self._ref, key_expressions(columns, named))

    def aggregate(self, name: str, /, **aggregates: str | Column) -> Table:
        """Aggregate all rows of the table: a table with one row.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int")
        >>> totals = tx.key_by("card").aggregate("totals", total="sum(amount)")
        >>> totals.aggregate("highest", total="max(total)")
        <highest of p>
        """
        return KeyedStream(self._pipeline, self._ref, ()).aggregate(name, **aggregates)

    @verb()
    def join(
        self,
        name: str,
        /,
        right: Rows,
        *,
        on: OnColumns | None = None,
        how: How = "inner",
        where: str | Column | None = None,
        select: Mapping[str, str | Column] | None = None,
    ) -> Table:
        """Join with another table or a stream. The result is a table that follows the changes of both sides.

        `on` can be a foreign key: with `on={"customer_id": "id"}`, a change of a customer revises all rows
        that refer to it.

        Args:
            name: the step's name.
            right: the other table, a CDC source whose rows `on` identifies, or a stream, of which all rows
                are kept.
            on: the key columns: one, a list, or a mapping from left to right. A null key matches nothing.
                Default: none, so that one task compares all rows.
            how: `"inner"`; `"left"`, `"right"`, `"full"`: a row of that side without a match has nulls;
                `"semi"`, `"anti"`: the left rows with a match, or without one.
            where: an extra condition over `left.column` and `right.column`.
            select: the output columns, by name; default: the left ones, then the right ones except keys.

        >>> from headrace import Pipeline, connect
        >>> shop = Pipeline("p")
        >>> rows = shop.read("rows", connect.memory(), schema="id int, customer_id int, at timestamp")
        >>> people = shop.read("people", connect.memory(), schema="id int, name string, since timestamp")
        >>> orders = rows.event_time("at").key_by("id").latest("orders")
        >>> customers = people.event_time("since").key_by("id").latest("customers")
        >>> orders.join("named_orders", customers, on={"customer_id": "id"})
        <named_orders of p>
        """
        ref = add_table_join(
            self._pipeline, self._ref, name, right, on=on, how=how, where=where, select=select
        )
        return Table(self._pipeline, ref)

    def _after(self, ref: Ref, /) -> Table:
        return Table(self._pipeline, ref)


class KeyedTable(KeyedStream):
    """The rows of a table, grouped by key; aggregates follow every change of the table.

    >>> from headrace import Pipeline, connect
    >>> users = Pipeline("p").read("users", connect.memory(), schema="id int, country string, ts timestamp")
    >>> current = users.event_time("ts").key_by("id").latest("current")
    >>> current.key_by("country").aggregate("by_country", n="count(*)")
    <by_country of p>
    """

    if not TYPE_CHECKING:  # a type checker reports a missing verb by itself

        def __getattr__(self, name: str) -> Any:
            if name in ("match", "match_rules"):
                raise TableInputError(
                    f"{name} does not accept a table as input, and `{self._ref}` is a table",
                    where=f"`{self._ref}`",
                    hint=ACCEPT_TABLES,
                )
            return super().__getattr__(name)

    @verb()
    def window(self, window: Window, /) -> WindowedStream:
        """Group the rows of each key by window, by the event time of the rows of the table."""
        from headrace.streams.windowed import WindowedStream

        return WindowedStream(self._pipeline, self._ref, self._keys, window)

    def _after(self, ref: Ref, /) -> KeyedTable:
        return KeyedTable(self._pipeline, ref, self._keys)


def add_table_join(
    pipeline: Pipeline,
    left: Ref,
    name: str,
    right: Rows,
    *,
    on: OnColumns | None = None,
    at: At | None = None,
    how: How = "inner",
    where: str | Column | None = None,
    select: Mapping[str, str | Column] | None = None,
) -> Ref:
    """Add a join with a table to a pipeline and return its output.

    Raises:
        OptionError: an option has an invalid value, or the right side is not a table of this pipeline.
    """
    if not isinstance(right, Rows):
        hint = "such as users.key_by('id').latest('current_users')"
        raise OptionError(f"expected a table, got {right!r}", where=f"`{name}`", hint=hint)
    require_same_pipeline(pipeline, right, f"`{name}`")
    if at in ("arrival", "event_time"):
        require_choice(how, TableHow, "how", f"`{name}`")
    if on is None and at is None:
        at = "live"
    options = {"at": at, "how": how, "where": where, "select": select}
    node = TableJoin.create(name, left, right._ref, on=() if on is None else on, **options)
    return pipeline._add(node)
