"""The matrix: every window, trigger, mode and disorder equals the model, including runs that are killed.

All cells run without a query. A sample of killed ones, one of each way to keep the state of a window, runs
through Spark, and one of each kind is compared with its batch; `make matrix` does both with the whole table.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest
from tests.support.matrix.cells import KINDS, MODES, Cell, Kind
from tests.support.matrix.runs import allowed, comparable, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing import Outcome


THROUGH_SPARK = ("sliding", "session", "count(every)", "trailing")
"""Kinds whose killed cells run as queries: seconds each, one of each way to store the state. Tumbling ones are
killed in `tests/services/test_every_row_once.py`.
"""


def failures(outcomes: list[Outcome]) -> str:
    message = [f"{outcome.name}\n{outcome.failure}" for outcome in outcomes if not outcome.passed]
    return "\n\n".join([f"{len(message)} of {len(outcomes)} failed", *message[:5]]) if message else ""


def sample(disorder: str, offset: int) -> list[Cell]:
    """One cell of each kind of window, with another mode and another trigger each time."""
    chosen = []
    for i, (kind, mode) in enumerate(zip(KINDS, cycle(MODES), strict=False)):
        actual = [c for c in allowed() if (c.kind, c.mode, c.disorder) == (kind, mode, disorder)]
        chosen.append(actual[(offset + 5 * i) % len(actual)])
    return chosen


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)
def test_every_cell_matches_the_model(kind: Kind, spark: SparkSession) -> None:
    chosen = [cell for cell in allowed() if cell.kind == kind]
    assert failures(run(chosen, "kernel", spark, side_by_side=1)) == ""


def test_killed_cells_through_spark(spark: SparkSession) -> None:
    chosen = [cell for cell in sample("killed", 1) if cell.kind.name in THROUGH_SPARK]
    assert len(chosen) == len(THROUGH_SPARK)
    assert failures(run(chosen, "spark", spark)) == ""


def test_a_cell_of_each_kind_equals_its_batch(spark: SparkSession) -> None:
    """Late rows are left out of the batch; of trailing windows with lateness there is nothing to compare."""
    chosen = [cell for cell in allowed() if comparable(cell) and cell.disorder == "late"]
    by_kind = [[cell for cell in chosen if cell.kind == kind] for kind in KINDS]
    assert (
        failures(run([actual[5 * i % len(actual)] for i, actual in enumerate(by_kind)], "batch", spark)) == ""
    )
