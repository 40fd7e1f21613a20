"""The events of an online auction, as the Nexmark benchmark defines them.

*Source*: replayable. An event is a function of the seed and its number, so it is the same in every run and on
any number of machines.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from headrace.connectors.base import Carries, Connector, Reader, Role
from headrace.connectors.generator import Generator
from headrace.connectors.generator.recipes import Sql
from headrace.connectors.nexmark.events import TABLES, rows_among
from headrace.schemas.fields import Schema

Table = Literal["person", "auction", "bid"]


class Nexmark(Connector):
    """Persons, auctions or bids of the Nexmark benchmark.

    Of 50 events, 1 is a person, 3 are auctions and 46 are bids, with the skew of the benchmark: half of the
    bids go to one auction in a hundred, and three quarters come from one person in a hundred. Sources with
    the same options read the same events, one table each.

    >>> Nexmark(table="auction", events=1000).schema_known.names[:2]
    ('id', 'item_name')
    """

    kind: ClassVar[str] = "nexmark"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})
    replayable: ClassVar[bool] = True

    table: Table = Field(description="The table: `person`, `auction` or `bid`")
    events: int | None = Field(
        default=None, ge=0, description="The number of events of all three tables; default: no end"
    )
    rate: float | None = Field(
        default=None,
        gt=0,
        description="Events of all three tables per second; default: as fast as they are read",
    )
    event_rate: float = Field(
        default=10_000.0, gt=0, description="Events per second of event time: the distance of their times"
    )
    start: str = Field(default="2015-07-15T00:00:00Z", description="The event time of the first event")
    disorder: int = Field(
        default=1, ge=1, description="The number of events in a group whose times are in another order"
    )
    seed: int = Field(default=0, description="The seed; another one generates other events")
    max_rows_per_batch: int | None = Field(
        default=None, ge=1, description="The maximum number of rows per epoch; default: no limit"
    )

    @property
    def carries(self) -> Carries:
        return "rows"

    @property
    def schema_known(self) -> Schema:
        return Schema.of(dict(TABLES[self.table].columns))

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, self.table)

    def stream_problem(self) -> tuple[str, str] | None:
        if self.events is None and self.rate is None:
            return "expected `events`, `rate` or both", "rows without end and rate would fill the disk"
        return None

    def reader(self) -> Reader:
        return self.as_generator().reader()

    def as_generator(self) -> Generator:
        """Return the generator of the rows of the table."""
        table = TABLES[self.table]
        formulas = table.formulas(self.start, self.event_rate, self.disorder, self.seed)
        return Generator(
            seed=self.seed,
            rows=None if self.events is None else rows_among(self.events, table),
            rate=None if self.rate is None else self.rate * table.share,
            columns={name: Sql(of=formula) for name, formula in formulas.items()},
            schema=self.schema_known,
            max_rows_per_batch=self.max_rows_per_batch,
        )
