"""Rows and visits for tests of online learning, without a JVM."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.functions.rows import row_class
from headrace.learning.runtime import LearnRuntime, LearnSpec
from headrace.processors.runtime import Emitted
from headrace.processors.times import BatchTime

LOGISTIC = "preprocessing.StandardScaler() | linear_model.LogisticRegression()"
COLUMNS = ("id", "amount", "age", "fraud")
Row = row_class(list(COLUMNS))
Key = row_class([])
_SECOND = 1_000_000


def make_rows(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return rows of payments, a second apart; the rule of fraud changes in the middle."""
    numbers = random.Random(seed)
    rows = []
    for number in range(count):
        amount, age = numbers.gauss(50, 20), float(numbers.randint(18, 80))
        fraud = (amount > 60) == (number < count // 2) if numbers.random() < 0.9 else numbers.random() < 0.5
        ts = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        rows.append({"id": number, "amount": amount, "age": age, "fraud": fraud, "ts": ts})
    return rows


def make_spec(**options: Any) -> LearnSpec:
    """Return a step with a logistic regression over `amount` and `age`."""
    values: dict[str, Any] = {
        "expression": LOGISTIC,
        "code": None,
        "features": ("amount", "age"),
        "features_at": (1, 2),
        "label_at": 3,
        "on_at": None,
        "label_delay": 0,
        "probability": False,
        "classifies": True,
        "metrics": ("Accuracy",),
        "every": 100 * _SECOND,
        "in_order": True,
    }
    return LearnSpec(**{**values, **options})


Arrival = tuple[tuple[Any, ...], int | None]
"""The values of a row, and its event time in seconds."""


def run_visits(spec: LearnSpec, visits: Sequence[tuple[Sequence[Arrival], int | None]]) -> Iterator[Emitted]:
    """Yield the rows that visits of one key emit; its state passes from one to the next as bytes.

    Args:
        spec: the step.
        visits: the rows of each micro-batch, and its watermark in seconds.
    """
    content = None
    for rows, watermark in visits:
        runtime = LearnRuntime(spec, "model")
        mark = None if watermark is None else watermark * _SECOND
        runtime.begin(Key(), content, BatchTime(mark))
        for values, time in rows:
            runtime.row(Row(*values), None if time is None else time * _SECOND)
        content = runtime.end().content
        emitted, failed = runtime.take()
        assert not failed, failed[0].failure.traceback
        yield from emitted
