"""Completion of statements at the cursor."""

from __future__ import annotations

import pytest

from headrace.cli.shell.completion import complete
from headrace.cli.shell.session import Session

DECLARED = """
CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE SOURCE click (page STRING) WITH (connector = 'memory');
CREATE VIEW totals AS SELECT auction, window_start, sum(price) AS total
  FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY auction, window_start, window_end;
CREATE SINK alerts (auction BIGINT) WITH (connector = 'memory');
"""


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    for each in session.enter(DECLARED):
        session.apply(each)
    return session


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEL", ["SELECT"]),
        ("CREATE S", ["SINK", "SOURCE"]),
        ("CREATE OR REPLACE V", ["VIEW"]),
        ("SHOW V", ["VIEWS"]),
        ("DROP F", ["FUNCTION"]),
        ("SET ", ["'name'", "'until'", "'checkpoint'"]),
        ("EXPLAIN SEL", ["SELECT"]),
        ("SELECT * FROM ", ["bid", "click", "totals", "TUMBLE", "HOP", "SESSION", "CUMULATE"]),
        ("SELECT * FROM to", ["totals"]),
        ("SELECT * FROM TUMBLE(TABLE b", ["bid"]),
        ("INSERT INTO ", ["alerts"]),
        ("DESCRIBE cl", ["click"]),
        ("SELECT * FROM bid b WHERE b.p", ["price"]),
        ("SELECT * FROM bid WHERE au", ["auction"]),
        ("SELECT * FROM totals.", ["late"]),
        ("SELECT * FROM totals WHERE window_s", ["window_start"]),
        ("SELECT try_su", ["try_subtract", "try_sum"]),
        ("CREATE SOURCE s (a INT) WITH (conn", ["connector"]),
        ("CREATE SINK s WITH (connector = 'smt", ["smtp"]),
        ("CREATE SOURCE s (a INT) WITH (connector = 'web", ["websocket"]),
        ("CREATE SOURCE s (a INT) WITH (connector = 'kafka', ser", ["servers"]),
        ("CREATE SINK s WITH (connector = 'console', style = '", ["auto", "table", "json"]),
        ("\\ch", ["\\changes"]),
        ("SELECT 1; SHO", ["SHOW"]),
    ],
)
def test_word_is_completed(session: Session, text: str, expected: list[str]) -> None:
    _, candidates = complete(text, session)
    assert candidates == expected


def test_option_that_is_written_is_not_offered_again(session: Session) -> None:
    _, candidates = complete("CREATE SINK s WITH (connector = 'console', limit = 5, ", session)
    assert "style" in candidates
    assert "limit" not in candidates


def test_query_completes_keywords_and_functions(session: Session) -> None:
    assert "GROUP BY" in complete("SELECT auction FROM bid g", session)[1]
    assert "count" in complete("SELECT cou", session)[1]
