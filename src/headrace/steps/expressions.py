"""Expressions of nodes: Spark SQL text, a pyspark `Column` or an aggregate in Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.aggregates import Aggregate as PythonAggregate
from headrace.errors import OptionError


@dataclass(frozen=True, eq=False)
class Opaque:
    """A pyspark `Column`, which cannot be compared or written in a document."""

    column: Any

    def __repr__(self) -> str:
        return f"Column<{self.column}>"


@dataclass(frozen=True, eq=False)
class PythonFold:
    """An aggregate in Python; the state contains the arguments of its rows until a pane fires."""

    aggregate: PythonAggregate

    def __repr__(self) -> str:
        return repr(self.aggregate)


Expression = str | Opaque | PythonFold
Named = tuple[tuple[str, Expression], ...]


def expression_of(value: Any, where: str = "") -> Expression:
    """Return the expression of a node: text unchanged, a pyspark `Column` wrapped.

    Raises:
        OptionError: the value has another type.
    """
    if isinstance(value, str | Opaque | PythonFold):
        return value
    if type(value).__module__.startswith("pyspark."):
        return Opaque(value)
    hint = 'such as "amount > 50"'
    raise OptionError(f"expected Spark SQL text or a pyspark Column, got {value!r}", where=where, hint=hint)


def to_named_expressions(columns: Mapping[str, Any]) -> Named:
    """Return keyword arguments as (name, expression) pairs."""
    return tuple((name, expression_of(item)) for name, item in columns.items())


def column_names(columns: Any, where: str) -> tuple[str, ...]:
    """Return the names of a column or of a list of columns.

    >>> column_names("card", "distinct: on")
    ('card',)

    Raises:
        OptionError: the value has another type, or is empty.
    """
    names = tuple(columns) if isinstance(columns, list | tuple) else (columns,)
    if not names or not all(isinstance(name, str) and name for name in names):
        hint = 'such as "card" or ["card", "country"]'
        raise OptionError(f"expected the names of columns, got {columns!r}", where=where, hint=hint)
    return names


def key_expressions(columns: Sequence[str], named: Mapping[str, Any]) -> Named:
    """Return the keys of `key_by("card", day="to_date(ts)")` as (name, expression) pairs.

    Raises:
        OptionError: there is no key.
    """
    keys = (*((column, column) for column in columns), *to_named_expressions(named))
    if not keys:
        hint = "remove key_by to aggregate all rows"
        raise OptionError("expected at least one key", where="key_by", hint=hint)
    return keys


def aggregate_expressions(step: str, aggregates: Mapping[str, Any]) -> Named:
    """Return the aggregates of a step as (name, aggregate) pairs.

    Raises:
        OptionError: there is none, or one is invalid.
    """
    if not aggregates:
        raise OptionError("expected at least one aggregate", where=f"`{step}`", hint='such as n="count(*)"')
    return tuple((name, _aggregate(f"`{step}`: `{name}`", item)) for name, item in aggregates.items())


def _aggregate(where: str, value: Any) -> Expression:
    if isinstance(value, PythonAggregate):
        if not hasattr(value, "of"):
            hint = "begin its __init__ with super().__init__(column, ...)"
            raise OptionError(f"{type(value).__name__} has no columns", where=where, hint=hint)
        return PythonFold(value)
    if isinstance(value, type) and issubclass(value, PythonAggregate):
        hint = f'create an instance: {value.__name__}("amount")'
        raise OptionError(f"expected an aggregate, got the class {value.__name__}", where=where, hint=hint)
    return expression_of(value, where)


def names_of(columns: Named) -> tuple[str, ...]:
    """Return the names of named expressions."""
    return tuple(name for name, _ in columns)


def describe_columns(columns: Named) -> str:
    """Describe named expressions: `n = count(*), card`.

    >>> describe_columns((("n", "count(*)"), ("card", "card")))
    'n = count(*), card'
    """
    return ", ".join(str(item) if name in ("", item) else f"{name} = {item}" for name, item in columns)


def describe_keys(keys: Named) -> str:
    """Describe the keys of a step; `over all rows` if there are none."""
    return f"by {describe_columns(keys)}" if keys else "over all rows"


def stable_text(expression: Expression) -> str:
    r"""Return a text of an expression that is the same in every process, for state signatures.

    >>> stable_text("sum(\n  amount)")
    'sum( amount)'
    """
    if isinstance(expression, PythonFold):  # the state contains its arguments only, so its code may change
        return f"python({', '.join(map(str, expression.aggregate.of))})"
    if isinstance(expression, Opaque):
        # The numbers of lambda arguments and of calls of Python functions differ between processes.
        return re.sub(r"#\d+L?|(?<=\b[xyz])_\d+", "", one_line(str(expression.column)))
    return one_line(expression)


def stable_texts(columns: Named) -> list[str]:
    """Return the stable texts of named expressions, without the names."""
    return [stable_text(item) for _, item in columns]


def stable_names(columns: Named) -> dict[str, str]:
    """Return the stable texts of named expressions, by name."""
    return {name: stable_text(item) for name, item in columns}


def find_columns(columns: Sequence[str], expressions: Iterable[str]) -> list[str]:
    """Return the columns whose names occur in expressions, also in strings and as functions.

    >>> find_columns(["card", "amount"], ["sum(amount)"])
    ['amount']
    """
    text = " ".join(expressions).lower()
    return [name for name in columns if re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text)]


def one_line(text: str) -> str:
    """Return a text with all white space collapsed."""
    return " ".join(text.split())


def sql_text(expression: Any) -> str:
    """Return an expression as text for a document.

    Raises:
        OptionError: it is a pyspark Column or an aggregate in Python.
    """
    if isinstance(expression, str):
        return expression
    kind = (
        f"an aggregate in Python, {expression}," if isinstance(expression, PythonFold) else "a pyspark Column"
    )
    raise OptionError(f"{kind} cannot be written in a document", hint="write it as Spark SQL text")


def sql_texts(named: Named) -> dict[str, str]:
    """Return named expressions as texts for a document."""
    return {name: sql_text(expression) for name, expression in named}


def hidden_key(name: str) -> str:
    """Return the name of the hidden column of a computed key.

    >>> hidden_key("day")
    '__key_day'
    """
    return f"__key_{name}"
