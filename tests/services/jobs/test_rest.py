"""REST of the job service over HTTP, on driver processes without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from headrace.jobs.api import alerts
from headrace.jobs.service import JobService
from tests.services.jobs.conftest import DOCUMENT
from tests.support.waiting import wait_until


def submit(client: httpx.Client, **more: Any) -> str:
    response = client.post("/api/v1/jobs", json={"document": DOCUMENT, **more})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def state(client: httpx.Client, job: str) -> str:
    return str(client.get(f"/api/v1/jobs/{job}").json()["state"])


@pytest.fixture
def job(client: httpx.Client) -> Iterator[str]:
    job = submit(client, name="first")
    wait_until(lambda: state(client, job) == "running")
    return job  # type: ignore[return-value]


def test_health(client: httpx.Client) -> None:
    assert client.get("/api/v1/health").json()["status"] == "ok"


def test_a_document_is_submitted_listed_and_shown(client: httpx.Client, job: str) -> None:
    wait_until(lambda: client.get(f"/api/v1/jobs/{job}").json()["metrics"]["rows_in"] > 0)
    shown = client.get(f"/api/v1/jobs/{job}").json()
    assert (shown["name"], shown["attempts"], shown["error"]) == ("first", 1, None)
    assert shown["pid"] > 0
    assert shown["metrics"]["lag"] == 5
    assert set(shown["metrics"]["latency_ms"]) == {"p50", "p95", "p99"}
    assert [each["id"] for each in client.get("/api/v1/jobs").json()] == [job]


@pytest.mark.parametrize(("verb", "end"), [("stop", "stopped"), ("drain", "drained"), ("kill", "killed")])
def test_a_verb_ends_the_job(client: httpx.Client, job: str, verb: str, end: str) -> None:
    assert client.post(f"/api/v1/jobs/{job}/{verb}").status_code == 200
    wait_until(lambda: state(client, job) == end)
    assert client.post(f"/api/v1/jobs/{job}/{verb}").status_code == 409
    assert client.delete(f"/api/v1/jobs/{job}").status_code == 204
    assert client.get(f"/api/v1/jobs/{job}").status_code == 404


def test_settings_that_contradict_each_other_name_the_option(client: httpx.Client) -> None:
    settings = {"until": "drained", "every": "5 seconds"}
    response = client.post("/api/v1/jobs", json={"document": DOCUMENT, "settings": settings})
    assert response.status_code == 422
    [problem] = response.json()["problems"]
    assert (problem["where"], problem["what"]) == ("every", "`every` cannot be combined with until='drained'")


def test_files_are_uploaded_with_the_pipeline(client: httpx.Client, service: JobService) -> None:
    files = [("pipeline", ("numbers.yaml", DOCUMENT)), ("data", ("homes/first.csv", "a,b"))]
    response = client.post("/api/v1/jobs", files=files, data={"settings": '{"restart_limit": 0}'})
    assert response.status_code == 201, response.text
    job = response.json()["id"]
    assert (service.directory(job).files / "homes" / "first.csv").read_text() == "a,b"
    assert service.get(job).settings.restart_limit == 0


def test_a_wrong_document_is_answered_with_its_line(client: httpx.Client) -> None:
    response = client.post("/api/v1/jobs", json={"document": "sources:\n  n: {generatr: {}}\n"})
    assert response.status_code == 422
    assert response.json()["problems"][0]["where"].startswith("pipeline.yaml:2:")


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        json.dumps({"document": 7}),
        json.dumps({"document": DOCUMENT, "unknown": 1}),
        json.dumps({"document": DOCUMENT, "settings": {"until": "caught_up", "every": "1 second"}}),
        json.dumps({"document": DOCUMENT, "settings": {"restart_backoff": "soon"}}),
        json.dumps({"document": DOCUMENT, "directory": "/does/not/exist"}),
    ],
)
def test_an_invalid_request_is_rejected(client: httpx.Client, body: str) -> None:
    assert client.post("/api/v1/jobs", content=body).status_code == 422


def test_logs_and_document_are_text(client: httpx.Client, job: str) -> None:
    assert client.get(f"/api/v1/jobs/{job}/logs").status_code == 200
    assert client.get(f"/api/v1/jobs/{job}/document").text == DOCUMENT


def test_rows_are_sampled_while_the_job_runs(client: httpx.Client, job: str) -> None:
    path = f"/api/v1/jobs/{job}/samples"
    assert len(client.get(path, params={"step": "n", "rows": 3}).json()["rows"]) == 3
    assert client.get(path, params={"step": "n", "rows": 1000}).status_code == 422
    client.post(f"/api/v1/jobs/{job}/kill")
    assert client.get(path, params={"step": "n"}).status_code == 409


def test_ticks_are_streamed(client: httpx.Client, job: str) -> None:
    for path in (f"/api/v1/jobs/{job}/live", "/api/v1/live"):
        with client.stream("GET", path) as response:
            data = next(line for line in response.iter_lines() if line.startswith("data: "))
        tick = json.loads(data.removeprefix("data: "))
        assert (tick if isinstance(tick, dict) else tick[0])["id"] == job


def test_an_openmetrics_parser_accepts_the_metrics(client: httpx.Client, job: str) -> None:
    response = client.get("/metrics")
    parsed = text_string_to_metric_families(response.text)  # type: ignore[no-untyped-call]
    families = {family.name: family for family in parsed}
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    states = families["headrace_job_state"].samples
    assert [sample.labels["state"] for sample in states if sample.value] == ["running"]
    assert families["headrace_job_rows_in"].samples[0].value > 0


def test_history_is_kept(client: httpx.Client, job: str) -> None:
    wait_until(lambda: bool(client.get(f"/api/v1/jobs/{job}/history").json()))
    assert client.get(f"/api/v1/jobs/{job}/history").json()[-1]["rows_in"] > 0


def test_a_failed_job_raises_an_alert(client: httpx.Client) -> None:
    wrong = DOCUMENT.replace("# plain", "# wrong")
    job = client.post("/api/v1/jobs", json={"document": wrong}).json()["id"]
    wait_until(lambda: bool(client.get("/api/v1/alerts").json()))
    alert = client.get("/api/v1/alerts").json()[0]
    assert (alert["job"], alert["rule"], alert["state"]) == (job, "failed", "firing")
    assert "attempt 1 failed" in alert["message"]


@pytest.mark.parametrize(
    ("method", "path", "detail"),
    [
        ("GET", "jobs/0123456789ab", "jobs: no job has the id '0123456789ab'"),
        ("DELETE", "users/ada", "users: unknown user 'ada'"),
        ("DELETE", "silences/77", "silences: no silence has the id '77'"),
    ],
)
def test_an_unknown_name_is_not_found(client: httpx.Client, method: str, path: str, detail: str) -> None:
    response = client.request(method, f"/api/v1/{path}")
    assert response.status_code == 404
    assert response.json()["detail"].startswith(detail)


def test_rules_of_alerts_are_added_listed_and_deleted(client: httpx.Client) -> None:
    rule = {"alert": "lag", "above": 1000, "for": "1 minute", "name": "behind"}
    added = client.post("/api/v1/alert-rules", json=rule)
    assert added.status_code == 201, added.text
    names = [each["rule"]["name"] for each in client.get("/api/v1/alert-rules").json()]
    assert names[-1] == "behind"
    assert "named `behind`" in client.post("/api/v1/alert-rules", json=rule).text
    address = f"/api/v1/alert-rules/{added.json()['id']}"
    assert [client.delete(address).status_code for _ in range(2)] == [204, 404]


@pytest.mark.parametrize("above", ["1e999", "NaN", "Infinity", "-1"])
def test_a_rule_with_a_threshold_that_is_no_number_is_refused(client: httpx.Client, above: str) -> None:
    content = f'{{"alert": "lag", "above": {above}}}'
    assert client.post("/api/v1/alert-rules", content=content).status_code == 422
    assert client.get("/api/v1/alert-rules").status_code == 200


def test_the_number_of_rules_is_limited(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "MAX_RULES", 1)
    rules = [{"alert": "lag", "above": number, "name": f"lag {number}"} for number in range(2)]
    assert [client.post("/api/v1/alert-rules", json=rule).status_code for rule in rules] == [201, 409]


def test_silences_are_added_listed_and_ended(client: httpx.Client) -> None:
    silence = client.post("/api/v1/silences", json={"seconds": 60, "rule": "lag"}).json()["id"]
    assert [each["id"] for each in client.get("/api/v1/silences").json()] == [silence]
    assert client.delete(f"/api/v1/silences/{silence}").status_code == 204
    assert client.delete(f"/api/v1/silences/{silence}").status_code == 404
