"""A shadow model: disagreements are counted, and its errors have no effect on rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow
import pytest

from headrace.models.shadow import Shadow, disagreement
from headrace.models.worker import Predictions


def results(*columns: list[Any], origin: list[int]) -> Predictions:
    arrays = [pyarrow.array(values) for values in columns]
    return Predictions(arrays, pyarrow.nulls(len(origin), pyarrow.string()), origin, {})


@dataclass
class Totals:
    """Totals without Spark."""

    added: list[dict[str, float]] = field(default_factory=list)

    def add(self, rows: int, *, disagreements: int = 0, distance: float = 0.0, errors: int = 0) -> None:
        sums = {"rows": rows, "disagreements": disagreements, "distance": distance, "errors": errors}
        self.added.append(sums)


@dataclass
class Fixed:
    """A handler with fixed results; None raises."""

    result: Predictions | None
    loads: bool = True

    def enter(self) -> None:
        if not self.loads:
            raise OSError("no such version")

    def predict(self, features: pyarrow.Table) -> Predictions:
        if self.result is None:
            raise ValueError("wrong")
        return self.result


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0000000001], (0, 0.0)),
        ([1, 2], [1, 4], (1, 2.0)),
        (["a", None], ["a", "b"], (1, 0.0)),
        ([None, 1.0], [None, None], (1, 0.0)),
        ([[0.1, 0.9], [0.5, 0.5]], [[0.1, 0.9], [0.4, 0.6]], (1, 0.0)),
    ],
)
def test_rows_with_other_values_differ(own: list[Any], other: list[Any], expected: tuple[int, float]) -> None:
    assert disagreement(results(own, origin=[0, 1]), results(other, origin=[0, 1])) == (*expected, 2)


def test_a_row_differs_once_over_all_columns() -> None:
    own, other = (
        results([1.0, 2.0], ["a", "b"], origin=[0, 1]),
        results([2.0, 2.0], ["x", "b"], origin=[0, 1]),
    )
    assert disagreement(own, other) == (1, 1.0, 2)


def test_rows_that_one_model_rejects_are_not_compared() -> None:
    totals = Totals()
    shadow = Shadow(Fixed(results([5.0], origin=[2])), totals)  # type: ignore[arg-type]
    shadow.enter()
    shadow.compare(pyarrow.table({"a": [1, 2, 3]}), results([1.0, 4.0], origin=[0, 2]))
    assert totals.added == [{"rows": 2, "disagreements": 1, "distance": 1.0, "errors": 1}]


@pytest.mark.parametrize("handler", [Fixed(None), Fixed(results([1.0], origin=[0]), loads=False)])
def test_a_shadow_that_fails_counts_errors_only(handler: Fixed) -> None:
    totals = Totals()
    shadow = Shadow(handler, totals)  # type: ignore[arg-type]
    shadow.enter()
    shadow.compare(pyarrow.table({"a": [1]}), results([1.0], origin=[0]))
    assert totals.added == [{"rows": 1, "disagreements": 0, "distance": 0.0, "errors": 1}]
