"""The matrix of patterns.

Every contiguity, quantifier, skip and disorder equals the model, including runs that are killed.

One in three of the cells runs in the kernel's driver, some of everything, with a restart after each line
where the run is killed; `make matrix` runs the whole table, also as transcripts through Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.pattern_matrix.cells import CONTIGUITIES
from tests.support.pattern_matrix.driving import columns, driven
from tests.support.pattern_matrix.runs import PATTERNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = PATTERNS.allowed[1::3]


@pytest.mark.parametrize("contiguity", CONTIGUITIES)
def test_cells_of_each_contiguity_match_the_model(contiguity: str, spark: SparkSession) -> None:
    frame = columns(spark)
    actual = [driven(cell, frame) for cell in SAMPLE if cell.contiguity == contiguity]
    assert [f"{item.name}\n{item.failure}" for item in actual if not item.passed][:5] == []


def test_the_sample_has_some_of_everything() -> None:
    for axis in ("contiguity", "quantifier", "skip", "disorder"):
        assert {str(getattr(c, axis)) for c in SAMPLE} == {str(getattr(c, axis)) for c in PATTERNS.allowed}
