"""OpenLineage events of jobs."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from headrace import Pipeline, connect
from headrace.jobs.model import Job
from headrace.jobs.states import JobState
from headrace.metrics.lineage import LineageEmitter, datasets_of, run_event

JOB = Job("0123456789ab", "fraud", "ada", "p.yaml", "v", None, state=JobState.RUNNING, attempts=1)


def test_an_event_has_what_the_specification_requires() -> None:
    event = run_event(JOB, {"inputs": [{"namespace": "file", "name": "/in"}]})
    assert {"eventType", "eventTime", "run", "job", "producer", "schemaURL"} <= set(event)
    assert uuid.UUID(event["run"]["runId"])
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    assert event["job"] == {"namespace": "headrace", "name": "fraud"}


def test_events_of_an_attempt_have_one_run_id() -> None:
    ended = replace(JOB, state=JobState.DRAINED)
    second = replace(JOB, attempts=2)
    first_id = run_event(JOB, {})["run"]["runId"]
    assert run_event(ended, {})["run"]["runId"] == first_id
    assert run_event(second, {})["run"]["runId"] != first_id


@pytest.mark.parametrize(
    ("state", "error", "kind"),
    [
        (JobState.RUNNING, None, "START"),
        (JobState.STOPPED, None, "COMPLETE"),
        (JobState.RESTARTING, None, "COMPLETE"),
        (JobState.RESTARTING, "boom", "FAIL"),
        (JobState.FAILED, "boom", "FAIL"),
        (JobState.KILLED, None, "ABORT"),
    ],
)
def test_the_event_follows_the_state(state: JobState, error: str | None, kind: str) -> None:
    event = run_event(replace(JOB, state=state, error=error), {})
    assert event["eventType"] == kind
    facets = event["run"]["facets"]
    assert all({"_producer", "_schemaURL"} <= set(facet) for facet in facets.values())
    assert ("errorMessage" in facets) == (error is not None)


def test_datasets_are_named_without_passwords() -> None:
    pipeline = Pipeline("p")
    kafka = connect.kafka(servers="broker:9092,other:9092", topic="payments")
    rows = pipeline.read("tx", kafka, format="json", schema="a int")
    rows.write("table", connect.postgres(url="postgresql://ada:hush@db:5432/shop", table="orders", key=["a"]))
    rows.write("files", connect.files(path="/data/out", format="json"))
    assert datasets_of(pipeline.check()) == {
        "inputs": [{"namespace": "kafka://broker:9092", "name": "payments"}],
        "outputs": [
            {"namespace": "postgres://db:5432", "name": "shop.orders"},
            {"namespace": "file", "name": "/data/out"},
        ],
    }


def test_events_are_appended_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    emitter = LineageEmitter(str(file))
    emitter.emit([run_event(JOB, {}), run_event(replace(JOB, state=JobState.STOPPED), {})])
    emitter.close()
    assert [json.loads(line)["eventType"] for line in file.read_text().splitlines()] == ["START", "COMPLETE"]
