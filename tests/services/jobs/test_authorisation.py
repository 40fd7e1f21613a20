"""Role and owner of every route, also under odd spellings of its path."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from headrace import Pipeline
from headrace.dashboard import pages
from headrace.explain.explanation import as_json, explain
from headrace.jobs import api
from headrace.jobs.api.access import Access, ForbiddenError, JobOf, Requires
from headrace.jobs.app import create_app, openapi_document
from headrace.jobs.directory import write_json
from headrace.jobs.model import Job
from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import PrincipalStore, Role
from headrace.jobs.service import JobService
from headrace.jobs.submission import Submission
from headrace.metrics.alerts.rules import AlertRule
from tests.services.jobs.conftest import DOCUMENT
from tests.support.fake_service import COMMAND
from tests.support.http_server import serving
from tests.support.waiting import wait_until

SECRETS = ("hunter2secret", "tok3nsecret", "l0gged-row")
WITH_SECRETS = """name: numbers
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
sinks:
  out:
    from: n
    postgres: {url: "postgresql://ada:hunter2secret@db/shop", table: numbers}
  hook:
    from: n
    webhook: {url: "https://host/hook", token: tok3nsecret}
"""
USERS = {
    "viewer": Role.VIEWER,
    "operator": Role.OPERATOR,
    "other": Role.OPERATOR,
    "admin": Role.ADMIN,
}
ROUTES = [
    (method, route)
    for router in (*api.routers(), *pages.routers())
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods or ())
]
BODIES = {
    "savepoint": {"name": "first"},
    "restore": {"name": "first"},
    "scale": {"partitions": 2},
    "autoscale": {"rule": None},
    "upgrade": {"document": DOCUMENT},
    "users": {"name": "eve", "password": "a long password", "role": "admin"},
    "silences": {"seconds": 60},
    "edit": {"document": "", "operations": []},
}
QUERY = "?step=n&key=1&line=1&column=1&name=n&sql=select+1"
REFUSED = (303, 400, 401, 403, 404, 405)


def declared(dependant: Dependant) -> Iterator[Requires | JobOf]:
    if isinstance(dependant.call, Requires | JobOf):
        yield dependant.call
    for inner in dependant.dependencies:
        yield from declared(inner)


def access_of(route: APIRoute) -> set[Access]:
    return {dependency.access for dependency in declared(route.dependant)}


def id_of(value: Any) -> str:
    return f"{value[0]} {value[1].path}" if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("listed", ROUTES, ids=id_of)
def test_every_route_declares_who_may_use_it(listed: tuple[str, APIRoute]) -> None:
    method, route = listed
    assert access_of(route), f"{route.path} has no dependency of jobs.api.access"
    if "{job}" in route.path:
        assert any(isinstance(each, JobOf) for each in declared(route.dependant))
    if method not in ("GET", "HEAD") and route.path not in ("/api/v1/login", "/api/v1/logout"):
        assert access_of(route) & {Access.OPERATOR, Access.OWNER, Access.ADMIN}


def test_no_route_is_missing_here(service: JobService) -> None:
    paths = {route.path for _, route in ROUTES}
    assert set(openapi_document()["paths"]) <= paths
    plain = {getattr(route, "path", "") for route in create_app(service).routes} - paths
    documentation = {"/api/v1/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc"}
    assert plain - {""} == {*documentation, "/static"}


def test_a_dependency_refuses_anonymous_senders_without_a_guard() -> None:
    request = Request({"type": "http", "state": {"principal": None}})
    assert asyncio.run(Requires(Access.OPEN)(request)).role is Role.VIEWER
    with pytest.raises(ForbiddenError, match="role: log in, or send a token"):
        asyncio.run(Requires(Access.VIEWER)(request))


def test_only_health_and_login_are_open() -> None:
    paths = {f"{method} {route.path}" for method, route in ROUTES if access_of(route) == {Access.OPEN}}
    assert paths == {"GET /api/v1/health", "POST /api/v1/login", "GET /login"}


def test_rows_documents_and_logs_can_be_private() -> None:
    paths = {f"{method} {route.path}" for method, route in ROUTES if Access.ROWS in access_of(route)}
    assert paths == {
        *(f"GET /api/v1/jobs/{{job}}/{name}" for name in ("logs", "document", "physical", "state")),
        *(f"GET /api/v1/jobs/{{job}}/{name}" for name in ("why", "samples", "side_outputs")),
        "GET /api/v1/jobs/{job}/side_outputs/{output}",
        "GET /api/v1/jobs/{job}/query",
        "GET /api/v1/jobs/{job}/sinks/{sink}/rows",
        "GET /api/v1/jobs/{job}/tables/{name}",
        "GET /ui/jobs/{job}/sinks/{sink}",
        *(f"GET /jobs/{{job}}/{name}" for name in ("data", "edit")),
        *(f"GET /ui/jobs/{{job}}/{name}" for name in ("sample", "physical", "log", "rows")),
        "GET /ui/jobs/{job}/data/{output}",
        "GET /ui/jobs/{job}/steps/{step}/key",
        "POST /ui/jobs/{job}/compare",
    }


class Site:
    """A service whose jobs do not start, with one job of `operator`, and a token of every user."""

    def __init__(self, service: JobService, url: str) -> None:
        self.service = service
        self.url = url
        principals = PrincipalStore(service.database)
        for name, role in USERS.items():
            principals.add_user(name, "a long password", role)
        self.tokens = {name: principals.issue_token(name, role) for name, role in USERS.items()}
        files = {"pipeline.yaml": WITH_SECRETS.encode()}
        self.job: Job = service.submit(Submission("pipeline.yaml", files, owner="operator"))
        plan = as_json(explain(Pipeline.from_yaml_text(WITH_SECRETS, file="pipeline.yaml")._plan()))
        directory = service.directory(self.job.id)
        write_json(directory.plan, plan)
        stored = directory.checkpoint / "unrouted" / "n.dead_letters"
        stored.mkdir(parents=True)
        (stored / "part-0.json").write_text('{"raw": "bDBnZ2VkLXJvdw==", "reason": "l0gged-row"}\n')
        log = directory.attempt(0).log
        log.parent.mkdir(parents=True)
        log.write_text("l0gged-row\n")

    def state(self) -> Any:
        users = [(user["name"], user["role"]) for user in PrincipalStore(self.service.database).users()]
        alerts = self.service.alerts
        return (
            self.service.jobs(),
            users,
            self.service.document(self.job.id),
            alerts.silences(0),
            alerts.rules(),
        )

    def audit(self) -> list[dict[str, Any]]:
        return self.service.audit.page(limit=100_000)[0]

    def path(self, route: APIRoute) -> str:
        values = {
            "job": self.job.id,
            "output": "n.dead_letters",
            "step": "out",
            "name": "viewer",
            "sink": "out",
        }
        return str(route.path).format(**values, silence="none", rule="none")

    def request(self, method: str, path: str, user: str | None) -> tuple[int, str]:
        """Send a path as it is written, without normalising it."""
        headers = {"content-type": "application/json", "origin": self.url, "accept": "text/html"}
        if user is not None:
            headers["authorization"] = f"Bearer {self.tokens[user]}"
        body = json.dumps(BODIES.get(path.rpartition("/")[2].partition("%")[0], {}))
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        try:
            connection.request(method, path + QUERY, body if method not in ("GET", "HEAD") else None, headers)
            response = connection.getresponse()
            is_stream = "event-stream" in (response.getheader("content-type") or "")
            text = response.read(40).decode() if is_stream else response.read().decode(errors="replace")
            return response.status, text
        finally:
            connection.close()


def site_with(directory: Path, policy: Policy) -> Iterator[Site]:
    service = JobService(directory / "data", command=COMMAND, policy=policy)
    service.start = service.pause = lambda: None  # type: ignore[method-assign]
    with serving(create_app(service)) as url:
        yield Site(service, url)
    service.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from site_with(tmp_path_factory.mktemp("open"), Policy(login=True))


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from site_with(tmp_path_factory.mktemp("private"), Policy(login=True, private_rows=True))


def is_allowed(route: APIRoute, user: str | None) -> bool:
    """True if a user who does not own the job may use a route of a service with private rows or without."""
    access = access_of(route)
    if user is None:
        return access == {Access.OPEN}
    if user == "viewer":
        return access <= {Access.OPEN, Access.VIEWER, Access.ROWS}
    return not access & {Access.OWNER, Access.ADMIN}


VARIANTS: dict[str, Callable[[str], str]] = {
    "as it is": lambda path: path,
    "line feed": lambda path: f"{path}%0A",
    "line feed, lower case": lambda path: f"{path}%0a",
    "carriage return": lambda path: f"{path}%0D",
    "zero": lambda path: f"{path}%00",
    "delete": lambda path: f"{path}%7F",
    "line separator": lambda path: f"{path}%E2%80%A8",
    "encoded twice": lambda path: f"{path}%250A",
    "trailing slash": lambda path: f"{path}/",
    "double slash": lambda path: path.replace("/jobs/", "/jobs//"),
    "two slashes first": lambda path: f"/{path}",
    "encoded slash": lambda path: "%2f".join(path.rsplit("/", 1)),
    "encoded slash, upper case": lambda path: "%2F".join(path.rsplit("/", 1)),
    "parameter": lambda path: f"{path};x",
    "dot segment": lambda path: "/./".join(path.rsplit("/", 1)),
    "two dots": lambda path: "/x/../".join(path.rsplit("/", 1)),
    "encoded letters": lambda path: path.replace("j", "%6A").replace("k", "%6b"),
    "upper-case letters": lambda path: path.upper(),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("user", [None, "viewer", "other"])
def test_no_spelling_of_a_path_changes_or_shows_more(site: Site, user: str | None, variant: str) -> None:
    before = site.state()
    for method, route in ROUTES:
        path = VARIANTS[variant](site.path(route))
        if is_allowed(route, user) and method != "GET":
            continue  # what a user may do is tested elsewhere
        status, text = site.request(method, path, user)
        where = f"{method} {path} as {user}: {status} {text[:200]}"
        assert status < 500, where
        assert not [secret for secret in SECRETS[:2] if secret in text], where
        if not is_allowed(route, user):
            assert status in REFUSED, where
            assert variant != "as it is" or status == (403 if user else status), where
        if "%0" in path or "%7F" in path:
            assert status == 400, where
    assert site.state() == before


ROWS = [(method, route) for method, route in ROUTES if Access.ROWS in access_of(route)]


@pytest.mark.parametrize("listed", ROWS, ids=id_of)
def test_private_rows_are_for_owner_and_admins(private: Site, listed: tuple[str, APIRoute]) -> None:
    method, route = listed
    path = private.path(route)
    for user in ("viewer", "other"):
        status, text = private.request(method, path, user)
        assert status == 403
        assert not [secret for secret in SECRETS if secret in text]
    for user in ("operator", "admin"):
        assert private.request(method, path, user)[0] in (200, 409)


def test_private_rows_are_explained_in_the_error(private: Site) -> None:
    headers = {"authorization": f"Bearer {private.tokens['other']}"}
    answer = httpx.get(f"{private.url}/api/v1/jobs/{private.job.id}/logs", headers=headers)
    assert answer.json()["detail"] == "role: only operator and admins may read rows of this job"


@pytest.mark.parametrize("page", ["", "/metrics", "/runs", "/plan"])
def test_pages_of_others_have_no_private_rows(private: Site, page: str) -> None:
    status, text = private.request("GET", f"/jobs/{private.job.id}{page}", "other")
    assert status == 200
    assert ">Data</a>" not in text
    assert 'id="log"' not in text
    assert "webhook: {url" not in text
    assert "webhook: {url" in private.request("GET", f"/jobs/{private.job.id}", "operator")[1]


def test_rows_are_readable_by_all_users_unless_they_are_private(site: Site) -> None:
    assert "l0gged-row" in site.request("GET", f"/api/v1/jobs/{site.job.id}/logs", "viewer")[1]


@pytest.mark.parametrize("verb", ["kill", "kill%0A", "/kill", "restart/"])
def test_every_request_on_a_job_has_its_id_in_the_audit_log(site: Site, verb: str) -> None:
    entries = len(site.audit())
    assert site.request("POST", f"/api/v1/jobs/{site.job.id}/{verb}", "other")[0] in REFUSED
    wait_until(lambda: len(site.audit()) == entries + 1)  # it is written after the response
    entry = site.audit()[0]
    assert (entry["actor"], entry["job"]) == ("other", site.job.id)
    assert "\n" not in entry["action"]


def test_a_submission_has_the_id_of_the_new_job_in_the_audit_log(site: Site) -> None:
    headers = {"authorization": f"Bearer {site.tokens['operator']}"}
    entries = len(site.audit())
    job = httpx.post(f"{site.url}/api/v1/jobs", json={"document": DOCUMENT}, headers=headers).json()["id"]
    wait_until(lambda: len(site.audit()) == entries + 1)
    entry = site.audit()[0]
    assert (entry["action"], entry["job"], entry["outcome"]) == ("POST /api/v1/jobs", job, "201")
    site.service.stop_job(job)
    site.service.delete(job)


def test_a_rule_of_alerts_is_deleted_by_its_owner_and_by_admins(site: Site) -> None:
    for user, status in (("other", 403), ("operator", 204), ("admin", 204)):
        rule = site.service.alerts.add_rule(AlertRule(alert="lag"), "operator").id
        assert site.request("DELETE", f"/api/v1/alert-rules/{rule}", user)[0] == status
        site.service.alerts.delete_rule(rule)


def test_an_unknown_job_is_a_page_for_browsers_and_json_for_programs(site: Site) -> None:
    status, text = site.request("GET", "/jobs/0123456789ab", "viewer")
    assert (status, "<!doctype html>" in text) == (404, True)
    status, text = site.request("GET", "/ui/jobs/0123456789ab/log", "viewer")
    assert (status, json.loads(text)["problems"][0]["what"]) == (404, "no job has the id '0123456789ab'")
