"""Format plain values as YAML: short mappings on one line, long ones in block style."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from headrace.yaml.variables import escape

WIDTH = 110
_MARKS = frozenset(",[]{}'#&")
_INDICATORS = frozenset("?-:,[]{}#&*!|>%@`\"'")
_ESCAPED = frozenset('"\\')


def print_document(document: dict[str, Any]) -> str:
    """Return a document as YAML text; sections are always in block style.

    >>> print(print_document({"name": "p", "steps": {"big": {"from": "tx", "where": "amount > 50"}}}), end="")
    name: p
    steps:
      big: {from: tx, where: amount > 50}
    """
    layout = CommentedMap()
    for key, value in document.items():
        layout[key] = _section(value) if isinstance(value, dict) else _scalar(value)
    return _dump(layout)


def print_value(value: Any, *, inside_flow: bool = False) -> str:
    """Return a value as an editor writes it after a key: collections on one line, `${` as a variable.

    >>> print_value({"on": ["a", "b"], "where": "amount > 50"})
    '{on: [a, b], where: amount > 50}'
    """
    if inside_flow:
        return _dump(_flow({"": value}, _quote)).partition(": ")[2].removesuffix("}\n")
    if isinstance(value, str) and "\n" in value:
        return _dump({"": LiteralScalarString(value)}).partition(": ")[2].rstrip("\n")
    return "" if value is None else _dump({"": _flow(value, _quote)}).partition(": ")[2].rstrip("\n")


def _section(entries: dict[str, Any]) -> CommentedMap:
    section = CommentedMap()
    for name, value in entries.items():
        section[name] = _lay_out(value, indent=2, key=name)
    return section


def _lay_out(value: Any, *, indent: int, key: str) -> Any:
    """Lay out a value in flow style if it fits on the line of its key, else in block style."""
    if not isinstance(value, dict | list):
        return _scalar(value)
    if not value or (not _has_lines(value) and indent + len(key) + 2 + _width(value) <= WIDTH):
        return _flow(value)
    if isinstance(value, list):
        return CommentedSeq(_lay_out(item, indent=indent + 4, key="") for item in value)
    block = CommentedMap()
    for inner, item in value.items():
        block[_quote(inner)] = _lay_out(item, indent=indent + 2, key=inner)
    return block


def _flow(value: Any, scalar: Callable[[Any], Any] | None = None) -> Any:
    scalar = scalar or _scalar
    if isinstance(value, dict):
        mapping = CommentedMap((_quote(key), _flow(item, scalar)) for key, item in value.items())
        mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(_flow(item, scalar) for item in value)
        sequence.fa.set_flow_style()
        return sequence
    return scalar(value)


def _width(value: Any) -> int:
    """Estimate the width of a value in flow style, which is faster than formatting it."""
    if isinstance(value, dict):
        return 2 * max(1, len(value)) + sum(_width(key) + 2 + _width(item) for key, item in value.items())
    if isinstance(value, list):
        return 2 * max(1, len(value)) + sum(map(_width, value))
    return len(str(value)) + (2 if isinstance(value, str) and _MARKS & set(value) else 0)


def _has_lines(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_lines, value.values()))
    return (
        any(map(_has_lines, value)) if isinstance(value, list) else isinstance(value, str) and "\n" in value
    )


def _scalar(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = escape(value)
    lines = text.split("\n")
    block = len(lines) > 1 and all(map(str.isprintable, lines)) and not text[:1].isspace()
    return LiteralScalarString(text) if block else _quote(text)


def _quote(text: Any) -> Any:
    """Put a text in double quotes if the style that ruamel.yaml selects is invalid (`?0`) or hard to read.

    ruamel.yaml doubles single quotes, which are frequent in SQL.
    """
    if not isinstance(text, str):
        return text
    if text[:1] in _INDICATORS or not text.isprintable():
        return DoubleQuotedScalarString(text)
    doubled = "'" in text and not set(text) & _ESCAPED and _needs_quotes(text)
    return DoubleQuotedScalarString(text) if doubled else text


@lru_cache(maxsize=1024)
def _needs_quotes(text: str) -> bool:
    alone = CommentedSeq([text])
    alone.fa.set_flow_style()
    return _dump(alone).startswith("['")


def _dump(value: Any) -> str:
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 1_000_000  # no line breaks inside a text
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = StringIO()
    yaml.dump(value, out)
    return out.getvalue()
