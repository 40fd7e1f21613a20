"""Completes keys and words of a document from the JSON Schema of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.dashboard.editor.schema_tree import Schema, walk

_KEY = re.compile(r"^(\s*)(?:- )?([\w.:-]+)\s*:(.*)$")
_OPEN = re.compile(r"(?<![\w.-])([\w.-]+)\s*:\s*\{[^{}]*$")


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
    for schema in walk(path):
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


def _options(schema: Schema) -> Iterator[dict[str, str]]:
    for name, child in schema.get("properties", {}).items():
        about = str(child.get("description", "")) if isinstance(child, dict) else ""
        yield {"label": name, "type": "property", "info": about.partition("\n")[0]}
    for word in schema.get("enum", ()):
        if isinstance(word, str):
            yield {"label": word, "type": "enum", "info": ""}
