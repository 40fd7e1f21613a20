"""Test runs and side outputs over REST: roles, origins, restrictions, and rows that a page can download."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import pytest

from headrace.jobs.app import create_app
from headrace.jobs.sample_runs import SampleRuns
from headrace.jobs.security.policy import Policy
from headrace.jobs.service import JobService
from tests.services.jobs.conftest import DOCUMENT, kill_all
from tests.services.jobs.test_security import closed, log_in, submit, url
from tests.support.fake_service import COMMAND
from tests.support.http_server import serving

__all__ = ["closed", "url"]

RESULT = {"outputs": [{"name": "out", "kind": "sink", "count": 1, "rows": [{"n": 1}]}], "dropped": 0}
ANSWER = f"""
import json, pathlib, sys
pathlib.Path(sys.argv[1], "result.json").write_text(json.dumps({{"result": {RESULT!r}}}))
"""
BODY = {"document": DOCUMENT, "rows": {"n": '{"n": 1}'}}


def fake_runs(service: JobService) -> None:
    """Replace the process of a test run by one without Spark."""
    service.sample_runs = SampleRuns(service.policy, command=[sys.executable, "-c", ANSWER])


def test_rows_of_the_sinks_are_returned(client: httpx.Client, service: JobService) -> None:
    fake_runs(service)
    response = client.post("/api/v1/test", json=BODY)
    assert (response.status_code, response.json()) == (200, RESULT)


def test_wrong_document_is_422_with_its_line(client: httpx.Client) -> None:
    response = client.post("/api/v1/test", json=BODY | {"document": DOCUMENT.replace("from: n", "from: m")})
    assert response.status_code == 422
    assert response.json()["problems"][0]["where"].startswith("pipeline.yaml:4:")


@pytest.mark.parametrize(
    "body", [{}, {"document": DOCUMENT}, BODY | {"rows": ["n"]}, BODY | {"command": "sh"}]
)
def test_invalid_request_is_422(client: httpx.Client, body: dict[str, object]) -> None:
    assert client.post("/api/v1/test", json=body).status_code == 422


@pytest.mark.parametrize("path", ["/api/v1/test", "/ui/test"])
def test_viewer_may_not_run_a_document(url: str, closed: JobService, path: str) -> None:
    fake_runs(closed)
    with log_in(url, "viewer") as viewer, log_in(url, "operator") as operator:
        assert viewer.post(path, json=BODY).status_code == 403
        assert operator.post(path, json=BODY).status_code == 200
    assert httpx.post(url + path, json=BODY).status_code == 401


def test_viewer_may_not_edit_the_flow(url: str, closed: JobService) -> None:
    edit = {"document": DOCUMENT, "operations": [{"op": "remove", "name": "n"}]}
    with log_in(url, "viewer") as viewer, log_in(url, "operator") as operator:
        assert viewer.post("/ui/flow/edit", json=edit).status_code == 403
        assert operator.post("/ui/flow/edit", json=edit).json()["document"] != DOCUMENT


@pytest.mark.parametrize("path", ["/api/v1/test", "/ui/test"])
@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}],
)
def test_page_of_another_site_cannot_start_a_run(
    url: str, closed: JobService, path: str, headers: dict[str, str]
) -> None:
    fake_runs(closed)
    with log_in(url, "operator") as operator:
        cookies = dict(operator.cookies)
    response = httpx.post(url + path, json=BODY, headers=headers, cookies=cookies)
    assert response.status_code == 403
    assert httpx.post(url + path, json=BODY, cookies=cookies).status_code == 403  # no origin at all


def test_runs_are_in_the_audit_log(url: str, closed: JobService) -> None:
    fake_runs(closed)
    with log_in(url, "operator") as operator, log_in(url, "admin") as admin:
        operator.post("/api/v1/test", json=BODY)
        actions = [
            (entry["actor"], entry["action"]) for entry in admin.get("/api/v1/audit").json()["entries"]
        ]
    assert ("operator", "POST /api/v1/test") in actions


def test_side_output_is_downloaded_complete_and_in_order(client: httpx.Client, service: JobService) -> None:
    job = client.post("/api/v1/jobs", json={"document": DOCUMENT}).json()["id"]
    directory = service.directory(job).checkpoint / "unrouted" / "n.dead_letters"
    directory.mkdir(parents=True)
    for part in range(3):
        lines = [json.dumps({"raw": "eA==", "reason": "r", "position": 10 * part + n}) for n in range(2)]
        (directory / f"part-{part}.json").write_text("\n".join(lines))
    assert client.get(f"/api/v1/jobs/{job}/side_outputs").json() == ["n.dead_letters"]
    response = client.get(f"/api/v1/jobs/{job}/side_outputs/n.dead_letters")
    assert response.headers["content-type"].startswith("application/x-ndjson")
    assert "attachment" in response.headers["content-disposition"]
    positions = [json.loads(line)["position"] for line in response.text.splitlines()]
    assert positions == [0, 1, 10, 11, 20, 21]


@pytest.mark.parametrize("output", ["m.late", "..%2f..%2ffiles", "%2e%2e", "x" * 301])
def test_side_output_is_never_a_path(client: httpx.Client, service: JobService, output: str) -> None:
    job = client.post("/api/v1/jobs", json={"document": DOCUMENT}).json()["id"]
    (service.directory(job).checkpoint / "unrouted").mkdir(parents=True)
    assert client.get(f"/api/v1/jobs/{job}/side_outputs/{output}").status_code in (404, 422)


def test_service_that_others_can_reach_restricts_the_documents_of_runs(tmp_path: Path) -> None:
    policy = Policy(host="0.0.0.0", token="hr_admin")
    service = JobService(tmp_path / "data", command=COMMAND, period=0.05, policy=policy)
    fake_runs(service)
    headers = {"authorization": "Bearer hr_admin"}
    with serving(create_app(service)) as address, httpx.Client(base_url=address, headers=headers) as client:
        assert client.post("/api/v1/test", json=BODY).status_code == 200
        paths = BODY | {"document": DOCUMENT.replace("console: {}", "files: {path: /etc/out}")}
        assert client.post("/api/v1/test", json=paths).status_code == 422
        assert client.post("/api/v1/test", json=BODY | {"directory": str(tmp_path)}).status_code == 422
        job = submit(client).json()["id"]
        assert '"directory": ""' in client.get(f"/jobs/{job}/edit").text  # it would be refused
        kill_all(service)
    service.close()
