"""The columns of a Delta table: the types it can hold, and its schema compared with that of a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.errors import DeliveryError
from headrace.schemas.datatypes import DataType, Decimal, Scalar, Struct
from headrace.schemas.fields import Schema, walk

_PARTITIONS = frozenset({"string", "boolean", "tinyint", "smallint", "int", "bigint", "date"})
"""The types of partition columns: their text is the same for every reader."""
_SCALARS = _PARTITIONS | {"binary", "float", "double", "timestamp", "timestamp_ntz"}
_RESERVED = re.compile(r"[ ,;{}()\n\t=]")
"""Characters that Parquet and Delta readers do not accept in names."""
_PROPERTIES = ("delta.constraints.", "delta.generationExpression", "delta.invariants", "delta.identity.")
"""Properties of tables and columns whose rules delta-rs does not apply to added files."""

Json = Mapping[str, Any]


def find_problem(schema: Schema, partition_by: Sequence[str]) -> tuple[str, str] | None:
    """Return problem and hint if a Delta table cannot hold the columns of a stream.

    >>> find_problem(Schema.of("`a b` string"), ())[0]
    'the column name `a b` contains a character that Delta tables reserve'
    """
    for field in schema.fields:
        for path, kind in walk(field.type, field.name):
            if name := _reserved_name(field.name if path == field.name else "", kind):
                what = f"the column name `{name}` contains a character that Delta tables reserve"
                return what, f"rename it in a select: `{name}` as {_RESERVED.sub('_', name)}"
            if not _is_held(kind) and not (path == field.name and _becomes_seconds(kind)):
                what = f"column `{path}` has the type {kind}, which a Delta table cannot hold"
                return what, f"cast it in a select: cast({path} as string) as {field.name}"
        if field.name in partition_by and str(field.type) not in _PARTITIONS:
            what = f"the partition column `{field.name}` has the type {field.type}"
            return what, "partition by text, whole numbers, dates or booleans: cast(ts as date) as day"
    if partition_by and set(partition_by) >= set(schema.names):
        return "`partition_by` names all columns", "a file needs at least one column that is no partition"
    return None


def table_schema(schema: Json) -> Json:
    """Return Spark's JSON form of a schema as that of a table: every column nullable, without metadata.

    >>> table_schema({"fields": [{"name": "n", "type": "long", "nullable": False, "metadata": {"x": 1}}]})
    {'type': 'struct', 'fields': [{'name': 'n', 'type': 'long', 'nullable': True, 'metadata': {}}]}
    """
    fields = [
        {"name": field["name"], "type": _nullable(field["type"]), "nullable": True, "metadata": {}}
        for field in schema["fields"]
    ]
    return {"type": "struct", "fields": fields}


def new_columns(stream: Json, table: Json, *, where: str) -> list[Json]:
    """Return the columns of a stream that a table lacks.

    Raises:
        DeliveryError: a column has another type in the table, or is required there and missing in the stream.
    """
    known = {field["name"]: field for field in table["fields"]}
    names = {field["name"] for field in stream["fields"]}
    for field in stream["fields"]:
        stored = known.get(field["name"])
        if stored is not None and _nullable(stored["type"]) != field["type"]:
            raise DeliveryError(
                f"column `{field['name']}` is {_type_text(stored['type'])} in the table and "
                f"{_type_text(field['type'])} in the stream",
                where=where,
                hint="cast it in a select, or write to another table",
            )
    for name, stored in known.items():
        if not stored["nullable"] and name not in names:
            what = f"the table requires a value in `{name}`, which the stream lacks"
            raise DeliveryError(what, where=where, hint="add the column to the stream")
    return [field for field in stream["fields"] if field["name"] not in known]


def check_table(properties: Mapping[str, str], schema: Json, *, where: str) -> None:
    """Check that adding files to a table breaks none of its rules.

    Raises:
        DeliveryError: it has constraints, generated columns or mapped column names.
    """
    rules = [*properties, *(name for field in schema["fields"] for name in field["metadata"])]
    rule = next((rule for rule in rules if rule.startswith(_PROPERTIES)), None)
    if rule is None and properties.get("delta.columnMapping.mode", "none") != "none":
        rule = "delta.columnMapping.mode"
    if rule is not None:
        what = f"the table has the property `{rule}`, which this sink does not apply"
        raise DeliveryError(what, where=where, hint="remove the property, or write to another table")


def key_paths(key: Sequence[str], schema: Json, *, where: str) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the key columns; `window` stands for its number or its start and end.

    Raises:
        DeliveryError: a key column is a struct, an array or a map.
    """
    kinds = {field["name"]: field["type"] for field in schema["fields"]}
    paths = tuple(path for name in key for path in _expand_window(name, kinds[name]))
    for path in paths:
        if len(path) == 1 and not isinstance(kinds[path[0]], str):
            what = f"the key column `{path[0]}` is {_type_text(kinds[path[0]])}"
            raise DeliveryError(what, where=where, hint="name columns with plain values, or `window`")
    return paths


def _expand_window(name: str, kind: Any) -> Iterator[tuple[str, ...]]:
    parts = [part["name"] for part in kind.get("fields", ())] if isinstance(kind, Mapping) else []
    if name != "window" or not parts:
        yield (name,)
    elif "number" in parts:  # the bounds of a window with a number may move
        yield name, "number"
    else:
        yield from ((name, "start"), (name, "end"))


def _nullable(kind: Any) -> Any:
    """Return a type whose parts are all nullable."""
    if not isinstance(kind, Mapping):
        return kind
    if kind["type"] == "struct":
        return table_schema(kind)
    if kind["type"] == "array":
        return {"type": "array", "elementType": _nullable(kind["elementType"]), "containsNull": True}
    key, value = _nullable(kind["keyType"]), _nullable(kind["valueType"])
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def _is_held(kind: DataType) -> bool:
    if isinstance(kind, Scalar):
        return kind.name in _SCALARS
    return isinstance(kind, Decimal) or not str(kind).startswith(("interval", "void"))


def _becomes_seconds(kind: DataType) -> bool:
    text = str(kind)
    return text.startswith("interval") and not text.startswith(("interval year", "interval month"))


def _reserved_name(column: str, kind: DataType) -> str | None:
    """Return the first reserved name of a column and the fields of its type."""
    names = [column, *(field.name for field in kind.fields)] if isinstance(kind, Struct) else [column]
    return next((name for name in names if _RESERVED.search(name)), None)


def _type_text(kind: Any) -> str:
    return kind if isinstance(kind, str) else json.dumps(kind) if "type" not in kind else str(kind["type"])
