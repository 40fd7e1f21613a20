"""Attacks on the job service over HTTP; each is refused."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace import Pipeline
from headrace.devtools.ports import free_ports
from headrace.explain.explanation import as_json, explain
from headrace.jobs.app import create_app
from headrace.jobs.directory import write_json
from headrace.jobs.security.guard import COOKIE
from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import MAX_SESSIONS, Principal, PrincipalStore, Role
from headrace.jobs.server import create_server
from headrace.jobs.service import JobService
from tests.services.jobs.conftest import DOCUMENT, kill_all
from tests.support.fake_service import COMMAND
from tests.support.http_server import running, serving
from tests.support.waiting import wait_until

PASSWORD, TOKEN = "a long password", "a-token-of-the-environment"
WITH_SECRETS = """# plain
name: numbers
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
sinks:
  out:
    from: n
    postgres: {url: "postgresql://ada:hunter2secret@db/shop", table: numbers}
  hook:
    from: n
    webhook: {url: "https://host/hook", token: tok3nsecret}
"""
SECRETS = ("hunter2secret", "tok3nsecret")


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[JobService]:
    """A service that requires a login."""
    service = JobService(tmp_path / "data", command=COMMAND, period=0.05, policy=Policy(login=True))
    principals = PrincipalStore(service.database)
    for role in Role:
        principals.add_user(role, PASSWORD, role)
    principals.add_user("other", PASSWORD, Role.OPERATOR)
    yield service
    kill_all(service)
    service.close()


@pytest.fixture
def url(closed: JobService) -> Iterator[str]:
    with serving(create_app(closed)) as url:
        yield url
        kill_all(closed)


@contextmanager
def log_in(url: str, user: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"origin": url}, timeout=120) as client:
        response = client.post("/api/v1/login", json={"user": user, "password": PASSWORD})
        assert response.status_code == 200, response.text
        yield client


def submit(client: httpx.Client) -> httpx.Response:
    return client.post("/api/v1/jobs", json={"document": DOCUMENT})


@pytest.mark.parametrize(
    "path", ["/api/v1/jobs", "/metrics", "/api/v1/live", "/api/v1/openapi.json", "/docs"]
)
def test_nothing_is_readable_without_a_login(url: str, path: str) -> None:
    assert httpx.get(url + path).status_code == 401


def test_a_browser_without_a_login_is_sent_to_the_login_page(url: str) -> None:
    response = httpx.get(f"{url}/", headers={"accept": "text/html"})
    assert (response.status_code, response.headers["location"]) == (303, "/login")


@pytest.mark.parametrize("token", ["hr_wrong", "x" * 10_000])
def test_a_wrong_token_is_refused(url: str, token: str) -> None:
    response = httpx.get(f"{url}/api/v1/jobs", headers={"authorization": f"Bearer {token}"})
    assert response.status_code == 401


def test_a_viewer_reads_but_changes_nothing(url: str) -> None:
    with log_in(url, "operator") as operator, log_in(url, "viewer") as viewer:
        job = submit(operator).json()["id"]
        assert viewer.get(f"/api/v1/jobs/{job}").status_code == 200
        assert submit(viewer).status_code == 403
        assert viewer.post(f"/api/v1/jobs/{job}/kill").status_code == 403
        assert viewer.delete(f"/api/v1/jobs/{job}").status_code == 403
        assert viewer.post("/api/v1/silences", json={"seconds": 1}).status_code == 403


def test_an_operator_changes_own_jobs_only(url: str) -> None:
    with log_in(url, "operator") as operator, log_in(url, "other") as other, log_in(url, "admin") as admin:
        job = submit(operator).json()["id"]
        assert operator.get(f"/api/v1/jobs/{job}").json()["owner"] == "operator"
        assert other.post(f"/api/v1/jobs/{job}/kill").status_code == 403
        assert admin.post(f"/api/v1/jobs/{job}/kill").status_code == 200
        assert operator.delete(f"/api/v1/jobs/{job}").status_code == 204


def test_an_operator_does_not_get_the_passwords_of_others_by_a_clone(url: str) -> None:
    with log_in(url, "operator") as operator, log_in(url, "other") as other, log_in(url, "admin") as admin:
        job = submit(operator).json()["id"]
        assert other.post(f"/api/v1/jobs/{job}/clone").status_code == 403
        assert operator.post(f"/api/v1/jobs/{job}/clone").status_code == 201
        assert admin.post(f"/api/v1/jobs/{job}/clone").status_code == 201


@pytest.fixture
def secretive(url: str, closed: JobService) -> str:
    """The id of a job of the user `operator` whose document has a password and a token."""
    with log_in(url, "operator") as operator:
        job: str = operator.post("/api/v1/jobs", json={"document": WITH_SECRETS}).json()["id"]
    plan = as_json(explain(Pipeline.from_yaml_text(WITH_SECRETS, file="pipeline.yaml")._plan()))
    write_json(closed.directory(job).plan, plan)
    return job


@pytest.mark.parametrize("user", ["viewer", "other"])
@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/jobs/{}/edit", "ada:***@db"),
        ("/jobs/{}", "ada:***@db"),
        ("/ui/jobs/{}/steps/out", "ada:***@db"),
        ("/ui/jobs/{}/steps/hook", "https://host/hook"),
        ("/api/v1/jobs/{}/document", 'token: "***"'),
        ("/api/v1/jobs/{}/plan", "token=***"),
        ("/jobs/{}/plan", "token=***"),
    ],
)
def test_who_may_not_change_a_job_does_not_see_its_secrets(
    url: str, secretive: str, path: str, shown: str, user: str
) -> None:
    with log_in(url, user) as reader:
        text = reader.get(path.format(secretive)).raise_for_status().text
    assert shown in text
    assert not [secret for secret in SECRETS if secret in text]


def test_differences_from_the_document_of_another_user_have_no_secrets(url: str, secretive: str) -> None:
    with log_in(url, "other") as other:
        compared = other.post(f"/ui/jobs/{secretive}/compare", content="name: p").raise_for_status().text
    assert "ada:***@db" in compared
    assert not [secret for secret in SECRETS if secret in compared]


@pytest.mark.parametrize("user", ["operator", "admin"])
def test_who_may_change_a_job_edits_its_document_as_it_is(url: str, secretive: str, user: str) -> None:
    with log_in(url, user) as editor:
        assert editor.get(f"/api/v1/jobs/{secretive}/document").text == WITH_SECRETS
        page = editor.get(f"/jobs/{secretive}/edit").text
    assert all(secret in page for secret in SECRETS)


def test_only_an_admin_sees_users_and_the_audit_log(url: str) -> None:
    with log_in(url, "operator") as operator, log_in(url, "admin") as admin:
        assert operator.get("/api/v1/users").status_code == 403
        assert operator.get("/api/v1/audit").status_code == 403
        user = {"name": "eve", "password": PASSWORD, "role": "admin"}
        assert operator.post("/api/v1/users", json=user).status_code == 403
        submit(operator)
        actions = [
            (entry["actor"], entry["action"]) for entry in admin.get("/api/v1/audit").json()["entries"]
        ]
        assert ("operator", "POST /api/v1/jobs") in actions


def test_a_token_has_at_most_the_role_of_its_owner(url: str) -> None:
    with log_in(url, "operator") as operator:
        assert operator.post("/api/v1/tokens", json={"role": "admin"}).status_code == 403
        token = operator.post("/api/v1/tokens", json={"role": "viewer"}).json()["token"]
    headers = {"authorization": f"Bearer {token}"}
    assert httpx.get(f"{url}/api/v1/me", headers=headers).json() == {"name": "operator", "role": "viewer"}
    assert httpx.post(f"{url}/api/v1/jobs", json={"document": DOCUMENT}, headers=headers).status_code == 403


def test_passwords_and_tokens_are_stored_as_hashes(url: str, closed: JobService) -> None:
    with log_in(url, "operator") as operator:
        token = operator.post("/api/v1/tokens", json={"role": "viewer"}).json()["token"]
    rows = closed.database.rows("SELECT * FROM users") + closed.database.rows("SELECT * FROM tokens")
    assert token not in str(rows)
    assert PASSWORD not in str(rows)


def test_a_session_ends_with_the_logout(url: str) -> None:
    with log_in(url, "viewer") as viewer:
        cookies = dict(viewer.cookies)
        assert viewer.post("/api/v1/logout").status_code == 204
    assert httpx.get(f"{url}/api/v1/jobs", cookies=cookies).status_code == 401


def test_an_open_stream_ends_with_its_token(
    url: str, closed: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.jobs.security.guard.RECHECK_SECONDS", 0.1)
    principals = PrincipalStore(closed.database)
    token = principals.issue_token("ci", Role.VIEWER)
    headers = {"authorization": f"Bearer {token}"}
    with httpx.stream("GET", f"{url}/api/v1/live", headers=headers, timeout=60) as response:
        lines = response.iter_lines()
        assert any(line.startswith("data: ") for line in lines)
        assert principals.delete_user("ci")
        assert len(list(islice(lines, 60))) < 60  # a tick per second has three lines


def log_in_from(url: str, address: str, user: str, password: str) -> int:
    """Log in from another address of this machine."""
    with httpx.Client(transport=httpx.HTTPTransport(local_address=address)) as client:
        body = {"user": user, "password": password}
        return client.post(f"{url}/api/v1/login", json=body).status_code


def test_guessing_passwords_is_slowed_down(url: str) -> None:
    wrong = {"user": "admin", "password": "wrong"}
    answers = [httpx.post(f"{url}/api/v1/login", json=wrong) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [401] * 5 + [429]
    assert int(answers[-1].headers["retry-after"]) == 1
    assert answers[-1].json()["detail"] == "too many failed logins; try again in 1 s"


def test_wrong_passwords_lock_no_user_out_from_other_addresses(url: str) -> None:
    assert [log_in_from(url, "127.0.0.2", "admin", "wrong") for _ in range(6)] == [401] * 5 + [429]
    assert log_in_from(url, "127.0.0.2", "viewer", PASSWORD) == 200
    assert log_in_from(url, "127.0.0.3", "admin", PASSWORD) == 200


def test_wrong_passwords_of_many_users_from_one_address_are_slowed_down(url: str) -> None:
    answers = [log_in_from(url, "127.0.0.4", f"user{number}", "wrong") for number in range(21)]
    assert answers == [401] * 20 + [429]
    assert log_in_from(url, "127.0.0.5", "admin", PASSWORD) == 200


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(
    url: str, closed: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.jobs.security.guard._DELAY_SECONDS", 0.05)
    token = PrincipalStore(closed.database).issue_token("ci", Role.VIEWER)
    with httpx.Client(base_url=url) as client:
        wrong = {"authorization": "Bearer hr_wrong"}
        answers = [client.get("/api/v1/jobs", headers=wrong) for _ in range(25)]
        assert [answer.status_code for answer in answers] == [401] * 20 + [429] * 5
        assert answers[0].json()["detail"] == "the token is not valid"
        assert answers[-1].json()["detail"] == "too many wrong tokens"
        assert answers[-1].elapsed.total_seconds() >= 0.05
        right = {"authorization": f"Bearer {token}"}
        assert {client.get("/api/v1/jobs", headers=right).status_code for _ in range(5)} == {200}


def test_the_token_of_the_environment_is_no_session(tmp_path: Path) -> None:
    policy = Policy(login=True, token="a-token-of-the-environment")
    service = JobService(tmp_path / "data", command=COMMAND, policy=policy)
    with serving(create_app(service)) as url:
        assert httpx.get(f"{url}/api/v1/jobs", cookies={COOKIE: str(policy.token)}).status_code == 401
    service.close()


def test_a_user_has_a_limited_number_of_sessions(closed: JobService) -> None:
    principals = PrincipalStore(closed.database)
    api = principals.issue_token("viewer", Role.VIEWER, "Grafana", 60)
    sessions = [principals.start_session(Principal("viewer", Role.VIEWER)) for _ in range(MAX_SESSIONS + 2)]
    valid = [principals.find_token(token) is not None for token in sessions]
    assert valid == [False] * 2 + [True] * MAX_SESSIONS
    assert principals.find_token(api) is not None


def test_refused_anonymous_requests_are_counted_and_not_stored(url: str) -> None:
    for _ in range(30):
        assert httpx.post(f"{url}/x").status_code == 401
    assert log_in_from(url, "127.0.0.6", "admin", "wrong") == 401
    with log_in(url, "admin") as admin:
        page = admin.get("/api/v1/audit").json()
        assert page["refused"] == {"401": 31}
        assert [(each["actor"], each["action"]) for each in page["entries"]] == [
            ("admin", "POST /api/v1/login")
        ]
        assert 'headrace_service_refused_requests_total{status="401"} 31.0' in admin.get("/metrics").text


def test_the_audit_log_is_read_in_pages(url: str) -> None:
    with log_in(url, "admin") as admin:
        for _ in range(5):
            admin.post("/api/v1/logout", headers={"cookie": ""})
            admin.delete("/api/v1/silences/none")
        entries: list[dict[str, object]] = []
        page: dict[str, Any] = {"next": 1e11}
        while page["next"] is not None:
            page = admin.get("/api/v1/audit", params={"limit": 2, "before": page["next"]}).json()
            entries += page["entries"]
        assert entries == admin.get("/api/v1/audit").json()["entries"]
        assert "Older" not in admin.get("/audit").text
    with log_in(url, "operator") as operator:
        assert operator.get("/audit").status_code == 403


def login_with(url: str, password: str, **headers: str) -> httpx.Response:
    body = {"user": "viewer", "password": password}
    return httpx.post(f"{url}/api/v1/login", json=body, headers=headers)


@contextmanager
def served(directory: Path, policy: Policy) -> Iterator[str]:
    """The address of a service with its own server."""
    service = JobService(directory / "data", command=COMMAND, period=0.05, policy=policy)
    PrincipalStore(service.database).add_user("viewer", PASSWORD, Role.VIEWER)
    with closing(service), running(create_server(service, port=free_ports(1)[0])) as url:
        yield url


def test_headers_of_proxies_are_ignored_unless_they_are_trusted(tmp_path: Path) -> None:
    with served(tmp_path, Policy(login=True)) as url:
        answers = [
            login_with(url, "wrong", **{"x-forwarded-for": f"203.0.113.{number}"}).status_code
            for number in range(6)
        ]
        assert answers == [401] * 5 + [429]


def test_headers_of_trusted_proxies_name_the_client(tmp_path: Path) -> None:
    policy = Policy(login=True, trusted_proxies=("127.0.0.1",))
    with served(tmp_path, policy) as url:
        answers = [
            login_with(url, "wrong", **{"x-forwarded-for": f"203.0.113.{number}"}).status_code
            for number in range(6)
        ]
        assert answers == [401] * 6
        secure = login_with(url, PASSWORD, **{"x-forwarded-proto": "https"})
        assert "secure" in secure.headers["set-cookie"].lower()
        assert "secure" not in login_with(url, PASSWORD).headers["set-cookie"].lower()


def test_a_public_url_with_https_secures_cookies_and_origins(tmp_path: Path) -> None:
    public = "https://jobs.example.org"
    with served(tmp_path, Policy(public_url=public)) as url:
        proxied = {"host": "jobs.example.org", "origin": public}
        login = login_with(url, PASSWORD, **proxied)
        assert login.status_code == 200
        assert "secure" in login.headers["set-cookie"].lower()
        assert login.headers["strict-transport-security"] == "max-age=31536000"
        assert login_with(url, PASSWORD, host="jobs.example.org", origin="https://evil").status_code == 403
        assert login_with(url, PASSWORD, host="evil.example.org").status_code == 421
        token = dict(login.cookies)
        document = httpx.get(f"{url}/api/v1/openapi.json", cookies=token).json()
        assert document["servers"] == [{"url": public}]


def test_a_path_without_its_slash_is_not_redirected(client: httpx.Client) -> None:
    assert client.get("/api/v1/jobs/").status_code == 404


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(url: str) -> None:
    response = httpx.post(f"{url}/api/v1/login", json={"user": "viewer", "password": PASSWORD})
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
def test_a_page_of_another_site_changes_nothing(client: httpx.Client, headers: dict[str, str]) -> None:
    response = client.post("/api/v1/jobs", json={"document": DOCUMENT}, headers=headers)
    assert response.status_code == 403
    assert client.get("/api/v1/jobs").json() == []


def test_a_session_without_an_origin_changes_nothing(url: str) -> None:
    with log_in(url, "operator") as operator:
        del operator.headers["origin"]
        assert submit(operator).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", ""])
def test_another_host_name_is_refused(client: httpx.Client, host: str) -> None:
    assert client.get("/api/v1/jobs", headers={"host": host}).status_code in (400, 421)


@pytest.mark.parametrize("name", ["../../evil.csv", "/tmp/evil.csv", "a/../../evil.csv", ".ssh/key"])
def test_an_upload_stays_in_the_directory_of_the_job(client: httpx.Client, name: str, tmp_path: Path) -> None:
    files = [("pipeline", ("p.yaml", DOCUMENT)), ("data", (name, "x"))]
    assert client.post("/api/v1/jobs", files=files).status_code == 422
    assert not list(tmp_path.rglob("evil.csv"))


def test_a_request_that_is_too_large_is_refused(client: httpx.Client) -> None:
    large = client.post("/api/v1/silences", content=bytes(3 << 20))
    assert large.status_code == 413
    undeclared = client.post("/api/v1/silences", content=(bytes(1 << 20) for _ in range(3)))
    assert undeclared.status_code in (400, 413)
    document = client.post("/api/v1/jobs", json={"document": "#" * ((1 << 20) + 1)})
    assert document.status_code == 422


def test_an_upgrade_may_be_as_large_as_a_submission(client: httpx.Client) -> None:
    files = [("pipeline", ("p.yaml", DOCUMENT.encode())), ("data", ("rows.csv", bytes(3 << 20)))]
    assert client.post("/api/v1/jobs/0123456789ab/upgrade", files=files).status_code == 404


@pytest.mark.parametrize("job", ["../../etc/passwd", "..%2f..%2fetc", "x" * 200, "0123456789ab"])
def test_an_id_is_no_path(client: httpx.Client, job: str) -> None:
    assert client.get(f"/api/v1/jobs/{job}/logs").status_code == 404


def test_responses_forbid_frames_and_foreign_scripts(client: httpx.Client) -> None:
    headers = client.get("/api/v1/health").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_secrets_of_settings_are_not_shown(client: httpx.Client) -> None:
    settings = {"conf": {"spark.hadoop.fs.s3a.secret.key": "hush"}}
    job = client.post("/api/v1/jobs", json={"document": DOCUMENT, "settings": settings}).json()["id"]
    assert "hush" not in client.get(f"/api/v1/jobs/{job}").text


def test_a_job_does_not_read_the_secrets_of_the_service(
    client: httpx.Client, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TOKEN", "hush")
    job = client.post("/api/v1/jobs", json={"document": DOCUMENT}).json()["id"]
    wait_until(lambda: service.get(job).state == "running")
    environment = Path(f"/proc/{service.get(job).pid}/environ").read_text()
    assert f"HEADRACE_JOB={job}" in environment
    assert "hush" not in environment


@pytest.fixture
def reachable(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a service that others can reach, with a token of the environment."""
    policy = Policy(host="0.0.0.0", token="hr_admin")
    service = JobService(tmp_path / "data", command=COMMAND, period=0.05, policy=policy)
    headers = {"authorization": "Bearer hr_admin"}
    with serving(create_app(service)) as url, httpx.Client(base_url=url, headers=headers) as client:
        yield client
        kill_all(service)
    service.close()


@pytest.mark.parametrize(
    "attack", ["files: {path: /etc/out, format: json}", "webhook: {url: 'http://h/', tls: {ca: /etc/x}}"]
)
def test_a_document_that_uses_the_machine_is_refused(reachable: httpx.Client, attack: str) -> None:
    document = DOCUMENT.replace("console: {}", attack)
    response = reachable.post("/api/v1/jobs", json={"document": document})
    assert response.status_code == 422
    assert "not accepted" in response.text
    assert "not accepted" in reachable.post("/ui/check", content=document).text


def test_an_upload_of_python_is_refused(reachable: httpx.Client) -> None:
    response = reachable.post("/api/v1/jobs", files=[("pipeline", ("p.py", "import os"))])
    assert response.status_code == 422
    assert "--allow-code" in response.text


@pytest.fixture(scope="module")
def reachable_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of `headrace serve` at an address that counts as reachable, though only this machine can connect."""
    port, place = free_ports(1)[0], tmp_path_factory.mktemp("served")
    options = ["--host", "127.1", "--port", str(port), "--data", str(place / "data"), "--allow-host", "db"]
    command = [sys.executable, "-m", "headrace.cli.app", "serve", *options, "--allow-variable", "ALLOWED_*"]
    environment = os.environ | {"HEADRACE_TOKEN": TOKEN, "ALLOWED_HOST": "db", "SECRET_HOST": "db"}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment, cwd=place)
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            wait_until(lambda: _is_up(client))
            yield client
    finally:
        process.terminate()
        process.wait()


COLORSYS = b"import pathlib, os\npathlib.Path(os.environ['HOME'], MARKER).write_text('run')\ndef rgb_to_hsv(row): ...\n"
FILTER = """name: p
sources: {n: {files: {path: in.json, format: json}, schema: a int}}
steps: {s: {from: n, !!null filter: "colorsys:rgb_to_hsv"}}
sinks: {out: {from: s, files: {path: out/, format: json}}}
"""


@pytest.mark.parametrize(
    ("document", "names"),
    [
        (FILTER, ["colorsys.py"]),
        (FILTER, []),
        (FILTER.replace("!!null ", ""), []),
        (FILTER.replace('!!null filter: "colorsys:rgb_to_hsv"', "where: a > 1"), ["colorsys.py"]),
        (FILTER.replace('!!null filter: "colorsys:rgb_to_hsv"', "where: a > 1"), ["sitecustomize.pyc"]),
        (
            FILTER.replace('!!null filter: "colorsys:rgb_to_hsv"', "where: a > 1").replace(
                "in.json", "!!binary /etc//passwd"
            ),
            [],
        ),
        (
            FILTER.replace(
                '!!null filter: "colorsys:rgb_to_hsv"',
                "where: \"java_method('java.lang.System', 'exit') > 1\"",
            ),
            [],
        ),
        ("a: &a [*a]", []),
        ("[" * 20_000, []),
        (
            FILTER.replace('!!null filter: "colorsys:rgb_to_hsv"', f'where: "{"(" * 3000}a{")" * 3000} > 1"'),
            [],
        ),
    ],
)
def test_an_attack_by_a_document_is_refused_and_nothing_runs(
    reachable_service: httpx.Client, tmp_path: Path, document: str, names: list[str]
) -> None:
    marker = tmp_path / "marker"
    code = COLORSYS.replace(b"MARKER", repr(str(marker)).encode())
    files = [("data", (name, code)) for name in names] + [("data", ("in.json", b'{"a": 1}'))]
    response = reachable_service.post("/api/v1/jobs", files=[("pipeline", ("p.yaml", document)), *files])
    assert response.status_code == 422, response.text
    assert "Traceback" not in response.text
    assert reachable_service.get("/api/v1/jobs").json() == []
    assert not marker.exists()


@pytest.mark.parametrize("host", ["db", "${ALLOWED_HOST}", "evil", "${SECRET_HOST}"])
def test_a_job_names_only_hosts_and_variables_of_the_service(
    reachable_service: httpx.Client, host: str
) -> None:
    document = DOCUMENT.replace("console: {}", f'webhook: {{url: "http://{host}/x", batch: 0}}')
    response = reachable_service.post("/api/v1/jobs", json={"document": document})
    assert response.status_code == 422  # also an accepted host, because of `batch: 0`
    assert ("not accepted" in response.text) == (host in ("evil", "${SECRET_HOST}"))


def test_the_service_is_served_with_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = f"req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2 -subj /CN=localhost"
    subprocess.run(
        ["openssl", *words.split(), "-addext", "subjectAltName=DNS:localhost"],
        check=True,
        capture_output=True,
    )
    port = free_ports(1)[0]
    options = ["--tls-certificate", str(certificate), "--tls-key", str(key), "--data", str(tmp_path / "data")]
    command = [sys.executable, "-m", "headrace.cli.app", "serve", "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        context = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(base_url=f"https://localhost:{port}", verify=context) as client:
            wait_until(lambda: _is_up(client))
            assert client.get("/api/v1/health").json()["status"] == "ok"
    finally:
        process.terminate()
        process.wait()


def _is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/api/v1/health").status_code == 200
    except httpx.TransportError:
        return False
