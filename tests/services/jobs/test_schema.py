"""Requests generated from the OpenAPI document never cause an internal error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from headrace.jobs.app import create_app
from headrace.jobs.service import JobService
from tests.services.jobs.conftest import kill_all
from tests.support.fake_service import COMMAND
from tests.support.http_server import serving

STREAMS = r"/live$"
EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "8"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory: Path = tmp_path_factory.mktemp("schema")
    service = JobService(directory, command=COMMAND, period=0.05)
    with serving(create_app(service)) as url:
        yield url
        kill_all(service)
    service.close()


def test_no_request_causes_an_internal_error(url: str) -> None:
    schema = schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json").exclude(path_regex=STREAMS)
    operations: list[Any] = [cast(Any, result).ok() for result in schema.get_all_operations()]
    assert len(operations) > 20
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
        def call(case: Any) -> None:
            response = case.call()
            assert response.status_code < 500, f"{case.method} {case.path}: {response.text}"

        call()
