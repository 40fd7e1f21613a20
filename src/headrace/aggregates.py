"""`Aggregate`: an aggregate of your own, in Python, beside Spark's.

    zero() -> state               of no rows
    add(state, value) -> state    one row more
    merge(a, b) -> state          two parts of a window's rows
    result(state) -> value        what a pane shows

Windows, triggers and panes stay in the kernel. Python only folds: when a pane fires, the values of its rows go through
Arrow to a Python process, and the result comes back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column

PART = 4096
"""So many rows are folded from `zero()`; a pane of more has several such parts, which are merged."""


class Aggregate(ABC):
    """The base of an aggregate in Python: subclass it, say what it `returns`, name it among the aggregates of a window.

    **Its cost in state**: the kernel can't call Python while it folds, so it keeps the arguments of each row until the
    window is over (in mode `discarding` until the next pane). Spark's own aggregates keep a few numbers instead: prefer
    them where they can say it. A running aggregate, which never ends, can't have one in Python.

    A null comes to `add` as `None`; skip it there if it shouldn't count. Rows come in order of arrival, in windows that
    depend on order in that order. `add` and `merge` may change the state they are given and return it. The instance is
    sent to Spark's executors, so it must be picklable: open clients and files in `zero()`, not in `__init__`.

    Args:
        of: the arguments of `add`: columns, or expressions in Spark SQL.
        returns: the type of the result, if the class doesn't say it.

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
        """The state of no rows."""

    @abstractmethod
    def add(self, state: Any, /, *values: Any) -> Any:
        """The state with one row more, given the arguments' values."""

    @abstractmethod
    def merge(self, a: Any, b: Any, /) -> Any:
        """The state of two parts of a window's rows; those of `a` came first."""

    @abstractmethod
    def result(self, state: Any, /) -> Any:
        """What a pane shows."""

    def fold(self, rows: Iterable[Any]) -> Any:
        """The result over rows that are here: what a pane of them would show. Good for tests.

        A row is a tuple of the arguments' values, or the value itself where there is one argument.
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
    # Imported here, because executors get this module by value and need nothing else of Headrace.
    from headrace.errors import OptionError
    from headrace.schemas.ddl import parse_type

    name = type(aggregate).__name__
    if not aggregate.of:
        raise OptionError(
            "expected the columns that it adds up", where=name, hint=f'such as {name}("amount")'
        )
    if not aggregate.returns:
        hint = 'say it in the class, returns = "double", or where you use it'
        raise OptionError("the type of its result isn't said", where=name, hint=hint)
    parse_type(aggregate.returns, where=f"{name}: returns")
