"""Migrate YAML documents and transcripts; comments and layout are kept."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headrace.devtools.migration import Edit, Migration, apply_edits
from headrace.errors import DocumentError, Problem

Entry = tuple[Node, Node]


def migrate_document(text: str, file: str) -> Migration:
    """Return a document with the spellings of this version.

    >>> migrate_document("steps: {a: {from: b, lookup: {files: x, how: inner}}}", "p.yaml").text
    'steps: {a: {from: b, lookup: {files: x, on_miss: drop}}}'

    Raises:
        DocumentError: the text is not YAML.
    """
    try:
        roots = list(YAML().compose_all(StringIO(text)))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        raise DocumentError([Problem(where, f"it is not YAML: {getattr(error, 'problem', error)}")]) from None
    edits = [edit for root in roots if root is not None for edit in _edits(root, text)]
    return Migration(apply_edits(text, edits))


def _edits(node: Node, text: str) -> Iterator[Edit]:
    if isinstance(node, SequenceNode):
        for item in node.value:
            yield from _edits(item, text)
    if not isinstance(node, MappingNode):
        return
    entries = {key.value: (key, value) for key, value in node.value if isinstance(key, ScalarNode)}
    emit, lookup = entries.get("emit"), entries.get("lookup")
    if emit is not None and "window" in entries and isinstance(emit[1], MappingNode):
        yield from _engine(node, emit, emit[1], text)
    if lookup is not None and isinstance(lookup[1], MappingNode):
        yield from _on_miss(lookup[1], text)
    for _, value in node.value:
        yield from _edits(value, text)


def _engine(step: MappingNode, emit: Entry, options: MappingNode, text: str) -> Iterator[Edit]:
    """Yield the edits that replace `late_rows: count` of `emit` by `engine: native` of the step."""
    late_rows = _entry(options, "late_rows")
    if late_rows is None:
        return
    counts = late_rows[1].value == "count"
    if len(options.value) == 1:
        end = _end(options)
        yield Edit(_start(emit[0]), end, "engine: native") if counts else _removal(step, emit, text)
        return
    yield _removal(options, late_rows, text)
    if counts:
        gap = ", " if step.flow_style else "\n" + " " * emit[0].start_mark.column
        yield Edit(_start(emit[0]), _start(emit[0]), f"engine: native{gap}")


def _on_miss(lookup: MappingNode, text: str) -> Iterator[Edit]:
    """Yield the edits that replace `how` of a lookup by `on_miss`."""
    how = _entry(lookup, "how")
    if how is None:
        return
    if how[1].value == "inner" and _entry(lookup, "on_miss") is None:
        yield Edit(_start(how[0]), _end(how[0]), "on_miss")
        yield Edit(_start(how[1]), _end(how[1]), "drop")
    else:
        yield _removal(lookup, how, text)


def _entry(mapping: Node, name: str) -> Entry | None:
    return next(((key, value) for key, value in mapping.value if key.value == name), None)


def _removal(mapping: MappingNode, entry: Entry, text: str) -> Edit:
    """Return the edit that removes an entry, with its separator or its lines."""
    entries = list(mapping.value)
    place = entries.index(entry)
    start, end = _start(entry[0]), _end(entry[1])
    if not mapping.flow_style:
        line = text.rfind("\n", 0, start) + 1
        if not text[line:start].strip():  # the entry begins its line
            after = text.find("\n", end)
            return Edit(line, len(text) if after < 0 else after + 1, "")
        return (
            Edit(start, _start(entries[place + 1][0]), "")
            if place + 1 < len(entries)
            else Edit(start, end, "")
        )
    if place + 1 < len(entries):
        return Edit(start, _start(entries[place + 1][0]), "")
    return Edit(_end(entries[place - 1][1]) if place else start, end, "")


def _start(node: Node) -> int:
    return int(node.start_mark.index)


def _end(node: Node) -> int:
    """Return the index after a node; the end mark of a block is that of the next token."""
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)
