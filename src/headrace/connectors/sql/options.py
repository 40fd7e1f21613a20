"""The options that tables of all databases share."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from headrace.access.options import Address
from headrace.connectors.base import (
    Carries,
    Guarantee,
    Load,
    Reader,
    Role,
    WriteMode,
    Writer,
)
from headrace.connectors.driver_source import DriverSource, Offset
from headrace.connectors.lookups import KeyTable, Listing, LookupContext
from headrace.connectors.network.addresses import are_servers
from headrace.connectors.options import DurationOption, NamesOption, RetryTimeoutOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.connectors.sql.dialect import Dialect
from headrace.connectors.sql.table import mode_problem
from headrace.errors import without_passwords

_PARAMETER_NAMES = """
    application_name channel_binding client_encoding connect_timeout dbname gssencmode keepalives
    keepalives_count keepalives_idle keepalives_interval load_balance_hosts options password port
    require_auth sslmode sslnegotiation sslsni ssl_max_protocol_version ssl_min_protocol_version
    target_session_attrs tcp_user_timeout user
"""
_PARAMETERS = frozenset(_PARAMETER_NAMES.split())
"""Parameters of libpq that name neither a file nor a host; MySQL's client reads none."""


class DatabaseTable(DriverSource):
    """A table: a sink, a lookup table, or a source that reads new rows by a cursor column."""

    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    listable: ClassVar[bool] = True
    loads: ClassVar[frozenset[Load]] = frozenset({"table", "key"})
    carries: ClassVar[Carries] = "rows"

    table: str = Field(
        min_length=1, description="The table's name, with or without its schema: `shop.totals`"
    )
    key: SinkOption[NamesOption] = Field(
        default=(),
        description="The columns that identify a row; `window` stands for the window's columns",
    )
    cursor: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="The column that increases with every row, such as a serial number or the time of "
        "writing; it should have an index",
    )
    start: SourceOption[int | str] = Field(
        default="earliest",
        description="Where a new checkpoint begins: `earliest`, `latest`, or the first value of the cursor "
        "column",
    )
    every: SourceOption[DurationOption] = Field(
        default="1 second", description="How often the table is polled for new rows"
    )
    delay: SourceOption[DurationOption] = Field(
        default="1 second",
        description="How much later a transaction may commit than another one with higher cursor values; "
        "rows are read with this delay",
    )
    max_per_batch: SourceOption[int | None] = Field(
        default=100_000,
        ge=1,
        description="The maximum number of rows per epoch; null for no limit",
    )
    tasks: SourceOption[int] = Field(
        default=1,
        ge=1,
        description="The number of tasks that read an epoch, if the cursor column holds whole numbers",
    )

    @property
    def replayable(self) -> bool:
        return self.cursor is not None

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"table `{self.table}`", f"column `{self.cursor}`")

    @property
    def replay_assumption(self) -> str:
        return f"rows of `{self.table}` are only added, each with a larger `{self.cursor}`, and never change"

    def mode_problem(self, mode: WriteMode) -> str:
        return mode_problem(mode, self.key)

    def stream_problem(self) -> tuple[str, str] | None:
        if self.cursor is not None:
            return None
        return (
            f"a {self.kind} table cannot be read as a stream without a cursor column",
            'name a column that increases with every row: cursor="id"; to look rows up, use it in a lookup',
        )

    @property
    def first_offset(self) -> Offset:
        """The offset at which a read of the whole table begins."""
        if self.cursor is None or self.start in ("earliest", "latest"):
            return {"after": None}
        return {"from": str(self.start)}

    def dialect(self, *, writes: bool = False) -> Dialect:
        """Return the dialect of a source or, with `writes`, of a sink; loads the database's client."""
        raise NotImplementedError

    def reader(self) -> Reader:
        from headrace.connectors.sql.source import TableReader

        return TableReader(self)

    def key_table(self, context: LookupContext) -> KeyTable:
        from headrace.connectors.sql.lookup import describe_table

        return describe_table(self.dialect(), self.table, context, retry_timeout=self.retry_seconds)

    def listing(self) -> Listing:
        from headrace.connectors.sql.listing import TableListing

        return TableListing(self.dialect(), self.table)


class ServerAddress(DriverSource):
    """The address of a database server; a separate base class, so that these options are listed first."""

    schemes: ClassVar[tuple[str, ...]]
    """The schemes of its URLs, the usual one first."""
    accepts_dsn: ClassVar[bool] = False
    """True if the client also accepts addresses that are not URLs."""

    url: Annotated[str, Address(_PARAMETERS)] = Field(
        description="The address: `<kind>://user:password@host:port/database`"
    )
    retry_timeout: RetryTimeoutOption = "1 minute"

    @field_validator("url")
    @classmethod
    def _check_scheme(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and "//" not in url and cls.accepts_dsn:
            return url
        servers = parts.netloc.rpartition("@")[2]
        are_valid = are_servers(servers) and (cls.accepts_dsn or "," not in servers)
        if parts.scheme not in cls.schemes or not parts.path.strip("/") or not are_valid:
            raise ValueError(f"expected {cls.schemes[0]}://user:password@host:port/database")
        return url


class ServerTable(DatabaseTable, ServerAddress):
    """A table of a database server; each kind of server is a subclass with its dialect."""

    @field_validator("table")
    @classmethod
    def _check_reserved(cls, table: str) -> str:
        if table.rpartition(".")[2].lower().startswith("_headrace"):
            raise ValueError("names that start with `_headrace` are reserved")
        return table

    def target(self) -> str | None:
        parts = urlsplit(self.url)
        servers = parts.netloc.rpartition("@")[2].lower()  # PostgreSQL accepts several, with commas
        server = f"{servers}{parts.path}" if servers else without_passwords(self.url)
        return f"the table `{self.table}` at {server}"

    def writer(self) -> Writer:
        from headrace.connectors.sql.staging import ServerStaging
        from headrace.connectors.sql.writer import TableWriter

        dialect = self.dialect(writes=True)
        staging = ServerStaging(dialect, self.retry_seconds)
        return TableWriter(dialect, self.table, self.key, staging, self.retry_seconds)
