"""Card events as JSON in a topic, and the number of matches among them.

An event is `{"card": "c123", "kind": "pay", "amount": 57.12, "ts": 1767225600123, "shop": "..."}`. A tenth
are logins, three tenths payments of up to 100, of which a tenth are over 90; the rest are views. There is one
event per millisecond, and the events of a card are in one partition, in order of time. An event depends on its
number only, so a topic can be generated again.

The pattern: a login, then a payment over 90 with the same card within 60 seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.topics import PARTITIONS, START

SCHEMA = "card string, kind string, amount double, ts bigint, shop string"
WITHIN = 60_000
"""Milliseconds, exclusive: a payment exactly this long after the login does not match."""
OUT_OF_ORDER = 5_000
_SHOPS = ("grocer", "bookshop, 2nd floor", "petrol station", "online")


@dataclass(frozen=True)
class CardEvents:
    """The events of a topic."""

    count: int
    cards: int = 10_000
    every: int = 1
    """Milliseconds between events."""

    @property
    def topic(self) -> str:
        return f"cards-{self.count}-{self.cards}-{self.every}"

    @staticmethod
    def of(topic: str) -> CardEvents:
        """Return the events of the topic with this name."""
        return CardEvents(*map(int, topic.split("-")[1:]))

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.count, self.cards, self.every

    def values(self, partition: int) -> Iterator[tuple[int, str, int, int, str]]:
        """Yield card, kind, amount in hundredths, time and shop of the events of one partition."""
        for number in range(partition, self.count, PARTITIONS):
            mixed = ((number + 1) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
            mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
            card = ((mixed >> 8) & 0xFFFFFF) % (self.cards // PARTITIONS) * PARTITIONS + partition
            chance = (mixed >> 33) % 10
            kind = "login" if chance == 0 else "pay" if chance < 4 else "view"
            amount = (mixed >> 42) % 10_000 if kind == "pay" else 0
            yield card, kind, amount, START + number * self.every, _SHOPS[mixed & 3]

    def lines(self, partition: int) -> Iterator[bytes]:
        """Yield the events of one partition, in order of time."""
        for card, kind, amount, ts, shop in self.values(partition):
            yield b'{"card":"c%d","kind":"%s","amount":%d.%02d,"ts":%d,"shop":"%s"}' % (
                card,
                kind.encode(),
                amount // 100,
                amount % 100,
                ts,
                shop.encode(),
            )


@dataclass(frozen=True)
class Answers:
    """The expected number of results."""

    matches: int
    """Matches of the pattern, without shared events."""
    pairs: int
    """Pairs of a login and a payment, as a join emits them."""


def answers(events: CardEvents, until: int | None = None) -> Answers:
    """Count the results among all events, or those before `until`; takes seconds per million events."""
    logins: dict[int, list[int]] = {}
    matches = pairs = 0
    matched: dict[int, int] = {}  # time of the last match, by card
    for partition in range(PARTITIONS):
        for card, kind, amount, ts, _ in events.values(partition):
            if until is not None and ts >= until:
                break
            if kind == "login":
                logins.setdefault(card, []).append(ts)
            elif kind == "pay" and amount > 9_000:
                recent = [at for at in logins.get(card, ()) if ts - at < WITHIN]
                logins[card] = recent
                pairs += len(recent)
                if any(at > matched.get(card, 0) for at in recent):
                    matches += 1
                    matched[card] = ts
    return Answers(matches, pairs)
