"""The interfaces of tables: rows by key for lookups, and all rows of a small table.

A connector with the role `table` returns them from `key_table()` and `listing()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.connectors.retry import Server
from headrace.schemas.fields import Schema


@dataclass(frozen=True)
class LookupContext:
    """The step, key columns and schema of a lookup by key."""

    step: str
    on: tuple[str, ...]
    schema: Schema | None
    concurrency: int = 8
    """The maximum number of requests that a task has in flight, where a request has one key."""


Key = tuple[str, ...]
"""The values of the key columns, as Spark casts them to text."""
Values = tuple[str | None, ...]
"""The values of a table row's other columns, as text."""


class KeyReader(Protocol):
    """A session that reads rows by key, on a worker."""

    def rows(self, keys: Sequence[Key]) -> Mapping[Key, Sequence[Values]]:
        """Return the rows of distinct keys, with values in the order of the table's columns.

        A key without a row may be left out.
        """
        ...

    def close(self) -> None:
        """Close the session."""
        ...


class KeyTable(Server[KeyReader], Protocol):
    """A table that is read by key. It is created on the driver and sent to executors: it holds no connection.

    `connect` and the rows of a reader are retried while the server is unavailable.
    """

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns without the key, each with the SQL expression that converts its text, `{}`."""
        ...

    @property
    def retry_timeout(self) -> float:
        """How long an unavailable server is retried, in seconds."""
        ...


class Listing(Protocol):
    """A small table whose rows are read repeatedly, on the driver."""

    def rows(self) -> list[dict[str, str | None]]:
        """Return all current rows, with values as text.

        Raises:
            SourceError: the table cannot be read; a later call may succeed.
        """
        ...

    def close(self) -> None:
        """Release the table."""
        ...
