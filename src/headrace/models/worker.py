"""The part of a prediction that runs in Python workers: from Arrow batches to rows with more columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow

from headrace.functions.failures import RAISED, Failure, describe_failure, open_message
from headrace.functions.results import PartialResult
from headrace.functions.worker import FunctionLoop
from headrace.models.results import WrongCount, columns_of


@dataclass(frozen=True)
class Predictions:
    """The results of a batch: the output columns of the rows in `origin`, and the rows that failed."""

    columns: list[pyarrow.Array]
    versions: pyarrow.Array
    """The version of the model that has computed each row."""
    origin: Sequence[int]
    failures: dict[int, Failure]


class Handler(Protocol):
    """A model in this worker."""

    def enter(self) -> None:
        """Load the version of the epoch; called when a task starts."""
        ...

    def predict(self, features: pyarrow.Table) -> Predictions:
        """Return the predictions of a batch."""
        ...


class Comparison(Protocol):
    """A second model in this worker, which is only compared."""

    def enter(self) -> None:
        """Load the version of the epoch; called when a task starts."""
        ...

    def compare(self, features: pyarrow.Table, results: Predictions) -> None:
        """Count the rows of a batch for which the second model has other results."""
        ...


@dataclass(frozen=True)
class Predictor:
    """Adds the columns of a model and its version to the rows of a batch."""

    handler: Handler
    features: Sequence[str]
    added: Sequence[str]
    """The names of the columns that the model computes, then that of its version."""
    shadow: Comparison | None = None

    def __call__(self, rows: pyarrow.Table) -> PartialResult:
        features = rows.select(self.features)
        result = self.handler.predict(features)
        if self.shadow is not None:
            self.shadow.compare(features, result)
        if result.failures:
            rows = rows.take(pyarrow.array(result.origin, pyarrow.int64()))
        for name, column in zip(self.added, (*result.columns, result.versions), strict=True):
            rows = rows.append_column(name, column)
        return PartialResult(rows, result.origin, result.failures)


class PredictLoop(FunctionLoop):
    """Calls a model for each batch of a task. A task uses one version; one that cannot be loaded fails it."""

    def run(
        self, batches: Iterable[pyarrow.RecordBatch], task: int | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Load the model of the epoch, and add its columns to each batch."""
        try:
            self._callee.instance.handler.enter()
            if self._callee.instance.shadow is not None:
                self._callee.instance.shadow.enter()
        except RAISED as error:
            failure = describe_failure(error, self._call.name)
            raise RuntimeError(open_message(self._call.step, self._call.name, failure)) from error
        yield from super().run(batches, task)


def predict_halves(
    predict: Callable[[pyarrow.Table], Any],
    features: pyarrow.Table,
    output: pyarrow.Schema,
    *,
    name: str,
    version: str | None,
) -> Predictions:
    """Call a model for a batch. If it fails, call it for the halves, so that only the bad rows fail.

    Args:
        predict: the model; its result has a row per row.
        features: the batch.
        output: the columns that the model computes.
        name: the model, in failures.
        version: the version of the model.
    """
    parts: list[list[pyarrow.Array]] = [[pyarrow.nulls(0, field.type) for field in output]]
    origin: list[int] = []
    failures: dict[int, Failure] = {}
    todo = [range(features.num_rows)]
    while todo:
        rows = todo.pop()
        try:
            result = predict(features.slice(rows.start, len(rows)))
            parts.append(columns_of(result, output, len(rows)))
            origin += rows
        except RAISED as error:
            if len(rows) > 1 and not isinstance(error, WrongCount):
                half = rows.start + len(rows) // 2
                todo += [range(half, rows.stop), range(rows.start, half)]
            else:
                failures.update(dict.fromkeys(rows, describe_failure(error, name)))
    columns = [pyarrow.concat_arrays(arrays) for arrays in zip(*parts, strict=True)]
    versions = pyarrow.repeat(pyarrow.scalar(version, pyarrow.string()), len(origin))
    return Predictions(columns, versions, origin if failures else range(features.num_rows), failures)
