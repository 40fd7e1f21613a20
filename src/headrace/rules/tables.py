"""Tables of rules as they are now: a file, or a table of a database, looked at when an epoch begins."""

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
    """What a table holds at one moment."""

    digest: str
    """Changes whenever the table does."""
    read: Callable[[], Rules]
    """Its rules; raises where nothing can be made of it."""


class RuleTable(Protocol):
    """Where rules come from."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def look(self) -> Content:
        """What it holds now.

        Raises:
            HeadraceError: it can't be read now.
        """
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def table_of(node: MatchRules) -> RuleTable:
    """The table of a step."""
    return ListedTable(node.table) if isinstance(node.table, Connector) else FileTable(node.table)


class FileTable:
    """A file, read again when its time or size has changed."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._seen: tuple[int, ...] = ()
        self._content: Content | None = None

    def look(self) -> Content:
        try:
            stat = Path(self.name).stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._content is None or seen != self._seen:
                self._content, self._seen = (
                    content_of_text(Path(self.name).read_text("utf-8"), self.name),
                    seen,
                )
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise SourceError(f"the rules can't be read: {said}", where=self.name) from error
        return self._content

    def close(self) -> None:
        """Nothing is held open."""


class ListedTable:
    """A table of a database."""

    def __init__(self, connector: Connector) -> None:
        self.name = f"{connector.kind} table {getattr(connector, 'table', '')}"
        self._listing = connector.listing()

    def look(self) -> Content:
        rows = self._listing.rows()
        # The order in which a database lists rows means nothing, and may change.
        ordered = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
        return Content(_digest(json.dumps(ordered)), lambda: rules_of_rows(ordered, where=self.name))

    def close(self) -> None:
        self._listing.close()


def content_of_text(text: str, file: str) -> Content:
    """The content of a file, whose name tells what it is."""
    return Content(_digest(text), lambda: rules_of_file(text, file=file))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
