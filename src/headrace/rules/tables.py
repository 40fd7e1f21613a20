"""Rule tables: a file or a database table, read at the start of an epoch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headrace.connectors.base import Connector
from headrace.errors import SourceError
from headrace.steps.patterns.match_rules import MatchRules
from headrace.yaml.rules import Rules, rules_of_file, rules_of_rows


@dataclass(frozen=True)
class Content:
    """The present content of a table."""

    digest: str
    """A digest of the content."""
    read: Callable[[], Rules]
    """Returns its rules; raises if the table is invalid."""


class RuleTable(Protocol):
    """A source of rules."""

    @property
    def name(self) -> str:
        """The name in messages."""
        ...

    def read_content(self) -> Content:
        """Return the present content.

        Raises:
            HeadraceError: the table cannot be read.
        """
        ...

    def close(self) -> None:
        """Close the table."""
        ...


def table_of(node: MatchRules) -> RuleTable:
    """Return the table of a step."""
    return ListedTable(node.table) if isinstance(node.table, Connector) else FileTable(node.table)


class FileTable:
    """A file, whose suffix determines the format; read again after its modification time or size changed."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._seen: tuple[int, ...] = ()
        self._content: Content | None = None

    def read_content(self) -> Content:
        try:
            stat = Path(self.name).stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._content is None or seen != self._seen:
                text = Path(self.name).read_text("utf-8")
                self._content = Content(_digest(text), lambda: rules_of_file(text, file=self.name))
                self._seen = seen
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise SourceError(f"the rules cannot be read: {reason}", where=self.name) from error
        return self._content

    def close(self) -> None:
        """Do nothing; no resources are held."""


class ListedTable:
    """A table of a database."""

    def __init__(self, connector: Connector) -> None:
        self.name = f"{connector.kind} table {getattr(connector, 'table', '')}"
        self._listing = connector.listing()

    def read_content(self) -> Content:
        rows = self._listing.rows()
        # The row order of a database is not significant and can change.
        ordered = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
        return Content(_digest(json.dumps(ordered)), lambda: rules_of_rows(ordered, where=self.name))

    def close(self) -> None:
        self._listing.close()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
