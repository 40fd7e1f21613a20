"""Generate the files of the example: `python -m examples.currency_conversion.make_events`.

The expected rows are computed here in plain Python: the last rate at or before each order.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from examples.writing import csv_lines, instant, json_lines, write_all

OPENING = {"USD": 1.08, "SEK": 11.2, "JPY": 162.0}
TOLERANCE = 3600
Rate = tuple[int, str, float]
Order = tuple[int, int, str, float]


def rates(chance: random.Random, hours: int = 6) -> list[Rate]:
    """(second, currency, rate): a new rate about every 20 minutes; the yen has none for three hours."""
    made, current = [], dict(OPENING)
    for second in range(0, hours * 3600, 400):
        currency = chance.choice(list(OPENING))
        current[currency] = round(current[currency] * (1 + chance.gauss(0, 0.01)), 4)
        if currency != "JPY" or not 3600 <= second < 4 * 3600:
            made.append((second, currency, current[currency]))
    return made


def orders(chance: random.Random, hours: int = 6) -> list[Order]:
    """(id, second, currency, amount), some of them up to a minute out of order."""
    made = [
        (
            number,
            number * 90 + chance.randrange(60),
            chance.choice(list(OPENING)),
            chance.randrange(1, 500) / 4,
        )
        for number in range(hours * 40)
    ]
    return sorted(made, key=lambda order: order[1] + chance.choice([0, 0, 0, 55]))


def convert(actual: list[Order], known: list[Rate]) -> list[dict[str, Any]]:
    """Each order with the rate that was valid, if it is at most an hour old."""
    rows = []
    for number, second, currency, amount in actual:
        valid = [
            rate for since, name, rate in known if name == currency and since <= second <= since + TOLERANCE
        ]
        row: dict[str, Any] = {"id": number, "currency": currency, "amount": amount, "ts": instant(second)}
        rate = valid[-1] if valid else None
        rows.append(row | {"rate": rate, "euros": None if rate is None else round(amount / rate, 2)})
    return rows


def files() -> dict[str, str]:
    """Return the files by name."""
    chance = random.Random(5)
    known, actual = rates(chance), orders(chance)
    order_rows = [
        {"id": number, "currency": currency, "amount": amount, "ts": instant(second)}
        for number, second, currency, amount in actual
    ]
    rate_rows = [{"currency": name, "rate": rate, "since": instant(second)} for second, name, rate in known]
    return {
        "events.csv": csv_lines(order_rows),
        "rates.csv": csv_lines(rate_rows),
        "expected.jsonl": json_lines(convert(actual, known)),
    }


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
