"""Rule tables that a script changes."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.rules.tables import Content, FileTable
from headrace.steps.patterns.match_rules import MatchRules
from headrace.yaml.positions import Fields, Value, plain
from headrace.yaml.rules import rules_of_tree


class ScriptedTable:
    """The rules of a step: initially those of its file, if there is one, then those of the script."""

    def __init__(self, node: MatchRules) -> None:
        self.name = f"the rules of `{node.name}`"
        stored = isinstance(node.table, str) and Path(node.table).exists()
        self._file = FileTable(str(node.table)) if stored else None
        self._content: Value = Fields(self.name)

    def change(self, content: Value) -> None:
        """Replace the rules of the table."""
        self._file, self._content = None, content

    def read_content(self) -> Content:
        if self._file is not None:
            return self._file.read_content()
        content = self._content
        return Content(json.dumps(plain(content)), lambda: rules_of_tree(content))

    def close(self) -> None:
        """Do nothing; the table has no resources."""
