"""Each form that has no steps is refused with its place, the reason, and what to write."""

from __future__ import annotations

import re

import pytest

from headrace.errors import DocumentError
from headrace.statements import from_text

SOURCES = """
CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP, tags ARRAY<STRUCT<a: INT, b: INT>>, now AS PROCTIME(),
  WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE SOURCE click (auction BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE TABLE item (id BIGINT, name STRING, PRIMARY KEY (id)) WITH (connector = 'memory');
CREATE TABLE shop (price INT, city STRING, PRIMARY KEY (city)) WITH (connector = 'sqlite', path = 's.db', table = 't');
CREATE VIEW panes AS SELECT auction, count(*) AS n FROM bid GROUP BY auction, tumble(ts, INTERVAL '1' HOUR) EMIT CHANGES;
CREATE SINK out (a BIGINT, b INT) WITH (connector = 'memory');
"""
HOUR = "TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' HOUR)"


def refusal(statement: str) -> tuple[str, str]:
    """Return the problem and the hint of the first error of a script, which has its place."""
    with pytest.raises(DocumentError) as caught:
        from_text(f"{SOURCES}{statement};", file="shop.sql", name="shop")
    problem = next(each for each in caught.value.problems if "nothing is written" not in each.what)
    assert re.fullmatch(r"shop\.sql:\d+:\d+", problem.where)
    return problem.what, problem.hint


@pytest.mark.parametrize(
    ("declaration", "what", "hint"),
    [
        (
            "CREATE SOURCE s (a INT COMMENT 'x' b INT) WITH (connector = 'memory')",
            "expected , or ) after a column",
            "",
        ),
        (
            "CREATE SOURCE s (a INT, CONSTRAINT c UNIQUE (a)) WITH (x = '1')",
            "expected PRIMARY KEY",
            "PRIMARY KEY (id)",
        ),
        ("CREATE SOURCE s (a) WITH (connector = 'memory')", "the type of column `a` is missing", "a STRING"),
        (
            "CREATE SOURCE s (a AS) WITH (connector = 'memory')",
            "the expression of `a` is missing",
            "AS upper",
        ),
        ("CREATE SOURCE s (a INT) WITH (connector =)", "the value of the option `connector` is missing", ""),
        ("CREATE SOURCE s (a INT) WITH (connector = 'memory'", "expected , or ) after an option", ""),
    ],
)
def test_declarations(declaration: str, what: str, hint: str) -> None:
    problem, rewrite = refusal(declaration)
    assert what in problem
    assert hint in rewrite


@pytest.mark.parametrize(
    ("query", "what", "hint"),
    [
        ("SELECT 1 FROM bid JOIN bid ON true", "two streams are called `bid`", "another alias"),
        (
            "SELECT x FROM bid CROSS JOIN UNNEST(tags) AS t (x, y, z)",
            "3 names for the 2 fields of the items",
            "AS t (a, b)",
        ),
        (
            "SELECT * FROM bid b JOIN bid.dead_letters d ON b.auction = d.auction",
            "the columns of one side are not known",
            "name the columns",
        ),
        (
            "SELECT * FROM bid b FULL JOIN item FOR SYSTEM_TIME AS OF b.ts AS i ON b.auction = i.id",
            "a full join with a version of a table is not supported",
            "JOIN or LEFT JOIN",
        ),
        (
            "SELECT * FROM bid b JOIN click FOR SYSTEM_TIME AS OF b.ts AS c ON b.auction = c.auction",
            "`c` is not a table",
            "CREATE TABLE and a PRIMARY KEY",
        ),
        (
            "SELECT * FROM item b JOIN item FOR SYSTEM_TIME AS OF b.name AS i ON b.id = i.id",
            "a join of rows that change with a version of a table is not supported",
            "leave out FOR SYSTEM_TIME AS OF",
        ),
        (
            "SELECT * FROM bid b JOIN shop FOR SYSTEM_TIME AS OF b.now AS s ON b.auction = s.city",
            "both sides have a column `price`",
            "rename it in a view",
        ),
        (
            "SELECT * FROM bid b JOIN item FOR SYSTEM_TIME AS OF b.ts AS i ON b.auction > i.id",
            "the join has no equal columns",
            "ON a.id = b.id",
        ),
        (
            f"SELECT sum(price) OVER (ORDER BY ts) AS s FROM {HOUR} GROUP BY price",
            "OVER windows and GROUP BY in one query are not supported",
            "subquery",
        ),
        (
            "SELECT * FROM (VALUES (1), (1, 2)) AS t",
            "the rows of VALUES have 1 and 2 columns",
            "write as many",
        ),
        ("SELECT * FROM (VALUES ((SELECT 1 FROM bid)))", "a subquery in VALUES is not supported", "join it"),
        ("SELECT *", "the query reads no stream", "add FROM"),
        (
            "SELECT * FROM bid LEFT JOIN LATERAL (SELECT at FROM click) AS l ON TRUE",
            "LATERAL (SELECT ...) is not supported",
            "join the query in FROM",
        ),
        (
            "SELECT w FROM bid, LATERAL TABLE(upper('a')) AS s (w)",
            "gives one value and no rows",
            "LATERAL explode",
        ),
        ("SELECT w FROM bid, LATERAL TABLE(parts(price)) AS s (w)", "unknown function `parts`", ""),
        (
            "SELECT count(*) FROM bid GROUP BY TUMBLE(ts + INTERVAL '1' HOUR, INTERVAL '1' HOUR)",
            "TUMBLE needs the column of event time",
            "WATERMARK FOR",
        ),
        (
            "SELECT auction FROM bid ORDER BY 2 LIMIT 1",
            "ORDER BY 2 is not the position",
            "the name of the column",
        ),
        ("SELECT * FROM bid ORDER BY 1 LIMIT 1", "ORDER BY 1 is not the position", "the name of the column"),
        ("SELECT CURRENT_WATERMARK(ts) AS w FROM bid", "CURRENT_WATERMARK is not supported", "totals.late"),
        ("SELECT DISTINCT auction FROM panes", "SELECT DISTINCT over panes that change", "GROUP BY"),
        ("SELECT auction FROM panes WHERE n > 3", "would leave an earlier one in the results", "RETRACTING"),
        (
            "SELECT auction, n FROM panes UNION ALL SELECT auction, 1 FROM bid",
            "UNION of panes that replace earlier ones",
            "an INSERT of its own",
        ),
        (
            "SELECT * FROM bid.dead_letters UNION ALL SELECT auction FROM bid",
            "UNION needs queries with known columns",
            "name the columns",
        ),
        (
            "SELECT auction FROM bid UNION ALL SELECT auction, at FROM click",
            "the queries of UNION have 1 and 2 columns",
            "select as many",
        ),
        ("SELECT * FROM bid GROUP BY auction", "SELECT * cannot be grouped", "name the keys"),
        (
            "SELECT auction + price FROM bid GROUP BY auction",
            "is neither a key of GROUP BY",
            "the keys: `auction`",
        ),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction) AS r FROM bid) WHERE r = 1",
            "ROW_NUMBER() needs ORDER BY",
            "ORDER BY amount DESC",
        ),
        (
            "SELECT * FROM (SELECT *, RANK() OVER (PARTITION BY window_start, window_end ORDER BY price) AS r "
            f"FROM {HOUR}) WHERE r = 1",
            "RANK() in windows is not supported",
            "use ROW_NUMBER()",
        ),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY now DESC) AS r FROM bid) WHERE r <= 3",
            "rows are ranked by processing time only in ascending order",
            "keep the last row of each key",
        ),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY a) AS r FROM bid.dead_letters) WHERE r <= 3",
            "top-N needs a query with known columns",
            "name the columns",
        ),
        (
            "SELECT price FROM bid WHERE auction IN (SELECT * FROM click.dead_letters)",
            "IN compares named columns",
            "select the column instead of *",
        ),
        ("SELECT * FROM JUMBLE(TABLE bid, DESCRIPTOR(ts), 1)", "unknown table function `JUMBLE`", "TUMBLE"),
        ("SELECT * FROM TUMBLE(TABLE bid)", "expected a stream and a column in TUMBLE", "TUMBLE(TABLE bid"),
        (
            "SELECT auction FROM bid GROUP BY auction, TumblingWindow(parsec, 3)",
            "expected a unit and numbers",
            "TumblingWindow(second, 10)",
        ),
        (
            "SELECT count(*) FROM bid GROUP BY tumble(ts, INTERVAL '1' HOUR), hop(ts, INTERVAL '1' HOUR, INTERVAL '2' HOUR)",
            "a query has one window in GROUP BY",
            "remove one",
        ),
        ("SELECT auction FROM bid, click", "`auction` is in `bid` and `click`", "write bid.auction"),
        ("SELECT * REPLACE (1 AS price) FROM bid", "* REPLACE is not supported", "name the columns"),
        (
            "SELECT price > ALL (SELECT auction FROM click) FROM bid",
            "ALL (subquery) is not supported",
            "scalar subquery",
        ),
        (
            "SELECT auction FROM bid WHERE auction SIMILAR TO price",
            "SIMILAR TO with a computed pattern or ESCAPE is not supported",
            "use RLIKE",
        ),
        ("SELECT CAST(ts AS TIME) FROM bid", "the type TIME is not supported", "date_format"),
        (
            "SELECT auction, count(*) FROM bid GROUP BY auction, system.timestamp()",
            "`System.Timestamp` of Azure Stream Analytics is not supported",
            "group by the event time",
        ),
        ("SELECT price FROM bid TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is not supported", "leave it out"),
        ("SELECT price FROM bid WHERE", "SQL syntax error:", ""),
    ],
)
def test_queries(query: str, what: str, hint: str) -> None:
    problem, rewrite = refusal(f"CREATE VIEW v AS {query}")
    assert what in problem
    assert hint in rewrite


def test_columns_of_an_insert_need_those_of_its_query() -> None:
    problem, rewrite = refusal("INSERT INTO out (a) SELECT * FROM bid.dead_letters")
    assert "the columns of the query are unknown" in problem
    assert "name the columns" in rewrite
