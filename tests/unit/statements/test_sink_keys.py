"""Warnings about keyed sinks whose key does not identify the rows of the query."""

from __future__ import annotations

import pytest

from headrace.plan.warnings import warnings_of
from headrace.statements import from_text

SOURCES = """
CREATE SOURCE o (id INT, k STRING, v INT) WITH (connector = 'memory');
CREATE TABLE i (id INT, name STRING, PRIMARY KEY (id)) WITH (connector = 'memory');
CREATE TABLE u (id INT, k STRING, v INT, PRIMARY KEY (id)) WITH (connector = 'memory', changelog = 'true');
"""


def warnings(key: str, query: str) -> list[str]:
    sink = f"CREATE SINK s (a INT, b STRING, PRIMARY KEY ({key})) WITH (connector = 'memory'); INSERT INTO s "
    reported = warnings_of(from_text(f"{SOURCES}{sink}{query}", name="shop"))
    return [warning.what for warning in reported if "does not identify the rows" in warning.what]


@pytest.mark.parametrize(
    ("key", "query", "missing"),
    [
        ("b", "SELECT id, k FROM u", "as id is not part of it"),
        ("b", "SELECT 1, k FROM u", "as id is not part of it"),
        ("b", "SELECT u.id, i.name FROM u JOIN i ON u.v = i.id", "as id is not part of it"),
        (
            "b",
            "SELECT v, k FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM o) WHERE n <= 2",
            "as rank is not part of it",
        ),
    ],
)
def test_key_that_rows_share_is_a_warning(key: str, query: str, missing: str) -> None:
    [warning] = warnings(key, query)
    assert f"the sink's key {key} does not identify the rows, {missing}" in warning


@pytest.mark.parametrize(
    ("key", "query"),
    [
        ("a", "SELECT id, k FROM u WHERE v > 3"),
        ("a", "SELECT u.id, i.name FROM u JOIN i ON u.v = i.id"),
        ("b", "SELECT v, upper(k) FROM u"),
        ("b", "SELECT id, k FROM o"),
        (
            "b",
            "SELECT v, k FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM o) WHERE n = 1",
        ),
    ],
)
def test_key_of_the_rows_or_one_that_is_computed_is_no_warning(key: str, query: str) -> None:
    assert warnings(key, query) == []
