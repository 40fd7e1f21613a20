"""Top-N, de-duplication, sorting, MATCH_RECOGNIZE and inserts: the steps of each, and what is refused."""

from __future__ import annotations

import pytest

from headrace import statements
from headrace.errors import DocumentError
from headrace.over.declare import Over
from headrace.plan.graph import Graph
from headrace.steps.base import Ref
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.event_time import ClockTime
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.tables.latest import Latest
from headrace.steps.tables.top_n import TopN

DECLARED = """
CREATE SOURCE bid (k STRING, v INT, ts TIMESTAMP, p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE SOURCE click (k STRING, v INT, p AS PROCTIME()) WITH (connector = 'memory');
CREATE TABLE item (id STRING, n INT, PRIMARY KEY (id)) WITH (connector = 'memory', changelog = 'true');
"""
RANKED = "SELECT k, v FROM (SELECT *, {function} OVER (PARTITION BY k ORDER BY {order}) AS r FROM bid) WHERE {where}"


def script(query: str) -> Graph:
    return statements.from_text(f"{DECLARED}CREATE VIEW w AS {query};", name="p")


def ranked(function: str = "ROW_NUMBER()", order: str = "v", where: str = "r = 1") -> Graph:
    return script(RANKED.format(function=function, order=order, where=where))


@pytest.mark.parametrize(
    ("where", "n"),
    [
        ("r <= 3", 3),
        ("r < 3", 2),
        ("r = 1", 1),
        ("3 >= r", 3),
        ("r BETWEEN 2 AND 4", 4),
        ("r > 1 AND r <= 5", 5),
        ("r <= 5 AND r < 3", 2),
    ],
)
def test_the_highest_rank_of_a_condition_is_the_size_of_the_top_n(where: str, n: int) -> None:
    [node] = ranked(where=where).of(TopN)
    assert (node.n, node.order_by, node.ties) == (n, "v", "rows")


def test_rank_and_dense_rank_have_ties() -> None:
    kinds = {name: ranked(f"{name}()").of(TopN)[0].ties for name in ("RANK", "DENSE_RANK")}
    assert kinds == {"RANK": "rank", "DENSE_RANK": "dense_rank"}


def test_rows_are_ranked_by_expressions_that_the_query_does_not_select() -> None:
    graph = script(
        "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v * 2) AS r "
        "FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' HOUR)) WHERE r = 1"
    )
    assert graph.facts(Ref("w")).columns == ("k",)
    assert graph.facts(Ref("w:query")).columns == ("k", "window_start", "window_end", "compared_3")
    assert graph["w:top_n"].top.order_by == "compared_3"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("SELECT k, v FROM bid ORDER BY 2 DESC LIMIT 1", "v desc"),
        ("SELECT v AS k, k AS v FROM bid ORDER BY v LIMIT 1", "k"),
        ("SELECT k, count(*) AS n FROM bid GROUP BY k ORDER BY n LIMIT 1", "n"),
        ("SELECT b.k FROM bid b JOIN click c ON b.k = c.k ORDER BY b.v LIMIT 1", "v"),
        ("SELECT b.v AS n FROM bid b JOIN click c ON b.k = c.k ORDER BY b.v LIMIT 1", "n"),
    ],
)
def test_order_by_names_selected_columns_first_and_their_positions(query: str, order: str) -> None:
    [node] = script(query).of(TopN)
    assert node.order_by == order


def test_order_by_an_aggregate_that_the_query_does_not_select() -> None:
    graph = script("SELECT k FROM bid GROUP BY k ORDER BY count(*) DESC LIMIT 1")
    assert graph.facts(Ref("w")).columns == ("k", "change")


def test_the_first_row_by_processing_time_is_an_append_stream() -> None:
    graph = ranked(order="p")
    assert [node.on for node in graph.of(Distinct)] == [("k",)]
    assert not graph.of(TopN)


def test_the_last_row_by_time_is_latest() -> None:
    assert [node.order for node in ranked(order="ts DESC").of(Latest) if node.name.startswith("w")] == [None]
    assert [node.order for node in ranked(order="p DESC").of(Latest) if node.name.startswith("w")] == [
        "arrival"
    ]


def test_rows_are_sorted_by_event_time_with_further_columns() -> None:
    [node] = script("SELECT k FROM bid ORDER BY ts, v DESC").of(Over)
    assert node.over.order_by == "ts, v desc"


@pytest.mark.parametrize(
    ("query", "what"),
    [
        (
            "SELECT k FROM bid ORDER BY v",
            "a stream has no end, so its rows cannot be sorted\n  hint: keep the first",
        ),
        ("SELECT k FROM bid ORDER BY ts DESC", "a stream has no end, so its rows cannot be sorted"),
        ("SELECT id FROM item ORDER BY n", "a stream has no end, so its rows cannot be sorted"),
        ("SELECT k FROM bid LIMIT n", "a stream has no end, so its rows cannot be sorted"),
        (
            "SELECT * FROM item MATCH_RECOGNIZE (ORDER BY n MEASURES A.n AS n PATTERN (A) DEFINE A AS n > 1)",
            "MATCH_RECOGNIZE needs rows that do not change, but those of `item` do\n  hint: match the rows",
        ),
        (
            "SELECT * FROM nowhere MATCH_RECOGNIZE (ORDER BY n MEASURES A.n AS n PATTERN (A) DEFINE A AS n > 1)",
            "unknown source or view `nowhere`\n  hint: Known: bid, click, item",
        ),
    ],
)
def test_what_is_refused_has_a_rewrite(query: str, what: str) -> None:
    with pytest.raises(DocumentError, match=rf"<sql>:\d+:\d+: {what}"):
        script(query)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"function": "RANK()", "order": "p"}, "rows are ranked by processing time only in ascending order"),
        (
            {"order": "p DESC", "where": "r <= 2"},
            "rows are ranked by processing time only in ascending order",
        ),
        ({"where": "r < 1"}, "no row has a rank below 1\n  hint: such as rank <= 3"),
        ({"where": "r = 0"}, "no row has a rank below 1\n  hint: such as rank <= 3"),
        ({"where": "r BETWEEN 0 AND 0"}, "no row has a rank below 1\n  hint: such as rank <= 3"),
    ],
)
def test_ranks_that_are_refused(changes: dict[str, str], what: str) -> None:
    with pytest.raises(DocumentError, match=what):
        ranked(**changes)


@pytest.mark.parametrize("stream", ["click", "bid"])
def test_matches_are_in_the_order_of_the_clock_if_the_query_says_so(stream: str) -> None:
    graph = script(
        f"SELECT * FROM {stream} MATCH_RECOGNIZE (PARTITION BY k ORDER BY p MEASURES A.v AS v PATTERN (A) DEFINE A AS v > 1)"
    )
    [pattern], [clock] = graph.of(RowPattern), graph.of(ClockTime)
    assert (clock.clock, pattern.input.step) == ("processing", clock.name)
    assert "ORDER BY processing_time" in pattern.query


SINK = "CREATE SINK o (k STRING, v INT, w BIGINT, PRIMARY KEY (k)) WITH (connector = 'memory');"


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ("k, x", "unknown column `x`"),
        ("k, k", "the INSERT names `k` twice\n  hint: remove one"),
        ("k", "the INSERT names 1 columns, the query 2\n  hint: select k"),
        ("v, w", "the INSERT leaves out `k`, a key of the sink\n  hint: insert a value of k"),
    ],
)
def test_columns_of_an_insert_are_checked(columns: str, what: str) -> None:
    with pytest.raises(DocumentError, match=what):
        statements.from_text(f"{DECLARED}{SINK}INSERT INTO o ({columns}) SELECT id, n FROM item;")


def test_columns_of_an_insert_need_those_of_the_query() -> None:
    declared = "CREATE SOURCE raw WITH (connector = 'memory', schema = 'k string, v int');"
    with pytest.raises(
        DocumentError, match=r"the columns of the query are unknown.*\n  hint: name the columns"
    ):
        statements.from_text(f"{declared}{SINK}INSERT INTO o (k, v) SELECT * FROM raw;")


@pytest.mark.parametrize("statement", ["EXPLAIN SELECT 1", "DESCRIBE bid", "SHOW SOURCES", "DROP VIEW bid"])
def test_statements_of_the_shell_are_refused_in_a_script(statement: str) -> None:
    word = statement.split(maxsplit=1)[0]
    with pytest.raises(
        DocumentError, match=rf"<sql>:1:1: {word} is a statement of the shell, not of a script\n"
    ):
        statements.from_text(statement)
