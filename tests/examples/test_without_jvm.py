"""The Python code of the examples gives the expected rows without a JVM, as on Spark (`test_to_files.py`)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pandas
from examples.driver_hours.hours import WorkingHours
from examples.model_scoring.scoring import Score
from tests.support.examples_at_hand import EXAMPLES, in_any_order, json_rows

from headrace.testing import processor


def read_expected(example: str) -> list[str]:
    return in_any_order(json_rows(EXAMPLES / example / "expected.jsonl"))


def format_value(row: Any) -> dict[str, Any]:
    at = row.at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {**row.to_dict(), "at": at}


def test_working_hours_in_one_batch_and_in_many() -> None:
    events = json_rows(EXAMPLES / "driver_hours" / "events.jsonl")
    rows = [{**row, "ts": datetime.fromisoformat(row["ts"])} for row in events]
    once = processor(WorkingHours, key="licence")
    made = [*once.rows(rows, time="ts"), *once.end()]
    assert in_any_order([format_value(row) for row in made]) == read_expected("driver_hours")
    often, made = processor(WorkingHours, key="licence"), []
    for row in rows:
        made += [*often.rows([row], time="ts"), *often.watermark(row["ts"].timestamp() - 3600)]
    made += often.end()
    assert in_any_order([format_value(row) for row in made]) == read_expected("driver_hours")


def test_model_scores() -> None:
    model = Score()
    model.open()
    scored = model(pandas.DataFrame(json_rows(EXAMPLES / "model_scoring" / "events.jsonl")))
    assert in_any_order(json.loads(scored.to_json(orient="records"))) == read_expected("model_scoring")
