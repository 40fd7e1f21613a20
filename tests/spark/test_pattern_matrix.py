"""The matrix of patterns: every contiguity, quantifier, skip and disorder gives what the model says, also when killed.

One in eleven of the cells runs without a query, some of everything. A sample of killed ones, one of each quantifier, runs through
Spark, and another is compared with its batch; `make matrix` does all that with the whole table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.matrix.runs import run
from tests.support.pattern_matrix.cells import QUANTIFIERS, Cell, Quantifier
from tests.support.pattern_matrix.runs import PATTERNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing import Outcome


def failures(outcomes: list[Outcome]) -> str:
    told = [f"{outcome.name}\n{outcome.failure}" for outcome in outcomes if not outcome.passed]
    return "\n\n".join([f"{len(told)} of {len(outcomes)} failed", *told[:5]]) if told else ""


def sample(disorder: str, offset: int) -> list[Cell]:
    """One cell of each quantifier, with another contiguity and skip each time."""
    chosen = []
    for i, quantifier in enumerate(QUANTIFIERS):
        found = [c for c in PATTERNS.allowed if (c.quantifier, c.disorder) == (quantifier, disorder)]
        chosen.append(found[(offset + 7 * i) % len(found)])
    return chosen


@pytest.mark.parametrize("quantifier", QUANTIFIERS, ids=lambda quantifier: quantifier.file)
def test_cells_of_each_quantifier_give_what_the_model_says(
    quantifier: Quantifier, spark: SparkSession
) -> None:
    chosen = [cell for cell in PATTERNS.allowed if cell.quantifier == quantifier][
        QUANTIFIERS.index(quantifier) :: 11
    ]
    assert failures(run(chosen, "kernel", spark, side_by_side=1, table=PATTERNS)) == ""


def test_a_killed_cell_of_each_quantifier_through_spark(spark: SparkSession) -> None:
    assert failures(run(sample("killed", 1), "spark", spark, table=PATTERNS)) == ""


def test_a_cell_of_each_quantifier_equals_its_batch(spark: SparkSession) -> None:
    """Late rows are left out of the batch."""
    assert failures(run(sample("late", 3), "batch", spark, table=PATTERNS)) == ""
