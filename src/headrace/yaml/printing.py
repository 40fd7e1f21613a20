"""Plain values as YAML that people like to read: short mappings on one line, long ones in block style."""

from __future__ import annotations

from functools import lru_cache
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from headrace.yaml.variables import escaped

WIDTH = 110
_MARKS = frozenset(",[]{}'#&")
_INDICATORS = frozenset("?-:,[]{}#&*!|>%@`\"'")
_ESCAPED = frozenset('"\\')


def printed(document: dict[str, Any]) -> str:
    """The document as YAML text; sections are always in block style.

    >>> print(printed({"name": "p", "steps": {"big": {"from": "tx", "where": "amount > 50"}}}), end="")
    name: p
    steps:
      big: {from: tx, where: amount > 50}
    """
    laid_out = CommentedMap()
    for key, value in document.items():
        laid_out[key] = _section(value) if isinstance(value, dict) else _scalar(value)
    return _dumped(laid_out)


def _section(entries: dict[str, Any]) -> CommentedMap:
    section = CommentedMap()
    for name, value in entries.items():
        section[name] = _laid_out(value, indent=2, key=name)
    return section


def _laid_out(value: Any, *, indent: int, key: str) -> Any:
    """A value in flow style if it fits on the line that its key begins, else in block style."""
    if not isinstance(value, dict | list):
        return _scalar(value)
    if not value or (not _has_lines(value) and indent + len(key) + 2 + _width(value) <= WIDTH):
        return _flow(value)
    if isinstance(value, list):
        return CommentedSeq(_laid_out(item, indent=indent + 4, key="") for item in value)
    block = CommentedMap()
    for inner, item in value.items():
        block[_quoted(inner)] = _laid_out(item, indent=indent + 2, key=inner)
    return block


def _flow(value: Any) -> Any:
    if isinstance(value, dict):
        mapping = CommentedMap((_quoted(key), _flow(item)) for key, item in value.items())
        mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(map(_flow, value))
        sequence.fa.set_flow_style()
        return sequence
    return _scalar(value)


def _width(value: Any) -> int:
    """About how wide a value is in flow style; asking ruamel.yaml would cost a dump at every level."""
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
    text = escaped(value)
    lines = text.split("\n")
    block = len(lines) > 1 and all(map(str.isprintable, lines)) and not text[:1].isspace()
    return LiteralScalarString(text) if block else _quoted(text)


def _quoted(text: str) -> Any:
    """The text, in double quotes where ruamel.yaml would choose worse.

    It leaves some texts bare that it can't read again (`?0`), and doubles the single quotes that SQL is full of.
    """
    if text[:1] in _INDICATORS or not text.isprintable():
        return DoubleQuotedScalarString(text)
    doubled = "'" in text and not set(text) & _ESCAPED and _needs_quotes(text)
    return DoubleQuotedScalarString(text) if doubled else text


@lru_cache(maxsize=1024)
def _needs_quotes(text: str) -> bool:
    alone = CommentedSeq([text])
    alone.fa.set_flow_style()
    return _dumped(alone).startswith("['")


def _dumped(value: Any) -> str:
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 1_000_000  # a text stays on its line
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = StringIO()
    yaml.dump(value, out)
    return out.getvalue()
