"""Topics of the joins: JSON events that depend on their number only, in order of time within a partition.

All rows of a key are in one partition, as a producer with keys writes them: Flink's temporal join loses versions that
arrive after later ones of their key. Each partition ends with a row a day later, of a key of its own: it moves the watermark past all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.topics import PARTITIONS, START

DAY = 86_400_000


def mix(number: int) -> int:
    """Return 64 bits that look random."""
    mixed = (number * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    mixed ^= mixed >> 29
    mixed = (mixed * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    return mixed ^ (mixed >> 32)


@dataclass(frozen=True)
class Rows:
    """Rows of one kind: how many, of how many keys."""

    rows: int
    keys: int
    LAST: ClassVar[int] = 10
    """Decides on the keys of the last rows; those of two topics that are joined must not meet."""

    @property
    def count(self) -> int:
        return self.rows + PARTITIONS

    @property
    def topic(self) -> str:
        return f"joins-2-{type(self).__name__.lower()}-{self.rows}-{self.keys}"

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.rows, self.keys

    def lines(self, partition: int) -> Iterator[bytes]:
        """Return the rows of every second key, then the row that ends the partition."""
        for number in range(self.rows):
            if (key := self.key(number)) % PARTITIONS == partition:
                yield self.line(number, key, START + number // PARTITIONS)
        yield self.line(partition, self.keys * self.LAST + partition, START + self.rows + DAY)

    def key(self, number: int) -> int:
        return mix(number) % self.keys

    def line(self, number: int, key: int, at: int) -> bytes:
        raise NotImplementedError


class Views(Rows):
    """Ads that were seen."""

    def line(self, number: int, key: int, at: int) -> bytes:
        return b'{"ad":%d,"ts":%d,"campaign":%d,"page":"/news/%d"}' % (key, at, number % 100, number % 977)


class Clicks(Rows):
    """Clicks, each on one of the views of the last 8 minutes, or since the first."""

    LAST = 20
    BACK = 8 * 60_000 * PARTITIONS

    def key(self, number: int) -> int:
        return super().key(number - mix(number + 7) % min(number + 1, self.BACK))

    def line(self, number: int, key: int, at: int) -> bytes:
        return b'{"ad":%d,"ts":%d,"cost":%d.5,"browser":"b%d"}' % (key, at, number % 7, number % 13)


class Trades(Rows):
    """Trades of symbols."""

    def line(self, number: int, key: int, at: int) -> bytes:
        return b'{"symbol":"s%d","ts":%d,"quantity":%d,"venue":"v%d"}' % (key, at, number % 50, number % 9)


class Quotes(Rows):
    """Prices of symbols, which differ from those of trades in their order."""

    LAST = 20

    def key(self, number: int) -> int:
        return mix(number + 1_000_003) % self.keys

    def line(self, number: int, key: int, at: int) -> bytes:
        return b'{"symbol":"s%d","ts":%d,"price":%d.25,"maker":"m%d"}' % (key, at, number % 900, number % 11)


class Payments(Rows):
    """Payments with cards, of which one in ten is unknown."""

    def line(self, number: int, key: int, at: int) -> bytes:
        return b'{"card":%d,"ts":%d,"amount":%d.75,"shop":"s%d"}' % (key, at, number % 500, number % 97)


def is_known(card: int) -> bool:
    """True for nine cards of ten."""
    return card % 10 != 3
