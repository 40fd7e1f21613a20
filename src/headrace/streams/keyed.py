"""`KeyedStream`: rows grouped by key, without time; and `Updates`, the rows of a running aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.steps.base import Ref
from headrace.steps.expressions import Named, aggregate_expressions
from headrace.steps.stateful.aggregate import Aggregate
from headrace.streams.rows import Rows

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.pipeline import Pipeline


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


class Updates(Rows):
    """The rows of a running aggregate: a key is emitted again whenever its values change.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> totals = tx.key_by("card").aggregate("totals", total="sum(amount)")
    >>> totals.write("table", connect.memory(), mode="update")
    <sink table of p>
    """
