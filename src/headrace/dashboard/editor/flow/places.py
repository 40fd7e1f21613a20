"""Finds the path of a problem in a document, so that it is shown at its node and its field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ruamel.yaml.nodes import Node

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
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return tuple({**problem, "path": list(_path(text, root, starts, problem))} for problem in problems)


def _path(text: str, root: Node | None, starts: list[int], problem: Mapping[str, Any]) -> Path:
    if not problem["located"] or problem["line"] >= len(starts):
        return ()
    path = path_at(text, root, starts[problem["line"] - 1] + problem["column"] - 1)
    match = _MISSING.search(problem["what"])
    key = match and (match[1] or match[2])
    for holder in (path, path[:-1]):  # a block mapping starts at its first key
        if key and key in (object_of(list(walk(holder))) or {}).get("properties", ()):
            return (*holder, key)
    return path


def path_at(text: str, root: Node | None, index: int) -> Path:
    """Return the path of the innermost value at a position of the text."""
    path: Path = ()
    node = root
    while True:
        part = next((part for part in parts_of(text, node) if part.start <= index <= _end(text, part)), None)
        if part is None:
            return path
        path = (*path, part.key)
        if part.is_alias or index < part.value.start_mark.index:
            return path
        node = part.value


def _end(text: str, part: Part) -> int:
    """Return the end of a part; that of a key without a value on the same line is the next character."""
    mark = int(part.value.start_mark.index)
    return mark if part.is_empty and "\n" not in text[part.colon : mark] else part.end
