"""Composes the nodes of a YAML text within limits, so that a small text cannot stop the process."""

from __future__ import annotations

from typing import Any

from ruamel.yaml.composer import Composer
from ruamel.yaml.events import AliasEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, Node

from headrace.access.effort import check_effort
from headrace.yaml.errors import raise_problem

MAX_NODES = 20_000
"""The number of keys and values of a document, with those that its aliases repeat."""
MAX_DEPTH = 100
"""The levels of lists and mappings inside each other, aliases included."""
MAX_CHARACTERS = 1 << 18
"""The length of a document."""
MAX_NODES_OF_DATA = 2_000_000
"""The number of keys and values of a file of rules or transcripts."""
_EFFORT_NODES = 500
_TAG = "tag:yaml.org,2002:"
_SCALARS = frozenset(f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null"))
"""Explicit tags of values. Readers could disagree about others, and about any tag of a key."""


class BoundedComposer(Composer):
    """A composer that counts nodes and levels; an alias counts as what it repeats."""

    def __init__(self, loader: Any = None, *, file: str = "", max_nodes: int = MAX_NODES) -> None:
        super().__init__(loader=loader)
        self.warn_double_anchors = False
        self._file = file
        self._max_nodes = max_nodes
        self._nodes = 0
        self._level = 0
        self._sizes: dict[int, tuple[int, int]] = {}
        """The nodes and levels of each composed node with an anchor; a node that is not complete has none."""
        self._deepest = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node.

        Raises:
            DocumentError: a limit is exceeded, or a tag is not accepted.
        """
        event = self.parser.peek_event()
        if isinstance(event, AliasEvent):
            node: Node = super().compose_node(parent, index)
            self._count_alias(node, event)
            return node
        self._check_tag(event, is_key=isinstance(parent, MappingNode) and index is None)
        nodes, deepest = self._nodes, self._deepest
        self._level += 1
        self._deepest = self._level
        self._add(1, event)
        node = super().compose_node(parent, index)
        if event.anchor is not None:
            self._sizes[id(node)] = self._nodes - nodes, self._deepest - self._level
        self._level -= 1
        self._deepest = max(deepest, self._deepest)
        return node

    def _count_alias(self, node: Node, event: Any) -> None:
        if id(node) not in self._sizes:
            self._fail(
                event, f"the alias `*{event.anchor}` is inside the value that it repeats", "write it out"
            )
        nodes, levels = self._sizes[id(node)]
        self._deepest = max(self._deepest, self._level + 1 + levels)
        self._add(nodes, event)

    def _add(self, nodes: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes % _EFFORT_NODES == 0:
            check_effort()
        if self._nodes > self._max_nodes:
            what = f"expected at most {self._max_nodes} keys and values, aliases included"
            self._fail(event, what, "split the document")
        if self._deepest > MAX_DEPTH:
            self._fail(
                event, f"expected at most {MAX_DEPTH} levels of lists and mappings", "write it flatter"
            )

    def _check_tag(self, event: Any, *, is_key: bool) -> None:
        tag = None if event.ctag is None else str(event.ctag)
        if tag is None:
            return
        if is_key:
            self._fail(event, f"a key cannot have a YAML tag, got `{_short(tag)}`", "remove it")
        if tag not in _SCALARS or not isinstance(event, ScalarEvent):
            hint = "remove it; quote a text that starts with !"
            self._fail(event, f"unknown YAML tag `{_short(tag)}`", hint)

    def _fail(self, event: Any, what: str, hint: str) -> None:
        mark = event.start_mark
        raise_problem(f"{self._file}:{mark.line + 1}:{mark.column + 1}", what, hint)


def _short(tag: str) -> str:
    return f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag
