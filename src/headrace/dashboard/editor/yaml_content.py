"""The content of a YAML text without its style, to verify a change of the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from headrace.dashboard.editor.yaml_parts import Path, compose_text
from headrace.errors import OptionError
from headrace.yaml.printing import print_value


def verify(old: str, new: str, change: Callable[[Any], Any]) -> str:
    """Return the new text if its content is that of the old text after the change.

    Raises:
        OptionError: it is not.
    """
    expected, actual = _content(compose_text(old)) or {}, _content(compose_text(new)) or {}
    change(expected)
    if _without_empty(expected) != _without_empty(actual):
        raise OptionError(
            "an alias or an unusual form of YAML is in the way", hint="edit the document as text"
        )
    return new


def _content(node: Any) -> Any:
    if isinstance(node, MappingNode):
        return {_key(key): _content(value) for key, value in node.value}
    if isinstance(node, CollectionNode):
        return [_content(item) for item in node.value]
    return None if node is None else (str(node.tag), node.value)


def _key(key: Node) -> str:
    """Return a key of a mapping; a list or a mapping in its place is an error of the document."""
    return str(key.value if isinstance(key, ScalarNode) else _content(key))


def assign(content: Any, path: Path, value: Any) -> None:
    """Set the value at a path; mappings that do not exist are added."""
    for key in path[:-1]:
        if isinstance(content, dict) and not isinstance(content.get(key), dict | list):
            content[key] = {}
        content = content[key]
    written = _content(compose_text(f"v: {print_value(value)}"))["v"]
    if path[-1] == len(content) and isinstance(content, list):
        content.append(written)
    else:
        content[path[-1]] = written


def delete(content: Any, path: Path) -> None:
    """Delete the value at a path."""
    for key in path[:-1]:
        content = content[key]
    del content[path[-1]]


def rename(content: Any, path: Path, name: str) -> None:
    """Rename the key at a path."""
    for key in path[:-1]:
        content = content[key]
    items = [(name if key == path[-1] else key, value) for key, value in content.items()]
    content.clear()
    content.update(items)


def _without_empty(content: Any) -> Any:
    """Return content in which an empty mapping or list is null."""
    if isinstance(content, dict):
        return {key: _without_empty(value) for key, value in content.items()} or None
    if isinstance(content, list):
        return [_without_empty(value) for value in content] or None
    return None if content is not None and content[0].endswith(":null") else content
