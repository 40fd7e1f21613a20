"""Other spellings of a query give the same steps; functions of Flink are those of Spark."""

from __future__ import annotations

import pytest
from sqlglot import expressions as exp
from sqlglot import parse_one

from headrace import yaml
from headrace.errors import DocumentError
from headrace.plan.validation import problems_of
from headrace.statements import from_text
from headrace.statements.foreign_functions import translate_functions

SOURCES = """
CREATE SOURCE bid (auction BIGINT, price INT, tags ARRAY<INT>, items ARRAY<STRUCT<sku: STRING>>, ts TIMESTAMP,
  WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE SOURCE click (auction BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory');
"""


def document(query: str) -> str:
    graph = from_text(f"{SOURCES}CREATE VIEW v AS {query};", name="shop")
    assert problems_of(graph) == []
    return yaml.dump(graph)


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("SELECT price FROM bid WHERE auction = ANY (SELECT auction FROM click)", "SELECT price FROM bid WHERE auction IN (SELECT auction FROM click)"),
        ("SELECT price FROM bid WHERE auction <> ALL (SELECT auction FROM click)", "SELECT price FROM bid WHERE auction NOT IN (SELECT auction FROM click)"),
        ("SELECT * FROM bid NATURAL JOIN click", "SELECT * FROM bid JOIN click USING (auction)"),
        ("SELECT upper(auction) AS u, count(*) AS n FROM bid GROUP BY u", "SELECT upper(auction) AS u, count(*) AS n FROM bid GROUP BY upper(auction)"),
        ("WITH q (a, p) AS (SELECT auction, price FROM bid) SELECT a FROM q", "SELECT a FROM (SELECT auction, price FROM bid) AS q (a, p)"),
        ("SELECT * EXCEPT (tags, items, ts) FROM bid", "SELECT auction, price FROM bid"),
        (
            "SELECT auction, price FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) <= 2",
            "SELECT auction, price FROM (SELECT auction, price, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS r FROM bid) WHERE r <= 2",
        ),
    ],
)  # fmt: skip
def test_two_spellings_have_the_same_steps(query: str, same: str) -> None:
    def plain(text: str) -> str:
        return document(text).replace("v:with", "v:query").replace("qualify1", "r")

    assert plain(query) == plain(same)


def test_a_rank_by_processing_time_needs_no_column_of_it() -> None:
    query = "SELECT auction FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY PROCTIME()) AS r FROM bid) WHERE r = 1"
    assert "{from: bid, distinct: auction}" in document(query)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "SELECT price, tag FROM bid CROSS JOIN UNNEST(tags) AS tag",
            "lateral view explode(tags) tag_rows as tag",
        ),
        ("SELECT price, i.sku FROM bid CROSS JOIN UNNEST(items) AS i", "lateral view inline(items) i as sku"),
        (
            "SELECT auction, auction0 FROM (SELECT b.auction, c.auction FROM bid b JOIN click c ON b.auction = c.auction)",
            "auction0",
        ),
    ],
)
def test_names_of_columns(query: str, text: str) -> None:
    assert text in document(query)


@pytest.mark.parametrize(
    ("query", "condition"),
    [("INTERSECT", "left > 0 and right > 0"), ("EXCEPT", "left > 0 and right = 0")],
)
def test_set_operations_count_the_rows_of_both_sides(query: str, condition: str) -> None:
    text = document(f"SELECT auction FROM bid {query} SELECT auction FROM click")
    assert condition in text
    assert "aggregate: {left: sum(left), right: sum(right)}" in text


def test_a_view_names_its_columns() -> None:
    graph = from_text(
        f"{SOURCES}CREATE VIEW v (a, p) AS SELECT auction, price FROM bid; CREATE VIEW w AS SELECT p FROM v;",
        name="shop",
    )
    assert problems_of(graph) == []


@pytest.mark.parametrize(
    ("written", "translated"),
    [
        ("truncate(d, 2)", "IF(d < 0, CEIL(d, 2), FLOOR(d, 2))"),
        ("floor(ts TO DAY)", "DATE_TRUNC('DAY', ts)"),
        ("ceil(ts TO HOUR)", "DATE_TRUNC('HOUR', ts + INTERVAL '1' HOUR - INTERVAL '1' MICROSECOND)"),
        ("map['a', 1, 'b', 2]", "MAP('a', 1, 'b', 2)"),
        ("a[1]", "a[1]"),
        ("to_timestamp_ltz(n, 3)", "TIMESTAMP_MILLIS(n)"),
        ("to_timestamp_ltz(s, 'yyyy')", "TO_TIMESTAMP_LTZ(s, 'yyyy')"),
        ("sha256(element(a))", "SHA2(GET(a, 0), 256)"),
        ("localtimestamp", "LOCALTIMESTAMP()"),
        ("json_exists(j, '$.a')", "(NOT GET_JSON_OBJECT(j, '$.a') IS NULL)"),
        ("collect(a)", "COLLECT_LIST(a)"),
    ],
)
def test_functions_of_flink(written: str, translated: str) -> None:
    query = parse_one(f"select {written} from t", dialect="spark")
    assert isinstance(query, exp.Select)
    [item] = translate_functions(query).expressions
    assert item.sql(dialect="spark") == translated


def test_a_limit_selects_the_columns_of_the_query_in_their_order() -> None:
    text = document("SELECT price, auction FROM bid ORDER BY price LIMIT 2")
    assert "v: {from: v:top_n, select: {price: price, auction: auction, change: change}}" in text


def test_columns_of_groups_are_in_the_order_of_the_query() -> None:
    text = document("SELECT count(*) AS n, auction FROM bid GROUP BY auction")
    assert "select: {n: n, auction: auction}" in text


def test_a_union_of_rows_with_and_without_time_has_none() -> None:
    text = document(
        "SELECT auction FROM bid UNION ALL SELECT auction FROM (SELECT auction, count(*) AS n FROM bid GROUP BY auction)"
    )
    assert "sql: select * from this" in text
    assert "sql: select * from this" not in document(
        "SELECT auction FROM bid UNION ALL SELECT auction FROM click"
    )


def test_a_partition_of_a_sink_is_a_constant_and_a_statement_set_is_all_inserts() -> None:
    graph = from_text(
        f"""{SOURCES}CREATE SINK s (auction BIGINT, day STRING, price INT) WITH (connector = 'memory');
        EXECUTE STATEMENT SET BEGIN INSERT INTO s PARTITION (day = '1') SELECT auction, price FROM bid; END;""",
        name="shop",
    )
    assert (
        "s_rows: {from: s_rows:query, select: {auction: auction, price: price, day: \"'1'\"}}"
        in yaml.dump(graph)
    )


_MATCHES = "bid MATCH_RECOGNIZE (PARTITION BY auction ORDER BY ts MEASURES A.price AS x PATTERN (A B) DEFINE A AS A.price > 1)"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (f"SELECT auction, count(*) AS n FROM {_MATCHES} GROUP BY auction", "v: {from: v:match, key_by: auction, aggregate: {n: COUNT(*)}}"),
        (f"SELECT m.x, c.at FROM {_MATCHES} AS m JOIN click c ON m.auction = c.auction", "with: click"),
        (f"SELECT max(x) AS x FROM (SELECT * FROM (SELECT * FROM bid WHERE price > 0) {_MATCHES[4:]}) q", "aggregate: {x: MAX(x)}"),
    ],
)  # fmt: skip
def test_matches_are_grouped_and_joined_by_later_steps(query: str, text: str) -> None:
    steps = document(query)
    assert text in steps
    assert "MATCH_RECOGNIZE" in steps.partition("v:match:")[2]


def test_a_clause_inside_another_query_has_its_errors_at_its_place() -> None:
    query = f"SELECT count(*) AS n FROM {_MATCHES.replace('(A B)', '(A{2 B)')}"
    with pytest.raises(DocumentError, match=r"SQL syntax error at line 1, column 104") as error:
        document(query)
    assert error.value.problems[0].where.startswith("<sql>:5:")
