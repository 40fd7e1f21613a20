"""Rows in the memory of the Python process, for tests, notebooks and first steps.

*Source*: replayable within the process. Rows of the option `rows` exist again in the next process; rows added
with `add` do not. *Sink*: exactly once within the process: a replayed epoch is not added again. Nothing
survives the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, PrivateAttr

from headrace.connectors.base import Carries, Connector, Guarantee, Reader, Role, Writer
from headrace.connectors.memory.store import MemoryStore, get_store
from headrace.connectors.options import NamesOption, RowsOption
from headrace.connectors.roles import ReadOption, SinkOption
from headrace.formats import Format

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Memory(Connector):
    """Rows held by the Python process.

    If the source has a format, a row is one record, `{"value": text or bytes}`, which the format decodes.

    Call `add` and `contents` on the connector itself. Rows with a `name` can be reached from elsewhere in the
    process, for instance those of a pipeline that was loaded from a document; without a name they belong to
    this object alone.

    A sink with a `key` holds one row per key: a newer row overwrites it, a retraction or deletion removes it.
    Without a key every row is appended; in mode `complete` each epoch replaces all rows.

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
    replayable: ClassVar[bool] = True

    rows: ReadOption[RowsOption] = Field(
        default=(), description="The first rows, as mappings from column to value"
    )
    name: str | None = Field(
        default=None,
        min_length=1,
        description="A name by which other code in the process reaches the same rows",
    )
    key: SinkOption[NamesOption] = Field(
        default=(),
        description="The columns that identify a row, which newer rows of the key overwrite; `window` is "
        "the window",
    )

    _store: MemoryStore = PrivateAttr(default_factory=MemoryStore)
    _records: bool = PrivateAttr(False)
    """True if the rows are records to be decoded, because the source has a format."""

    def model_post_init(self, _: Any) -> None:
        if self.name is not None:
            self._store = get_store(self.name)
        self._store.add_first_rows(list(self.rows))

    def __eq__(self, other: object) -> bool:
        # Compares the declarations, not the rows that have arrived since.
        return isinstance(other, Memory) and (self.rows, self.name, self.key) == (
            other.rows,
            other.name,
            other.key,
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    @property
    def carries(self) -> Carries:
        return "bytes" if self._records else "rows"

    def with_format(self, chosen: Format | None) -> Connector:
        if chosen is None or chosen.of_rows:
            return self
        copy = self.model_copy()
        copy._records = True
        return copy

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Feed rows to every present and future query of this source.

        The rows of one call stay in one micro-batch.
        """
        self._store.add(rows)

    def contents(self) -> list[dict[str, Any]]:
        """Return all rows that were fed to the source or written to the sink.

        Timestamps of a sink are aware, in UTC.
        """
        return self._store.contents()

    def clear(self) -> None:
        """Remove all rows and epochs. Do not call this while a pipeline runs."""
        self._store.clear()

    @property
    def store_id(self) -> str:
        """The id of the rows, which no other process has."""
        return self._store.id

    def remove_rows_of(self, pipeline: str, sink: str) -> None:
        """Remove all rows if no other sink has written any."""
        with self._store.lock:
            if set(self._store.ledgers) == {(pipeline, sink)}:
                self._store.clear()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.contents())

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a Polars DataFrame; needs the package `polars`."""
        import polars

        return polars.DataFrame(self.contents(), infer_schema_length=None)

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as an Arrow table."""
        import pyarrow

        return pyarrow.Table.from_pylist(self.contents())

    def _repr_html_(self) -> str:
        from headrace.html_tables import rows_table

        return rows_table(self.contents())

    def reader(self) -> Reader:
        from headrace.connectors.memory.source import MemoryReader

        return MemoryReader(self._store, records=self._records)

    def writer(self) -> Writer:
        from headrace.connectors.memory.sink import MemoryWriter

        return MemoryWriter(self._store, self.key)
