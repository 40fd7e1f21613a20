"""What the rows of a stream look like: names and types, from DDL text, a dataclass or a pydantic model.

Reading a schema starts no JVM: a wrong one is found while the pipeline is built, at the column of the fault.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import SchemaError, did_you_mean
from headrace.schemas import classes, ddl
from headrace.schemas.datatypes import Array, DataType, Field, Map, Struct

#: Names that start so are Headrace's own hidden columns.
HIDDEN = "__"
_HINT = f'write "{ddl.EXAMPLE}", or give a dataclass or a pydantic model'


@dataclass(frozen=True)
class Schema:
    """The columns of a stream, in order.

    `NOT NULL` on a column is a demand: a record that lacks it, or has null there, is a dead letter. From a class,
    a field is `NOT NULL` when it is neither Optional nor has a default. Two schemas are equal when their
    columns are, however they were written.

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
    def of(cls, given: Any, *, where: str = "") -> Schema:
        """The schema that `given` describes.

        Args:
            given: A Schema, DDL text, a dataclass, a pydantic model class, a mapping of names to types, or a
                pyspark StructType.
            where: What the schema belongs to, for the error's text.

        Raises:
            SchemaError: The text doesn't parse (with the column), a class has a field that no column type
                fits, or a name starts with `__`.
        """
        schema = given if isinstance(given, Schema) else cls(_fields(given, where))
        hidden = [name for name in schema.names if name.startswith(HIDDEN)]
        if hidden:
            what = (
                f"the column name `{hidden[0]}` is taken: names that start with `{HIDDEN}` are Headrace's own"
            )
            raise SchemaError(what, where=where, hint=f"call it `{hidden[0].lstrip('_') or 'value'}`")
        return schema

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
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
        raise SchemaError(f"there is no column `{name}`", hint=did_you_mean(name, self.names))

    def __contains__(self, name: str) -> bool:
        return any(field.name.lower() == name.lower() for field in self.fields)


def walk(kind: DataType, path: str) -> list[tuple[str, DataType]]:
    """The type and every type inside it, each with its path (`s.a`, `tags[]`)."""
    found = [(path, kind)]
    if isinstance(kind, Array):
        found += walk(kind.element, f"{path}[]")
    elif isinstance(kind, Map):
        found += walk(kind.key, f"{path}{{key}}") + walk(kind.value, f"{path}{{}}")
    elif isinstance(kind, Struct):
        for field in kind.fields:
            found += walk(field.type, f"{path}.{field.name}")
    return found


def _fields(given: Any, where: str) -> tuple[Field, ...]:
    if isinstance(given, str):
        return ddl.parse_fields(given, where=where)
    if isinstance(given, type) and classes.is_record(given):
        return classes.fields_of(given)
    if isinstance(given, Mapping) and given:
        return tuple(_mapped(str(name), kind, where) for name, kind in given.items())
    if hasattr(given, "jsonValue") and hasattr(
        given, "fieldNames"
    ):  # a StructType, told without importing pyspark
        return _struct(given.jsonValue()).fields
    raise SchemaError(f"expected a schema, got {_shown(given)}", where=where, hint=_HINT)


def _mapped(name: str, kind: Any, where: str) -> Field:
    label = f"{where}: column `{name}`" if where else f"column `{name}`"
    if not isinstance(kind, str):
        raise SchemaError(
            f"expected a type, got {_shown(kind)}", where=label, hint='write {"card": "string"}'
        )
    return Field(name, ddl.parse_type(kind, where=label))


def _struct(value: Mapping[str, Any]) -> Struct:
    return Struct(
        tuple(
            Field(f["name"], _from_json(f["type"]), f["nullable"], f.get("metadata", {}).get("comment", ""))
            for f in value["fields"]
        )
    )


def _from_json(value: Any) -> DataType:
    """A type from Spark's own JSON form of it."""
    if isinstance(value, str):
        return ddl.parse_type(value)
    if value["type"] == "array":
        return Array(_from_json(value["elementType"]))
    if value["type"] == "map":
        return Map(_from_json(value["keyType"]), _from_json(value["valueType"]))
    if value["type"] == "struct":
        return _struct(value)
    raise SchemaError(f"the type {json.dumps(value)} can't be decoded into", hint="use Spark's own types")


def _shown(given: Any) -> str:
    if isinstance(given, type):
        return f"the class {given.__name__}, which is neither a dataclass nor a pydantic model"
    return f"{given!r}"
