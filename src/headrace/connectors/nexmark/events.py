"""The Nexmark events as Spark SQL: every column is a function of the seed and the row number.

Of 50 consecutive events the first is a person, the next 3 are auctions and the other 46 are bids. The number
of an event follows from the number of a row in its table, so the rows of one table are generated without the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.connectors.generator.base import NUMBER, Draw
from headrace.connectors.generator.recipes import Timestamp

CYCLE = 50
"""Events after which the kinds of events repeat."""
_FIRST_ID = 1000
_AUCTIONS_IN_FLIGHT, _ACTIVE_PERSONS, _LEAD, _HOT_GROUP = 100, 1000, 10, 100
_CHANNELS = 10_000
_DISORDER_STEP = 953
"""A prime, so that its multiples modulo the size of a group visit every event of the group once."""


@dataclass(frozen=True)
class NexmarkTable:
    """One of the three tables: its columns, and its place in a cycle of events."""

    columns: Mapping[str, str]
    first: int
    """The number of its first event in a cycle."""
    count: int
    """The number of its events in a cycle."""
    values: Callable[[_Row], dict[str, str]]

    @property
    def share(self) -> float:
        """The share of its events among all events."""
        return self.count / CYCLE

    def formulas(self, start: str, event_rate: float, disorder: int, seed: int) -> dict[str, str]:
        """Return the expression of each column."""
        return self.values(_Row(self, start, event_rate, disorder, seed))


def rows_among(events: int, table: NexmarkTable) -> int:
    """Return the number of rows of a table among the first events.

    >>> [rows_among(102, table) for table in TABLES.values()]
    [3, 7, 92]
    """
    cycles, rest = divmod(events, CYCLE)
    return cycles * table.count + min(max(rest - table.first, 0), table.count)


@dataclass(frozen=True)
class _Row:
    """Parts of the expressions of a row."""

    table: NexmarkTable
    start: str
    event_rate: float
    disorder: int
    seed: int

    @property
    def cycle(self) -> str:
        """The number of complete cycles before the event; also the number of the last person, from 0."""
        return f"({NUMBER} div {self.table.count}L)"

    @property
    def last_auction(self) -> str:
        """The number of the last auction at a bid, from 0."""
        return f"({self.cycle} * 3L + 2L)"

    @property
    def milliseconds(self) -> str:
        """The event time, in milliseconds; in a group with disorder, that of another event of the group."""
        event = f"({self.cycle} * {CYCLE}L + {self.table.first}L + {NUMBER} % {self.table.count}L)"
        if (size := self.disorder) > 1:
            event = f"({event} div {size}L * {size}L + {event} * {_DISORDER_STEP}L % {size}L)"
        start = datetime.fromisoformat(str(Timestamp(start=self.start).start)) - datetime(
            1970, 1, 1, tzinfo=UTC
        )
        first = int(start.total_seconds() * 1000)
        return f"({first}L + cast(floor({event} * {1000 / self.event_rate!r}D) as bigint))"

    @property
    def time(self) -> str:
        return f"timestamp_millis({self.milliseconds})"

    def draw(self, column: str) -> Draw:
        return Draw(f"{self.table.first} {column}", self.seed, NUMBER)

    def below(self, column: str, bound: str | int) -> str:
        """Return a whole number from 0 to just below a bound."""
        return f"pmod({self.draw(column).hash_number()}, {bound if isinstance(bound, str) else f'{bound}L'})"

    def any_of(self, column: str, values: str) -> str:
        words = values.split(",")
        return f"split({values!r}, ',')[{self.below(column, len(words))}]"

    def price(self, column: str) -> str:
        """Return a price in cents, from 100 to 100 million, with equal chances per order of magnitude."""
        return f"cast(round(power(10, {self.draw(column).uniform()} * 6) * 100) as bigint)"

    def text(self, column: str, least: int, most: int) -> str:
        """Return text of a random length without a meaning."""
        blocks = "".join(f", hex({self.draw(column).hash_number(str(n))})" for n in range(-(-most // 16)))
        length = f"{least}L + {self.below(f'{column} length', most - least + 1)}"
        return f"substr(lower(concat(''{blocks})), 1, cast({length} as int))"

    def filler(self, least: int, most: int) -> str:
        """Return text that gives a row its usual size, from one random block."""
        length = f"{least}L + {self.below('extra length', most - least + 1)}"
        block = f"sha2(cast({self.draw('extra').hash_number()} as string), 256)"
        return f"substr(repeat({block}, {-(-most // 64)}), 1, cast({length} as int))"

    def person(self, column: str) -> str:
        """Return a person, from 0: one of the active ones, or one who registers soon."""
        active = f"least({self.cycle} + 1L, {_ACTIVE_PERSONS}L)"
        return f"({self.cycle} + 1L - {active} + {self.below(column, f'({active} + {_LEAD}L)')})"

    def auction(self, column: str) -> str:
        """Return an auction, from 0: one that is probably open, or one that opens soon."""
        first = f"greatest({self.last_auction} - {_AUCTIONS_IN_FLIGHT}L, 0L)"
        return f"({first} + {self.below(column, f'({self.last_auction} - {first} + 1L + {_LEAD}L)')})"

    def hot(self, column: str, ratio: int, hot: str, other: str) -> str:
        """Return the id of a hot person or auction; of any other one in 1 of `ratio` cases."""
        is_hot = f"{self.below(f'hot {column}', ratio)} > 0"
        return f"({_FIRST_ID}L + if({is_hot}, {hot}, {other}))"


def _person(row: _Row) -> dict[str, str]:
    first = row.any_of("first", "peter,paul,luke,john,saul,vicky,kate,julie,sarah,deiter,walter")
    last = row.any_of("last", "shultz,abrams,spencer,white,bartels,walton,smith,jones,noris")
    cities = "phoenix,los angeles,san francisco,boise,portland,bend,redmond,seattle,kent,cheyenne"
    digits = ", ".join(f"lpad({row.below(f'card {n}', 10_000)}, 4, '0')" for n in range(4))
    return {
        "id": f"({_FIRST_ID}L + {NUMBER})",
        "name": f"concat({first}, ' ', {last})",
        "email_address": f"concat({row.text('user', 3, 7)}, '@', {row.text('host', 3, 5)}, '.com')",
        "credit_card": f"concat_ws(' ', {digits})",
        "city": row.any_of("city", cities),
        "state": row.any_of("state", "az,ca,id,or,wa,wy"),
        "date_time": row.time,
        "extra": row.filler(90, 150),
    }


def _auction(row: _Row) -> dict[str, str]:
    # An auction is open until about as many new ones have opened as are open at a time.
    horizon = max(int(2 * _AUCTIONS_IN_FLIGHT * CYCLE / 3 * 1000 / row.event_rate), 1)
    hot_seller = f"{row.cycle} div {_HOT_GROUP}L * {_HOT_GROUP}L"
    return {
        "id": f"({_FIRST_ID}L + {NUMBER})",
        "item_name": row.text("item_name", 3, 20),
        "description": row.text("description", 3, 100),
        "initial_bid": row.price("initial_bid"),
        "reserve": f"({row.price('initial_bid')} + {row.price('reserve')})",
        "date_time": row.time,
        "expires": f"timestamp_millis({row.milliseconds} + 1L + {row.below('expires', horizon)})",
        "seller": row.hot("seller", 4, hot_seller, row.person("seller")),
        "category": f"(10L + {row.below('category', 5)})",
        "extra": row.filler(300, 460),
    }


def _bid(row: _Row) -> dict[str, str]:
    number = row.below("channel", _CHANNELS)
    hot_channel = row.any_of("hot channel", "Google,Facebook,Baidu,Apple")
    is_hot = f"{row.below('is hot channel', 2)} = 0"
    # The path of a hot channel is the same in all of its bids.
    path_of = f"if({is_hot}, hash({hot_channel}), {number})"
    digits = f"lpad(lower(hex(xxhash64({path_of}))), 16, '0')"
    path = ", '/', ".join(f"substr({digits}, {position}, 3)" for position in (1, 4, 7))
    page = "'item.htm?query=1'"
    query = f"if({is_hot}, '', concat('&channel_id=', {number}))"
    hot_auction = f"{row.last_auction} div {_HOT_GROUP}L * {_HOT_GROUP}L"
    hot_bidder = f"{row.cycle} div {_HOT_GROUP}L * {_HOT_GROUP}L + 1L"
    return {
        "auction": row.hot("auction", 2, hot_auction, row.auction("auction")),
        "bidder": row.hot("bidder", 4, hot_bidder, row.person("bidder")),
        "price": row.price("price"),
        "channel": f"if({is_hot}, {hot_channel}, concat('channel-', {number}))",
        "url": f"concat('https://www.nexmark.com/', {path}, '/', {page}, {query})",
        "date_time": row.time,
        "extra": row.filler(40, 80),
    }


TABLES: dict[str, NexmarkTable] = {
    "person": NexmarkTable(
        {
            "id": "bigint",
            "name": "string",
            "email_address": "string",
            "credit_card": "string",
            "city": "string",
            "state": "string",
            "date_time": "timestamp",
            "extra": "string",
        },
        0,
        1,
        _person,
    ),
    "auction": NexmarkTable(
        {
            "id": "bigint",
            "item_name": "string",
            "description": "string",
            "initial_bid": "bigint",
            "reserve": "bigint",
            "date_time": "timestamp",
            "expires": "timestamp",
            "seller": "bigint",
            "category": "bigint",
            "extra": "string",
        },
        1,
        3,
        _auction,
    ),
    "bid": NexmarkTable(
        {
            "auction": "bigint",
            "bidder": "bigint",
            "price": "bigint",
            "channel": "string",
            "url": "string",
            "date_time": "timestamp",
            "extra": "string",
        },
        4,
        46,
        _bid,
    ),
}
