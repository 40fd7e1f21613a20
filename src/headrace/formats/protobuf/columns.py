"""The column types of Protobuf fields."""

from __future__ import annotations

from typing import Any

from headrace.errors import SchemaError
from headrace.schemas.datatypes import Array, DataType, Decimal, Field, Map, Scalar, Struct

GROUP, MESSAGE, ENUM = 10, 11, 14
KINDS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    ENUM: "enum",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
"""The names of scalar types, by their number in descriptors."""
_INT, _BIGINT, _UNSIGNED = Scalar("int"), Scalar("bigint"), Decimal(20, 0)
_SCALARS: dict[str, DataType] = {
    "double": Scalar("double"),
    "float": Scalar("float"),
    "int32": _INT,
    "sint32": _INT,
    "sfixed32": _INT,
    "uint32": _BIGINT,
    "fixed32": _BIGINT,
    "int64": _BIGINT,
    "sint64": _BIGINT,
    "sfixed64": _BIGINT,
    "uint64": _UNSIGNED,
    "fixed64": _UNSIGNED,
    "bool": Scalar("boolean"),
    "string": Scalar("string"),
    "enum": Scalar("string"),
    "bytes": Scalar("binary"),
}
_TIMES = {
    "google.protobuf.Timestamp": Scalar("timestamp"),
    "google.protobuf.Duration": Scalar("interval day to second"),
}
_WRAPPERS = {f"google.protobuf.{name}Value": name for name in ("Double", "Float", "Bool", "String", "Bytes")}
_WRAPPERS |= {f"google.protobuf.{name}Value": name for name in ("Int32", "Int64", "UInt32", "UInt64")}


def derive_columns(message: Any, *, where: str) -> tuple[Field, ...]:
    """Return the columns of a message, in the order of its declaration.

    Raises:
        SchemaError: a field has no column type.
    """
    return _fields(message, "", (message.full_name,), where)


def form_of(message: Any) -> str:
    """Return how a message becomes a value: `timestamp`, `duration`, `wrapper`, `map` or `message`."""
    if message.full_name in _TIMES:
        return message.full_name.rpartition(".")[2].lower()  # type: ignore[no-any-return]
    if message.full_name in _WRAPPERS:
        return "wrapper"
    return "map" if message.GetOptions().map_entry else "message"


def is_map(field: Any) -> bool:
    """Return True for a map field, which descriptors declare as a repeated message."""
    return field.type == MESSAGE and bool(field.message_type.GetOptions().map_entry)


def plain_type(field: Any) -> DataType | None:
    """Return the type of one value of a field; None for a message with columns of its own, and for groups."""
    if field.type in KINDS:
        return _SCALARS[KINDS[field.type]]
    if field.type == MESSAGE and field.message_type.full_name in _WRAPPERS:
        return plain_type(field.message_type.fields[0])
    return _TIMES.get(field.message_type.full_name) if field.type == MESSAGE else None


def _fields(message: Any, path: str, trail: tuple[str, ...], where: str) -> tuple[Field, ...]:
    if not message.fields:
        raise _unsupported(path, f"the message {message.full_name} has no fields", where)
    seen: set[str] = set()
    for field in message.fields:
        if field.name.lower() in seen:
            what = f"two fields are called `{field.name.lower()}`, and names are compared without case"
            raise _unsupported(path, what, where)
        seen.add(field.name.lower())
    return tuple(
        Field(field.name, _type(field, f"{path}{field.name}", trail, where), nullable=not field.is_required)
        for field in message.fields
    )


def _type(field: Any, path: str, trail: tuple[str, ...], where: str) -> DataType:
    if is_map(field):
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        return Map(_value(key, path, trail, where), _value(value, f"{path}{{}}", trail, where))
    if field.is_repeated:
        return Array(_value(field, f"{path}[]", trail, where))
    return _value(field, path, trail, where)


def _value(field: Any, path: str, trail: tuple[str, ...], where: str) -> DataType:
    if field.type == GROUP:
        raise _unsupported(path, "groups are not supported", where)
    if (kind := plain_type(field)) is not None:
        return kind
    name = field.message_type.full_name
    if name in trail:
        raise _unsupported(path, f"the message {name} is recursive", where)
    return Struct(_fields(field.message_type, f"{path}.", (*trail, name), where))


def _unsupported(path: str, what: str, where: str) -> SchemaError:
    path = path.rstrip(".")
    location = ": ".join(filter(None, [where, f"field `{path}`" if path else ""]))
    return SchemaError(what, where=location, hint='select other fields with schema="..."')
