"""Generate the files of the example: `python -m examples.card_fraud.make_events`.

An hour of payments by forty cards, from a seed. Planted among them: cards used away from home, cards that are
tested with a tiny payment before a large one, and a few records that are broken. What the pipeline must find
is worked out here in plain Python.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples.writing import csv_lines, instant, json_lines, write_all

COUNTRIES = ("FI", "SE", "EE", "DE", "FR")
SECONDS, NUMBER, CARDS, WINDOW = 3600, 600, 40, 600
ABROAD, TESTED = 6, 4
BROKEN = (
    '{"id": "b-1", "card": "card-03", "country": "FI", "amount": 12.5, "ts": "2026-03-02T09:0',
    '{"id": "b-2", "card": "card-11", "country": "SE", "amount": "12,50", "ts": "2026-03-02T09:21:00Z"}',
    '{"id": "b-3", "card": "card-29", "country": "DE", "amount": 80.0, "ts": "yesterday"}',
)
Payment = dict[str, Any]


def homes(seed: int = 11) -> dict[str, str]:
    """Return the home country of each card."""
    chance = random.Random(seed)
    return {f"card-{number:02}": chance.choice(COUNTRIES) for number in range(1, CARDS + 1)}


def payments(seed: int = 2026) -> list[tuple[float, Payment]]:
    """(second, payment), in the order they arrive: most in time order, some up to half a minute behind."""
    chance, home = random.Random(seed), homes()
    made = [*_ordinary(chance, home), *_abroad(chance, home), *_testing(chance, home)]
    made.sort(key=lambda payment: payment[0])
    numbered = [(at, {"id": f"p-{n:04}", **paid, "ts": instant(at)}) for n, (at, paid) in enumerate(made, 1)]
    return sorted(numbered, key=lambda payment: payment[0] + chance.choice([0, 0, 0, 0, 30]))


def _ordinary(chance: random.Random, home: dict[str, str]) -> Iterator[tuple[float, Payment]]:
    for _ in range(NUMBER):
        card = chance.choice(list(home))
        amount = round(min(400.0, 1.5 + chance.expovariate(1 / 45)), 2)
        yield _payment(chance.uniform(0, SECONDS - 60), card, home[card], amount)


def _abroad(chance: random.Random, home: dict[str, str]) -> Iterator[tuple[float, Payment]]:
    for part in range(ABROAD):
        card = chance.choice(list(home))
        elsewhere = chance.choice([country for country in ("BR", "US", "TH") if country != home[card]])
        yield _payment(_within(chance, part, ABROAD), card, elsewhere, round(chance.uniform(80, 900), 2))


def _testing(chance: random.Random, home: dict[str, str]) -> Iterator[tuple[float, Payment]]:
    for part in range(TESTED):
        card = chance.choice(list(home))
        # Both in one window: the large payment follows within half a minute.
        start = _within(chance, part, TESTED) // WINDOW * WINDOW + chance.uniform(60, WINDOW - 60)
        yield _payment(start, card, home[card], round(chance.uniform(0.1, 0.9), 2))
        yield _payment(start + chance.uniform(10, 30), card, home[card], round(chance.uniform(600, 1500), 2))


def _within(chance: random.Random, part: int, parts: int) -> float:
    """A moment in that part of the hour, so that there is something to see all along."""
    return chance.uniform(part, part + 1) * (SECONDS - 60) / parts


def _payment(at: float, card: str, country: str, amount: float) -> tuple[float, Payment]:
    return round(at, 3), {"card": card, "country": country, "amount": amount}


def totals(made: list[tuple[float, Payment]]) -> list[dict[str, Any]]:
    """Number, sum, smallest and largest of each card's payments in each ten minutes."""
    held: dict[tuple[int, str], list[float]] = defaultdict(list)
    for at, payment in made:
        held[int(at // WINDOW) * WINDOW, payment["card"]].append(payment["amount"])
    return [
        {
            "card": card,
            "window_start": instant(start),
            "window_end": instant(start + WINDOW),
            "n": len(amounts),
            "total": round(sum(amounts), 2),
            "smallest": min(amounts),
            "largest": max(amounts),
        }
        for (start, card), amounts in sorted(held.items())
    ]


def expect_rows(made: list[tuple[float, Payment]]) -> Iterator[dict[str, Any]]:
    """Return the expected rows of each table."""
    home = homes()
    for _, payment in sorted(made, key=lambda payment: payment[1]["id"]):
        if payment["country"] != home[payment["card"]]:
            yield {"table": "abroad", **payment, "home": home[payment["card"]]}
    for total in totals(made):
        if total["smallest"] < 1 and total["largest"] > 500:
            yield {"table": "tested", **total}
    for total in totals(made):
        yield {"table": "totals", **total}


def files() -> dict[str, str]:
    """Return the files by name; invalid records are mixed with the others."""
    made = payments()
    lines = [json.dumps(payment) + "\n" for _, payment in made]
    for place, broken in enumerate(BROKEN, 1):
        lines.insert(place * len(lines) // (len(BROKEN) + 1), broken + "\n")
    return {
        "events.jsonl": "".join(lines),
        "homes.csv": csv_lines({"card": card, "home": home} for card, home in homes().items()),
        "expected.jsonl": json_lines(expect_rows(made)),
    }


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
