"""Keys as people write them on a command line: `4711`, `card=4711`, `1,2`."""

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
"""How a key column without a value is written."""


def key_of(given: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The value of each key column, as text.

    With one column its value is taken whole, commas and all. With several, either each is named, or all values are given
    in the columns' order, one by one or with commas between.

    >>> key_of(["4711"], ["card"]), key_of(["city=Turku", "card=4711"], ["card", "city"])
    ({'card': '4711'}, {'card': '4711', 'city': 'Turku'})
    >>> key_of(["4711,Turku"], ["card", "city"])
    {'card': '4711', 'city': 'Turku'}

    Raises:
        OptionError: a column is missing, unknown, or given twice.
    """
    if not columns and not given:
        return {}
    if not columns:
        hint = "leave --key out"
        raise OptionError("the step has no key: all rows are looked at together", where="--key", hint=hint)
    values = _named(given, columns) or _in_order(given, columns)
    if values is None:
        said = " ".join(given) or "none"
        raise OptionError(f"expected {' and '.join(columns)}, got {said}", where="--key", hint=_form(columns))
    return values


def is_key(key: Mapping[str, str], schema: StructType, within: str = "") -> Column:
    """Whether a row has the key; `within` names the struct that its columns are in."""
    conditions = []
    for name, value in key.items():
        column = F.col(f"{within}.`{name}`" if within else f"`{name}`")
        read = F.lit(value).try_cast(schema[name].dataType)
        same = [column.cast("string") == value, column == read]
        if value == NULL:
            same.append(column.isNull())
        conditions.append(F.coalesce(reduce(or_, (F.coalesce(one, F.lit(False)) for one in same))))
    return reduce(and_, conditions) if conditions else F.lit(True)


def _named(given: Sequence[str], columns: Sequence[str]) -> dict[str, str] | None:
    pairs = [(name, value) for name, equals, value in (text.partition("=") for text in given) if equals]
    names = [name for name, _ in pairs]
    if len(pairs) < len(given) or (len(columns) == 1 and names != list(columns)):
        return None
    for name in names:
        if name not in columns:
            raise OptionError(
                f"no key column is called `{name}`", where="--key", hint=did_you_mean(name, columns)
            )
    return {name: dict(pairs)[name] for name in columns} if sorted(names) == sorted(columns) else None


def _in_order(given: Sequence[str], columns: Sequence[str]) -> dict[str, str] | None:
    values = list(given)
    if len(given) == 1 < len(columns):
        values = given[0].split(",")
    return dict(zip(columns, values, strict=True)) if len(values) == len(columns) else None


def _form(columns: Sequence[str]) -> str:
    named = " ".join(f"--key {name}=..." for name in columns)
    return f"write {named}" + (f", or --key {','.join('...' for _ in columns)}" if len(columns) > 1 else "")
