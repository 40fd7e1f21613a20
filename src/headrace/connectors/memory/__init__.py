"""Rows in this process: fed from Python, read back from Python.

For tests, notebooks and first steps. *Source*: replayable for as long as the process lives; the rows given with
`rows` are there again in the next process, those added with `add` are not. *Sink*: exactly once within the process
(an epoch that comes again is not added again); nothing survives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from headrace.connectors.base import Connector, Guarantee, Reader, Role, Writer
from headrace.connectors.memory.shelf import Shelf, shelf
from headrace.connectors.options import RowsOption
from headrace.connectors.roles import ReadOption
from headrace.formats import Format


class Memory(Connector):
    """Rows held by the Python process.

    Where the source names a format, a row is one record, `{"value": text or bytes}`, and goes through the decoder.

    The object is its own handle. Give it a `name` to reach the same rows from elsewhere, for instance those of a
    pipeline that was written as a document; without a name they belong to this object alone.

    >>> feed = Memory(rows=[{"card": "a", "amount": 1.5}])
    >>> feed.add({"card": "b", "amount": 2.5})
    >>> feed.contents()
    [{'card': 'a', 'amount': 1.5}, {'card': 'b', 'amount': 2.5}]
    >>> Memory(name="alerts").add({"card": "c"})
    >>> Memory(name="alerts").contents()
    [{'card': 'c'}]
    """

    kind: ClassVar[str] = "memory"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"

    rows: ReadOption[RowsOption] = Field(
        default=(), description="The first rows of a source, as mappings from column to value"
    )
    name: str | None = Field(
        default=None,
        min_length=1,
        description="A name by which other code in the process finds the same rows",
    )

    _shelf: Shelf = PrivateAttr(default_factory=Shelf)
    _records: bool = PrivateAttr(False)
    """Whether the rows are records to be decoded, because the source names a format."""

    def model_post_init(self, _: Any) -> None:
        if self.name is not None:
            self._shelf = shelf(self.name)
        self._shelf.stock(list(self.rows))

    def __eq__(self, other: object) -> bool:
        # Two declarations are the same whatever rows have come in since.
        return isinstance(other, Memory) and (self.rows, self.name) == (other.rows, other.name)

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    @property
    def replayable(self) -> bool:
        return True

    @property
    def carries(self) -> Any:
        return "bytes" if self._records else "rows"

    def with_format(self, chosen: Format | None) -> Connector:
        if chosen is None or chosen.of_rows:
            return self
        told = self.model_copy()
        told._records = True
        return told

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Feed rows to every query that reads this source, now and later; together they are one micro-batch at most."""
        self._shelf.add(rows)

    def contents(self) -> list[dict[str, Any]]:
        """All rows: fed to a source, or delivered to a sink. Timestamps from a sink are aware, in UTC."""
        return self._shelf.contents()

    def clear(self) -> None:
        """Forget all rows and all epochs; not while a pipeline runs."""
        self._shelf.clear()

    def reader(self) -> Reader:
        from headrace.connectors.memory.source import MemoryReader

        return MemoryReader(self._shelf, records=self._records)

    def writer(self) -> Writer:
        from headrace.connectors.memory.sink import MemoryWriter

        return MemoryWriter(self._shelf)
