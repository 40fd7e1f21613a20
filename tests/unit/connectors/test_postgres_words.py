"""What PostgreSQL says before there is a session, when the client has its words alone."""

from __future__ import annotations

import psycopg
import pytest

from headrace.connectors.postgres.dialect import PostgresDialect


@pytest.mark.parametrize(
    ("said", "hint", "passing"),
    [
        ("the database system is starting up", "the server is starting", True),
        ("the database system is not yet accepting connections", "the server is starting", True),
        ("the database system is shutting down", "the server is going down", True),
        ('database "shop" does not exist', "create the database", False),
        ('password authentication failed for user "streams"', "check user and password", False),
    ],
)
def test_refused_connection_is_told_with_what_to_do(said: str, hint: str, passing: bool) -> None:
    dialect = PostgresDialect("postgresql://streams@localhost/shop")
    error = psycopg.OperationalError(
        f'connection failed: connection to server at "::1" failed: FATAL:  {said}'
    )
    told = dialect.told(error)
    assert told is not None
    assert said in told[0]
    assert told[1].startswith(hint)
    assert dialect.lost(error) is passing
