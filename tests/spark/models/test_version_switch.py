"""A model that is replaced while a job has rows to process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import joblib
import numpy
import pytest
from pyspark.sql import SparkSession
from sklearn.linear_model import LinearRegression

from headrace import Pipeline, connect, models
from headrace.errors import UserCodeError


def train(path: Path, factor: float) -> None:
    """Write a model that computes `factor * amount`."""
    path.parent.mkdir(exist_ok=True)
    amounts = numpy.array([[1.0], [2.0]])
    joblib.dump(LinearRegression().fit(amounts, factor * amounts[:, 0]), path)


def test_a_version_that_is_switched_under_load_loses_and_doubles_no_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    files, rows_per_file, switch = 5, 200, tmp_path / "switch"
    (tmp_path / "in").mkdir()
    for number in range(files):
        ids = range(number * rows_per_file, (number + 1) * rows_per_file)
        lines = [json.dumps({"id": n, "amount": 1.0}) for n in ids]
        file = tmp_path / "in" / f"{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (1_700_000_000 + number,) * 2)  # files are read in the order of their times
    train(tmp_path / "models" / "v1.joblib", 1.0)

    def observe(row: object) -> bool:
        """Write a version in the middle of an epoch, and fail in the one after it."""
        if row.id == 2 * rows_per_file + 100 and not switch.exists():  # type: ignore[attr-defined]
            train(tmp_path / "models" / "v2.joblib", 2.0)
            switch.touch()
            raise ValueError("stopped")
        return True

    def run() -> None:
        pipeline = Pipeline("models")
        source = connect.files(path=tmp_path / "in", format="json", max_files_per_batch=1)
        tx = pipeline.read("tx", source, schema="id int, amount double")
        model = models.sklearn(str(tmp_path / "models"))
        scored = tx.predict("scored", model, features="amount", output="risk double")
        sink = connect.files(path=tmp_path / "out", format="json")
        scored.filter("observed", observe, on_error="fail").write("out", sink)
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")

    with pytest.raises(UserCodeError, match="stopped"):
        run()
    run()
    stored = [
        json.loads(line)
        for file in (tmp_path / "out").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert sorted(row["id"] for row in stored) == list(range(files * rows_per_file))
    versions = {row["id"]: row["model_version"][:2] for row in stored}
    replayed = 3 * rows_per_file
    assert {versions[n] for n in range(replayed)} == {"v1"}
    assert {versions[n] for n in range(replayed, files * rows_per_file)} == {"v2"}
    assert all(row["risk"] == pytest.approx(float(versions[row["id"]][1])) for row in stored)
