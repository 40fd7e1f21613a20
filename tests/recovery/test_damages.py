"""Damaged checkpoints: the rows are right, or the error names file, problem and hint; `make damage` tries more."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.recovery.damage.damages import Damage, select
from tests.recovery.damage.harness import Harness
from tests.recovery.damage.kinds import FilesKind

NUMBER = 20


@pytest.fixture(scope="module")
def harness(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Harness:
    return Harness(FilesKind(), tmp_path_factory.mktemp("damage"), until="caught_up")


def test_damages_give_right_rows_or_a_clear_error(harness: Harness) -> None:
    results = list(harness.try_all(NUMBER, seed=7))
    assert len(results) == NUMBER
    assert [result for result in results if result.outcome in ("WRONG", "raw")] == []
    assert {result.outcome for result in results} == {"right rows", "clear error"}


def test_state_that_is_damaged_names_the_file(harness: Harness) -> None:
    checkpoint = harness.checkpoint("stopped")
    newest = max(
        checkpoint.glob("queries/running/spark/state/0/0/*.changelog"),
        key=lambda file: int(file.name.partition("_")[0]),
    )
    result = harness.apply("stopped", Damage("truncated", str(newest.relative_to(checkpoint))))
    assert result is not None
    assert result.outcome == "clear error"
    assert newest.name in result.detail
    assert "hint: restore a savepoint" in result.detail


def test_every_kind_of_file_is_damaged(harness: Harness) -> None:
    files = {damage.file for damage in select(harness.checkpoint("killed"), 400, seed=1)}
    kinds = (
        "/offsets/",
        "/commits/",
        "/sources/0/",
        ".changelog",
        "step.json",
        "pipeline",
        ".parquet",
        "/log/",
    )
    assert [kind for kind in kinds if not any(kind in f"/{file}" for file in files)] == []
