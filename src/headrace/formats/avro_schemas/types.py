"""Parse an Avro schema into its types, with names resolved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import SchemaError, did_you_mean

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
RECURSIVE = "recursive record"
"""The kind of a record inside itself."""
_MAX_TYPES = 20_000
"""A record whose fields all have the next record as type doubles the columns of a schema with each level."""
_NAMED = ("record", "error", "enum", "fixed")
_EXAMPLE = '{"type": "record", "name": "Payment", "fields": [{"name": "card", "type": "string"}]}'


@dataclass(frozen=True)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType
    has_default: bool = False


@dataclass(frozen=True)
class AvroType:
    """A type of an Avro schema; `parts` are the branches of a union, or the items of an array or map."""

    kind: str
    logical: str = ""
    name: str = ""
    parts: tuple[AvroType, ...] = ()
    fields: tuple[AvroField, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        if self.kind == "union":
            return f"union of {' and '.join(map(str, self.parts))}"
        return self.logical or (f"{self.kind} {self.name}" if self.name else self.kind)

    @property
    def is_nullable(self) -> bool:
        """True if null is a value of the type."""
        return self.kind == "null" or (self.kind == "union" and any(p.kind == "null" for p in self.parts))

    @property
    def branches(self) -> tuple[AvroType, ...]:
        """The branches of a union, or the type itself, without null."""
        types = self.parts if self.kind == "union" else (self,)
        return tuple(kind for kind in types if kind.kind != "null")


def parse_schema(text: str, *, where: str = "avro") -> AvroType:
    """Return the type of a schema in JSON.

    >>> parse_schema('["null", {"type": "int", "logicalType": "date"}]').branches[0].logical
    'date'

    Raises:
        SchemaError: the text is not JSON, or not an Avro schema; with the path of the problem.
    """
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise SchemaError(f"not JSON: {error}", where=where, hint=f"an Avro schema is {_EXAMPLE}") from None
    kind = _Parser(where).parse(schema, "", "")
    if (types := _count_types(kind, {})) > _MAX_TYPES:
        what = f"expected at most {_MAX_TYPES:,} types, the schema has {types:,}"
        hint = "each name counts as its type: leave out records that are used in several places"
        raise SchemaError(what, where=where, hint=hint)
    return kind


def _count_types(kind: AvroType, known: dict[int, int]) -> int:
    """Return the number of types inside a type; those of a name count wherever it is used."""
    if id(kind) not in known:
        inner = (*kind.parts, *(field.type for field in kind.fields))
        known[id(kind)] = 1 + sum(_count_types(each, known) for each in inner)
    return known[id(kind)]


class _Parser:
    """Parses the types of one schema; names are known from their definition on."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._named: dict[str, AvroType | None] = {}
        """None for a record whose fields are being parsed."""

    def parse(self, schema: Any, namespace: str, path: str) -> AvroType:
        if isinstance(schema, str):
            return AvroType(schema) if schema in PRIMITIVES else self._find(schema, namespace, path)
        if isinstance(schema, list):
            parts = tuple(self.parse(part, namespace, path) for part in schema)
            if any(part.kind == "union" for part in parts):
                raise self._error("a union inside a union", path, "write one list of types")
            return AvroType("union", parts=parts)
        if not isinstance(schema, Mapping) or "type" not in schema:
            raise self._error(f"expected an Avro type, got {json.dumps(schema)}", path, f"such as {_EXAMPLE}")
        kind = schema["type"]
        if kind in _NAMED:
            return self._parse_named(schema, namespace, path)
        if kind in ("array", "map"):
            items, place = ("items", f"{path}[]") if kind == "array" else ("values", f"{path}{{}}")
            return AvroType(kind, parts=(self.parse(schema.get(items), namespace, place),))
        return AvroType(kind, **_logical(schema)) if kind in PRIMITIVES else self.parse(kind, namespace, path)

    def _parse_named(self, schema: Mapping[str, Any], namespace: str, path: str) -> AvroType:
        kind = "record" if schema["type"] == "error" else schema["type"]
        name = schema.get("name")
        if not isinstance(name, str) or not name:
            raise self._error(f"a type of kind {kind} has no name", path, 'add "name"')
        full = _full_name(name, schema.get("namespace", namespace))
        self._named[full] = None
        inner = full.rpartition(".")[0]
        fields = tuple(self._parse_fields(schema, inner, path)) if kind == "record" else ()
        symbols, size = tuple(self._list(schema, "symbols", path)), schema.get("size", 0)
        if not isinstance(size, int):
            raise self._error(f"expected a whole number as `size`, got {json.dumps(size)}", path, "")
        logical = _logical(schema) if kind == "fixed" else {}
        self._named[full] = AvroType(kind, name=full, fields=fields, symbols=symbols, size=size, **logical)
        return self._find(full, inner, path)

    def _parse_fields(self, schema: Mapping[str, Any], namespace: str, path: str) -> Iterator[AvroField]:
        for field in self._list(schema, "fields", path):
            if not isinstance(field, Mapping) or not isinstance(field.get("name"), str):
                raise self._error(f"expected a field, got {json.dumps(field)}", path, 'with "name", "type"')
            place = f"{path}.{field['name']}".removeprefix(".")
            yield AvroField(
                field["name"], self.parse(field.get("type"), namespace, place), "default" in field
            )

    def _list(self, schema: Mapping[str, Any], key: str, path: str) -> list[Any]:
        items = schema.get(key, [])
        if not isinstance(items, list):
            raise self._error(f"expected a list as `{key}`, got {json.dumps(items)}", path, "")
        return items

    def _find(self, name: str, namespace: str, path: str) -> AvroType:
        for full in (_full_name(name, namespace), name):
            if full in self._named:
                return self._named[full] or AvroType(RECURSIVE, name=full)
        raise self._error(f"unknown type `{name}`", path, did_you_mean(name, (*PRIMITIVES, *self._named)))

    def _error(self, what: str, path: str, hint: str) -> SchemaError:
        return SchemaError(what, where=f"{self._where}: field `{path}`" if path else self._where, hint=hint)


def _full_name(name: str, namespace: str) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name


def _logical(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the logical type; one that is invalid is ignored, as Avro requires."""
    logical = schema.get("logicalType")
    if logical != "decimal":
        return {"logical": logical} if isinstance(logical, str) else {}
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision:
        return {}
    return {"logical": logical, "precision": precision, "scale": scale}
