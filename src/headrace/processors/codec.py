"""State of a key as bytes: plain values in pickle format, dataclasses and models as dicts of their fields.

A class can gain fields: those that the bytes lack get their defaults.
"""

from __future__ import annotations

import dataclasses
import datetime
import io
import pickle
import types
import typing
import zoneinfo
from collections.abc import Callable
from typing import Any

from headrace.functions.rows import row_class

Convert = Callable[[Any], Any]
Converters = dict[str, tuple[Convert, Convert]]
"""By attribute, the conversion to plain values and back."""
_SAFE = ("datetime", "decimal", "uuid", "zoneinfo", "collections")
_BUILTINS = (
    *("set", "frozenset", "bytearray", "complex", "range", "slice"),
    *("list", "dict", "tuple", "int", "float", "str", "bool"),  # as the default of a defaultdict
)


_ROW = types.SimpleNamespace
"""Stands for rows: pickle stores a class by its name, and code that is sent to workers by value has none."""


class _Writer(pickle.Pickler):
    """Rejects objects that another version of the user's code could not read."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, tuple) and hasattr(obj, "columns"):
            return _ROW, (tuple(obj.columns), tuple(obj))
        if isinstance(obj, datetime.tzinfo) and not isinstance(obj, datetime.timezone):
            return _reduce_zone(obj)
        kind = obj if isinstance(obj, type) else type(obj)
        module = kind.__module__.partition(".")[0]
        if obj is _ROW or module in _SAFE or (module == "builtins" and kind.__name__ in _BUILTINS):
            return NotImplemented
        what = f"state cannot hold a {kind.__qualname__}"
        raise TypeError(f"{what}; use plain values, or annotate the state with a dataclass or pydantic model")


class _Reader(pickle.Unpickler):
    """Reads the output of `_Writer`; rejects any other class."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (_ROW.__module__, _ROW.__name__):
            return _make_row
        if module.partition(".")[0] in _SAFE or (module == "builtins" and name in _BUILTINS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"state holds {module}.{name}, which no version of Headrace writes")


def _reduce_zone(zone: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the reconstruction of a zoneinfo or pytz time zone, for pickle."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if name == "UTC":
        return datetime.timezone, (datetime.timedelta(0),)
    if name is None:
        raise TypeError(f"state cannot hold the time zone {zone!r}; convert the time to UTC")
    return zoneinfo.ZoneInfo, (name,)


def _make_row(columns: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return row_class(columns)(*values)


def dump(value: Any) -> bytes:
    """Return plain values as bytes.

    Raises:
        TypeError: a value is of a class that cannot be read back.
    """
    buffer = io.BytesIO()
    _Writer(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def load(content: bytes) -> Any:
    """Return the values of `dump`."""
    return _Reader(io.BytesIO(content)).load()


def converters(owner: type) -> Converters:
    """Return, for each annotated attribute that needs it, the conversion to plain values and back.

    Annotations are resolved where the class was imported: in a worker its module may not exist.
    """
    try:
        hints = typing.get_type_hints(owner)
    except Exception:  # a hint may name a type that only a type checker imports
        return {}
    pairs = {name: _pair(hint) for name, hint in hints.items()}
    return {name: pair for name, pair in pairs.items() if pair is not None}


def _pair(hint: Any) -> tuple[Convert, Convert] | None:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        pairs = [pair for kind in arguments if (pair := _pair(kind)) is not None]
        return _optional(pairs[0]) if len(pairs) == 1 else None
    if origin is list and (inner := _pair(arguments[0])) is not None:
        return _each(inner[0]), _each(inner[1])
    if origin is dict and (inner := _pair(arguments[1])) is not None:
        return _each_value(inner[0]), _each_value(inner[1])
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass_pair(hint)
    if isinstance(hint, type) and hasattr(hint, "model_validate"):
        return (lambda model: model.model_dump()), hint.model_validate
    return None


def _dataclass_pair(kind: Any) -> tuple[Convert, Convert]:
    inner = converters(kind)
    names = [field.name for field in dataclasses.fields(kind)]

    def to_plain(record: Any) -> dict[str, Any]:
        values = {name: getattr(record, name) for name in names}
        return values | {name: inner[name][0](values[name]) for name in inner if name in values}

    def from_plain(values: dict[str, Any]) -> Any:
        known = {name: value for name, value in values.items() if name in names}
        return kind(**known | {name: inner[name][1](known[name]) for name in inner if name in known})

    return to_plain, from_plain


def _optional(pair: tuple[Convert, Convert]) -> tuple[Convert, Convert]:
    def skip_none(convert: Convert) -> Convert:
        return lambda value: None if value is None else convert(value)

    return skip_none(pair[0]), skip_none(pair[1])


def _each(convert: Convert) -> Convert:
    return lambda values: [convert(value) for value in values]


def _each_value(convert: Convert) -> Convert:
    return lambda values: {key: convert(value) for key, value in values.items()}
