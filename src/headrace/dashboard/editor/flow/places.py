"""Finds the path of a problem in a document, so that it is shown at its node and its field."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from ruamel.yaml.nodes import Node

from headrace.access.effort import check_effort
from headrace.dashboard.editor.schema_tree import object_of, walk
from headrace.dashboard.editor.yaml_parts import Part, Path, compose_text, parts_of
from headrace.errors import HeadraceError

_MISSING = re.compile(r"^(?:option )?`?(\w+)`?(?: of .+)? is missing|; set `(\w+)`$")


def with_paths(text: str, problems: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    r"""Return the problems with their paths: the section, the entry, then keys; empty if there is none.

    >>> problem = {"line": 2, "column": 11, "what": "expected a condition", "located": True}
    >>> with_paths("steps:\n  a: {where: 7}", [problem])[0]["path"]
    ['steps', 'a', 'where']
    """
    try:
        root = compose_text(text)
    except HeadraceError:
        root = None
    places = _Places(text, root)
    return tuple({**problem, "path": list(places.path_of(problem))} for problem in problems)


class _Places:
    """The places of a document. The parts of each node are read once: there may be thousands of problems."""

    def __init__(self, text: str, root: Node | None) -> None:
        self._text, self._root = text, root
        self._lines = [0, *(match.end() for match in re.finditer("\n", text)), len(text) + 1]
        self._parts: dict[Node, list[Part]] = {}

    def path_of(self, problem: Mapping[str, Any]) -> Path:
        """Return the path of a problem; empty if it has no place."""
        check_effort()
        if not problem["located"] or problem["line"] >= len(self._lines):
            return ()
        path = self._path_at(self._lines[problem["line"] - 1] + problem["column"] - 1)
        match = _MISSING.search(problem["what"])
        key = match and (match[1] or match[2])
        for holder in (path, path[:-1]):  # a block mapping starts at its first key
            if key and key in (object_of(list(walk(holder))) or {}).get("properties", ()):
                return (*holder, key)
        return path

    def _path_at(self, index: int) -> Path:
        """Return the path of the innermost value at a position of the text."""
        path: Path = ()
        node = self._root
        while node is not None and (part := self._part_at(node, index)) is not None:
            path = (*path, part.key)
            if part.is_alias or index < part.value.start_mark.index:
                break
            node = part.value
        return path

    def _part_at(self, node: Node, index: int) -> Part | None:
        if node not in self._parts:
            self._parts[node] = sorted(parts_of(self._text, node), key=_start)
        parts = self._parts[node]
        before = bisect_right(parts, index, key=_start)
        part = parts[before - 1] if before else None
        return part if part is not None and index <= _end(self._text, part) else None


def _start(part: Part) -> int:
    return part.start


def _end(text: str, part: Part) -> int:
    """Return the end of a part; that of a key without a value on the same line is the next character."""
    mark = int(part.value.start_mark.index)
    return mark if part.is_empty and "\n" not in text[part.colon : mark] else part.end
