"""OpenLineage events of jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

from headrace import Pipeline, connect
from headrace.jobs.model import Job
from headrace.jobs.states import JobState
from headrace.metrics.lineage import EVENTS, LineageEmitter, datasets_of, run_event

SCHEMAS = Registry().with_resources(
    (content["$id"], Resource.from_contents(content))
    for file in (Path(__file__).parent / "openlineage").glob("*.json")
    if (content := json.loads(file.read_text()))
)
JOB = Job("0123456789ab", "fraud", "ada", "p.yaml", "v", None, state=JobState.RUNNING, attempts=1)


def check_schema(event: dict[str, Any]) -> None:
    """Validate an event and its facets against the schemas that they name."""
    parts = [(event, event["schemaURL"])]
    parts += [(facet, facet["_schemaURL"]) for facet in event["run"]["facets"].values()]
    for part, schema in parts:
        validator = Draft202012Validator(
            {"$ref": schema}, registry=SCHEMAS, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
        validator.validate(part)


def build_pipeline() -> Pipeline:
    pipeline = Pipeline("p")
    kafka = connect.kafka(servers="broker:9092,other:9092", topic="payments")
    rows = pipeline.read("tx", kafka, format="json", schema="a int")
    rows.write("table", connect.postgres(url="postgresql://ada:hush@db:5432/shop", table="orders", key=["a"]))
    rows.write("files", connect.files(path="/data/out", format="json"))
    return pipeline


@pytest.mark.parametrize("state", sorted(EVENTS))
@pytest.mark.parametrize("error", [None, "boom"])
def test_openlineage_accepts_the_event_of_every_state(state: JobState, error: str | None) -> None:
    event = run_event(replace(JOB, state=state, error=error), datasets_of(build_pipeline()._plan()))
    check_schema(json.loads(json.dumps(event)))
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    assert event["job"] == {"namespace": "headrace", "name": "fraud"}


@pytest.mark.parametrize(
    "change",
    [
        {"eventType": "BEGIN"},
        {"job": {"name": "fraud"}},
        {"run": {"runId": "first", "facets": {}}},
        {"inputs": [{"namespace": "file"}]},
        {"run": {**run_event(JOB, {})["run"], "facets": {"errorMessage": {"message": "boom"}}}},
    ],
)
def test_the_schema_rejects_other_events(change: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, KeyError)):
        check_schema(run_event(JOB, {}) | change)


def test_events_of_an_attempt_have_one_run_id() -> None:
    ended = replace(JOB, state=JobState.DRAINED)
    second = replace(JOB, attempts=2)
    first_id = run_event(JOB, {})["run"]["runId"]
    assert run_event(ended, {})["run"]["runId"] == first_id
    assert run_event(second, {})["run"]["runId"] != first_id


@pytest.mark.parametrize(
    ("state", "error", "kind"),
    [
        (JobState.STARTING, None, "START"),
        (JobState.RUNNING, None, "RUNNING"),
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
    assert ("errorMessage" in event["run"]["facets"]) == (error is not None)


def test_datasets_are_named_without_passwords() -> None:
    assert datasets_of(build_pipeline()._plan()) == {
        "inputs": [{"namespace": "kafka://broker:9092", "name": "payments"}],
        "outputs": [
            {"namespace": "postgres://db:5432", "name": "shop.orders"},
            {"namespace": "file", "name": "/data/out"},
        ],
    }


def test_events_are_appended_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    emitter = LineageEmitter(str(file))
    states = [JobState.STARTING, JobState.RUNNING, JobState.STOPPED]
    for state in states:
        emitter.emit(run_event(replace(JOB, state=state), {}))
    emitter.close()
    kinds = [json.loads(line)["eventType"] for line in file.read_text().splitlines()]
    assert kinds == ["START", "RUNNING", "COMPLETE"]
