"""SQL scripts build the same plans as documents, and errors have line and column."""

from __future__ import annotations

import contextlib
import random
import re
from textwrap import dedent

import pytest

from headrace import yaml
from headrace.access import Access, restrict
from headrace.errors import DocumentError
from headrace.plan.graph import Graph
from headrace.plan.validation import problems_of
from headrace.statements import from_text

SOURCES = """
CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH (connector = 'memory');
CREATE SOURCE click (auction BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE TABLE item (id BIGINT, name STRING, PRIMARY KEY (id)) WITH (connector = 'memory');
"""
BID = "bid: {memory: {}, schema: 'auction bigint, price int, ts timestamp', event_time: {column: ts, out_of_order: 5 seconds}}"
CLICK = "click: {memory: {}, schema: 'auction bigint, at timestamp', event_time: {column: at, out_of_order: 0 seconds}}"
ITEM = "item: {memory: {}, schema: 'id bigint, name string'}"
LATEST = "'item:latest': {from: item, key_by: [id], latest: {}}"


def script(text: str) -> Graph:
    return from_text(SOURCES + text, file="shop.sql", name="shop")


def document(steps: str) -> Graph:
    text = f"name: shop\nsources:\n  {BID}\n  {CLICK}\n  {ITEM}\nsteps:\n  {LATEST}\n" + steps
    return yaml.from_text(text)


@pytest.mark.parametrize(
    ("query", "steps"),
    [
        (
            "SELECT auction, price * 2 AS double FROM bid WHERE price > 5",
            "  v: {from: bid, where: price > 5, select: {auction: auction, double: price * 2}}",
        ),
        (
            "SELECT auction, window_start, count(*) AS n FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND) "
            "GROUP BY auction, window_start, window_end",
            "  v: {from: bid, key_by: auction, window: {tumbling: 10 seconds}, aggregate: {n: COUNT(*)}, "
            "select: {auction: auction, window_start: window.start, n: n}}",
        ),
        (
            "SELECT auction, hop_start(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS s, sum(price) / count(*) AS mean "
            "FROM bid GROUP BY auction, hop(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
            "  v: {from: bid, key_by: auction, window: {sliding: {size: 10 seconds, every: 5 seconds}}, "
            "aggregate: {aggregate1: SUM(price), aggregate2: COUNT(*)}, "
            "select: {auction: auction, s: window.start, mean: aggregate1 / aggregate2}}",
        ),
        (
            "SELECT auction, count(*) AS n FROM bid GROUP BY auction",
            "  v: {from: bid, key_by: auction, aggregate: {n: COUNT(*)}}",
        ),
        (
            "SELECT auction, count(*) AS n FROM bid GROUP BY auction, session(ts, INTERVAL '1' MINUTE) "
            "EMIT EARLY EVERY INTERVAL '10' SECONDS LATENESS INTERVAL '1' HOUR RETRACTING",
            "  v: {from: bid, key_by: auction, window: {session: 1 minute}, aggregate: {n: COUNT(*)}, "
            "emit: {early: {every: 10 seconds}, lateness: 1 hour, mode: retracting}, select: {auction: auction, n: n}}",
        ),
        (
            "SELECT b.price, c.at FROM bid b JOIN click c ON b.auction = c.auction AND c.at BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE",
            "  'v:join': {from: bid, join: {with: click, on: {auction: auction}, within: [0 seconds, 1 minute], how: inner, "
            "select: {auction: left.auction, price: left.price, ts: left.ts, c_auction: right.auction, at: right.at}}}\n"
            "  v: {from: 'v:join', select: {price: price, at: at}}",
        ),
        (
            "SELECT b.price, i.name FROM bid b LEFT JOIN item FOR SYSTEM_TIME AS OF PROCTIME() AS i ON b.auction = i.id",
            "  'v:join': {from: bid, join: {with: 'item:latest', on: {auction: id}, at: arrival, how: left, "
            "select: {auction: left.auction, price: left.price, ts: left.ts, id: right.id, name: right.name}}}\n"
            "  v: {from: 'v:join', select: {price: price, name: name}}",
        ),
        (
            "SELECT auction, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bid) "
            "WHERE rn <= 3",
            "  'v:top_n': {from: bid, key_by: auction, top_n: {n: 3, order_by: price desc}}\n"
            "  v: {from: 'v:top_n', select: {auction: auction, price: price, change: change}}",
        ),
        (
            "SELECT shiftleft(b.price, 1) AS p, split_index(string(b.auction), '.', 0) AS part, split_index(i, i, 1) AS q "
            "FROM (SELECT auction, price, string(price) AS i FROM bid) b",
            "  'v:query': {from: bid, select: {auction: auction, price: price, i: CAST(price AS STRING)}}\n"
            "  v: {from: 'v:query', select: {p: 'SHIFTLEFT(price, 1)', part: 'GET(SPLIT(CAST(auction AS STRING), ''\\\\.''), 0)', "
            "q: 'GET(SPLIT(i, CONCAT(''\\\\Q'', i, ''\\\\E'')), 1)'}}",
        ),
        (
            "SELECT count(*) AS n, hypot(max(price), 1) AS h FROM bid WHERE price > 1",
            "  v: {from: bid, where: price > 1, aggregate: {n: COUNT(*), aggregate2: MAX(price)}, "
            "select: {n: n, h: 'HYPOT(aggregate2, 1)'}}",
        ),
        (
            "SELECT auction FROM bid UNION ALL SELECT auction FROM click",
            "  'v:query': {from: bid, select: {auction: auction}}\n  'v:query:2': {from: click, select: {auction: auction}}\n"
            "  v: {union: ['v:query', 'v:query:2'], where: 'true'}",
        ),
    ],
)
def test_a_query_and_its_steps_are_the_same_plan(query: str, steps: str) -> None:
    graph = script(f"CREATE VIEW v AS {query};")
    assert graph == document(steps)
    assert problems_of(graph) == []


BOUNDED = (
    "  'v:join': {from: bid, join: {with: click, on: {auction: auction}, how: inner, within: WITHIN, "
    "select: {auction: left.auction, price: left.price, ts: left.ts, c_auction: right.auction, at: right.at}}}\n"
    "  v: {from: 'v:join', select: {price: price, at: at}}"
)


@pytest.mark.parametrize(
    ("join", "within"),
    [
        ("JOIN click c WITHIN 10 SECONDS ON b.auction = c.auction", "[-10 seconds, 10 seconds]"),
        ("JOIN click c WITHIN (1 MINUTE, 2 HOURS) ON b.auction = c.auction", "[-1 minute, 2 hours]"),
        (
            "JOIN click c WITHIN 1 HOUR GRACE PERIOD 1 DAY ON b.auction = c.auction WHERE c.at < b.ts",
            "[-1 hour, -1 microsecond]",
        ),
        (
            "JOIN click c ON b.auction = c.auction AND DATEDIFF(second, b, c) BETWEEN 0 AND 10",
            "[0 seconds, 10 seconds]",
        ),
        (
            "JOIN click c ON b.auction = c.auction AND DATEDIFF(minute, c, b) BETWEEN -1 AND 2",
            "[-2 minutes, 1 minute]",
        ),
    ],
)
def test_joins_of_ksqldb_and_azure_have_bounds_of_event_times(join: str, within: str) -> None:
    query = f"CREATE VIEW v AS SELECT b.price, c.at FROM bid b {join};"
    assert dict(script(query).nodes) == dict(document(BOUNDED.replace("WITHIN", within)).nodes)


def test_a_table_as_query_of_ksqldb_is_a_view() -> None:
    query = "AS SELECT auction FROM bid WHERE price > 5;"
    assert dict(script(f"CREATE STREAM v {query}").nodes) == dict(script(f"CREATE VIEW v {query}").nodes)


def test_select_into_of_azure_is_an_insert() -> None:
    sink = "CREATE SINK out WITH (connector = 'memory');"
    into = script(f"{sink} SELECT auction INTO out FROM bid WHERE price > 5;")
    insert = script(f"{sink} INSERT INTO out SELECT auction FROM bid WHERE price > 5;")
    assert dict(into.nodes) == dict(insert.nodes)


def test_inserts_into_one_sink_are_a_union_in_the_columns_of_the_sink() -> None:
    graph = script(
        """
        CREATE SINK out (a BIGINT, b INT, PRIMARY KEY (a)) WITH (connector = 'memory');
        INSERT INTO out SELECT auction, price FROM bid;
        INSERT INTO out (a, b) SELECT auction AS a, 0 AS b FROM click;
        """
    )
    assert graph.sinks[0].connector.row_key == ("a",)
    assert graph.facts(graph.sinks[0].input).columns == ("a", "b")


def test_late_rows_of_a_view_are_a_relation() -> None:
    graph = script(
        """
        CREATE VIEW v AS SELECT auction, count(*) AS n FROM bid GROUP BY auction, tumble(ts, INTERVAL '1' HOUR);
        CREATE SINK late WITH (connector = 'memory') AS SELECT * FROM v.late;
        """
    )
    assert str(graph["late_rows"].inputs[0]) == "v.late"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CREATE VIEW v AS SELECT amount FROM bid", "shop.sql:6:25: unknown column `amount`"),
        ("CREATE VIEW v AS SELECT price FROM bids", "shop.sql:6:36: unknown source or view `bids`"),
        (
            "CREATE VIEW v AS SELECT price FROM bid ORDER BY price",
            "a stream has no end, so its rows cannot be sorted",
        ),
        ("CREATE VIEW v AS SELECT price FROM bid LIMIT 0", "no row has a rank below 1"),
        (
            "CREATE VIEW v AS SELECT price, count(*) FROM bid GROUP BY auction",
            "`price` is neither a key of GROUP BY",
        ),
        (
            "CREATE VIEW v AS SELECT auction FROM bid GROUP BY tumble(price, INTERVAL '1' HOUR), auction",
            "`price` is not the event time of the stream",
        ),
        ("CREATE VIEW v AS SELECT nvll(price) AS p FROM bid", "unknown function `nvll`"),
        ("CREATE VIEW v AS SELECT hypot(price, cost) AS p FROM bid", "unknown column `cost`"),
        (
            "CREATE VIEW v AS SELECT split_index(price) AS p FROM bid",
            "expected 3 arguments of SPLIT_INDEX, got 1",
        ),
        ("CREATE VIEW v AS SELECT price FROM bid WHERE", "shop.sql:6:44: SQL syntax error"),
        (
            "CREATE SINK out WITH (connector = 'memory')",
            "shop.sql:6:13: nothing is written to the sink `out`",
        ),
        ("CREATE SINK out (a INT) WITH (conector = 'memory')", "`out` has no connector"),
        ("CREATE SINK out WITH (connector = 'memori') AS SELECT * FROM bid", "unknown connector `memori`"),
        ("INSERT INTO out SELECT * FROM bid", "unknown sink `out`"),
        (
            "CREATE SINK out WITH (connector = 'memory') AS SELECT auction, count(*) AS n FROM bid "
            "GROUP BY auction, TUMBLE(ts, INTERVAL '1' HOUR) EMIT CHANGES",
            "rows of the query replace earlier ones, but the sink `out` has no key",
        ),
        (
            "CREATE VIEW v AS SELECT auction, count(*) AS n FROM bid GROUP BY auction, tumble(ts, INTERVAL '1' HOUR) "
            "HAVING count(*) < 9 EMIT CHANGES",
            "a pane that no longer satisfies the condition would leave an earlier one in the results",
        ),
        (
            "CREATE SINK out (a INT) WITH (connector = 'memory'); INSERT INTO out SELECT auction, price FROM bid",
            "the sink has 1 columns, the query 2",
        ),
        ("CREATE TABLE t (a INT) WITH (connector = 'memory')", "the table `t` has no key"),
        ("CREATE SOURCE bid (a INT) WITH (connector = 'memory')", "shop.sql:6:15: duplicate name `bid`"),
        ("CREATE SOURCE x (a INT, WATERMARK FOR b AS b) WITH (connector = 'memory')", "unknown column `b`"),
        (
            "CREATE SOURCE x (a INT, ts TIMESTAMP, WATERMARK FOR ts AS ts -) WITH (connector = 'memory')",
            "expected the column, or the column minus an interval",
        ),
        (
            f"CREATE VIEW v AS SELECT {'auction + ' * 5000} 1 FROM bid",
            "expected at most 10000 words and signs",
        ),
        (f"-- {'x' * (1 << 18)}", "expected at most 262144 characters"),
        ("CREATE SOURCE x (a INT) WITH (connector = 'memory', colour = 'red')", "unknown option `colour`"),
        (
            "CREATE SINK out (a BIGINT, b INT NOT NULL) WITH (connector = 'memory'); "
            "INSERT INTO out (a) SELECT auction FROM bid",
            "the INSERT leaves out `b`, which is NOT NULL",
        ),
        ("DROP VIEW v", "DROP is a statement of the shell, not of a script"),
        ("ALTER VIEW v", "expected a statement, got `ALTER`"),
        ("SET 'speed' = '3'", "unknown setting `speed`"),
        ("CREATE FUNCTION f AS 'm:f'", "functions of Python in queries are not supported"),
        ("CREATE VIEW v AS SELECT 'open FROM bid", "this quote is not closed"),
        (
            "CREATE VIEW v AS SELECT b.price FROM bid b JOIN click c WITHIN ON b.auction = c.auction;",
            "expected a duration and ON after WITHIN",
        ),
        (
            "CREATE VIEW v AS SELECT b.price FROM bid b JOIN click c WITHIN 5 apples ON b.auction = c.auction;",
            "expected a duration after WITHIN, got `5 apples`",
        ),
    ],
)
def test_a_statement_that_cannot_become_steps_is_an_error_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(DocumentError) as caught:
        script(text)
    assert problem in str(caught.value)
    assert all(item.where.startswith("shop.sql:") for item in caught.value.problems)


def test_all_errors_are_reported_together_in_their_order() -> None:
    with pytest.raises(DocumentError) as caught:
        script(
            dedent(
                """\
                CREATE VIEW a AS SELECT x FROM bid;
                CREATE VIEW b AS SELECT y FROM click;
                """
            )
        )
    assert [problem.where for problem in caught.value.problems] == ["shop.sql:6:25", "shop.sql:7:25"]


def test_a_single_query_prints_its_rows() -> None:
    assert script("SELECT price FROM bid;").sinks[0].connector.kind == "console"


def test_variables_are_replaced_in_options() -> None:
    text = "CREATE SOURCE x (a INT) WITH (connector = 'memory', name = '${ROOM:-hall}')"
    graph = from_text(text, name="p", environment={})
    assert graph["x"].connector.name == "hall"  # type: ignore[attr-defined]


STATEMENTS = (
    "SELECT auction, window_end, count(*) AS n FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' SECOND, "
    "INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end HAVING count(*) > 1 EMIT CHANGES RETRACTING",
    "SELECT b.price, i.name FROM bid AS b LEFT JOIN item FOR SYSTEM_TIME AS OF b.ts AS i ON b.auction = i.id WHERE b.price > 1",
    "WITH big AS (SELECT * FROM bid WHERE price > 5) SELECT DISTINCT auction FROM big UNION ALL SELECT auction FROM click",
    "SELECT auction, sum(price) OVER (PARTITION BY auction ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND "
    "CURRENT ROW) AS total FROM bid",
    "SELECT price, max(price) FILTER (WHERE price < 9) m FROM bid, click WHERE bid.auction = click.auction GROUP BY 1",
)


@pytest.mark.parametrize("seed", range(5))
def test_a_statement_with_random_mistakes_is_a_plan_or_an_error_of_the_document(seed: int) -> None:
    chance = random.Random(seed)
    words = sorted({word for text in STATEMENTS for word in re.findall(r"\w+|[^\s\w]", text)})
    for _ in range(60):
        parts = re.findall(r"\s+|\w+|[^\s\w]", chance.choice(STATEMENTS))
        for _ in range(chance.randint(0, 3)):
            place = chance.randrange(len(parts))
            parts[place : place + chance.randint(0, 1)] = chance.choice([[], [f" {chance.choice(words)} "]])
        with contextlib.suppress(DocumentError):
            script(f"CREATE VIEW v AS {''.join(parts)}")


def test_a_restricted_service_expands_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    text = "CREATE SOURCE s (a INT) WITH (connector = 'files', path = '${SHOP_PASSWORD}', format = 'json');"
    assert "secret" in str(from_text(text)["s"])
    with (
        restrict(Access()),
        pytest.raises(DocumentError, match="the variable `SHOP_PASSWORD` is not accepted"),
    ):
        from_text(text)


def test_digits_of_a_timestamp_are_left_out() -> None:
    text = "CREATE SOURCE s (a TIMESTAMP(3), b ARRAY<TIMESTAMP (6)>) WITH (connector = 'memory');"
    assert yaml.dump(from_text(text, name="p")).count("a timestamp, b array<timestamp>") == 1
