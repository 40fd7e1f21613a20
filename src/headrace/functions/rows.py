"""Rows of Arrow batches as tuples with attribute access."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

import pyarrow

Convert = Callable[[Any], Any]


def row_class(names: Sequence[str]) -> Any:
    """Return a class of rows with these columns.

    A row is a tuple: `row.amount`, `row["amount"]` and `row[1]` read a column, and unpacking works. A name
    that is no identifier is read with brackets.

    >>> Row = row_class(["card", "amount"])
    >>> row = Row("a", 5)
    >>> row.card, row["amount"], row.to_dict()
    ('a', 5, {'card': 'a', 'amount': 5})
    """
    base: Any = namedtuple("Row", [_identifier(name) for name in names], rename=True)  # type: ignore[misc]
    places = {name: at for at, name in enumerate(names)}

    def __getitem__(self: Any, item: Any) -> Any:  # noqa: N807 - a method of the class below
        return tuple.__getitem__(self, places[item] if isinstance(item, str) else item)

    def to_dict(self: Any) -> dict[str, Any]:
        """Return the columns by name."""
        return dict(zip(names, self, strict=True))

    def __repr__(self: Any) -> str:  # noqa: N807
        return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(names, self, strict=True))})"

    members = {"__slots__": (), "__getitem__": __getitem__, "to_dict": to_dict, "__repr__": __repr__}
    return type("Row", (base,), {**members, "columns": tuple(names)})


def _identifier(name: str) -> str:
    """Return the name, or one that `namedtuple` replaces."""
    return "class" if name in ("to_dict", "columns") else name


def iterate_rows(batch: pyarrow.RecordBatch, row: Any) -> Iterator[Any]:
    """Iterate the rows of a batch as objects of a row class."""
    if not batch.num_columns:
        return iter([row()] * batch.num_rows)
    values = zip(*(column_values(column) for column in batch.columns), strict=True)
    return map(tuple.__new__, repeat(row), values)  # half the time of the class's own constructor


def column_values(column: pyarrow.Array) -> list[Any]:
    """Return the values of a column; structs are rows, maps are dicts."""
    convert = _converter(column.type)
    values: list[Any] = column.to_pylist()
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _converter(kind: pyarrow.DataType) -> Convert | None:
    """Return the conversion of pyarrow's value for a type; None if it needs none."""
    if pyarrow.types.is_struct(kind):
        return _struct_converter(kind)
    if pyarrow.types.is_map(kind):
        key, item = _or_same(_converter(kind.key_type)), _or_same(_converter(kind.item_type))
        return lambda pairs: {key(name): item(value) for name, value in pairs}
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        inner = _converter(kind.value_type)
        return None if inner is None else lambda values: [_or_same(inner)(value) for value in values]
    return None


def _struct_converter(kind: pyarrow.DataType) -> Convert:
    fields = [kind.field(at) for at in range(kind.num_fields)]
    inner = [_or_same(_converter(field.type)) for field in fields]
    row = row_class([field.name for field in fields])
    return lambda value: row(*(f(item) for f, item in zip(inner, value.values(), strict=True)))


def _or_same(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)
