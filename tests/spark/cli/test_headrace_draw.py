"""`headrace draw`, with a real kernel: a case becomes a picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession

from headrace.cli.app import main

SVG = "{http://www.w3.org/2000/svg}"
CASES = """
name: a late row inside the lateness fires again
pipeline:
  sources: {tx: {memory: {}, schema: "k string, v int, ts timestamp", event_time: {column: ts}}}
  steps: {totals: {from: tx, key_by: k, window: {tumbling: 10 seconds}, emit: {lateness: 10 seconds, mode: retracting}, aggregate: {total: sum(v)}}}
script:
  - rows: {tx: [{k: a, v: 1, ts: 1}, {k: b, v: 2, ts: 2}]}
  - watermark: {tx: 12}
  - rows: {tx: [{k: a, v: 4, ts: 5}]}
  - watermark: {tx: 20}
  - rows: {tx: [{k: a, v: 8, ts: 6}, {k: b, v: 9}]}
  - expect: {totals: []}
---
name: records of JSON, through Spark
through: spark
pipeline: totals.yaml
script:
  - rows: {tx: [{v: 1, ts: 3}, "{broken"]}
  - advance: 10 seconds
  - end: true
  - expect: {totals: [{n: 1}]}
"""
TOTALS = """
name: totals
sources: {tx: {files: {path: in/}, format: json, schema: "v int, ts timestamp", event_time: {column: ts}}}
steps: {totals: {from: tx, window: {tumbling: 10 seconds}, aggregate: {n: count(*)}}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "totals.yaml").write_text(TOTALS)
    (tmp_path / "cases.transcript.yaml").write_text(CASES)
    return tmp_path


def draw(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["draw", *words])
    assert not ended.value.code


def texts(picture: Path, word: str) -> list[str | None]:
    root = ElementTree.parse(picture).getroot()
    return [e.text for e in root.iter(f"{SVG}text") if word in e.get("class", "").split()]


def test_a_picture_shows_what_came_though_the_case_would_fail(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw("cases.transcript.yaml", "--case", "late row", "-o", "pictures/late.svg")
    assert "wrote pictures/late.svg" in capsys.readouterr().err
    picture = here / "pictures" / "late.svg"
    assert texts(picture, "line") == ["rows", "watermark 12", "rows", "watermark 20", "rows"]
    assert texts(picture, "row-label") == ["a: 1", "b: 2", "a: 4", "a: 8  too late", "b: 9  no event time"]
    assert sorted(map(str, texts(picture, "on_time-label"))) == ["a: 1", "a: 1", "b: 2"]
    assert texts(picture, "struck") == ["a: 1"]
    assert texts(picture, "late-label") == ["a: 5"]


def test_several_cases_are_panels_of_one_picture_beside_the_file(spark: SparkSession, here: Path) -> None:
    draw("cases.transcript.yaml")
    picture = here / "cases.svg"
    assert len(texts(picture, "title")) == 2
    assert texts(picture, "line")[-3:] == ["rows", "10 seconds go by", "end of input"]
    assert json.dumps(texts(picture, "row-label")[-2:]) == '["1", "{broken"]'
