"""`headrace explain --physical` and `headrace test`, with a real Spark."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.cli.app import main

TOTALS = """
name: totals
sources:
  tx:
    files: {path: in/}
    format: json
    schema: card string, amount double, ts timestamp
    event_time: {column: ts}
steps:
  totals: {from: tx, key_by: card, window: {tumbling: 10 minutes}, emit: {late_rows: count}, aggregate: {n: count(*)}}
sinks:
  out: {from: totals, files: {path: out/, format: json}}
"""
CASES = """
name: counts come when the watermark has passed
pipeline: totals.yaml
script:
  - rows: {tx: [{card: a, amount: 1, ts: 5}]}
  - watermark: {tx: 600}
  - expect: {totals: [{card: a, n: 1}]}
---
name: this one is wrong
pipeline: totals.yaml
script:
  - rows: {tx: [{card: a, amount: 1, ts: 5}]}
  - watermark: {tx: 600}
  - expect: {totals: [{card: a, n: 2}]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "in").mkdir()
    (tmp_path / "totals.yaml").write_text(TOTALS)
    (tmp_path / "cases.yaml").write_text(CASES)
    return tmp_path


def status_of(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def test_the_physical_plan_is_spark_s_own_and_nothing_is_left_behind(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of("explain", "totals.yaml", "--physical", "--json") == 0
    plan = json.loads(capsys.readouterr().out)["physical"]["totals"]
    assert "StateStoreSave" in plan
    assert "decode_json" in plan
    assert sorted(path.name for path in here.iterdir()) == ["cases.yaml", "in", "totals.yaml"]


def test_failed_cases_are_reported_and_give_status_1(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of("test", "cases.yaml", "--junit", "report.xml") == 1
    message = capsys.readouterr()
    assert "✓ counts come when the watermark has passed" in message.out
    assert "✗ this one is wrong" in message.out
    assert "1 of 2 cases failed" in message.err
    assert 'failures="1"' in (here / "report.xml").read_text()


def test_only_the_named_cases_run_and_again_as_a_batch(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of("test", "cases.yaml", "-k", "counts come", "--batch", "--json") == 0
    actual = json.loads(capsys.readouterr().out)
    assert actual["passed"] is True
    assert [case["name"] for case in actual["cases"]] == ["counts come when the watermark has passed"]
