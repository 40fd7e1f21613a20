"""Functions and processors of the transcripts in this directory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from headrace import Processor, side_output, state, timers


def share(row: Any) -> dict[str, Any]:
    return {"card": row.card, "share": 100 / row.amount, "ts": row.ts}


def coins(row: Any) -> Iterator[tuple[str, int]]:
    for n in range(row.amount // 10):
        yield row.card, n


def large(row: Any) -> bool:
    return bool(row.amount > 15)


def ratio(amount: float, limit: float) -> float | None:
    return amount / limit if amount else None


async def country_name(code: str | None) -> str | None:
    return None if code is None else code.upper()


class Spend(Processor):
    """The total of each card, reported after ten quiet seconds; large payments go to a side output."""

    output = "card string, total int, n int"
    large = side_output("card string, amount int")
    total: int = state.value(0)
    amounts: list[int] = state.list()
    quiet = timers.event()

    def process(self, row: Any) -> None:
        self.amounts.append(row.amount)
        self.quiet.set(after="10 seconds")
        if row.amount > 100:
            self.large.emit({"card": row.card, "amount": row.amount})
        self.total += row.amount
        if row.amount < 0:
            raise ValueError("a refund")

    def on_quiet(self, at: datetime) -> Iterator[dict[str, Any]]:
        yield {"card": self.key.card, "total": self.total, "n": len(self.amounts)}
        self.total, self.amounts = 0, []


class Reminder(Processor):
    """Reports a card that has had no payment for a minute of processing time, and every minute after."""

    output = "card string, reminders int"
    reminders: int = state.value(0)
    due = timers.clock()

    def process(self, row: Any) -> None:
        self.due.set(after="1 minute")

    def on_due(self, at: datetime) -> Iterator[tuple[str, int]]:
        self.reminders += 1
        yield self.key.card, self.reminders
        self.due.set(after="1 minute")


class Seen(Processor):
    """Counts the rows of a card within ten seconds of event time."""

    output = "card string, seen int, countries int, last int"
    seen: list[int] = state.list(ttl="10 seconds")
    countries: dict[str, int] = state.map(ttl="10 seconds")
    last: int = state.value(0, ttl="10 seconds")

    def process(self, row: Any) -> Iterator[tuple[str, int, int, int]]:
        self.seen.append(row.amount)
        self.countries[row.country] = self.countries.get(row.country, 0) + 1
        self.last += 1
        yield row.card, len(self.seen), len(self.countries), self.last
