"""A query is preceded by the definitions of its tables."""

from __future__ import annotations

import pytest

from headrace.lowering.sql_queries import _with_views


@pytest.mark.parametrize("before", ["", "\n", "-- a comment\n", "/* a\ncomment */ -- and another\n "])
def test_a_query_with_its_own_tables_may_begin_with_comments(before: str) -> None:
    query = _with_views(f"{before}with a as (select * from tx) select * from a", {"tx": "v1"})
    assert query == "with `tx` as (select * from v1), a as (select * from tx) select * from a"


def test_a_query_without_tables_of_its_own_keeps_its_comment() -> None:
    query = _with_views("-- with care\nselect * from tx", {"tx": "v1"})
    assert query == "with `tx` as (select * from v1) -- with care\nselect * from tx"
