"""Generate the files of the example: `python -m examples.stocks.make_events`.

The expected rows are computed here in plain Python, from the meaning of a sliding window, so that they check
Headrace rather than repeat it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

from examples.writing import csv_lines, instant, json_lines, write_all

SIZE, EVERY = 10, 5
OPENING = {"ACME": 120.0, "GLOBEX": 48.5, "INITECH": 15.25}


def ticks(seed: int = 7, seconds: int = 60) -> list[tuple[float, str, float]]:
    """(second, symbol, price).

    About three prices a second in all, some of them up to two seconds out of order.
    """
    chance, price, made = random.Random(seed), dict(OPENING), []
    for tenth in range(0, seconds * 10, 3):
        symbol = chance.choice(list(OPENING))
        price[symbol] = round(price[symbol] * (1 + chance.gauss(0, 0.004)), 2)
        made.append((tenth / 10, symbol, price[symbol]))
    return sorted(made, key=lambda tick: tick[0] + chance.choice([0, 0, 0, 1.9]))


def windows_of(second: float) -> list[int]:
    """The starts of the windows that hold the moment: those in (t - 10 s, t] that are a multiple of 5 s."""
    newest = int(second // EVERY) * EVERY
    return [
        start for start in range(newest - SIZE + EVERY, newest + 1, EVERY) if start <= second < start + SIZE
    ]


def rolling(prices: list[tuple[float, str, float]]) -> list[dict[str, Any]]:
    """One row for each symbol and window."""
    held: dict[tuple[str, int], list[float]] = defaultdict(list)
    for second, symbol, price in prices:
        for start in windows_of(second):
            held[symbol, start].append(price)
    return [
        {
            "symbol": symbol,
            "window": {"start": instant(start), "end": instant(start + SIZE)},
            "low": min(actual),
            "high": max(actual),
            "mean": fmean(actual),
        }
        for (symbol, start), actual in sorted(held.items(), key=lambda item: (item[0][1], item[0][0]))
    ]


def files() -> dict[str, str]:
    """Return the files by name."""
    prices = ticks()
    rows = [{"symbol": symbol, "price": price, "ts": instant(second)} for second, symbol, price in prices]
    return {"events.csv": csv_lines(rows), "expected.jsonl": json_lines(rolling(prices))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
