"""Migrate Python files by the positions of their syntax tree; formatting and comments are kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from headrace.devtools.migration import Edit, Migration, Note, apply_edits
from headrace.errors import LoadError

_NAMED = ("where", "drop", "union", "event_time")
"""The verbs whose keyword `name` is now `step_name`."""
_TYPES = {
    "Joined": "TimedResult",
    "Deduplicated": "TimedResult",
    "Mapped": "DivertingStream",
    "TimedMapped": "TimedDivertingStream",
    "Queried": "QueryResult",
}
_STAGES = {
    "read": "stream",
    "from_dataframe": "stream",
    "sql": "stream",
    "map": "stream",
    "flat_map": "stream",
    "map_batches": "stream",
    "process": "stream",
    "stateful_map": "stream",
    "event_time": "stream",
    "ingestion_time": "stream",
    "processing_time": "stream",
    "match": "stream",
    "match_rules": "stream",
    "aggregate": "stream",
    "join_as_of": "stream",
    "join_table": "stream",
    "join_window": "stream",
    "key_by": "keyed",
    "window": "windowed",
    "latest": "table",
    "top_n": "table",
}
"""The stages that verbs return; other verbs return the stage of their receiver."""
_SAME = ("where", "select", "with_columns", "drop", "lookup", "emit", "union", "distinct", "filter")


def migrate_program(text: str, file: str) -> Migration:
    """Return a program with the spellings of this version; a file without headrace is not changed.

    >>> migrate_program("big = headrace_stream.where('a > 1', name='big')", "p.py").text
    "big = headrace_stream.where('a > 1', step_name='big')"

    Raises:
        LoadError: the text is not Python.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise LoadError(f"SyntaxError: {error.msg}", where=f"{file}:{error.lineno}:{error.offset}") from None
    if "headrace" not in text:
        return Migration(text)
    program = _Program(text, tree)
    edits = list(program.edits())
    return Migration(apply_edits(text, edits), tuple(program.notes))


class _Program:
    """A syntax tree with the character positions of its nodes."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.notes: list[Note] = []
        self._text = text
        self._tree = tree
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._encoded = [line.encode() for line in text.splitlines(keepends=True)]
        self._assigned = {
            target.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def edits(self) -> Iterator[Edit]:
        """Yield the edits of the whole file."""
        renamed: set[str] = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "headrace":
                names = {alias.name for alias in node.names}
                renamed |= names & _TYPES.keys()
                if "SinkHandle" in names:
                    self._note(node, "SinkHandle is gone: write(...) returns None")
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield from self._call(node, node.func)
            elif isinstance(node, ast.Name) and node.id in renamed:
                yield Edit(self._start(node), self._end(node), _TYPES[node.id])
            elif isinstance(node, ast.alias) and node.name in renamed:
                yield Edit(self._start(node), self._start(node) + len(node.name), _TYPES[node.name])

    def _call(self, call: ast.Call, function: ast.Attribute) -> Iterator[Edit]:
        keywords = {keyword.arg: keyword for keyword in call.keywords if keyword.arg}
        if function.attr in _NAMED and "name" in keywords:
            start = self._start(keywords["name"])
            yield Edit(start, start + len("name"), "step_name")
        elif function.attr == "emit" and "late_rows" in keywords:
            yield from self._engine(call, function, keywords["late_rows"])
        elif function.attr == "lookup" and "how" in keywords:
            yield from self._on_miss(call, keywords)
        elif function.attr == "join":
            yield from self._join(call, function, keywords)

    def _engine(self, emit: ast.Call, function: ast.Attribute, option: ast.keyword) -> Iterator[Edit]:
        """Yield the edits that move `late_rows="count"` of `emit` to `engine="native"` of `window`."""
        value = option.value.value if isinstance(option.value, ast.Constant) else None
        window = function.value
        while isinstance(window, ast.Call) and isinstance(window.func, ast.Attribute):
            if window.func.attr == "window":
                break
            window = window.func.value
        is_window = isinstance(window, ast.Call) and isinstance(window.func, ast.Attribute)
        if value == "divert":
            yield self._removal(emit, option)
        elif value != "count" or not is_window or len(emit.keywords) > 1:
            self._note(emit, 'write window(..., engine="native") in place of emit(late_rows="count")')
        else:
            assert isinstance(window, ast.Call)
            yield Edit(self._end(function.value), self._end(emit), "")
            last = [*window.args, *window.keywords][-1]
            yield Edit(self._end(last), self._end(last), ', engine="native"')

    def _on_miss(self, call: ast.Call, keywords: dict[str, ast.keyword]) -> Iterator[Edit]:
        how = keywords["how"]
        value = how.value.value if isinstance(how.value, ast.Constant) else None
        if value == "inner" and "on_miss" not in keywords:
            yield Edit(self._start(how), self._end(how), 'on_miss="drop"')
        elif value in ("inner", "left"):
            yield self._removal(call, how)
        else:
            self._note(call, 'write on_miss="drop" in place of how="inner", and on_miss="null" for "left"')

    def _join(
        self, call: ast.Call, function: ast.Attribute, keywords: dict[str, ast.keyword]
    ) -> Iterator[Edit]:
        stage = self._stage(function.value)
        if "within" in keywords or not call.args:
            return
        if stage == "windowed":
            yield self._rename(function, "join_window")
        elif "at" in keywords or (stage == "stream" and "on" in keywords):
            yield self._rename(function, "join_table")
        elif "on" in keywords and stage != "table":
            self._note(call, "a join of a stream with a table is join_table(...); join two tables with join")

    def _rename(self, function: ast.Attribute, name: str) -> Edit:
        end = self._end(function)
        return Edit(end - len(function.attr), end, name)

    def _stage(self, node: ast.expr, depth: int = 0) -> str:
        """Return the stage of an expression; an empty text if it is unknown."""
        if isinstance(node, ast.Name) and node.id in self._assigned and depth < 20:
            return self._stage(self._assigned[node.id], depth + 1)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            verb = node.func.attr
            if verb in _STAGES:
                return _STAGES[verb]
            if verb == "join":
                keywords = {keyword.arg: keyword.value for keyword in node.keywords}
                at = keywords.get("at")
                live = isinstance(at, ast.Constant) and at.value == "live"
                return "table" if live else self._stage(node.func.value, depth + 1)
            return self._stage(node.func.value, depth + 1) if verb in _SAME else ""
        return ""

    def _removal(self, call: ast.Call, option: ast.keyword) -> Edit:
        """Return the edit that removes a keyword, with the comma before or after it."""
        items = sorted([*call.args, *call.keywords], key=self._start)
        for before, item in pairwise(items):
            if item is option:
                return Edit(self._end(before), self._end(option), "")
        after = items[1:2]
        return Edit(self._start(option), self._start(after[0]) if after else self._end(option), "")

    def _note(self, node: ast.AST, what: str) -> None:
        self.notes.append(Note(node.lineno, what))  # type: ignore[attr-defined]

    def _start(self, node: ast.AST) -> int:
        return self._index(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._index(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _index(self, line: int, column: int) -> int:
        """Return the position of a line and a column in bytes, as the syntax tree counts them."""
        return self._lines[line - 1] + len(self._encoded[line - 1][:column].decode())
