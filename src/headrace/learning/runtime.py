"""Online learning in a Python worker: the rows of a key in event-time order, each predicted and then learned.

`LearnRuntime` has the interface of `ProcessorRuntime`, so the loops of processors drive it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pyarrow

from headrace.functions.failures import RAISED, describe_failure
from headrace.functions.worker import add_paths
from headrace.learning.online import create_model, new_drift_detector, new_metric
from headrace.learning.state import Learned, LearnState, Waiting, as_number, find_features, scalar
from headrace.processors.batch import BatchLoop
from headrace.processors.runtime import MAIN, Emitted, FailedCall, StateUpdate
from headrace.processors.times import BatchTime, to_datetime
from headrace.processors.worker import ProcessorCall, ProcessorLoop

METRICS, DRIFT, LATE = "metrics", "drift", "late"
AHEAD = "__ahead"
_MILLISECOND = 1000


@dataclass(frozen=True)
class LearnSpec:
    """A step that learns, as a worker runs it."""

    expression: str | None
    """The model as an expression of River; None for a model of `code`."""
    code: Any
    features: tuple[str, ...]
    features_at: tuple[int, ...]
    """The positions of the features in a row."""
    label_at: int | None
    on_at: int | None
    """The position of the column that a row shares with its label; None if the label is in the row."""
    label_delay: int
    """How long a row waits for its label, in microseconds."""
    probability: bool
    """True to predict the probability of the label `true`."""
    classifies: bool
    """True if the model predicts one of several labels."""
    metrics: tuple[str, ...]
    """The names of River's metrics."""
    every: int
    """The size of the windows of metrics, in microseconds."""
    in_order: bool
    """False if the time of a row is that of the clock."""
    paths: tuple[str, ...] = ()

    def create(self) -> Learned:
        """Return a new model with its metrics."""
        model = create_model(self.expression, self.code)
        return Learned(model, new_drift_detector(), self.create_metrics(), self.create_metrics())

    def create_metrics(self) -> dict[str, Any]:
        """Return new metrics by name."""
        return {name: new_metric(name) for name in self.metrics}

    @property
    def pickler(self) -> Any:
        """The module that pickles the model: the code of users can be sent to workers by value."""
        if self.expression is not None:
            return pickle
        from pyspark import cloudpickle

        return cloudpickle


@dataclass
class LearnRuntime:
    """Runs one model per key."""

    spec: LearnSpec
    name: str
    calls: int = 0
    emitted: list[Emitted] = field(default_factory=list)
    failed: list[FailedCall] = field(default_factory=list)
    ahead: Iterator[bool] = field(default_factory=lambda: iter(()))
    """True for each row without event time that is too far ahead of the clock."""

    def begin(self, key: Any, content: bytes | None, batch_time: BatchTime) -> None:
        """Begin the visit of a key: restore its state, and process the rows that the watermark has passed."""
        self.key, self._time, self._stored = key, batch_time, content
        self._state = LearnState(self.spec.create, self.spec.pickler)
        self._state.load(content)
        self._buffered = len(self._state.buffer)
        self._advance()

    def row(self, row: Any, time: int | None) -> None:
        """Buffer a row of the key, or emit it as late."""
        ahead, watermark = next(self.ahead, False), self._time.watermark
        if time is None:
            self._emit_late(row, None, "ahead_of_clock" if ahead else "no_event_time")
        elif not self.spec.in_order:
            self._state.arrived += 1
            self._process(time, row)
        elif time < 0 or (watermark is not None and time < watermark):
            self._emit_late(row, time, "too_late")
        else:
            self._state.add(time, tuple(row))

    def end(self) -> StateUpdate:
        """Return the state to store, and when the key is due."""
        state = self._state
        content = state.dump()
        due = [state.buffer[0][0] // _MILLISECOND * _MILLISECOND + _MILLISECOND] if state.buffer else []
        due += [] if state.window_end is None else [state.window_end]
        if state.waiting:
            first = next(iter(state.waiting.values()))[0]
            due.append(first.time + self.spec.label_delay + _MILLISECOND)
        at = min(due, default=None)
        return StateUpdate(
            content != self._stored,
            content,
            event_due=at if self.spec.in_order else None,
            clock_due=None if self.spec.in_order else at,
            buffered=len(state.buffer) - self._buffered,
        )

    def take(self) -> tuple[list[Emitted], list[FailedCall]]:
        """Return and clear the emitted rows and the failures."""
        emitted, failed = self.emitted, self.failed
        self.emitted, self.failed = [], []
        return emitted, failed

    def definition_of(self) -> str:
        """Return the name of the model for failures."""
        return self.name

    def _advance(self) -> None:
        """Process the rows that the watermark has passed, and close the windows that end before it."""
        watermark, state = self._time.watermark, self._state
        if watermark is None:
            return
        while state.buffer and state.buffer[0][0] < watermark:
            time, _, values = state.next_row()
            self._process(time, values)
        self._expire(watermark)
        if state.window_end is not None and (state.window_end <= watermark or self._time.is_over):
            self._close_window(state.window_end)

    def _process(self, time: int, values: Sequence[Any]) -> None:
        """Predict a row and learn from it, or learn from a label; a call that raises diverts the row."""
        state, spec = self._state, self.spec
        if state.window_end is not None and state.window_end <= time:
            self._close_window(state.window_end)
        self.calls += 1
        try:
            label = None if spec.label_at is None else as_number(values[spec.label_at])
            if spec.on_at is not None and label is not None:
                self._learn_waiting(time, values, label)
                return
            row, prediction = self._predict(time, values)
            learned = state.rows
            if spec.on_at is not None:
                state.waiting.setdefault(values[spec.on_at], []).append(row)
            elif label is not None or spec.label_at is None:
                self._learn(time, row, label)
        except RAISED as error:
            self.failed.append(FailedCall(values, self.key, describe_failure(error, self.name)))
            return
        self.emitted.append((MAIN, (*values, prediction, learned), time))

    def _predict(self, time: int, values: Sequence[Any]) -> tuple[Waiting, Any]:
        spec, model = self.spec, self._state.note_change().model  # a model of the user can learn here too
        features = find_features(values, spec.features, spec.features_at)
        if spec.label_at is None and hasattr(model, "score_one"):
            return Waiting(time, features, None, None), float(model.score_one(features))
        predicted = scalar(model.predict_one(features))
        probabilities = None
        if spec.probability or any(not each.requires_labels for each in self._scored()):
            probabilities = {scalar(key): float(p) for key, p in model.predict_proba_one(features).items()}
        row = Waiting(time, features, predicted, probabilities)
        return row, (_probability(probabilities) if spec.probability else predicted)

    def _scored(self) -> Iterator[Any]:
        return (each for each in self._state.learned.metrics.values() if hasattr(each, "requires_labels"))

    def _learn_waiting(self, time: int, values: Sequence[Any], label: Any) -> None:
        """Learn from the first row that a label belongs to; a label without one is late."""
        assert self.spec.on_at is not None
        key, delay = values[self.spec.on_at], self.spec.label_delay
        rows = [row for row in self._state.waiting.pop(key, ()) if row.time + delay >= time]
        if rows[1:]:
            self._state.waiting[key] = rows[1:]
        if rows:
            self._learn(time, rows[0], label)
        else:
            self._emit_late(values, time, "no_row")

    def _expire(self, time: int) -> None:
        """Drop the first rows whose label has not arrived in time; a later label finds none of the others."""
        delay, waiting = self.spec.label_delay, self._state.waiting
        while waiting:
            key, rows = next(iter(waiting.items()))
            if rows[-1].time + delay >= time:
                break
            del waiting[key]

    def _learn(self, time: int, row: Waiting, label: Any) -> None:
        state = self._state
        learned = state.note_change()
        if label is None:
            learned.model.learn_one(row.features)
        else:
            self._score(time, learned, row, label)
            learned.model.learn_one(row.features, label)
        state.rows += 1

    def _score(self, time: int, learned: Learned, row: Waiting, label: Any) -> None:
        """Update the metrics and the detector of drift; a model that has learned nothing predicts None."""
        state = self._state
        if row.predicted is None:
            return
        if state.window_end is None:
            state.window_end = time - time % self.spec.every + self.spec.every
        state.window_rows += 1
        for metric in (*learned.metrics.values(), *learned.window.values()):
            by_label = getattr(metric, "requires_labels", True)
            metric.update(label, row.predicted if by_label else row.probabilities)
        wrong = row.predicted != label if self.spec.classifies else abs(row.predicted - label)
        before = state.error
        learned.drift.update(float(wrong))
        state.error = float(learned.drift.estimation)
        if learned.drift.drift_detected:
            state.drifts += 1
            at = to_datetime(time)
            self.emitted.append((DRIFT, (*self.key, at, state.rows, state.error, before), time))

    def _close_window(self, end: int) -> None:
        state = self._state
        learned = state.note_change()
        window = {"start": to_datetime(end - self.spec.every), "end": to_datetime(end)}
        for name, metric in learned.window.items():
            values = (
                window,
                name,
                float(metric.get()),
                float(learned.metrics[name].get()),
                state.window_rows,
            )
            self.emitted.append((METRICS, (*self.key, *values), end - 1))
        learned.window = self.spec.create_metrics()
        state.window_end, state.window_rows = None, 0

    def _emit_late(self, row: Sequence[Any], time: int | None, reason: str) -> None:
        watermark = self._time.watermark
        by = None if watermark is None or time is None else timedelta(microseconds=watermark - time)
        self.emitted.append((LATE, (*row, by, None, to_datetime(watermark), reason), time))


def _probability(probabilities: dict[Any, float] | None) -> float | None:
    """Return the probability of the label `true`; None before the model has learned a label."""
    return probabilities.get(True, 0.0) if probabilities else None


@dataclass(frozen=True)
class LearnCall(ProcessorCall):
    """A step that learns; its target is a `LearnSpec`."""

    def create_runtime(self, target: LearnSpec, columns: Any) -> LearnRuntime:
        """Return the runtime of the step."""
        add_paths(target.paths)
        return LearnRuntime(target, self.name)


class LearnLoop(ProcessorLoop):
    """Runs models over the rows of a task."""

    _runtime: LearnRuntime

    def _process(self, batch: pyarrow.RecordBatch, log: Any) -> None:
        self._runtime.ahead = _ahead(batch)
        super()._process(batch, log)


class LearnBatchLoop(LearnLoop, BatchLoop):
    """Runs models over a bounded input."""


def _ahead(batch: pyarrow.RecordBatch) -> Iterator[bool]:
    if AHEAD not in batch.schema.names:
        return iter(())
    flags = batch.column(AHEAD).to_pylist()
    kinds = batch.column("__visit").to_pylist() if "__visit" in batch.schema.names else [0] * len(flags)
    return iter([bool(flag) for flag, kind in zip(flags, kinds, strict=True) if kind != 2])
