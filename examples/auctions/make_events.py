"""Generate the files of the example: `python -m examples.auctions.make_events`.

The expected rows are computed here in plain Python: the highest bid of each auction that was closed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

ITEMS = ("chair", "clock", "lamp", "mirror", "table", "vase")
BIDDERS = ("ada", "ben", "cleo", "dan", "eve", "finn")
Event = tuple[float, str, str, str | None, float | None]


def auctions(chance: random.Random, item: str, sales: int = 4) -> Iterator[Event]:
    """(second, item, kind, bidder, price): an item is auctioned several times; the last stays open."""
    second = chance.uniform(0, 100)
    for sale in range(sales + 1):
        price = float(chance.randrange(5, 50))
        for _ in range(chance.randrange(0, 9)):
            second += chance.uniform(5, 60)
            price += chance.randrange(1, 20)
            yield second, item, "bid", chance.choice(BIDDERS), price
        second += chance.uniform(5, 60)
        if sale < sales:
            yield second, item, "close", None, None


def sold(events: list[Event]) -> Iterator[dict[str, Any]]:
    """The auctions of one item that were closed with a bid, in the order of time."""
    sale, bids = 0, list[tuple[float, str]]()
    for second, item, kind, bidder, price in sorted(events):
        if kind == "bid":
            assert bidder is not None
            assert price is not None
            bids.append((price, bidder))
            continue
        if bids:
            highest, winner = max(bids)
            row = {"item": item, "sale": sale, "bids": len(bids), "price": highest, "winner": winner}
            yield row | {"closed": instant(second)}
        sale, bids = sale + 1, []


def files() -> dict[str, str]:
    """Return the files by name."""
    chance = random.Random(9)
    by_item = {item: list(auctions(chance, item)) for item in ITEMS}
    events = [event for item in ITEMS for event in by_item[item]]
    arrived = sorted(events, key=lambda event: event[0] + chance.choice([0, 0, 0, 18]))
    rows = [
        {"item": item, "kind": kind, "bidder": bidder, "price": price, "ts": instant(second)}
        for second, item, kind, bidder, price in arrived
    ]
    expected = (row for events in by_item.values() for row in sold(events))
    return {"events.jsonl": json_lines(rows), "expected.jsonl": json_lines(expected)}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
