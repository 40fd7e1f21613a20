"""Results of user functions as Arrow columns of the declared output."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow

from headrace.functions.failures import WrongResult

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
_ERRORS = (pyarrow.ArrowException, TypeError, ValueError, OverflowError)


class OutputColumns:
    """The columns of a declared output; converts results to values and values to arrays."""

    def __init__(self, schema: pyarrow.Schema) -> None:
        self.schema = schema
        self.names = list(schema.names)
        self._known = set(self.names)
        self._exact = [(*_EXACT.get(field.type, (None, None)), field.nullable) for field in schema]

    def values(self, result: Any) -> Values:
        """Return the values of a result, one per column.

        A result is a row, dict, tuple, list, dataclass or pydantic model; with one column, also a plain
        value.

        Raises:
            WrongResult: the result has other columns, or is no row.
        """
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
        columns = getattr(result, "columns", None) or getattr(result, "_fields", None)
        if columns is not None:
            return self._by_name(dict(zip(columns, result, strict=True)))
        if len(result) != len(self.names):
            expected = ", ".join(self.names)
            raise WrongResult(f"returned {len(result)} values, expected {len(self.names)}: {expected}")
        return result

    def arrays(self, rows: Sequence[Values]) -> list[pyarrow.Array]:
        """Return the columns of rows whose values fit.

        Raises:
            WrongResult: a value does not fit its column.
        """
        columns: Sequence[Values] = list(zip(*rows, strict=True)) if rows else [()] * len(self.names)
        return [self._array(field, values) for field, values in zip(self.schema, columns, strict=True)]

    def check(self, values: Values) -> None:
        """Check the values of one row.

        Raises:
            WrongResult: a value does not fit its column.
        """
        self.arrays([values])

    def check_quickly(self, values: Values) -> None:
        """Check the values of one row by their Python types where these decide, otherwise with Arrow.

        Raises:
            WrongResult: a value does not fit its column.
        """
        for value, (kind, limits, nullable) in zip(values, self._exact, strict=True):
            if value is None and nullable:
                continue
            if type(value) is not kind or (limits is not None and value not in limits):
                self.check(values)
                return

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
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    fields = getattr(type(result), "model_fields", None)
    return {name: getattr(result, name) for name in fields} if isinstance(fields, dict) else None


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
    shown = repr(value)
    return "None" if value is None else f"{type(value).__name__} {shown[:80]}"
