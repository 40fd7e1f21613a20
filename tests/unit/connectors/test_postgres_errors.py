"""Errors of PostgreSQL before a session exists, which have a text but no SQLSTATE."""

from __future__ import annotations

import psycopg
import pytest

from headrace.connectors.postgres.dialect import PostgresDialect


@pytest.mark.parametrize(
    ("message", "hint", "passing"),
    [
        ("the database system is starting up", "the server is starting", True),
        ("the database system is not yet accepting connections", "the server is starting", True),
        ("the database system is shutting down", "the server is shutting down", True),
        ('database "shop" does not exist', "create the database", False),
        ('password authentication failed for user "streams"', "check user and password", False),
    ],
)
def test_refused_connection_has_a_hint(message: str, hint: str, passing: bool) -> None:
    dialect = PostgresDialect("postgresql://streams@localhost/shop")
    error = psycopg.OperationalError(
        f'connection failed: connection to server at "::1" failed: FATAL:  {message}'
    )
    translation = dialect.translate_error(error)
    assert translation is not None
    assert message in translation[0]
    assert translation[1].startswith(hint)
    assert dialect.is_unavailable(error) is passing
