"""Columns of SQL queries are checked without Spark, and nothing is rejected that Spark accepts."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect
from headrace.errors import PlanError
from headrace.sql.query_check import check_query_columns, selected_columns

TABLES = {"tx": ["card", "amount", "ts", "place"], "homes": ["card", "home"], "frame": None}


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("select crad from tx", "unknown column `crad`"),
        ("select card from tx where amuont > 1", "unknown column `amuont`"),
        ("select t.crad from tx t", "unknown column `t.crad`"),
        ("select tx.card from tx join homes on tx.card = homes.crad", "unknown column `homes.crad`"),
        ("select card, count(*) n from tx group by crad", "unknown column `crad`"),
    ],
)
def test_unknown_column_of_a_query_is_an_error(query: str, problem: str) -> None:
    assert [fault.problem for fault in check_query_columns(query, TABLES)] == [problem]


@pytest.mark.parametrize(
    "query",
    [
        "select *, amount * 2 as double, double + 1 as more from tx",
        "select t.*, place.city from tx t where T.CARD is not null",
        "select window.start, count(*) n from tx group by window(ts, '1 hour') having n > 1",
        "select session_window.end from tx group by card, session_window(ts, '1 minute')",
        "select x from tx lateral view explode(split(card, ',')) as x",
        "with a as (select card as c from tx) select c from a",
        "select c from (select card as c from tx)",
        "select transform(array(amount), x -> x + 1) from tx",
        "select sum(amount) over w from tx window w as (partition by card)",
        "select anything from frame",
        "select timestampadd(HOUR, 1, ts), interval 1 minute + ts, current_date from tx",
        "select /*+ broadcast(homes) */ home from tx join homes using (card)",
        "select h.home from tx left join homes as h on tx.card = h.card and h.card <> 'x'",
    ],
)
def test_query_that_spark_accepts_is_not_rejected(query: str) -> None:
    assert list(check_query_columns(query, TABLES)) == []


def test_names_of_selected_columns_are_derived_as_far_as_they_are_certain() -> None:
    assert selected_columns("select card, tx.card, count(*), 1 as n from tx", TABLES) == ["card", "card", "n"]
    assert selected_columns("select * except (card), 1 as card from tx", TABLES) == ["card"]
    assert selected_columns("select card from tx union select card from homes", TABLES) == []


def test_two_columns_of_the_same_name_in_a_query_are_an_error() -> None:
    pipeline = Pipeline("twice")
    pipeline.read("tx", connect.memory(), schema="card string, amount int")
    pipeline.sql("both", "select *, amount as Card from tx").write("out", connect.memory())
    with pytest.raises(PlanError, match="two columns are called `Card`"):
        pipeline.check()
