"""Declared columns as an Arrow schema, as Spark exchanges them with Python."""

from __future__ import annotations

import pyarrow

from headrace.errors import SchemaError
from headrace.schemas.datatypes import Array, DataType, Decimal, Field, Map, Scalar, Struct
from headrace.schemas.fields import Schema

_SCALARS = {
    "string": pyarrow.string(),
    "binary": pyarrow.binary(),
    "boolean": pyarrow.bool_(),
    "tinyint": pyarrow.int8(),
    "smallint": pyarrow.int16(),
    "int": pyarrow.int32(),
    "bigint": pyarrow.int64(),
    "float": pyarrow.float32(),
    "double": pyarrow.float64(),
    "date": pyarrow.date32(),
    "timestamp": pyarrow.timestamp("us", tz="UTC"),
    "timestamp_ntz": pyarrow.timestamp("us"),
}


def arrow_schema(schema: Schema) -> pyarrow.Schema:
    """Return the Arrow schema of declared columns.

    Raises:
        SchemaError: a type cannot be exchanged with Python.
    """
    return pyarrow.schema([_field(field) for field in schema.fields])


def _field(field: Field) -> pyarrow.Field:
    return pyarrow.field(field.name, _type(field.type, field.name), field.nullable)


def _type(kind: DataType, where: str) -> pyarrow.DataType:
    match kind:
        case Decimal(precision, scale):
            return pyarrow.decimal128(precision, scale)
        case Array(element):
            return pyarrow.list_(pyarrow.field("element", _type(element, where)))
        case Map(key, value):
            return pyarrow.map_(_type(key, where), _type(value, where))
        case Struct(fields):
            return pyarrow.struct([_field(field) for field in fields])
        case Scalar(name) if name in _SCALARS:
            return _SCALARS[name]
        case Scalar(name) if name.startswith("interval day") or name.startswith("interval hour"):
            return pyarrow.duration("us")
    raise SchemaError(
        f"Python cannot return {kind}", where=where, hint="use another type, and convert it with select"
    )
