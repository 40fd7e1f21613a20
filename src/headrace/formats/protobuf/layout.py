"""Describe a message and its columns for the kernel, which reads and writes the wire format."""

from __future__ import annotations

from typing import Any

from headrace.formats.protobuf.columns import KINDS, MESSAGE, form_of, is_map
from headrace.schemas.datatypes import Array, DataType, Field, Map, Struct


def layout_of(message: Any, columns: Struct) -> dict[str, Any]:
    """Return the layout of a message: for each column the number, kind and label of its field.

    Fields without a column are omitted, except members of a `oneof` that has columns: they unset the others.
    """
    fields = [
        _field(message.fields_by_name[column.name], index, column)
        for index, column in enumerate(columns.fields)
    ]
    names = {column.name for column in columns.fields}
    oneofs = {field["oneof"] for field in fields if "oneof" in field}
    rest = [field for field in message.fields if field.name not in names and _oneof(field) in oneofs]
    fields += [{"number": field.number, "name": field.name, "oneof": _oneof(field)} for field in rest]
    return {"name": message.full_name, "form": "message", "width": len(columns.fields), "fields": fields}


def _field(field: Any, index: int, column: Field) -> dict[str, Any]:
    layout = {"number": field.number, "name": field.name, "column": index, "label": _label(field)}
    kind = column.type.element if isinstance(column.type, Array) else column.type
    if not column.nullable:
        layout["not_null"] = True
    if (oneof := _oneof(field)) is not None:
        layout["oneof"] = oneof
    return layout | _kind(field, kind)


def _kind(field: Any, kind: DataType) -> dict[str, Any]:
    if field.type == MESSAGE:
        return {"kind": "message", "message": _message(field.message_type, kind)}
    layout: dict[str, Any] = {"kind": KINDS[field.type]}
    if (enum := field.enum_type) is not None:
        layout["enum"] = {
            "closed": bool(enum.is_closed),
            "names": [[value.name, value.number] for value in enum.values],
        }
    return layout


def _message(message: Any, kind: DataType) -> dict[str, Any]:
    form = form_of(message)
    if form == "message":
        return layout_of(message, kind if isinstance(kind, Struct) else Struct(()))
    types = (kind.key, kind.value) if isinstance(kind, Map) else (kind, kind)
    fields = [
        # An absent part of a map entry, a wrapper, a timestamp or a duration is its default.
        {"number": each.number, "name": each.name, "column": index, "label": "implicit"} | _kind(each, part)
        for index, (each, part) in enumerate(zip(message.fields, types, strict=False))
    ]
    return {"name": message.full_name, "form": form, "width": len(fields), "fields": fields}


def _label(field: Any) -> str:
    if field.is_repeated:
        return "map" if is_map(field) else "packed" if field.is_packed else "repeated"
    if field.is_required:
        return "required"
    return "optional" if field.has_presence else "implicit"


def _oneof(field: Any) -> str | None:
    return None if field.containing_oneof is None else field.containing_oneof.name
