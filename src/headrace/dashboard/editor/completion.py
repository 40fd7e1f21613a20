"""Completes keys and words of a document from the JSON Schema of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from headrace.yaml import document_schema

_KEY = re.compile(r"^(\s*)(?:- )?([\w.:-]+)\s*:(.*)$")
_OPEN = re.compile(r"([\w.-]+)\s*:\s*\{[^{}]*$")

Schema = Mapping[str, Any]


def complete(text: str, line: int, column: int) -> list[dict[str, str]]:
    r"""Return the keys, and the words of enumerations, that fit at a position (line from 1, column from 0).

    >>> [item["label"] for item in complete("na", 1, 2)]
    ['name', 'sources', 'steps', 'sinks']
    >>> "tumbling" in [item["label"] for item in complete("steps:\n  a:\n    window: {t", 3, 14)]
    True
    """
    lines = text.splitlines() or [""]
    before = lines[line - 1][:column] if line <= len(lines) else ""
    path = _path(lines[: line - 1], before)
    options: dict[str, dict[str, str]] = {}
    for schema in _walk(_schema(), path):
        for option in _options(schema):
            options.setdefault(option["label"], option)
    return list(options.values())


def _path(above: list[str], before: str) -> list[str]:
    """Return the keys that enclose a position: by indentation, then by open braces on its line."""
    indent = len(before) - len(before.lstrip())
    keys: list[str] = []
    for text in reversed(above):
        match = _KEY.match(text)
        if match and len(match[1]) < indent:
            keys.insert(0, match[2])
            indent = len(match[1])
    own = _KEY.match(before)
    if own:
        keys.append(own[2])
        inner = own[3]
        while match := _OPEN.search(inner):  # the innermost open brace that has a key
            keys.append(match[1])
            inner = inner[match.end() :]
    return keys


def _walk(schema: Schema, path: list[str]) -> Iterator[Schema]:
    """Yield the alternatives of the schema at a path."""
    alternatives = list(_expand(schema))
    for key in path:
        alternatives = [
            option for known in alternatives for child in _children(known, key) for option in _expand(child)
        ]
    yield from alternatives


def _children(schema: Schema, key: str) -> Iterator[Schema]:
    if key in schema.get("properties", {}):
        yield schema["properties"][key]
    elif isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]


def _expand(schema: Any) -> Iterator[Schema]:
    """Yield a schema and the alternatives in it, with references resolved."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield from _expand(_schema()["$defs"][schema["$ref"].rpartition("/")[2]])
    for group in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(group, ()):
            yield from _expand(option)
    yield schema


def _options(schema: Schema) -> Iterator[dict[str, str]]:
    for name, child in schema.get("properties", {}).items():
        about = str(child.get("description", "")) if isinstance(child, dict) else ""
        yield {"label": name, "type": "property", "info": about.partition("\n")[0]}
    for word in schema.get("enum", ()):
        if isinstance(word, str):
            yield {"label": word, "type": "enum", "info": ""}


@cache
def _schema() -> dict[str, Any]:
    return document_schema()
