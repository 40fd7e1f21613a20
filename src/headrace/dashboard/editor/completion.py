"""Completes keys and words of a document from its JSON Schema, and columns and functions in expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.dashboard.editor.flow.references import entries_of
from headrace.dashboard.editor.schema_tree import Schema, walk
from headrace.dashboard.editor.yaml_parts import FILE, compose_text
from headrace.errors import HeadraceError
from headrace.plan.types import ColumnTypes
from headrace.steps.base import Ref
from headrace.yaml.load import read_draft

EXPRESSIONS = {
    "where",
    "select",
    "with_columns",
    "key_by",
    "aggregate",
    "drop",
    "columns",
    "measures",
    "on",
    "of",
    "when",
}
"""The keys of steps whose values are columns or expressions."""
AGGREGATES = (
    "count(*)",
    "sum(",
    "avg(",
    "min(",
    "max(",
    "count_if(",
    "approx_count_distinct(",
    "collect_list(",
    "max_by(",
)
FUNCTIONS = (
    *("abs(", "round(", "coalesce(", "if(", "case when", "cast(", "concat(", "lower(", "upper(", "length("),
    *("substring(", "split(", "regexp_extract(", "date_trunc(", "to_timestamp(", "unix_timestamp("),
    *("explode(", "size(", "array_contains(", "struct("),
)
"""Functions of Spark SQL that documents use most."""
_KEY = re.compile(r"^(\s*)(?:- )?([\w.:-]+)\s*:(.*)$")
_LAST = re.compile(r"(?<![\w.-])([\w.-]+)\s*:[^:{}]*$")
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


def complete_expression(text: str, line: int, column: int) -> list[dict[str, str]]:
    r"""Return the columns and functions that fit at a position, if it is in an expression.

    >>> text = "sources:\n  tx: {memory: {}, schema: card string}\nsteps:\n  a: {from: tx, where: ca}\n"
    >>> [item["label"] for item in complete_expression(text, 4, 24)][:2]
    ['card', 'abs(']
    """
    lines = text.splitlines() or [""]
    before = lines[line - 1][:column] if line <= len(lines) else ""
    path = _path(lines[: line - 1], before)
    last = _LAST.search(before)
    keys = {*path[2:], last[1] if last else ""}
    if len(path) < 2 or path[0] != "steps" or not EXPRESSIONS & keys:
        return []
    functions = [*AGGREGATES, *FUNCTIONS] if "aggregate" in keys else FUNCTIONS
    columns = [
        {"label": name, "type": "variable", "info": kind} for name, kind in columns_before(text, path[1])
    ]
    return [*columns, *({"label": name, "type": "function", "info": ""} for name in functions)]


def columns_before(text: str, entry: str) -> list[tuple[str, str]]:
    """Return the columns that a step reads, with their types where they are known."""
    try:
        root = compose_text(text)
        graph = read_draft(root, file=FILE) if root is not None else None
        _, declared = entries_of(text).get(entry, ("", {}))
    except HeadraceError:
        return []
    source = declared.get("from") if isinstance(declared, dict) else None
    if graph is None or not isinstance(source, str):
        return []
    step, _, output = source.partition(".")
    named = [node for node in graph if node.name == step or node.name.startswith(f"{step}:")]
    if not named:
        return []
    ref = Ref(step, output) if output else Ref(named[-1].name)
    types = ColumnTypes(graph).of(ref)
    return [(name, types.get(name.lower(), "").lower()) for name in graph.facts(ref).columns or ()]


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
