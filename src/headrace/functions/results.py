"""Results of user functions as Arrow columns of the declared output."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow

from headrace.functions.failures import Failure, WrongResult

Values = Sequence[Any]
_EXACT: dict[Any, tuple[type, range | None]] = {
    pyarrow.string(): (str, None),
    pyarrow.float64(): (float, None),
    pyarrow.bool_(): (bool, None),
    pyarrow.binary(): (bytes, None),
    pyarrow.int64(): (int, range(-(2**63), 2**63)),
    pyarrow.int32(): (int, range(-(2**31), 2**31)),
    pyarrow.timestamp("us", tz="UTC"): (datetime.datetime, None),
}
"""Python types whose values, within limits, always fit an Arrow type."""
_PLAIN = (str, float, bool, bytes, int)
_ERRORS = (pyarrow.ArrowException, TypeError, ValueError, OverflowError)


@dataclasses.dataclass(frozen=True)
class PartialResult:
    """The result of a batch some of whose rows failed."""

    rows: pyarrow.Table
    origin: Sequence[int]
    """The input row of each row."""
    failures: dict[int, Failure]
    """By input row."""


class OutputColumns:
    """The columns of a declared output; converts results to values and values to arrays."""

    def __init__(self, schema: pyarrow.Schema) -> None:
        self.schema = schema
        self.names = list(schema.names)
        self._width = len(self.names)
        self._known = set(self.names)
        exact = [_EXACT.get(field.type, (None, None)) for field in schema]
        self._kinds = tuple(kind for kind, _ in exact)
        self._limits = [(at, limits) for at, (_, limits) in enumerate(exact) if limits is not None]

    def values(self, result: Any) -> Values:
        """Return the values of a result, one per column.

        A result is a row, dict, tuple, list, dataclass or pydantic model; with one column, also a plain
        value.

        Raises:
            WrongResult: the result has other columns, or is no row.
        """
        if type(result) is tuple and len(result) == len(self.names):
            return result
        if isinstance(result, dict):
            return self._by_name(result)
        if isinstance(result, tuple | list):
            return self._positional(result)
        fields = _fields(result)
        if fields is not None:
            return self._by_name(fields)
        if len(self.names) == 1 and result is not None:
            return (result,)
        hint = "a dict, tuple, dataclass or pydantic model"
        raise WrongResult(f"returned {_describe(result)}, expected a row: {hint}")

    def _by_name(self, fields: Mapping[str, Any]) -> Values:
        if not fields.keys() <= self._known:
            extra = ", ".join(f"`{name}`" for name in fields if name not in self._known)
            raise WrongResult(f"returned the columns {extra}, which `output` does not declare")
        return [fields.get(name) for name in self.names]

    def _positional(self, result: Values) -> Values:
        columns = None if type(result) in (tuple, list) else _columns(type(result))
        if columns is not None:
            return self._by_name(dict(zip(columns, result, strict=True)))
        if len(result) != len(self.names):
            expected = ", ".join(self.names)
            raise WrongResult(f"returned {len(result)} values, expected {len(self.names)}: {expected}")
        return result

    def columns_of(self, results: Sequence[Any]) -> Sequence[Values] | None:
        """Return the columns of results of one suitable class; None for others, see `values`."""
        kinds = set(map(type, results))
        kind: Any = kinds.pop() if len(kinds) == 1 else None
        if len(self.names) == 1 and kind in _PLAIN:
            return [results]
        if kind is tuple or kind is dict:
            if set(map(len, results)) != {len(self.names)}:
                return None
            return self.transpose(results) if kind is tuple else self._read(results, itemgetter)
        if kind is not None and issubclass(kind, tuple) and _columns(kind) == self.names:
            return [[*map(tuple.__getitem__, results, repeat(at))] for at in range(len(self.names))]
        return self._read(results, attrgetter) if {*(_field_names(kind) or ())} == self._known else None

    def _read(self, results: Sequence[Any], getter: Callable[[str], Any]) -> Sequence[Values] | None:
        try:
            return [[*map(getter(name), results)] for name in self.names]
        except (KeyError, AttributeError):
            return None

    def transpose(self, rows: Sequence[Values]) -> Sequence[Values]:
        """Return the columns of rows."""
        return [[*map(itemgetter(at), rows)] for at in range(len(self.names))]  # faster than zip(*rows)

    def arrays(self, columns: Sequence[Values]) -> list[pyarrow.Array]:
        """Return the columns as Arrow arrays.

        Raises:
            WrongResult: a value does not fit its column.
        """
        return [self._array(field, values) for field, values in zip(self.schema, columns, strict=True)]

    def checked(self, values: Values) -> Values:
        """Return the values of one row, after checking them with Arrow.

        Raises:
            WrongResult: a value does not fit its column.
        """
        self.arrays([[value] for value in values])
        return values

    def checked_values(self, result: Any) -> Values:
        """Return the values of a result, after checking them by Python type or, if necessary, with Arrow.

        Raises:
            WrongResult: the result is no row, or a value does not fit its column.
        """
        values = result if type(result) is tuple and len(result) == self._width else self.values(result)
        if tuple(map(type, values)) != self._kinds and not self._fits_with_nulls(values):
            return self.checked(values)
        for at, limits in self._limits:
            if values[at] not in limits and values[at] is not None:
                return self.checked(values)
        return values

    def _fits_with_nulls(self, values: Values) -> bool:
        return all(
            type(value) is kind or (value is None and field.nullable)
            for value, kind, field in zip(values, self._kinds, self.schema, strict=True)
        )

    def _array(self, field: pyarrow.Field, values: Values) -> pyarrow.Array:
        try:
            array = pyarrow.array(values, type=field.type, from_pandas=False)
        except _ERRORS:
            array = _array_of_plain(field, values)
        if not field.nullable and array.null_count:
            raise WrongResult(f"returned no value for column `{field.name}`, which is NOT NULL")
        return array


def _array_of_plain(field: pyarrow.Field, values: Values) -> pyarrow.Array:
    try:
        return pyarrow.array([_plain(value) for value in values], type=field.type, from_pandas=False)
    except _ERRORS as error:
        example = next((value for value in values if value is not None), None)
        what = f"returned {_describe(example)} for column `{field.name}`, expected {field.type}: {error}"
        raise WrongResult(what) from None


def _fields(result: Any) -> dict[str, Any] | None:
    """Return the fields of a dataclass or pydantic model; None for other values."""
    names = _field_names(type(result))
    return {name: getattr(result, name) for name in names} if names is not None else None


def _field_names(kind: Any) -> list[str] | None:
    """Return the names of the fields of a dataclass or pydantic model; None for others."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    fields = getattr(kind, "model_fields", None)
    return [*fields] if isinstance(fields, dict) else None


def _columns(kind: type) -> list[str] | None:
    """Return the names of a row or named tuple; None for other tuples."""
    columns = getattr(kind, "columns", None) or getattr(kind, "_fields", None)
    return None if columns is None else [*columns]


def _plain(value: Any) -> Any:
    """Return a value that Arrow can convert: nested rows and models are dicts."""
    fields = value if isinstance(value, dict) else _fields(value)
    columns = getattr(value, "columns", None) if isinstance(value, tuple) else None
    if columns is not None:
        fields = dict(zip(columns, value, strict=True))
    if fields is not None:
        return {name: _plain(item) for name, item in fields.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.value
    return str(value) if isinstance(value, uuid.UUID) else value


def _describe(value: Any) -> str:
    text = repr(value)
    return "None" if value is None else f"{type(value).__name__} {text[:80]}"
