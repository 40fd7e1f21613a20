"""Keys on the command line: `4711`, `card=4711`, `1,2`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

NULL = "null"
"""Text of a null key."""


def key_of(arguments: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the value of each key column, as text.

    The value of a single column may contain commas. Values of several columns are named, or in the order of
    the columns, as separate arguments or separated by commas.

    >>> key_of(["4711"], ["card"]), key_of(["city=Turku", "card=4711"], ["card", "city"])
    ({'card': '4711'}, {'card': '4711', 'city': 'Turku'})
    >>> key_of(["4711,Turku"], ["card", "city"])
    {'card': '4711', 'city': 'Turku'}

    Raises:
        OptionError: a column is missing, unknown, or given twice.
    """
    if not columns and not arguments:
        return {}
    if not columns:
        raise OptionError("the step has no key", where="--key", hint="leave --key out")
    values = _parse_named(arguments, columns) or _parse_positional(arguments, columns)
    if values is None:
        text = " ".join(arguments) or "none"
        raise OptionError(
            f"expected {' and '.join(columns)}, got {text}", where="--key", hint=_describe_syntax(columns)
        )
    return values


def is_key(key: Mapping[str, str], schema: StructType, within: str = "") -> Column:
    """Return a condition that is true for rows with the key; `within` names the struct of the key columns."""
    conditions = []
    for name, value in key.items():
        column = F.col(f"{within}.`{name}`" if within else f"`{name}`")
        read = F.lit(value).try_cast(schema[name].dataType)
        same = [column.cast("string") == value, column == read]
        if value == NULL:
            same.append(column.isNull())
        conditions.append(reduce(or_, (F.coalesce(test, F.lit(False)) for test in same)))
    return reduce(and_, conditions) if conditions else F.lit(True)


def _parse_named(arguments: Sequence[str], columns: Sequence[str]) -> dict[str, str] | None:
    pairs = [(name, value) for name, equals, value in (text.partition("=") for text in arguments) if equals]
    names = [name for name, _ in pairs]
    if len(pairs) < len(arguments) or (len(columns) == 1 and names != list(columns)):
        return None
    for name in names:
        if name not in columns:
            raise OptionError(f"unknown key column `{name}`", where="--key", hint=did_you_mean(name, columns))
    return {name: dict(pairs)[name] for name in columns} if sorted(names) == sorted(columns) else None


def _parse_positional(arguments: Sequence[str], columns: Sequence[str]) -> dict[str, str] | None:
    values = list(arguments)
    if len(arguments) == 1 < len(columns):
        values = arguments[0].split(",")
    return dict(zip(columns, values, strict=True)) if len(values) == len(columns) else None


def _describe_syntax(columns: Sequence[str]) -> str:
    named = " ".join(f"--key {name}=..." for name in columns)
    return f"write {named}" + (f", or --key {','.join('...' for _ in columns)}" if len(columns) > 1 else "")
