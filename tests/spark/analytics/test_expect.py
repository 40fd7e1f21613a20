"""Violations of expectations: counted once per rule and epoch, over crashes too, with sample rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.failpoints import Crash, arm
from headrace.errors import HeadraceError


@pytest.mark.parametrize("on_fail", ["dead_letter", "warn"])
def test_violations_of_each_rule_are_counted_once_and_have_sample_rows(
    spark: SparkSession, tmp_path: Path, on_fail: Any
) -> None:
    feed, out = connect.memory(), connect.memory()
    pipeline = Pipeline("checked")
    rows = pipeline.read("rows", feed, schema="k string, v int, tags array<string>")
    rules = {"positive": "v > 0", "known": "k is not null"}
    rows.expect("checked", on_fail=on_fail, **rules).write("out", out)

    def run() -> tuple[Any, Any]:
        with pipeline.start(checkpoint=tmp_path / "checkpoint", until="caught_up") as running:
            running.wait(timeout=300)
            return running.status().steps["checked"], running._violations("checked")

    feed.add(*({"k": "a", "v": -number} for number in range(9)), {"v": 1}, {"k": "b", "v": 1})
    with arm("delivery.committed"), pytest.raises((Crash, HeadraceError)):
        run()
    accounting, samples = run()
    assert (accounting.rows, accounting.unmatched, accounting.balanced) == (11, 10, True)
    assert accounting.violated == {"positive": 9, "known": 1}
    assert 1 <= len(samples["positive"]) <= 3, "a sample is a few rows"
    assert all(row["k"] == "a" and row["v"] <= 0 for row in samples["positive"])
    assert [(row.get("k"), row["v"]) for row in samples["known"]] == [(None, 1)]

    feed.add({"k": "c", "v": -7})
    accounting, samples = run()
    assert accounting.violated == {"positive": 1, "known": 0}
    assert [row["v"] for row in samples["positive"]] == [-7]
    assert len(out.contents()) == (1 if on_fail == "dead_letter" else 12)
