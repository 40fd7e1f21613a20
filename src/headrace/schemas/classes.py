"""Derive columns from a dataclass or a pydantic model."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from typing import Annotated, Any, Literal, Union

import pydantic
from pydantic.fields import FieldInfo

from headrace.errors import SchemaError
from headrace.schemas.datatypes import Array, DataType, Decimal, Field, Map, Scalar, Struct

_SCALARS: dict[Any, DataType] = {
    str: Scalar("string"),
    bytes: Scalar("binary"),
    bool: Scalar("boolean"),
    int: Scalar("bigint"),
    float: Scalar("double"),
    decimal.Decimal: Decimal(38, 18),
    datetime.datetime: Scalar("timestamp"),
    datetime.date: Scalar("date"),
    datetime.timedelta: Scalar("interval day to second"),
    uuid.UUID: Scalar("string"),
    pydantic.AwareDatetime: Scalar("timestamp"),
    pydantic.NaiveDatetime: Scalar("timestamp_ntz"),
}
_SEQUENCES = (
    list,
    tuple,
    set,
    frozenset,
    collections.abc.Sequence,
    collections.abc.Set,
    collections.abc.Iterable,
)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_HINT = (
    "use str, int, float, bool, bytes, Decimal, datetime, date, timedelta, list, dict or another record class"
)


def is_record(candidate: type) -> bool:
    """Return True for a dataclass or a pydantic model."""
    return dataclasses.is_dataclass(candidate) or issubclass(candidate, pydantic.BaseModel)


def fields_of(record: type, inside: tuple[type, ...] = ()) -> tuple[Field, ...]:
    """Return the fields of a class as columns; a field that has no default and is not Optional is NOT NULL.

    Decoding does not use the validators, defaults and methods of the class.
    """
    if record in inside:
        path = " -> ".join(c.__name__ for c in (*inside, record))
        raise SchemaError(f"{path} is recursive: a column cannot contain its own type", where=record.__name__)
    chain = (*inside, record)
    fields = (
        _model_fields(record, chain)
        if issubclass(record, pydantic.BaseModel)
        else _data_fields(record, chain)
    )
    if not fields:
        raise SchemaError("expected at least one field, got a class without any", where=record.__name__)
    return fields


def type_of_hint(hint: Any, where: str) -> DataType:
    """Return the column type of a type hint; a class of records is a struct.

    Raises:
        SchemaError: no column has the type.
    """
    return _type(hint, where, ())[0]


def _data_fields(record: Any, chain: tuple[type, ...]) -> tuple[Field, ...]:
    hints = _hints(record)
    missing = dataclasses.MISSING
    return tuple(
        _field(f.name, hints[f.name], f.default is missing and f.default_factory is missing, record, chain)
        for f in dataclasses.fields(record)
    )


def _model_fields(model: type[pydantic.BaseModel], chain: tuple[type, ...]) -> tuple[Field, ...]:
    fields = []
    for name, info in model.model_fields.items():
        alias = info.validation_alias if isinstance(info.validation_alias, str) else info.alias
        hint = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        field = _field(alias or name, hint, info.is_required(), model, chain)
        fields.append(dataclasses.replace(field, comment=info.description or ""))
    return tuple(fields)


def _field(name: str, hint: Any, required: bool, record: type, chain: tuple[type, ...]) -> Field:
    kind, optional = _type(hint, f"{record.__name__}.{name}", chain)
    return Field(name, kind, nullable=optional or not required)


def _type(hint: Any, where: str, chain: tuple[type, ...]) -> tuple[DataType, bool]:
    """Return the column type of a type hint, and whether it allows None."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        kind, optional = _type(args[0], where, chain)
        return _digits(kind, args[1:]), optional
    if origin in (Union, types.UnionType):
        return _union(hint, args, where, chain)
    if origin is Literal:
        return _values(args, hint, where), None in args
    if origin is not None:
        return _container(hint, where, chain), False
    return _plain(hint, where, chain), False


def _container(hint: Any, where: str, chain: tuple[type, ...]) -> DataType:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    inner = [_type(arg, where, chain)[0] for arg in args if arg is not Ellipsis]
    if origin in _MAPPINGS and len(inner) == 2:
        return Map(*inner)
    if origin in _SEQUENCES and len(inner) == 1:
        return Array(*inner)
    raise _no_type(hint, where)


def _plain(hint: Any, where: str, chain: tuple[type, ...]) -> DataType:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if not isinstance(hint, type):
        raise _no_type(hint, where)
    if issubclass(hint, enum.Enum):
        return _values([member.value for member in hint], hint, where)
    if is_record(hint):
        return Struct(fields_of(hint, chain))
    for base in (int, float, str, bytes, decimal.Decimal):
        if issubclass(hint, base):
            return _SCALARS[base]
    raise _no_type(hint, where)


def _no_type(hint: Any, where: str) -> SchemaError:
    return SchemaError(f"no column type for `{_name(hint)}`", where=where, hint=_HINT)


def _union(hint: Any, args: tuple[Any, ...], where: str, chain: tuple[type, ...]) -> tuple[DataType, bool]:
    rest = [arg for arg in args if arg is not types.NoneType]
    if len(rest) != 1:
        what = f"a column has one type, got `{_name(hint)}`"
        raise SchemaError(what, where=where, hint="only `X | None` is a column")
    return _type(rest[0], where, chain)[0], len(rest) < len(args)


def _values(values: typing.Iterable[Any], hint: Any, where: str) -> DataType:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) != 1 or not (kinds <= {str, int, bool, float}):
        what = f"expected values of one plain type, got `{_name(hint)}`"
        raise SchemaError(what, where=where, hint="values of text make a string column")
    return _SCALARS[kinds.pop()]


def _digits(kind: DataType, metadata: typing.Iterable[Any]) -> DataType:
    """Return a decimal with the digits of `pydantic.Field(max_digits=10, decimal_places=2)`."""
    if not isinstance(kind, Decimal):
        return kind
    digits: dict[str, int] = {}
    for item in metadata:
        parts = item.metadata if isinstance(item, FieldInfo) else [item]
        for part in parts:
            digits |= {
                k: v for k in ("max_digits", "decimal_places") if (v := getattr(part, k, None)) is not None
            }
    if not digits:
        return kind
    scale = digits.get("decimal_places", min(18, digits.get("max_digits", 38)))
    return Decimal(digits.get("max_digits", 38), scale)


def _hints(record: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(record, include_extras=True)
    except NameError as error:
        hint = "define it in the module, not inside a function"
        raise SchemaError(f"unknown type `{error.name}`", where=record.__name__, hint=hint) from error


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
