"""Generate the files of the example: `python -m examples.fraud_learning.make_events`.

The payments are those of `card_fraud`. The expected rows are computed here with a model of River, in a loop.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from river import linear_model, preprocessing

from examples.card_fraud.make_events import Payment, homes, payments
from examples.writing import csv_lines, instant, json_lines, write_all

REVIEW = 300
"""Seconds after which a payment has been reviewed."""


def is_fraud(payment: Payment, home: dict[str, str]) -> bool:
    """Return True for cards that are abroad or tested."""
    abroad = payment["country"] != home[payment["card"]]
    return bool(abroad or payment["amount"] < 1 or payment["amount"] > 500)


def results(made: list[tuple[float, Payment]], home: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the payments abroad, and those that the model takes for fraud."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    steps = [(at, False, payment) for at, payment in made]
    steps += [(at + REVIEW, True, payment) for at, payment in made]
    for _, reviewed, payment in sorted(steps, key=lambda step: step[0]):
        abroad = int(payment["country"] != home[payment["card"]])
        features = {"amount": payment["amount"], "abroad": abroad}
        if reviewed:
            model.learn_one(features, is_fraud(payment, home))
            continue
        if abroad:
            yield {name: payment[name] for name in ("id", "card", "amount", "ts")}
        probability = model.predict_proba_one(features).get(True, 0.0)
        if probability > 0.5:
            scored = {"probability": round(probability, 6)}
            yield {**{name: payment[name] for name in ("id", "card", "amount", "ts")}, **scored}


def files() -> dict[str, str]:
    """Return the files by name."""
    made, home = payments(), homes()
    reviews = [
        {"id": payment["id"], "fraud": is_fraud(payment, home), "reviewed_at": instant(at + REVIEW)}
        for at, payment in made
    ]
    return {
        "events.jsonl": "".join(json.dumps(payment) + "\n" for _, payment in made),
        "reviews.jsonl": json_lines(reviews),
        "homes.csv": csv_lines({"card": card, "home": at} for card, at in home.items()),
        "expected.jsonl": json_lines(results(made, home)),
    }


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
