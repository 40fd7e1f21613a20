"""`Aggregate`: user-defined aggregates in Python.

    zero() -> state               the state of no rows
    add(state, value) -> state    add a row
    merge(a, b) -> state          merge the states of two parts of the rows
    result(state) -> value        the value of a pane

Windows and triggers run in the kernel. When a pane fires, the values of its rows are sent through Arrow to a
Python process, which computes the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column

PART = 4096
"""The maximum number of rows per call of `zero()`; the states of a larger pane are merged."""


class Aggregate(ABC):
    """The base class of aggregates in Python.

    Subclass it, set `returns`, and pass an instance to `aggregate` of a window.

    **State**: the kernel cannot call Python for each row, so it stores the arguments of every row until the
    window has ended (in mode `discarding` until the next pane). Spark's own aggregates store a few numbers
    instead; prefer them where possible. A running aggregate, which never ends, cannot be in Python.

    A null is passed to `add` as `None`; skip it there if it should not count. Rows are added in arrival
    order, in order-dependent windows in the order of the window. `add` and `merge` may change and return the
    state they receive. The instance is sent to Spark's executors, so it must be picklable: open clients and
    files in `zero()`, not in `__init__`.

    Args:
        of: the arguments of `add`: columns, or expressions in Spark SQL.
        returns: the type of the result; default: that of the class.

    >>> class Spread(Aggregate):
    ...     returns = "double"
    ...
    ...     def zero(self):
    ...         return []
    ...
    ...     def add(self, state, value):
    ...         return self.merge(state, [value, value])
    ...
    ...     def merge(self, a, b):
    ...         return [min(a[0], b[0]), max(a[1], b[1])] if a and b else a or b
    ...
    ...     def result(self, state):
    ...         return state[1] - state[0] if state else None
    >>> Spread("amount")
    Spread(amount)
    >>> Spread("amount").fold([3.0, 10.0, 4.0])
    7.0
    """

    returns: str = ""
    """The type of the result, as Spark SQL spells it: `"double"`, `"array<string>"`."""

    def __init__(self, *of: str | Column, returns: str = "") -> None:
        self.of = of
        self.returns = returns or type(self).returns
        _check(self)

    @abstractmethod
    def zero(self) -> Any:
        """Return the state of no rows."""

    @abstractmethod
    def add(self, state: Any, /, *values: Any) -> Any:
        """Return the state with one more row, whose arguments have these values."""

    @abstractmethod
    def merge(self, a: Any, b: Any, /) -> Any:
        """Return the merged state of two parts of the rows; the rows of `a` are first."""

    @abstractmethod
    def result(self, state: Any, /) -> Any:
        """Return the value of a pane."""

    def fold(self, rows: Iterable[Any]) -> Any:
        """Return the result over rows, like that of a pane; for tests.

        A row is a tuple of the values of the arguments, or the value of the only argument.
        """
        source = iter(rows)
        part = list(islice(source, PART))
        state = self._part(part)
        while part := list(islice(source, PART)):
            state = self.merge(state, self._part(part))
        return self.result(state)

    def _part(self, rows: Iterable[Any]) -> Any:
        state = self.zero()
        for row in rows:
            state = self.add(state, *row) if isinstance(row, tuple) else self.add(state, row)
        return state

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.of))})"


def _check(aggregate: Aggregate) -> None:
    # Local imports, because executors receive this module by value, without the rest of Headrace.
    from headrace.errors import OptionError
    from headrace.schemas.ddl import parse_type

    name = type(aggregate).__name__
    if not aggregate.of:
        raise OptionError("expected the columns to aggregate", where=name, hint=f'such as {name}("amount")')
    if not aggregate.returns:
        hint = 'set returns = "double" in the class, or pass returns='
        raise OptionError("the type of the result is missing", where=name, hint=hint)
    parse_type(aggregate.returns, where=f"{name}: returns")
