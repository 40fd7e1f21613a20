"""Queries over the tables of a job are one SELECT over known tables."""

from __future__ import annotations

import pytest

from headrace.debugging.table_query import read_query
from headrace.errors import OptionError

KNOWN = ("totals", "item:latest", "lot")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT * FROM totals", "SELECT * FROM `v_totals` AS `totals`"),
        ("select t.n from Totals AS t;", "select t.n from `v_totals` AS t"),
        ("SELECT * FROM `item:latest` i", "SELECT * FROM `v_item:latest` i"),
        (
            "WITH t AS (SELECT * FROM totals) SELECT * FROM t JOIN lot ON t.k = lot.k",
            "WITH t AS (SELECT * FROM `v_totals` AS `totals`) SELECT * FROM t JOIN `v_lot` AS `lot` ON t.k = lot.k",
        ),
        ("SELECT 'FROM lot' AS lot FROM totals", "SELECT 'FROM lot' AS lot FROM `v_totals` AS `totals`"),
        (
            "SELECT * FROM totals WHERE n IN (SELECT n FROM lot) UNION SELECT * FROM lot",
            "SELECT * FROM `v_totals` AS `totals` WHERE n IN (SELECT n FROM `v_lot` AS `lot`) "
            "UNION SELECT * FROM `v_lot` AS `lot`",
        ),
    ],
)
def test_views_stand_for_the_tables_of_a_query(query: str, text: str) -> None:
    read = read_query(query, KNOWN)
    assert read.over({name: f"v_{name}" for name in KNOWN}) == text


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("", "expected a query"),
        ("DROP TABLE totals", "expected a query"),
        ("SELECT * FROM totals; SELECT * FROM lot", "expected one query"),
        ("WITH t AS (SELECT 1) INSERT INTO lot SELECT * FROM t", "INSERT is not accepted"),
        ("SELECT TRANSFORM (n) USING 'cat' FROM totals", "a query that starts a program is not accepted"),
        ("SELECT * FROM total", "unknown table `total`"),
        ("SELECT * FROM other.totals", "unknown table `other.totals`"),
        ("SELECT * FROM json.`/etc/passwd`", "a path cannot be queried"),
        ("SELECT * FROM text.`passwd`", "a path cannot be queried"),
        ("SELECT java_method('java.lang.System', 'exit', 0) FROM totals", "calls Java"),
        ("SELECT * FROM range(10)", "table functions are not accepted"),
        ("SELECT FROM WHERE", "syntax error"),
        ("SELECT * FROM totals WHERE n IN (SELECT x FROM secrets)", "unknown table `secrets`"),
    ],
)
def test_other_statements_are_refused(query: str, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_query(query, KNOWN)
    assert problem in str(caught.value)
