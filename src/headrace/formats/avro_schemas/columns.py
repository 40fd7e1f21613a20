"""Convert between Avro types and columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headrace.errors import SchemaError, did_you_mean
from headrace.formats.avro_schemas.types import RECURSIVE, AvroType
from headrace.schemas.datatypes import Array, DataType, Decimal, Field, Map, Scalar, Struct
from headrace.schemas.fields import Schema

RECORD = "Row"
"""The name of a record that is derived from columns."""
MAX_PRECISION = 38
_HINT = (
    "set the `schema` of the source to the columns that you need; a value of another type is a dead letter"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COLUMNS = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "fixed": "binary",
}
_TIMES = {
    ("int", "date"): "date",
    **{("long", f"timestamp-{unit}"): "timestamp" for unit in ("millis", "micros", "nanos")},
    **{("long", f"local-timestamp-{unit}"): "timestamp_ntz" for unit in ("millis", "micros", "nanos")},
    ("fixed", "uuid"): "string",
}
_WRITTEN: dict[str, Any] = {
    "string": "string",
    "binary": "bytes",
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}
_ACCEPTED = {
    "tinyint": ("int", "long", "float", "double"),
    "smallint": ("int", "long", "float", "double"),
    "int": ("int", "long", "double"),
    "bigint": ("long",),
    "float": ("float", "double"),
    "double": ("double",),
    "boolean": ("boolean",),
    "string": ("string", "enum"),
    "binary": ("bytes", "fixed"),
}
"""The types in which a sink can write a column, besides dates, times and decimals."""


def columns_of(root: AvroType, *, where: str = "avro") -> Schema:
    """Return the columns of an Avro schema: the fields of a record, or `value` for another type.

    >>> from headrace.formats.avro_schemas.types import parse_schema
    >>> columns_of(parse_schema('["null", "long"]')).ddl
    'value bigint'

    Raises:
        SchemaError: a type has no column type, such as a union of string and long.
    """
    if [branch.kind for branch in root.branches] == ["record"]:
        fields = root.branches[0].fields
        return Schema.of(Schema(tuple(_field(f.name, f.type, f.name, where) for f in fields)))
    return Schema((_field("value", root, "value", where),))


def _field(name: str, kind: AvroType, path: str, where: str) -> Field:
    return Field(name, _column_type(kind, path, where), nullable=kind.is_nullable)


def _column_type(kind: AvroType, path: str, where: str) -> DataType:
    branches = kind.branches
    if len(branches) != 1:
        return _union_type(kind, path, where)
    [kind] = branches
    if kind.logical == "decimal" and kind.precision <= MAX_PRECISION:
        return Decimal(kind.precision, kind.scale)
    if kind.kind == "array":
        return Array(_column_type(kind.parts[0], f"{path}[]", where))
    if kind.kind == "map":
        return Map(Scalar("string"), _column_type(kind.parts[0], f"{path}{{}}", where))
    if kind.kind == RECURSIVE:
        what = f"the record {kind.name} contains itself, which columns cannot"
        raise SchemaError(what, where=f"{where}: field `{path}`", hint=_HINT)
    if kind.kind == "record":
        return Struct(tuple(_field(f.name, f.type, f"{path}.{f.name}", where) for f in kind.fields))
    return Scalar(_TIMES.get((kind.kind, kind.logical)) or _COLUMNS[kind.kind])


def _union_type(union: AvroType, path: str, where: str) -> DataType:
    kinds = {branch.logical or branch.kind for branch in union.branches}
    if kinds and kinds <= {"int", "long"}:
        return Scalar("bigint")
    if kinds and kinds <= {"int", "float", "double"} and "double" in kinds:
        return Scalar("double")
    what = f"a {union} has no column type" if kinds else "a value that is always null has no column type"
    raise SchemaError(what, where=f"{where}: field `{path}`", hint=_HINT)


def schema_of(columns: Mapping[str, DataType], *, where: str = "avro") -> str:
    """Return the Avro schema of columns, in JSON; every field may be null.

    >>> schema_of({"n": Scalar("bigint")})
    '{"type": "record", "name": "Row", "fields": [{"name": "n", "type": ["null", "long"], "default": null}]}'

    Raises:
        SchemaError: Avro cannot hold a type, or a name is not an Avro name.
    """
    return json.dumps(_record(RECORD, columns, "", where))


def _record(name: str, columns: Mapping[str, DataType], path: str, where: str) -> dict[str, Any]:
    fields = []
    for column, kind in columns.items():
        place = f"{path}.{column}".removeprefix(".")
        if not _NAME.fullmatch(column):
            what = f"`{column}` is not a name in Avro: letters, digits and _ are"
            raise SchemaError(what, where=f"{where}: column `{place}`", hint="rename it in a select")
        written = _written(kind, f"{name}_{column}", place, where)
        fields.append({"name": column, "type": ["null", written], "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _written(kind: DataType, name: str, path: str, where: str) -> Any:
    if isinstance(kind, Decimal):
        scaled = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **scaled}
    if isinstance(kind, Array):
        return {"type": "array", "items": ["null", _written(kind.element, name, f"{path}[]", where)]}
    if isinstance(kind, Map) and kind.key == Scalar("string"):
        return {"type": "map", "values": ["null", _written(kind.value, name, f"{path}{{}}", where)]}
    if isinstance(kind, Struct):
        return _record(name, {field.name: field.type for field in kind.fields}, path, where)
    if isinstance(kind, Scalar) and kind.name in _WRITTEN:
        return _WRITTEN[kind.name]
    raise SchemaError(f"avro cannot hold {kind}", where=f"{where}: column `{path}`", hint="cast it to string")


def check_columns(root: AvroType, columns: Mapping[str, DataType], *, where: str = "avro") -> None:
    """Check that rows with these columns can be written in an Avro schema.

    Raises:
        SchemaError: a column has no field of its name or another type, or a field has neither a column nor
            a default.
    """
    if root.kind != "record":
        raise SchemaError(f"a sink writes a record, got the Avro schema of a {root}", where=where)
    if problem := _mismatch(root, columns, ""):
        path, what, hint = problem
        raise SchemaError(what, where=f"{where}: column `{path}`", hint=hint)


def _mismatch(record: AvroType, columns: Mapping[str, DataType], path: str) -> tuple[str, str, str] | None:
    fields = {field.name: field for field in record.fields}
    for name, kind in columns.items():
        place = f"{path}.{name}".removeprefix(".")
        if name not in fields:
            hint = f"{did_you_mean(name, fields)}; the option `value` selects columns"
            return place, "the Avro schema has no such field", hint
        if problem := _type_mismatch(fields[name].type, kind, place):
            return problem
    for name, field in fields.items():
        if name not in columns and not field.has_default:
            place = f"{path}.{name}".removeprefix(".")
            return place, "the Avro schema requires this column", "add it, or a default to the field"
    return None


def _type_mismatch(avro: AvroType, kind: DataType, path: str) -> tuple[str, str, str] | None:
    """Return the problem if no branch accepts the column."""
    problems = [_branch_mismatch(branch, kind, path) for branch in avro.branches]
    if not problems or None in problems:
        return None if problems else (path, f"{kind} cannot be written as {avro}", "")
    return problems[0]


def _branch_mismatch(avro: AvroType, kind: DataType, path: str) -> tuple[str, str, str] | None:
    if isinstance(kind, Struct) and avro.kind == "record":
        return _mismatch(avro, {field.name: field.type for field in kind.fields}, path)
    if isinstance(kind, Array) and avro.kind == "array":
        return _type_mismatch(avro.parts[0], kind.element, f"{path}[]")
    if isinstance(kind, Map) and avro.kind == "map" and kind.key == Scalar("string"):
        return _type_mismatch(avro.parts[0], kind.value, f"{path}{{}}")
    return None if _accepts(avro, kind) else (path, f"{kind} cannot be written as {avro}", "cast it")


def _accepts(avro: AvroType, kind: DataType) -> bool:
    if isinstance(kind, Decimal):
        digits = avro.precision - avro.scale
        return (
            avro.logical == "decimal" and avro.scale >= kind.scale and digits >= kind.precision - kind.scale
        )
    if not isinstance(kind, Scalar):
        return False
    if kind.name in ("date", "timestamp", "timestamp_ntz"):
        return _TIMES.get((avro.kind, avro.logical)) == kind.name
    special = avro.logical == "decimal" or _TIMES.get((avro.kind, avro.logical), "") not in ("", "string")
    if avro.kind == "fixed" and avro.logical == "uuid":
        return kind.name == "string"
    return not special and avro.kind in _ACCEPTED.get(kind.name, ())
