"""The pattern benchmark runs on a few events, and the engines find the expected matches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import harness, patterns
from benchmarks.patterns import engines, plain_pyspark
from benchmarks.patterns.events import OUT_OF_ORDER, CardEvents, answers
from benchmarks.topics import START, fill
from pyspark.sql import SparkSession

pytestmark = pytest.mark.proof

EVENTS = CardEvents(6_000, cards=20, every=100)


def test_headrace_and_processors_in_python_find_the_same(
    spark: SparkSession,
    broker: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    value = engines.Settings(
        broker.servers, fill(broker.servers, EVENTS), warm=3_000, events=3_000, epoch=3_000
    )
    ours = engines.headrace(value, spark)
    theirs = [
        engines.in_python(value, spark, plain_pyspark.over_rows, "python-rows"),
        engines.in_python(value, spark, plain_pyspark.over_frames, "python-pandas"),
    ]
    assert (ours.events, ours.answers) == (3_000, answers(EVENTS).matches)
    # The processors stop at the watermark; Headrace drains the input.
    until = START + (EVENTS.count - 1) * EVENTS.every - OUT_OF_ORDER
    assert [item.answers for item in theirs] == [answers(EVENTS, until).matches] * 2

    patterns.report([ours, *theirs])
    assert "login, then pay > 90" in capsys.readouterr().out
    message = json.loads((tmp_path / "patterns.json").read_text())
    assert [item["engine"] for item in message] == ["headrace", "python-rows", "python-pandas"]
