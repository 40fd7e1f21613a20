"""The terminal: rows as they come.

*Sink*: at least once. After a crash the last epoch's rows may be printed again; nothing is remembered.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from headrace.connectors.base import Connector, Guarantee, Role, Writer


class Console(Connector):
    """Prints rows to standard output: a table that grows on a terminal, JSON lines into a pipe or a file.

    JSON lines are complete; a table shows at most `limit` rows of an epoch and says how many more there were.

    >>> Console(limit=5).style
    'auto'
    """

    kind: ClassVar[str] = "console"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"

    limit: int = Field(default=20, ge=1, description="The most rows of an epoch that a table shows")
    style: Literal["auto", "table", "json"] = Field(
        default="auto", description="How rows look: `auto` is `table` on a terminal, else `json`"
    )

    def writer(self) -> Writer:
        from headrace.connectors.console.sink import ConsoleWriter

        return ConsoleWriter(self)
