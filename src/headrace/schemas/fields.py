"""The schema of a stream, from DDL text, a dataclass or a pydantic model.

Parsing a schema starts no JVM: an invalid one is an error while the pipeline is built, with the column of the
problem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import SchemaError, did_you_mean
from headrace.schemas import classes, ddl
from headrace.schemas.datatypes import Array, DataType, Field, Map, Struct

#: The prefix of internal columns.
HIDDEN = "__"
_HINT = f'write "{ddl.EXAMPLE}", or give a dataclass or a pydantic model'


@dataclass(frozen=True)
class Schema:
    """The columns of a stream, in order.

    A record without a value for a `NOT NULL` column is a dead letter. A field of a class is `NOT NULL` if it
    is neither Optional nor has a default. Two schemas are equal if their columns are, regardless of how they
    were written.

    >>> schema = Schema.of("card string, amount decimal(10, 2), at timestamp")
    >>> schema.names
    ('card', 'amount', 'at')
    >>> schema.ddl
    'card string, amount decimal(10,2), at timestamp'
    >>> Schema.of({"card": "string"}) == Schema.of("CARD STRING")
    False
    """

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, description: Any, *, where: str = "") -> Schema:
        """Return the schema of a description.

        Args:
            description: a Schema, DDL text, a dataclass, a pydantic model class, a mapping of names to types,
                or a pyspark StructType.
            where: the owner of the schema, for errors.

        Raises:
            SchemaError: the text is invalid (with the column), a field of a class has no column type, or a
                name starts with `__`.
        """
        schema = description if isinstance(description, Schema) else cls(_fields(description, where))
        hidden = [name for name in schema.names if name.startswith(HIDDEN)]
        if hidden:
            what = f"the column name `{hidden[0]}` is reserved: names that start with `{HIDDEN}` are internal"
            raise SchemaError(what, where=where, hint=f"call it `{hidden[0].lstrip('_') or 'value'}`")
        return schema

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(field.name for field in self.fields)

    @property
    def ddl(self) -> str:
        """The schema as canonical DDL, which Spark reads with the same meaning."""
        return ", ".join(map(str, self.fields))

    def __str__(self) -> str:
        return self.ddl

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name.lower() == name.lower():
                return field
        raise SchemaError(f"unknown column `{name}`", hint=did_you_mean(name, self.names))

    def __contains__(self, name: str) -> bool:
        return any(field.name.lower() == name.lower() for field in self.fields)


def walk(kind: DataType, path: str) -> list[tuple[str, DataType]]:
    """Return the type and every type inside it, each with its path (`s.a`, `tags[]`)."""
    types = [(path, kind)]
    if isinstance(kind, Array):
        types += walk(kind.element, f"{path}[]")
    elif isinstance(kind, Map):
        types += walk(kind.key, f"{path}{{key}}") + walk(kind.value, f"{path}{{}}")
    elif isinstance(kind, Struct):
        for field in kind.fields:
            types += walk(field.type, f"{path}.{field.name}")
    return types


def _fields(description: Any, where: str) -> tuple[Field, ...]:
    if isinstance(description, str):
        return ddl.parse_fields(description, where=where)
    if isinstance(description, type) and classes.is_record(description):
        return classes.fields_of(description)
    if isinstance(description, Mapping) and description:
        return tuple(_parse_entry(str(name), kind, where) for name, kind in description.items())
    if hasattr(description, "jsonValue") and hasattr(description, "fieldNames"):  # a StructType
        return _struct(description.jsonValue()).fields
    raise SchemaError(f"expected a schema, got {_describe(description)}", where=where, hint=_HINT)


def _parse_entry(name: str, kind: Any, where: str) -> Field:
    label = f"{where}: column `{name}`" if where else f"column `{name}`"
    if not isinstance(kind, str):
        raise SchemaError(
            f"expected a type, got {_describe(kind)}", where=label, hint='write {"card": "string"}'
        )
    return Field(name, ddl.parse_type(kind, where=label))


def _struct(value: Mapping[str, Any]) -> Struct:
    return Struct(
        tuple(
            Field(f["name"], type_of_json(f["type"]), f["nullable"], f.get("metadata", {}).get("comment", ""))
            for f in value["fields"]
        )
    )


def type_of_json(value: Any) -> DataType:
    """Return the type of Spark's JSON form of a type."""
    if isinstance(value, str):
        return ddl.parse_type(value)
    if value["type"] == "array":
        return Array(type_of_json(value["elementType"]))
    if value["type"] == "map":
        return Map(type_of_json(value["keyType"]), type_of_json(value["valueType"]))
    if value["type"] == "struct":
        return _struct(value)
    raise SchemaError(f"unsupported type {json.dumps(value)}", hint="use Spark's built-in types")


def _describe(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}, which is neither a dataclass nor a pydantic model"
    return f"{value!r}"
