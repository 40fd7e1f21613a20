"""What happens to a table of PostgreSQL: every insert, update and delete, from the server's own log.

*Source*: replayable. The rows that are there come first, then what is changed, transaction by transaction, nothing left out
and nothing twice. A *replication slot* on the server remembers how far the pipeline is; it is told so only after every sink
has the epoch, and until then the server keeps its log. A run that is killed goes on at exactly the right place.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from headrace import durations
from headrace.connectors.base import Carries, Reader, Role
from headrace.connectors.options import DurationOption
from headrace.connectors.sql.options import ServerAddress
from headrace.connectors.sql.patience import said_by_task
from headrace.errors import Problem

_NAME = r"[a-z0-9_]{1,63}"


class PostgresCdc(ServerAddress):
    """Every change of one table, by logical replication.

    A row has the columns of the schema, as they are after the change (of a deleted row, as they were: all of them with
    `REPLICA IDENTITY FULL`, else the key), and `change struct<op string, lsn bigint, at timestamp>`: `op` is `snapshot` (a row
    that was there at the beginning), `insert`, `update` or `delete`, `lsn` the position after its transaction, `at` when that
    committed. A row whose primary key was updated is a `delete` of the old key and an `insert` of the new one. Transactions
    are never torn: an epoch has all rows of one, or none. A database sink with a `key` applies the changes, deletes too.

    The server must run with `wal_level = logical`, the user needs the attribute REPLICATION, and the table a primary key or
    `REPLICA IDENTITY FULL`. Slot and publication are made if they aren't there. **A slot that nobody reads keeps the server's
    log for ever**: when the pipeline is gone for good, `select pg_drop_replication_slot('...')`. Needs the extra `postgres`.

    >>> PostgresCdc(url="postgresql://ada:secret@db/shop", table="orders").snapshot
    'first'
    """

    kind: ClassVar[str] = "postgres_cdc"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    other_addresses: ClassVar[bool] = True

    table: str = Field(min_length=1, description="The table's name, perhaps with its schema: `shop.orders`")
    slot: str | None = Field(
        default=None,
        pattern=f"^{_NAME}$",
        description="The replication slot; `headrace_<pipeline>_<source>` if not said",
    )
    publication: str | None = Field(
        default=None, min_length=1, description="The publication; named as the slot if not said"
    )
    snapshot: Literal["first", "never"] = Field(
        default="first",
        description="Whether a new checkpoint begins with the rows that are there, or only with what changes from now on",
    )
    before: str | None = Field(
        default=None,
        min_length=1,
        description="The name of a column for the row as it was before an update or delete, a struct; without "
        "`REPLICA IDENTITY FULL` only its key is known",
    )
    truncate: Literal["fail", "skip"] = Field(
        default="fail", description="What to do when the table is truncated, which names no rows"
    )
    every: DurationOption = Field(
        default="500 milliseconds", description="How often the server is asked for changes"
    )
    max_per_batch: int = Field(
        default=100_000,
        ge=1,
        description="About how many changes one epoch takes; a transaction is taken whole, however large",
    )
    retry_timeout: DurationOption = Field(
        default="1 minute",
        description="How long a server that goes away in the middle of a run is waited for",
    )

    @property
    def replayable(self) -> bool:
        return True

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"table `{self.table}`")

    @property
    def driver_side(self) -> bool:
        return True

    @property
    def concurrent_readers(self) -> bool:
        return False

    @property
    def carries(self) -> Carries:
        return "rows"

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        return ("change",) if self.before is None else ("change", self.before)

    def explain_failure(self, failure: str) -> Problem | None:
        said = said_by_task(failure)
        return None if said is None or not said[2] else Problem(said[2], said[0], said[1])

    def reader(self) -> Reader:
        from headrace.connectors.postgres_cdc.source import ChangesReader

        return ChangesReader(self)

    @property
    def waits(self) -> float:
        """How many seconds a server is waited for."""
        return durations.microseconds(self.retry_timeout) / 1e6
