"""The example of meters with a real broker: photos as bytes in, readings that went backwards out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from examples.meters.cameras import publish
from pyspark.sql import SparkSession

from headrace import Pipeline
from headrace.devtools import mosquitto
from tests.support.examples_at_hand import copy_of, in_any_order, json_rows
from tests.support.waiting import wait_until


def test_photos_are_read_from_a_broker(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = copy_of("meters", tmp_path).directory
    monkeypatch.chdir(directory)
    monkeypatch.syspath_prepend(directory)
    broker = mosquitto.start(tmp_path / "broker", port=0)
    monkeypatch.setenv("MQTT", broker.url)
    try:
        run = Pipeline.from_yaml("mqtt.yaml").start(checkpoint=tmp_path / "checkpoint")
        publish(broker.url, Path("events.jsonl"))
        last = json.loads(Path("events.jsonl").read_text().splitlines()[-1])
        Path("later.jsonl").write_text(json.dumps({**last, "ts": "2026-03-02T10:30:00Z"}) + "\n")
        publish(broker.url, Path("later.jsonl"))  # moves the watermark past the others
        expected = json_rows(Path("expected.jsonl"))
        wait_until(lambda: len(json_rows(*Path("out").glob("*.json"))) == len(expected), run)
        run.stop()
        assert run.status().steps["complete"].violated == {"size": 2}
    finally:
        broker.stop()
    assert in_any_order(json_rows(*Path("out").glob("*.json"))) == in_any_order(expected)
