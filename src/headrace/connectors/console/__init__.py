"""Rows on standard output.

*Sink*: at least once. After a crash the rows of the last epoch may be printed again.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from headrace.connectors.base import Connector, Guarantee, Role, Writer


class Console(Connector):
    """Prints rows to standard output: a table that grows on a terminal, JSON lines into a pipe or a file.

    JSON lines are complete; a table shows at most `limit` rows of an epoch, and the number of the others.

    >>> Console(limit=5).style
    'auto'
    """

    kind: ClassVar[str] = "console"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"

    limit: int = Field(default=20, ge=1, description="The maximum number of rows of an epoch in a table")
    style: Literal["auto", "table", "json"] = Field(
        default="auto", description="The form of rows; `auto` is `table` on a terminal, else `json`"
    )

    def writer(self) -> Writer:
        from headrace.connectors.console.sink import ConsoleWriter

        return ConsoleWriter(self)
