"""Compare columns with the fields of a message, for sources and for sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import did_you_mean
from headrace.formats.protobuf.columns import GROUP, KINDS, is_map, plain_type
from headrace.schemas.datatypes import Array, DataType, Decimal, Map, Scalar, Struct

Accepts = Callable[[Any, DataType], bool]
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DAY_TIME = ("interval day", "interval hour", "interval minute", "interval second")


@dataclass(frozen=True)
class Mismatch:
    """A column that does not fit the message: its path, the problem and a hint."""

    path: str
    what: str
    hint: str

    def locate(self, where: str) -> str:
        """Return the location of the column, inside another location if there is one."""
        column = f"column `{self.path}`"
        return f"{where}: {column}" if where else column


def equals(field: Any, kind: DataType) -> bool:
    """Return True if a source decodes a field into that type."""
    return plain_type(field) == kind


def encodes(field: Any, kind: DataType) -> bool:
    """Return True if a sink can encode values of that type; integers are checked when they are encoded."""
    own = plain_type(field)
    if own in (Scalar("int"), Scalar("bigint"), Decimal(20, 0)):
        return str(kind) in _INTEGERS or (isinstance(kind, Decimal) and kind.scale == 0)
    if own == Scalar("double"):
        return kind in (own, Scalar("float"))
    if own == Scalar("interval day to second"):
        return str(kind).startswith(_DAY_TIME)
    return own == kind


def find_mismatches(
    message: Any, columns: Mapping[str, DataType | None], accepts: Accepts, path: str = ""
) -> Iterator[Mismatch]:
    """Yield the columns that are not fields of the message, or do not have a type that fits.

    Args:
        message: the descriptor.
        columns: types by name; None if the type is not known yet.
        accepts: decides about the type of one value.
        path: the path of the message in the row.
    """
    for name, kind in columns.items():
        field = message.fields_by_name.get(name)
        if field is None:
            hint = did_you_mean(name, [each.name for each in message.fields])
            yield Mismatch(path + name, f"the message {message.full_name} has no such field", hint)
        elif kind is not None:
            yield from _compare(field, kind, accepts, path + name)


def missing_fields(message: Any, columns: Iterable[str]) -> list[str]:
    """Return the required fields (proto2) for which there is no column."""
    present = set(columns)
    return [field.name for field in message.fields if field.is_required and field.name not in present]


def _compare(field: Any, kind: DataType, accepts: Accepts, path: str) -> Iterator[Mismatch]:
    if is_map(field):
        if not isinstance(kind, Map):
            yield _mismatch(path, field, kind, "a map")
            return
        entry = field.message_type.fields_by_name
        yield from _compare_value(entry["key"], kind.key, accepts, f"{path}{{key}}")
        yield from _compare_value(entry["value"], kind.value, accepts, f"{path}{{}}")
    elif field.is_repeated:
        if isinstance(kind, Array):
            yield from _compare_value(field, kind.element, accepts, f"{path}[]")
        else:
            yield _mismatch(path, field, kind, "an array")
    else:
        yield from _compare_value(field, kind, accepts, path)


def _compare_value(field: Any, kind: DataType, accepts: Accepts, path: str) -> Iterator[Mismatch]:
    if field.type == GROUP:
        yield Mismatch(path, "groups are not supported", "leave the column out")
    elif (own := plain_type(field)) is not None:
        if not accepts(field, kind):
            verb = "convert it before the sink" if accepts is encodes else "declare it"
            yield _mismatch(path, field, kind, str(own), hint=f"{verb} as {own}")
    elif not isinstance(kind, Struct):
        yield _mismatch(path, field, kind, "a struct")
    else:
        fields = {each.name: each.type for each in kind.fields}
        yield from find_mismatches(field.message_type, fields, accepts, f"{path}.")
        for name in missing_fields(field.message_type, fields) if accepts is encodes else ():
            yield Mismatch(f"{path}.{name}", "the field is required, but there is no such column", "")


def _mismatch(path: str, field: Any, kind: DataType, expected: str, hint: str = "") -> Mismatch:
    declared = KINDS.get(field.type) or f"message {field.message_type.full_name}"
    return Mismatch(path, f"expected {expected} for the field of type {declared}, got {kind}", hint)
