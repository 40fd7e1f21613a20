"""The options that tables of all databases share."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from headrace import durations
from headrace.connectors.base import Carries, Connector, Guarantee, Listing, Reader, Role, WriteMode, Writer
from headrace.connectors.options import DurationOption, NamesOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.connectors.sql.dialect import Dialect
from headrace.connectors.sql.patience import said_by_task
from headrace.connectors.sql.polling import Polling
from headrace.connectors.sql.tables import refused
from headrace.errors import Problem, without_passwords


class DatabaseTable(Connector):
    """A table: written to, looked up, or followed by a column that grows."""

    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    listable: ClassVar[bool] = True

    table: str = Field(min_length=1, description="The table's name, perhaps with its schema: `shop.totals`")
    key: SinkOption[NamesOption] = Field(
        default=(),
        description="Of a sink: the columns that tell rows apart; `window` stands for the window's columns",
    )
    cursor: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="Of a source: the column that grows with every row, such as a serial number or the time of writing; "
        "give it an index",
    )
    start: SourceOption[int | str] = Field(
        default="earliest",
        description="Of a source: where a new checkpoint begins: `earliest`, `latest`, or the first value of the cursor "
        "column",
    )
    every: SourceOption[DurationOption] = Field(
        default="1 second", description="Of a source: how often the table is asked for new rows"
    )
    delay: SourceOption[DurationOption] = Field(
        default="1 second",
        description="Of a source: how long a transaction may take to commit after another, with higher numbers, did; "
        "rows are read that much later",
    )
    max_per_batch: SourceOption[int | None] = Field(
        default=100_000,
        ge=1,
        description="Of a source: the most rows that one epoch reads; null for all there are",
    )
    tasks: SourceOption[int] = Field(
        default=1,
        ge=1,
        description="Of a source: read an epoch with so many tasks, where the column holds whole numbers",
    )

    @property
    def carries(self) -> Carries:
        return "rows"

    @property
    def replayable(self) -> bool:
        return self.cursor is not None

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"table `{self.table}`", f"column `{self.cursor}`")

    @property
    def driver_side(self) -> bool:
        return True

    @property
    def replay_assumption(self) -> str:
        return (
            f"rows of `{self.table}` are only added, each with a larger `{self.cursor}`, and stay as they are"
        )

    def mode_problem(self, mode: WriteMode) -> str:
        return refused(mode, self.key)

    def stream_problem(self) -> tuple[str, str] | None:
        if self.cursor is not None:
            return None
        return (
            f"a table of {self.kind} doesn't tell what is new, so it can't be read as a stream",
            'name a column that grows with every row: cursor="id"; to look rows up, use it in a lookup',
        )

    def explain_failure(self, failure: str) -> Problem | None:
        said = said_by_task(failure)
        return None if said is None or not said[2] else Problem(said[2], said[0], said[1])

    def polling(self) -> Polling | None:
        """How the table is followed, if it is."""
        if self.cursor is None:
            return None
        every, delay = (durations.microseconds(length) / 1e6 for length in (self.every, self.delay))
        return Polling(self.cursor, self.start, every, delay, self.max_per_batch, self.tasks, self._waited())

    def _waited(self) -> float:
        """How many seconds a server is waited for."""
        return 0.0


class ServerAddress(Connector):
    """Where a database server is; a base beside that of tables, so that documents say it first."""

    schemes: ClassVar[tuple[str, ...]]
    """How its URLs start, the usual way first."""
    other_addresses: ClassVar[bool] = False
    """Whether its client knows other ways to say where a server is."""

    url: str = Field(description="Where it is: `<kind>://user:password@host:port/database`")

    @field_validator("url")
    @classmethod
    def _known_scheme(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and "//" not in url and cls.other_addresses:
            return url
        if parts.scheme not in cls.schemes or not parts.path.strip("/"):
            raise ValueError(f"expected {cls.schemes[0]}://user:password@host:port/database")
        return url


class ServerTable(DatabaseTable, ServerAddress):
    """A table of a database server; each kind of server is a subclass that knows its dialect."""

    retry_timeout: DurationOption = Field(
        default="1 minute",
        description="How long a server that goes away in the middle of a run is waited for",
    )

    @field_validator("table")
    @classmethod
    def _not_reserved(cls, table: str) -> str:
        if table.rpartition(".")[2].lower().startswith("_headrace"):
            raise ValueError("names that start with `_headrace` are taken")
        return table

    def target(self) -> str | None:
        parts = urlsplit(self.url)
        place = (
            f"{parts.hostname}:{parts.port or ''}{parts.path}"
            if parts.hostname
            else without_passwords(self.url)
        )
        return f"the table `{self.table}` at {place}"

    def dialect(self) -> Dialect:
        """How to speak to the server; loads its client."""
        raise NotImplementedError

    def reader(self) -> Reader:
        from headrace.connectors.sql.source import TableReader

        return TableReader(self.dialect(), self.table, self.polling())

    def listing(self) -> Listing:
        from headrace.connectors.sql.listing import TableListing

        return TableListing(self.dialect(), self.table)

    def writer(self) -> Writer:
        from headrace.connectors.sql.sink import TableWriter

        return TableWriter(self.dialect(), self.table, self.key, self._waited())

    def _waited(self) -> float:
        return durations.microseconds(self.retry_timeout) / 1e6
