"""Fixtures for tests of databases: a PostgreSQL and a MariaDB server, and a table per test."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.support.servers import KINDS, Server

from headrace.connectors.base import ReadContext, WriteContext
from headrace.formats import Schema

_numbers = count()


@pytest.fixture(params=sorted(KINDS))
def server(request: pytest.FixtureRequest, servers: Callable[[str], Server]) -> Server:
    return servers(request.param)


@pytest.fixture
def table() -> str:
    """A name that no other test has."""
    return f"t{next(_numbers)}"


@pytest.fixture
def run(tmp_path: Path, table: str) -> Callable[..., WriteContext]:
    """Make the context of a writer; the pipeline is the test's own."""

    def make(mode: str = "append", checkpoint_id: str = "checkpoint-one", sink: str = "out") -> WriteContext:
        return WriteContext(f"pipe-{table}", sink, checkpoint_id, mode, str(tmp_path / "checkpoint"))  # type: ignore[arg-type]

    return make


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., ReadContext]:
    def make(schema: str | None = None) -> ReadContext:
        return ReadContext("pipe", "homes", Schema.of(schema) if schema else None, None, str(tmp_path))

    return make
