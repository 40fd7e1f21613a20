"""`KeyedStream`: rows grouped by key, without time; and `Updates`, the rows of a running aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.steps.base import Ref
from headrace.steps.expressions import Named, aggregate_expressions
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.tables.top_n import TopN
from headrace.streams.rows import Rows

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.pipeline import Pipeline
    from headrace.streams.tables import Table


class KeyedStream:
    """Rows grouped by key.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.key_by("card").aggregate("totals", total="sum(amount)")
    <totals of p>
    """

    def __init__(self, pipeline: Pipeline, ref: Ref, keys: Named) -> None:
        self._pipeline = pipeline
        self._ref = ref
        self._keys = keys

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._ref}>"

    def aggregate(self, name: str, /, **aggregates: str | Column) -> Updates:
        """A running aggregate: one row for each key, brought up to date with every batch.

        Its state grows with the number of keys and is never expired; a window forgets.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.key_by("card").aggregate("totals", n="count(*)", total="sum(amount)")
        <totals of p>
        """
        node = Aggregate(name, self._ref, self._keys, aggregate_expressions(name, aggregates))
        return Updates(self._pipeline, self._pipeline.add(node))

    def top_n(self, name: str, /, *, n: int, order_by: str) -> Table:
        """Keep the first `n` rows of each key: a table with the column `rank`, from 1 on.

        A micro-batch emits the ranks that it has changed. Of equal rows the earlier ones come first. To rank
        the latest row of each player, and not all rows, apply `latest` first.

        Args:
            name: the step's name.
            n: the number of rows of each key.
            order_by: Spark SQL text such as `"score desc, name"`.

        >>> from headrace import Pipeline, connect
        >>> schema = "game string, player string, score int"
        >>> games = Pipeline("p").read("games", connect.memory(), schema=schema)
        >>> games.key_by("game").top_n("leaders", n=3, order_by="score desc")
        <leaders of p>
        """
        from headrace.streams.tables import Table

        node = TopN(name, self._ref, self._keys, n, order_by)
        return Table(self._pipeline, self._pipeline.add(node))


class Updates(Rows):
    """The rows of a running aggregate: a key is emitted again whenever its values change.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> totals = tx.key_by("card").aggregate("totals", total="sum(amount)")
    >>> totals.write("table", connect.memory(), mode="update")
    <sink table of p>
    """
