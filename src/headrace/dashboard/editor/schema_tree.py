"""The JSON Schema of documents as a tree: the alternatives at a path, and the short forms of mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from headrace.yaml import document_schema

Schema = Mapping[str, Any]


@cache
def root() -> dict[str, Any]:
    """Return the schema of documents with all installed connectors."""
    return document_schema()


def walk(path: Sequence[str | int], schema: Schema | None = None) -> Iterator[Schema]:
    """Yield the alternatives of the schema at a path."""
    alternatives = list(expand(root() if schema is None else schema))
    for key in path:
        alternatives = [
            option for known in alternatives for child in _children(known, key) for option in expand(child)
        ]
    yield from alternatives


def _children(schema: Schema, key: str | int) -> Iterator[Schema]:
    if key in schema.get("properties", {}):
        yield schema["properties"][key]
    elif isinstance(key, int):
        yield schema.get("items", {})
    elif isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]


def expand(schema: Any) -> Iterator[Schema]:
    """Yield a schema and the alternatives in it, with references resolved."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield from expand(root()["$defs"][schema["$ref"].rpartition("/")[2]])
    for group in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(group, ()):
            yield from expand(option)
    yield schema


def object_of(alternatives: Sequence[Schema]) -> Schema | None:
    """Return the mapping with known keys among alternatives; the keys of several mappings are merged."""
    objects = [option for option in alternatives if option.get("properties")]
    if len(objects) < 2:
        return objects[0] if objects else None
    properties = {key: item for option in reversed(objects) for key, item in option["properties"].items()}
    required = set.intersection(*(set(option.get("required", ())) for option in objects))
    return {**objects[0], "properties": properties, "required": sorted(required)}


def is_choice(schema: Schema) -> bool:
    """True if exactly one of the keys of a mapping is set, such as the kind of a window."""
    return schema.get("maxProperties") == 1


def connectors_in(schema: Schema) -> list[str]:
    """Return the keys of a mapping that are connectors, one of which is set.

    >>> "kafka" in connectors_in(root()["$defs"]["source"])
    True
    """
    return [option["required"][0] for option in schema.get("oneOf", ()) if "required" in option]


def words_of(alternatives: Sequence[Schema]) -> list[str]:
    """Return the words that a value can be."""
    return list(
        dict.fromkeys(
            word for option in alternatives for word in option.get("enum", ()) if isinstance(word, str)
        )
    )


def short_key(path: Sequence[str | int]) -> str:
    """Return the key that a value without a mapping stands for; empty if there is none.

    >>> short_key(["steps", "totals", "window", "tumbling"])
    'size'
    """
    alternatives = list(walk(path))
    long = object_of(alternatives)
    if long is None or is_choice(long):
        return ""
    matching = [key for key, item in long["properties"].items() if item in alternatives]
    return matching[0] if matching else ""
