"""`KeyedStream`: rows grouped by key, without time; and `Updates`, what a running aggregate gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.aggregates import Aggregate as PythonAggregate
from headrace.errors import OptionError
from headrace.steps.base import Ref
from headrace.steps.expressions import Expression, Named, PythonFold
from headrace.steps.stateful.aggregate import Aggregate
from headrace.streams.rows import Rows, expression, named_expressions

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.pipeline import Pipeline


class KeyedStream:
    """Rows grouped by key."""

    def __init__(self, pipeline: Pipeline, ref: Ref, keys: Named) -> None:
        self._pipeline = pipeline
        self._ref = ref
        self._keys = keys

    def aggregate(self, name: str, /, **aggregates: str | Column) -> Updates:
        """A running aggregate: one row for each key, brought up to date with every batch.

        Its state grows with the number of keys and is never forgotten; a window forgets.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.key_by("card").aggregate("totals", n="count(*)", total="sum(amount)")
        <totals of p>
        """
        node = Aggregate(name, self._ref, self._keys, aggregates_of(name, aggregates))
        return Updates(self._pipeline, self._pipeline.add(node))


class Updates(Rows):
    """The rows of a running aggregate: a key comes again whenever its values change."""


def keys_of(columns: tuple[str, ...], named: dict[str, str | Column]) -> Named:
    """`key_by("card", day="to_date(ts)")` as (name, expression) pairs.

    Raises:
        OptionError: no key was given.
    """
    keys = (*((column, column) for column in columns), *named_expressions(named))
    if not keys:
        raise OptionError(
            "expected at least one key", where="key_by", hint="leave key_by out to aggregate all rows"
        )
    return keys


def aggregates_of(name: str, aggregates: Mapping[str, str | Column | PythonAggregate]) -> Named:
    """Keyword arguments as (name, aggregate) pairs.

    Raises:
        OptionError: no aggregate was given.
    """
    if not aggregates:
        raise OptionError("expected at least one aggregate", where=f"`{name}`", hint='such as n="count(*)"')
    return tuple((column, _aggregate(f"`{name}`: `{column}`", item)) for column, item in aggregates.items())


def _aggregate(where: str, given: str | Column | PythonAggregate) -> Expression:
    if isinstance(given, PythonAggregate):
        if not hasattr(given, "of"):
            hint = "begin its __init__ with super().__init__(column, ...)"
            raise OptionError(f"{type(given).__name__} doesn't know its columns", where=where, hint=hint)
        return PythonFold(given)
    if isinstance(given, type) and issubclass(given, PythonAggregate):
        hint = f'make one: {given.__name__}("amount")'
        raise OptionError(f"expected an aggregate, got the class {given.__name__}", where=where, hint=hint)
    return expression(given)
