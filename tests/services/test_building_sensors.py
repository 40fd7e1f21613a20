"""The example of building sensors with a real broker: devices in, alarms and retained values out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from examples.building_sensors.devices import publish
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.devtools import mosquitto
from headrace.devtools.mqtt_client import subscribe
from tests.support.examples_at_hand import copy_of, json_rows
from tests.support.waiting import wait_until

LAST = {"topic": "building/203/temperature", "celsius": 21.0, "ts": "2026-03-02T09:30:00Z"}


def test_alarms_and_last_values_are_published(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_of("building_sensors", tmp_path).directory)
    broker = mosquitto.start(tmp_path / "broker", port=0)
    monkeypatch.setenv("MQTT", broker.url)
    try:
        run = Pipeline.from_yaml("mqtt.yaml").start(checkpoint=tmp_path / "checkpoint")
        publish(broker.url, Path("events.jsonl"))
        Path("later.jsonl").write_text(json.dumps(LAST) + "\n")  # moves the watermark past all windows
        publish(broker.url, Path("later.jsonl"))
        expected = json_rows(Path("expected.jsonl"))
        wait_until(lambda: len(json_rows(*Path("out").glob("*.json"))) == len(expected), run)
        run.stop()
        kept = connect.mqtt(url=broker.url, topics=["building/+/smoothed"])
        messages = subscribe(kept, lambda: False)
        rooms = sorted(next(messages).topic for _ in range(3))
        messages.close()  # type: ignore[attr-defined]
    finally:
        broker.stop()
    assert rooms == [f"building/{room}/smoothed" for room in ("101", "102", "203")]
    actual = {(row["room"], row["at"], row["anomaly"]) for row in json_rows(*Path("out").glob("*.json"))}
    assert actual == {(row["room"], row["at"], row["anomaly"]) for row in expected}
