"""Option models of third-party connectors, found by their entry points."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from headrace.connectors.base import Carries, Connector, Role


class Feed(Connector):
    """Rows from nowhere."""

    kind: ClassVar[str] = "feed"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})

    @property
    def carries(self) -> Carries:
        return "rows"


class Shelf(Connector):
    """Tables of nothing."""

    kind: ClassVar[str] = "shelf"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink", "table"})

    url: str = Field(description="Where the server is")
    table: str = Field(description="The table")
    key: tuple[str, ...] = Field((), description="The columns that tell rows apart")

    @property
    def carries(self) -> Carries:
        return "rows"
