"""The entries and items of a YAML text with the ranges of their characters, as ruamel.yaml composes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from headrace.errors import OptionError
from headrace.yaml.parsing import compose

Path = tuple[str | int, ...]
FILE = "pipeline.yaml"
_COLON = re.compile(r"(?:\s|#.*+)*+:")
"""A key of a mapping in braces can have no colon: `{a, b}`."""
_ALIAS = re.compile(r"\s*\*[^\s,\]}]+")


@dataclass(frozen=True)
class Part:
    """An entry of a mapping or an item of a list, with the range of its text."""

    key: str | int
    start: int
    colon: int
    """The end of the key and its colon, if it has one; the start of an item."""
    value: Node
    end: int

    @property
    def is_empty(self) -> bool:
        """True if there is no text after the key."""
        return bool(self.value.start_mark.index == self.value.end_mark.index)

    @property
    def is_alias(self) -> bool:
        """True if the value is written at another place, before this one."""
        return bool(self.value.start_mark.index < self.start)


def compose_text(text: str) -> Node | None:
    """Return the root node of a document; None if it has only comments.

    Raises:
        DocumentError: the text is not YAML.
    """
    nodes = compose(text, file=FILE)
    return nodes[0] if nodes else None


def parts_of(text: str, node: Node | None) -> list[Part]:
    """Return the entries of a mapping or the items of a list; empty for a scalar."""
    if isinstance(node, MappingNode):
        return [_entry(text, key, value) for key, value in node.value]
    items = node.value if isinstance(node, CollectionNode) else ()
    starts = [item.start_mark.index for item in items]
    return [Part(i, starts[i], starts[i], item, _end(text, item)) for i, item in enumerate(items)]


def _entry(text: str, key: Node, value: Node) -> Part:
    start, end = key.start_mark.index, key.end_mark.index
    name = key.value if isinstance(key, ScalarNode) else text[start:end]
    match = _COLON.match(text, end)
    colon = match.end() if match else end
    if value.start_mark.index < start and (alias := _ALIAS.match(text, colon)):
        return Part(name, start, colon, value, alias.end())
    empty = value.start_mark.index == value.end_mark.index
    return Part(name, start, colon, value, colon if empty else _end(text, value))


def _end(text: str, node: Node) -> int:
    """Return the end of the text of a node without the comments after it."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        return parts_of(text, node)[-1].end
    end = int(node.end_mark.index)
    if isinstance(node, ScalarNode) and node.style in ("|", ">"):
        return len(text[:end].rstrip())
    return end


def find(text: str, path: Path) -> tuple[Any, Part]:
    """Return the entry or item at a path, and the collection that holds it.

    Raises:
        OptionError: the document has no such path.
    """
    node: Any = compose_text(text)
    part = None
    for depth, key in enumerate(path):
        node = part.value if part is not None else node
        part = next((each for each in parts_of(text, node) if each.key == key), None)
        if part is None:
            raise OptionError(f"the document has no `{'.'.join(map(str, path[: depth + 1]))}`")
    assert part is not None
    return node, part
