"""Generate the files of the example: `python -m examples.card_patterns.make_events`.

The expected rows are computed here in plain Python, from the meaning of the rules, so that they check
Headrace rather than repeat it.
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

CARDS = ("4711", "4712", "4713", "4714", "4715")
COUNTRIES = ("FI",) * 40 + ("SE", "EE")
MINUTE = 60

Event = dict[str, Any]


def events(seed: int = 5, minutes: int = 90) -> list[Event]:
    """Payments, logins and confirmations, with `second` for their time.

    Some up to eight seconds out of order.
    """
    chance = random.Random(seed)
    made: list[Event] = []
    for _ in range(minutes * 2):
        made.append(_event(chance, minutes, "payment", round(chance.uniform(2, 90), 2)))
    for _ in range(12):
        small = _event(chance, minutes, "payment", round(chance.uniform(0.1, 0.9), 2))
        later = small["second"] + round(chance.uniform(5, 100), 1)
        made += [small, {**small, "second": later, "amount": round(chance.uniform(300, 1500), 2)}]
    for _ in range(15):
        login = _event(chance, minutes, "login", None)
        made.append(login)
        if chance.random() < 0.7:
            later = login["second"] + round(chance.uniform(10, 400), 1)
            made.append({**login, "kind": "confirmation", "second": later})
    return sorted(made, key=lambda event: event["second"] + chance.choice([0, 0, 0, 8]))


def _event(chance: random.Random, minutes: int, kind: str, amount: float | None) -> Event:
    return {
        "card": chance.choice(CARDS),
        "kind": kind,
        "country": chance.choice(COUNTRIES) if kind == "payment" else None,
        "amount": amount,
        "second": round(chance.uniform(0, minutes * MINUTE), 1),
    }


def small_then_large(paid: list[Event]) -> list[Event]:
    """The first large payment after a small one; the search continues after it."""
    actual, after = [], -1.0
    for small in paid:
        if small["second"] <= after or small["amount"] >= 1:
            continue
        large = next((p for p in paid if p["second"] > small["second"] and _is_large(p, small)), None)
        if large and large["second"] - small["second"] < MINUTE:
            after = large["second"]
            actual.append(_alert("small then large", small, large["second"]) | {"amount": large["amount"]})
    return actual


def _is_large(payment: Event, small: Event) -> bool:
    return bool(payment["amount"] > 500 and payment["amount"] > 1000 * small["amount"])


def two_countries(paid: list[Event]) -> list[Event]:
    """Two payments, one right after the other, in different countries, less than half an hour apart."""
    return [
        _alert("two countries", here, present["second"]) | {"amount": present["amount"]}
        for here, present in pairwise(paid)
        if here["country"] != present["country"] and present["second"] - here["second"] < 30 * MINUTE
    ]


def find_unconfirmed(own: list[Event]) -> list[Event]:
    """Logins without a confirmation in the five minutes after them."""
    confirmed = [event["second"] for event in own if event["kind"] == "confirmation"]
    return [
        _alert("no confirmation", login, login["second"] + 5 * MINUTE)
        for login in own
        if login["kind"] == "login" and not any(0 < c - login["second"] < 5 * MINUTE for c in confirmed)
    ]


def _alert(rule: str, since: Event, at: float) -> Event:
    return {"card": since["card"], "rule": rule, "since": instant(since["second"]), "at": instant(at)}


def alerts(value: list[Event]) -> list[Event]:
    """Return the matches of all three rules."""
    actual = []
    for card in CARDS:
        own = sorted((event for event in value if event["card"] == card), key=lambda event: event["second"])
        paid = [event for event in own if event["kind"] == "payment"]
        actual += [*small_then_large(paid), *two_countries(paid), *find_unconfirmed(own)]
    return actual


def files() -> dict[str, str]:
    """Return the files by name."""
    value = events()
    rows = [
        {**{k: v for k, v in event.items() if k != "second"}, "ts": instant(event["second"])}
        for event in value
    ]
    return {"events.jsonl": json_lines(rows), "expected.jsonl": json_lines(alerts(value))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
