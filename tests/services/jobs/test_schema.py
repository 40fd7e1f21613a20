"""Generated requests, documents and paths never cause an internal error of a real `headrace serve`.

They are the same in every run; HYPOTHESIS_PROFILE=random generates others, SCHEMA_EXAMPLES sets their number.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.devtools.ports import free_ports
from tests.services.jobs.conftest import DOCUMENT
from tests.support.fake_service import COMMAND
from tests.support.waiting import wait_until

STREAMS = r"/live$"
EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "5"))
TOKEN = "a-token-for-generated-requests"
AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}
SERVE = f"""
import sys
from headrace.cli.app import main
from headrace.jobs.service import JobService
JobService.__init__.__kwdefaults__["command"] = {COMMAND!r}
main(["serve", *sys.argv[1:]])
"""
"""`headrace serve`, but its drivers do not start Spark."""
quick = settings(max_examples=8 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


class Served:
    """A service that counts as reachable by others, and a job."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.job = ""

    def request(self, method: str, path: str, content: bytes | None = None) -> http.client.HTTPResponse:
        """Send a path as it is written."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {**AUTHORIZED, "content-type": "application/json"}
        connection.request(method, path, content, headers)
        response = connection.getresponse()
        connection.close()
        return response

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/api/v1/health").status_code == 200
        except httpx.TransportError:
            return False


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory: Path = tmp_path_factory.mktemp("schema")
    served = Served(free_ports(1)[0])
    words = ["--host", "127.1", "--port", str(served.port), "--data", str(directory / "data")]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, *words],
            env=os.environ | {"HEADRACE_TOKEN": TOKEN},
            stderr=log,
        )
    try:
        wait_until(lambda: process.poll() is None and served.answers())
        client = httpx.Client(base_url=f"{served.url}/api/v1", headers=AUTHORIZED, timeout=60)
        with client:
            submitted = client.post("/jobs", json={"document": DOCUMENT})
            assert submitted.status_code == 201, submitted.text
            served.job = submitted.json()["id"]
        yield served
    finally:
        for job in httpx.get(f"{served.url}/api/v1/jobs", headers=AUTHORIZED, timeout=60).json():
            httpx.post(f"{served.url}/api/v1/jobs/{job['id']}/kill", headers=AUTHORIZED, timeout=60)
        process.terminate()
        process.wait()
    log_text = (directory / "log").read_text()
    assert "Traceback" not in log_text, log_text[-3000:]


def test_no_request_causes_an_internal_error(served: Served) -> None:
    schema = schemathesis.openapi.from_url(f"{served.url}/api/v1/openapi.json", headers=AUTHORIZED)
    results = schema.exclude(path_regex=STREAMS).get_all_operations()
    operations: list[Any] = [cast(Any, result).ok() for result in results]
    assert len(operations) > 20
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        def call(case: Any) -> None:
            if "job" in (case.path_parameters or {}) and case.method != "DELETE":
                case.path_parameters["job"] = served.job
            response = case.call(headers=AUTHORIZED, timeout=60)
            assert response.status_code < 500, f"{case.method} {case.path}: {response.text}"

        call()


_TAGS = st.sampled_from(
    [
        "",
        *("", "!!str ", "!!null ", "!!int ", "!!float ", "!!bool ", "!!binary ", "!!timestamp ", "!!set "),
        *(
            "!!omap ",
            "!!python/object:os.system ",
            "!local ",
            "!<tag:yaml.org,2002:str> ",
            "! ",
            "&a ",
            "*a ",
        ),
    ]
)
_TEXTS = st.one_of(
    st.sampled_from(
        [
            *("n", "name", "sources", "steps", "sinks", "from", "memory", "files", "generator", "console"),
            *(
                "select",
                "where",
                "filter",
                "window",
                "aggregate",
                "schema",
                "rows",
                "<<",
                "~",
                "1e999",
                ".nan",
            ),
            *(
                "${HOME}",
                "${A:-/etc}",
                "sum(a) over (",
                "'",
                '"',
                "a\tb",
                "0x1F",
                "2020-01-01",
                "\u2028",
                "\x00",
            ),
        ]
    ),
    st.text(max_size=12),
)
_NODES = st.recursive(
    st.builds("{}{}".format, _TAGS, _TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(_TAGS, _TEXTS, inner), max_size=3).map(
            lambda items: "{" + ", ".join(f"{tag}{key}: {value}" for tag, key, value in items) + "}"
        ),
    ),
    max_leaves=8,
)
DOCUMENTS = st.one_of(
    st.builds(
        "unknown: 1\nname: {}\nsources: {{n: {}}}\nsteps: {{s: {}}}\nsinks: {{out: {}}}\n".format,
        *(_NODES,) * 4,
    ),
    _NODES.map("unknown: 1\nsources: {}\n".format),
    st.text(max_size=60).map("unknown: 1\n{}".format),
)
"""Documents that no service runs: the key `unknown` is not accepted."""


def test_no_document_causes_an_internal_error(served: Served) -> None:
    @quick
    @given(document=DOCUMENTS)
    def call(document: str) -> None:
        bodies: dict[str, bytes] = {
            "/api/v1/jobs": json.dumps({"document": document}).encode(),
            f"/api/v1/jobs/{served.job}/upgrade": json.dumps({"document": document}).encode(),
            "/api/v1/test": json.dumps({"document": document, "rows": {}}).encode(),
            "/ui/check": document.encode(errors="replace"),
            f"/ui/jobs/{served.job}/compare": document.encode(errors="replace"),
            "/ui/complete?line=1&column=3": document.encode(errors="replace"),
            "/ui/flow/form?name=n": json.dumps({"document": document}).encode(),
            "/ui/flow/edit": json.dumps({"document": document, "operations": []}).encode(),
        }
        for path, content in bodies.items():
            status = served.request("POST", path, content).status
            assert status < 500, f"{path}: {status}\n{document!r}"

    call()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/ui/complete?line=-9&column=3"),
        ("POST", "/ui/complete?line=1&column=-1"),
        ("GET", f"/ui/jobs/JOB/log?attempt={'9' * 400}"),
    ],
)
def test_a_number_of_a_page_out_of_its_range_is_refused(served: Served, method: str, path: str) -> None:
    assert (
        served.request(method, path.replace("JOB", served.job), b"x" if method == "POST" else None).status
        == 422
    )


_PIECES = st.sampled_from(
    [
        *(
            "api",
            "v1",
            "jobs",
            "ui",
            "events",
            "static",
            "steps",
            "data",
            "logs",
            "side_outputs",
            "users",
            "x",
        ),
        *(
            "0123456789ab",
            "JOB",
            "n.dead_letters",
            "",
            ".",
            "..",
            "%2e%2e",
            "%2F",
            "%5c",
            "%00",
            "%0A",
            "%0d",
        ),
        *(
            "%7F",
            "%C0%AE",
            "%ff",
            "%E2%80%A8",
            "%F0%9F%92%A9",
            "%",
            "%zz",
            "%250A",
            ";x",
            "?",
            "??",
            "?a=%00",
        ),
        *("~", "*", "'", '"', "\\", "|", "{job}", "a" * 300, "1e999", "-1"),
    ]
)


def test_no_path_causes_an_internal_error(served: Served) -> None:
    @quick
    @given(
        method=st.sampled_from(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE"]),
        pieces=st.lists(_PIECES, min_size=1, max_size=7),
        start=st.sampled_from(["/", "/api/v1/jobs/JOB/", "/jobs/JOB/", "/ui/jobs/JOB/", "//", "/static/"]),
    )
    def call(method: str, pieces: list[str], start: str) -> None:
        path = (start + "/".join(pieces)).replace("JOB", served.job)
        status = served.request(method, path).status
        assert status < 500, f"{method} {path}: {status}"

    call()
