"""The options that tables of all database servers share."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from headrace import durations
from headrace.connectors.base import Carries, Connector, Guarantee, Listing, Reader, Role, WriteMode, Writer
from headrace.connectors.database.dialect import Dialect
from headrace.connectors.database.tables import refused
from headrace.connectors.options import DurationOption, NamesOption


class ServerTable(Connector):
    """A table of a database server; each kind of server is a subclass that knows its dialect."""

    roles: ClassVar[frozenset[Role]] = frozenset({"sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    lists: ClassVar[bool] = True
    schemes: ClassVar[tuple[str, ...]]
    """How its URLs start, the usual way first."""
    other_addresses: ClassVar[bool] = False
    """Whether its client knows other ways to say where a server is."""

    url: str = Field(description="Where it is: `<kind>://user:password@host:port/database`")
    table: str = Field(min_length=1, description="The table's name, perhaps with its schema: `shop.totals`")
    key: NamesOption = Field(
        default=(), description="The columns that tell rows apart; `window` stands for the window's columns"
    )
    patience: DurationOption = Field(
        default="1 minute",
        description="How long a server that goes away in the middle of a run is waited for",
    )

    @field_validator("url")
    @classmethod
    def _known_scheme(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and "://" not in url and cls.other_addresses:
            return url
        if parts.scheme not in cls.schemes or not parts.path.strip("/"):
            raise ValueError(f"expected {cls.schemes[0]}://user:password@host:port/database")
        return url

    @field_validator("table")
    @classmethod
    def _not_reserved(cls, table: str) -> str:
        if table.rpartition(".")[2].lower().startswith("_headrace"):
            raise ValueError("names that start with `_headrace` are taken")
        return table

    @property
    def carries(self) -> Carries:
        return "rows"

    def refuses(self, mode: WriteMode) -> str:
        return refused(mode, self.key)

    def dialect(self) -> Dialect:
        """How to speak to the server; loads its client."""
        raise NotImplementedError

    def reader(self) -> Reader:
        from headrace.connectors.database.source import TableReader

        return TableReader(self.dialect(), self.table)

    def listing(self) -> Listing:
        from headrace.connectors.database.listing import TableListing

        return TableListing(self.dialect(), self.table)

    def writer(self) -> Writer:
        from headrace.connectors.database.sink import TableWriter

        seconds = durations.microseconds(self.patience) / 1_000_000
        return TableWriter(self.dialect(), self.table, self.key, seconds)
