"""The state of a key that learns: its model, its metrics, and the rows that wait."""

from __future__ import annotations

import heapq
import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.processors.codec import dump, load
from headrace.processors.times import to_datetime

FORMAT = 1
Features = dict[str, Any]
Row = tuple[int, int, tuple[Any, ...]]
"""The event time of a buffered row, its number in arrival order, and its values."""


@dataclass
class Learned:
    """A model with everything that changes when it learns."""

    model: Any
    drift: Any
    """The detector of drift, over the errors of the model."""
    metrics: dict[str, Any]
    """The metrics over all rows, by name."""
    window: dict[str, Any]
    """The metrics of the open window."""


@dataclass
class Waiting:
    """A row that has been predicted and waits for its label."""

    time: int
    features: Features
    predicted: Any
    probabilities: Any


@dataclass
class LearnState:
    """The state of one key. The model is read from its bytes when a row needs it."""

    create: Callable[[], Learned]
    pickler: Any
    """The module that pickles models."""
    content: bytes | None = None
    """The pickled `Learned`; None if it has changed, or does not exist yet."""
    arrived: int = 0
    """The number of rows that have been buffered."""
    rows: int = 0
    """The number of rows that the model has learned."""
    drifts: int = 0
    error: float | None = None
    """The mean error at the last row."""
    window_end: int | None = None
    """The end of the open window; None if there is none."""
    window_rows: int = 0
    buffer: list[Row] = field(default_factory=list)
    """A heap of rows that the watermark has not passed."""
    waiting: dict[Any, list[Waiting]] = field(default_factory=dict)
    """Rows without a label, by the value that they share with it, in the order of their times."""
    summary: dict[str, float] = field(default_factory=dict)
    """The metrics over all rows, for `headrace state`."""
    _learned: Learned | None = None

    @property
    def learned(self) -> Learned:
        """The model and its metrics."""
        if self._learned is None:
            stored = None if self.content is None else pickle.loads(self.content)
            self._learned = self.create() if stored is None else Learned(*stored)
        return self._learned

    def note_change(self) -> Learned:
        """Return the model, which the caller changes."""
        learned, self.content = self.learned, None
        return learned

    def add(self, time: int, values: tuple[Any, ...]) -> None:
        """Buffer a row."""
        heapq.heappush(self.buffer, (time, self.arrived, values))
        self.arrived += 1

    def next_row(self) -> Row:
        """Remove and return the first buffered row in event-time order."""
        return heapq.heappop(self.buffer)

    def dump(self) -> bytes | None:
        """Return the state as bytes; None if no row has arrived."""
        if not self.arrived:
            return None
        if self.content is None and self._learned is not None:
            learned = self._learned
            # A tuple: workers get the classes of this package by value, which pickle cannot refer to.
            self.content = self.pickler.dumps((learned.model, learned.drift, learned.metrics, learned.window))
            self.summary = {name: each.get() for name, each in learned.metrics.items()}
        waiting = [
            (key, [(each.time, each.features, each.predicted, each.probabilities) for each in rows])
            for key, rows in self.waiting.items()
        ]
        counts = (self.arrived, self.rows, self.drifts, self.error, self.window_end, self.window_rows)
        return dump((FORMAT, self.content, counts, self.buffer, waiting, self.summary))

    def load(self, content: bytes | None) -> None:
        """Set the state from the bytes of `dump`."""
        if content is None:
            return
        _, self.content, counts, self.buffer, waiting, self.summary = load(content)
        self.arrived, self.rows, self.drifts, self.error, self.window_end, self.window_rows = counts
        self.waiting = {key: [Waiting(*each) for each in rows] for key, rows in waiting}


def describe_learned(content: bytes) -> str:
    """Return stored state as JSON text."""
    _, model, counts, buffer, waiting, summary = load(content)
    described = {"model_rows": counts[1], **{name: round(value, 6) for name, value in summary.items()}}
    described |= {"drifts": counts[2], "model_bytes": len(model or b"")}
    described |= {"buffered": len(buffer)} if buffer else {}
    unlabelled = [each[0] for _, rows in waiting for each in rows]
    if unlabelled:
        described |= {"wait_for_labels": len(unlabelled), "since": to_datetime(min(unlabelled))}
    return json.dumps(described, default=str)


def stored_model(content: bytes) -> tuple[Any, int]:
    """Return the model in stored state and the number of rows that it has learned."""
    _, model, counts, *_ = load(content)
    return (None if model is None else pickle.loads(model)[0]), counts[1]


def scalar(value: Any) -> Any:
    """Return a prediction as a plain value; models return scalars of NumPy."""
    return value.item() if hasattr(value, "item") else value


def find_features(values: Sequence[Any], names: Sequence[str], at: Sequence[int]) -> Features:
    """Return the features of a row; a null is left out, as River expects."""
    pairs = zip(names, at, strict=True)
    return {name: as_number(values[index]) for name, index in pairs if values[index] is not None}


def as_number(value: Any) -> Any:
    """Return a decimal as a number, which models can compute with; other values are unchanged."""
    return float(value) if type(value).__name__ == "Decimal" else value
