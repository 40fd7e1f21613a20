"""Changes single values of a YAML text; comments, order and style of all other lines stay as they are.

ruamel.yaml composes the text into nodes with positions, and a change replaces the characters of one value.
The result is composed again and compared with the intended content, so that a form that is not handled here
(an alias, for example) is an error and never a damaged document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from ruamel.yaml.nodes import CollectionNode, Node

from headrace.dashboard.editor import yaml_content
from headrace.dashboard.editor.yaml_content import verify
from headrace.dashboard.editor.yaml_parts import Part, Path, compose_text, find, parts_of
from headrace.yaml.printing import print_value

_BLOCK_LEVELS = 2
"""Sections and their entries are written in block style, one key on each line."""


def set_value(text: str, path: Path, value: Any, *, after: Collection[str] | None = None) -> str:
    r"""Set the value at a path; keys of the path that do not exist are added.

    Args:
        text: the document.
        path: keys, and indexes of lists.
        value: plain data.
        after: a new key follows the last of these keys; default: it is the last key.

    >>> print(set_value("a: {b: 1}  # one\nc: 2\n", ("a", "d"), "x y"), end="")
    a: {b: 1, d: x y}  # one
    c: 2
    """
    node: Node | None = compose_text(text)
    for depth, key in enumerate(path):
        part = next((part for part in parts_of(text, node) if part.key == key), None)
        rest = _nest(path[depth + 1 :], value)
        if part is None:
            new = _insert(text, node, {key: rest}, depth + 1, after)
        elif depth + 1 == len(path) or not isinstance(part.value, CollectionNode) or part.is_alias:
            new = _replace(text, node, part, rest, depth + 1)
        else:
            node = part.value
            continue
        return verify(text, new, lambda content: yaml_content.assign(content, path, value))
    raise ValueError("the path is empty")


def remove_value(text: str, path: Path) -> str:
    r"""Remove a key or an item, with the comment lines directly above it.

    >>> print(remove_value("a:\n  # old\n  b: 1\n  c: 2  # two\n", ("a", "b")), end="")
    a:
      c: 2  # two
    """
    parent, part = find(text, path)
    parts = parts_of(text, parent)
    index = parts.index(part)
    if not parent.flow_style:
        start, end = _line_start(text, part.start), _line_end(text, part.end) + 1
        start = _with_comments(text, start)
    elif index:
        start, end = parts[index - 1].end, part.end
    else:
        start, end = part.start, parts[1].start if len(parts) > 1 else part.end
    return verify(text, text[:start] + text[end:], lambda content: yaml_content.delete(content, path))


def rename_key(text: str, path: Path, name: str) -> str:
    r"""Rename the key at a path.

    >>> rename_key("a: {b: 1}", ("a", "b"), "c")
    'a: {c: 1}'
    """
    _, part = find(text, path)
    key = text[part.start : part.colon].removesuffix(":").rstrip()
    new = text[: part.start] + print_value(name, inside_flow=True) + text[part.start + len(key) :]
    return verify(text, new, lambda content: yaml_content.rename(content, path, name))


def rewrite_scalar(text: str, path: Path, change: Callable[[str], str]) -> str:
    """Change the characters of a scalar as they are written, with its quotes."""
    _, part = find(text, path)
    start = part.value.start_mark.index
    return text[:start] + change(text[start : part.end]) + text[part.end :]


def _insert(text: str, node: Any, value: dict[Any, Any], depth: int, after: Collection[str] | None) -> str:
    """Insert an entry of a mapping or an item of a list."""
    parts = parts_of(text, node)
    [(key, item)] = value.items()
    is_item = isinstance(key, int)
    if node is not None and node.flow_style:
        written = print_value([item] if is_item else value, inside_flow=True)
        place, comma = (parts[-1].end, ", ") if parts else (node.start_mark.index + 1, "")
        return text[:place] + comma + written[1:-1] + text[place:]
    indent = _column(text, parts[0].start) if parts else 0
    line = " " * indent + _format(str(key), item, depth, indent)
    if is_item:
        line = " " * (indent - 2) + "- " + print_value(item)
    if not parts:
        return (text if not text or text.endswith("\n") else text + "\n") + line + "\n"
    before = parts if after is None else [part for part in parts if part.key in after]
    if not before:
        place = _with_comments(text, _line_start(text, parts[0].start))
        return text[:place] + line + "\n" + text[place:]
    place = _line_end(text, before[-1].end)
    return text[:place] + "\n" + line + text[place:]


def _replace(text: str, node: Any, part: Part, value: Any, depth: int) -> str:
    indent = _column(text, part.start)
    if part.is_empty and isinstance(value, dict) and value and not node.flow_style:
        place = _line_end(text, part.end)
        lines = _format("", value, min(depth, _BLOCK_LEVELS), indent).partition("\n")[2]
        return text[:place] + "\n" + lines + text[place:]
    written = print_value(value, inside_flow=bool(node.flow_style)).replace("\n", "\n" + " " * indent)
    start = part.value.start_mark.index
    if (
        part.is_empty or part.is_alias or not written or start > _line_end(text, part.colon)
    ):  # a block starts on the next line
        start, written = part.colon, f" {written}" if written else ""
    return text[:start] + written + text[part.end :]


def _format(key: str, value: Any, depth: int, indent: int) -> str:
    """Return a key and its value in block style; nested lines are indented."""
    name = print_value(key, inside_flow=True)
    if isinstance(value, dict) and value and depth <= _BLOCK_LEVELS:
        inner = " " * (indent + 2)
        lines = [inner + _format(str(each), item, depth + 1, indent + 2) for each, item in value.items()]
        return "\n".join([f"{name}:", *lines])
    written = print_value(value).replace("\n", "\n" + " " * indent)
    return f"{name}: {written}" if written else f"{name}:"


def _nest(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _column(text: str, index: int) -> int:
    return index - _line_start(text, index)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end


def _with_comments(text: str, start: int) -> int:
    """Return the start of the comment lines directly above a line, with the same indentation."""
    line = text[start : _line_end(text, start)]
    prefix = line[: len(line) - len(line.lstrip())] + "#"
    while start and text.startswith(prefix, _line_start(text, start - 1)):
        start = _line_start(text, start - 1)
    return start
