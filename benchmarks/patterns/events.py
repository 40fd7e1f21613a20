"""What people do with their cards: JSON events in a topic, and which of them answer the question.

An event is `{"card": "c123", "kind": "pay", "amount": 57.12, "ts": 1767225600123, "shop": "..."}`. A tenth
are logins, three tenths payments of up to 100, of which a tenth are over 90; the rest is views. There is one
event every millisecond, so a card has one in about `cards` milliseconds, and a card's events are all in one
partition, in order of time. An event depends on its number only, so a topic is the same wherever it is made.

The question: a login, then a payment over 90 of the same card within 60 seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.topics import PARTITIONS, START

SCHEMA = "card string, kind string, amount double, ts bigint, shop string"
WITHIN = 60_000
"""In milliseconds; a payment that comes exactly so long after the login is too late."""
OUT_OF_ORDER = 5_000
_SHOPS = ("grocer", "bookshop, 2nd floor", "petrol station", "online")


@dataclass(frozen=True)
class CardEvents:
    """What a topic holds: how many events, of how many cards."""

    count: int
    cards: int = 10_000
    every: int = 1
    """Milliseconds from one to the next."""

    @property
    def topic(self) -> str:
        return f"cards-{self.count}-{self.cards}-{self.every}"

    @staticmethod
    def of(topic: str) -> CardEvents:
        """What a topic of this name holds."""
        return CardEvents(*map(int, topic.split("-")[1:]))

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.count, self.cards, self.every

    def values(self, partition: int) -> Iterator[tuple[int, str, int, int, str]]:
        """Card, kind, amount in hundredths, time and shop of the events of one partition."""
        for number in range(partition, self.count, PARTITIONS):
            mixed = ((number + 1) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
            mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
            card = ((mixed >> 8) & 0xFFFFFF) % (self.cards // PARTITIONS) * PARTITIONS + partition
            chance = (mixed >> 33) % 10
            kind = "login" if chance == 0 else "pay" if chance < 4 else "view"
            amount = (mixed >> 42) % 10_000 if kind == "pay" else 0
            yield card, kind, amount, START + number * self.every, _SHOPS[mixed & 3]

    def lines(self, partition: int) -> Iterator[bytes]:
        """The events of one partition, in order of time."""
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
    """How many answers there are, as engines count them."""

    matches: int
    """Matches of the pattern: no event is in two of them."""
    pairs: int
    """Pairs of a login and a payment: what a join gives."""


def answers(events: CardEvents, until: int | None = None) -> Answers:
    """What is to be found among all events, or those before a time; some seconds for each million."""
    logins: dict[int, list[int]] = {}
    matches = pairs = 0
    begun: dict[int, int] = {}  # the first login of a card that no match has and that may still be followed
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
                if any(at > begun.get(card, 0) for at in recent):
                    matches += 1
                    begun[card] = ts
    return Answers(matches, pairs)
