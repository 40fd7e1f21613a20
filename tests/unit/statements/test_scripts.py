"""SQL scripts build the same plans as documents, and errors have line and column."""

from __future__ import annotations

import contextlib
import random
import re
from textwrap import dedent

import pytest

from headrace import Pipeline, connect, yaml
from headrace.access import Access, restrict
from headrace.errors import DocumentError
from headrace.joins.declare import TableJoin
from headrace.plan.graph import Graph
from headrace.plan.validation import problems_of
from headrace.statements import from_text
from headrace.steps.base import Ref
from headrace.steps.endpoints.source import Source
from headrace.steps.tables.top_n import TopN

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
    "query",
    [
        "VALUES (1, 'a')",
        "SELECT 1 AS a, 'a' AS b",
        "SELECT * FROM (VALUES (1, 'a')) AS v (a, b)",
        "(VALUES (1, 'a'))",
    ],
)
def test_rows_that_a_query_writes_itself_come_from_a_source_with_one_row(query: str) -> None:
    graph = script(f"CREATE SINK out (a INT, b STRING) WITH (connector = 'memory'); INSERT INTO out {query};")
    assert graph.facts(Ref("out_rows")).columns == ("a", "b")
    [source] = [node for node in graph.upstream(graph["out_rows"]) if isinstance(node, Source)]
    assert source.connector == connect.memory(rows=[{"one_row": 1}])
    assert not problems_of(graph)


def test_queries_share_the_source_with_one_row_whose_name_is_free() -> None:
    graph = from_text(
        "CREATE SOURCE one_row (a INT) WITH (connector = 'memory');"
        "CREATE VIEW v AS SELECT 1 AS a; CREATE VIEW w AS SELECT 2 AS a UNION ALL SELECT a FROM one_row;",
        name="p",
    )
    assert [node.name for node in graph.of(Source)] == ["one_row", "one_row_2"]
    with pytest.raises(DocumentError, match="is the name of the row of queries without FROM"):
        from_text(
            "CREATE VIEW v AS SELECT 1 AS a; CREATE SOURCE one_row (a INT) WITH (connector = 'memory');"
        )


def test_a_selected_processing_time_is_one_of_the_rows() -> None:
    graph = script(
        "CREATE VIEW v AS SELECT *, PROCTIME() AS now FROM bid;"
        "CREATE VIEW w AS SELECT b.price, i.name FROM v b JOIN item FOR SYSTEM_TIME AS OF b.now AS i ON b.auction = i.id;"
    )
    assert graph.facts(Ref("v")).columns == ("auction", "price", "ts", "now")
    assert [node.at for node in graph.of(TableJoin)] == ["arrival"]


def test_a_lateral_table_repeats_rows() -> None:
    query = "SELECT auction, w FROM bid, LATERAL TABLE(STRING_SPLIT('a.b', '.')) AS s (w)"
    graph = script(f"CREATE VIEW v AS {query};")
    assert graph.facts(Ref("v")).columns == ("auction", "w")
    assert "lateral view EXPLODE(SPLIT('a.b', " in graph["v:explode"].query  # type: ignore[attr-defined]


@pytest.mark.parametrize(("action", "n"), [("NOTHING", 1), ("ERROR", 2), ("DEDUPLICATE", None)])
def test_on_conflict_keeps_the_first_row_of_a_key_or_fails(action: str, n: int | None) -> None:
    graph = script(
        "CREATE SINK out (a BIGINT, b INT, PRIMARY KEY (a)) WITH (connector = 'memory');"
        f"INSERT INTO out SELECT auction, price FROM bid ON CONFLICT DO {action};"
    )
    assert [node.n for node in graph.of(TopN)] == ([] if n is None else [n])
    assert [name for name in graph.facts(Ref("out_rows")).columns or () if name != "change"] == ["a", "b"]
    assert not problems_of(graph)


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


@pytest.mark.parametrize(
    ("query", "own"),
    [
        (
            "SELECT auction, windowstart AS s, count(*) AS n FROM bid WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 HOUR) "
            "GROUP BY auction EMIT FINAL",
            "SELECT auction, window_start AS s, count(*) AS n FROM bid GROUP BY auction, tumble(ts, INTERVAL '10' SECOND) "
            "EMIT LATENESS INTERVAL '1' HOUR",
        ),
        (
            "SELECT auction, windowend AS e FROM bid WINDOW HOPPING (SIZE 10 SECONDS, RETENTION 7 DAYS, ADVANCE BY 5 SECONDS) "
            "WHERE price > 1 GROUP BY auction HAVING count(*) > 2",
            "SELECT auction, window_end AS e FROM bid WHERE price > 1 "
            "GROUP BY auction, hop(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) HAVING count(*) > 2",
        ),
        (
            "SELECT count(*) AS n FROM bid WINDOW SESSION (1 MINUTE) EMIT CHANGES",
            "SELECT count(*) AS n FROM bid GROUP BY session(ts, INTERVAL '1' MINUTE) EMIT CHANGES",
        ),
        ("SELECT auction FROM bid EMIT CHANGES LIMIT 5", "SELECT auction FROM bid LIMIT 5"),
        (
            "SELECT auction FROM bid TIMESTAMP BY ts WHERE price > 1",
            "SELECT auction FROM bid WHERE price > 1",
        ),
        (
            "SELECT auction, latest_by_offset(price) AS l, earliest_by_offset(price) AS e, topk(price, 2) AS t, "
            "topkdistinct(price, 2) AS d, count_distinct(price) AS n FROM bid GROUP BY auction",
            "SELECT auction, last(price) IGNORE NULLS AS l, first(price) IGNORE NULLS AS e, "
            "slice(sort_array(collect_list(price), false), 1, 2) AS t, "
            "slice(sort_array(collect_set(price), false), 1, 2) AS d, count(DISTINCT price) AS n FROM bid GROUP BY auction",
        ),
        (
            "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY price) AS p, percentile_cont(0.9) WITHIN GROUP "
            "(ORDER BY price DESC) AS q FROM bid",
            "SELECT percentile(price, 0.9) AS p, percentile(price, 1 - 0.9) AS q FROM bid",
        ),
    ],
)
def test_clauses_and_functions_of_other_systems_are_steps(query: str, own: str) -> None:
    assert script(f"CREATE VIEW v AS {query};") == script(f"CREATE VIEW v AS {own};")


@pytest.mark.parametrize(
    ("query", "problem", "hint"),
    [
        (
            "SELECT * FROM bid TIMESTAMP BY price",
            "6:49: `price` is not the event time of a stream",
            "WATERMARK FOR price AS price",
        ),
        (
            "SELECT auction FROM bid WINDOW HOPPING (SIZE 5 SECONDS) GROUP BY auction",
            "expected SIZE and ADVANCE of the window",
            "HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS)",
        ),
        (
            "SELECT auction FROM bid WINDOW TUMBLING (SIZE five) GROUP BY auction",
            "expected a length of the window, got `five`",
            "WINDOW TUMBLING (SIZE 10 SECONDS)",
        ),
        (
            "SELECT auction FROM bid WINDOW TUMBLING (SIZE 5 SECONDS; GROUP BY auction",
            "expected , or ) after a length of the window",
            "WINDOW TUMBLING (SIZE 10 SECONDS)",
        ),
        (
            "SELECT * FROM (SELECT auction FROM bid WINDOW TUMBLING (SIZE 5 SECONDS) GROUP BY auction)",
            "6:57: WINDOW of ksqlDB in a subquery is not supported",
            "write FROM TUMBLE(TABLE x",
        ),
        (
            "SELECT * FROM bid PARTITION BY auction",
            "6:36: PARTITION BY of a whole stream is not supported",
            "leave it out",
        ),
        (
            "SELECT lag(price) OVER (PARTITION BY auction LIMIT DURATION(hour, 1)) AS p FROM bid",
            "6:63: LIMIT DURATION of Azure Stream Analytics is not supported",
            "write OVER (PARTITION BY k ORDER BY ts)",
        ),
        (
            "SELECT auction FROM bid GROUP BY auction, SlidingWindow(second, 10)",
            "the function `SlidingWindow` of Azure Stream Analytics is not supported",
            "RANGE BETWEEN INTERVAL '10' SECOND PRECEDING",
        ),
        (
            "SELECT TopOne() OVER (ORDER BY price DESC) AS best FROM bid GROUP BY TumblingWindow(second, 10)",
            "the function `TopOne` of Azure Stream Analytics is not supported",
            "ROW_NUMBER() OVER (PARTITION BY window_start, window_end",
        ),
        (
            "SELECT auction FROM bid EXCEPT ALL SELECT auction FROM click",
            "EXCEPT ALL is not supported",
            "EXCEPT, which has each row once",
        ),
        (
            "SELECT auction FROM bid INTERSECT SELECT auction, price FROM bid",
            "need known columns, and as many on both sides",
            "name the columns",
        ),
        (
            "SELECT auction FROM bid GROUP BY auction, HoppingWindow(second, 5)",
            "expected a unit, a size and a hop",
            "HoppingWindow(second, 10, 5)",
        ),
        (
            "SELECT sum(price) OVER (PARTITION BY auction ORDER BY ts ROWS BETWEEN AND CURRENT ROW) AS s FROM bid",
            "expected a number of rows, got nothing",
            "such as ROWS 2 PRECEDING",
        ),
    ],
)
def test_what_other_systems_have_and_streams_have_not_is_refused_with_a_rewrite(
    query: str, problem: str, hint: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        script(f"CREATE VIEW v AS {query}")
    assert problem in str(caught.value)
    assert hint in str(caught.value).partition("hint: ")[2]


@pytest.mark.parametrize(
    ("statement", "problem", "hint"),
    [
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic = 't', value_format = 'json')",
            "`s` has no connector",
            "topic",
        ),
        ("CREATE TABLE t (a INT) WITH (connector = 'memory')", "the table `t` has no key", "CREATE SOURCE"),
        (
            "CREATE TABLE t (a INT) WITH (connector = 'memory', changelog = 'maybe')",
            "expected true, retract, false, got 'maybe'",
            "'retract' if each change names the row that it removes",
        ),
        (
            "CREATE SOURCE s (a TIMESTAMP, WATERMARK FOR a AS a - + OVER) WITH (connector = 'memory')",
            "expected the column, or the column minus an interval",
            "WATERMARK FOR a AS a",
        ),
    ],
)
def test_declarations_that_are_refused_have_a_rewrite(statement: str, problem: str, hint: str) -> None:
    with pytest.raises(DocumentError) as caught:
        script(statement)
    assert problem in str(caught.value)
    assert hint in str(caught.value).partition("hint: ")[2]


def test_query_that_sqlglot_fails_on_has_its_place() -> None:
    with pytest.raises(DocumentError, match=r"shop.sql:6:18: SQL syntax error: a function has too few"):
        script("CREATE VIEW v AS SELECT map(price) AS m FROM bid")


def test_settings_of_a_script_are_the_options_of_its_runs() -> None:
    text = f"SET 'every' = '5 seconds'; SET 'checkpoint' = 'state/'; {SOURCES} SELECT price FROM bid;"
    declared = Pipeline.from_sql_text(text, name="shop")._declared_run
    assert declared is not None
    assert (declared.options.every, declared.options.checkpoint) == ("5 seconds", "state/")
    with pytest.raises(DocumentError, match=r"shop.sql:1:15: .*soon"):
        from_text("SET 'every' = 'soon'", file="shop.sql")


def test_changes_that_retract_are_applied_as_they_are() -> None:
    table = "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a)) WITH (connector = 'memory', changelog = '{}');"
    assert "t:latest" in script(table.format("true")).nodes
    assert "t:latest" not in script(table.format("retract")).nodes


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
        (
            "CREATE SINK out (a INT) WITH (connector = 'memory'); INSERT INTO out SELECT 1 AS a ON CONFLICT DO NOTHING",
            "the sink `out` has no key that rows can share",
        ),
        (
            "INSERT INTO out SELECT auction, price FROM bid ON CONFLICT DO UPDATE",
            "expected one of DEDUPLICATE",
        ),
        ("DROP VIEW v", "DROP is a statement of the shell, not of a script"),
        ("ALTER VIEW v", "expected a statement, got `ALTER`"),
        ("SET 'speed' = '3'", "unknown setting `speed`"),
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


@pytest.mark.parametrize(
    "options", ["settings = 'a', settings.acks = 'b'", "settings.acks = 'b', settings = 'a'"]
)
def test_an_option_that_is_a_text_and_a_group_is_refused(options: str) -> None:
    text = f"CREATE SOURCE x (a INT) WITH (connector = 'kafka', {options}); SELECT a FROM x;"
    with pytest.raises(DocumentError, match="`settings` is given as a text and as a group of options"):
        from_text(text, name="p")


STATEMENTS = (
    "SELECT auction, window_end, count(*) AS n FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' SECOND, "
    "INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end HAVING count(*) > 1 EMIT CHANGES RETRACTING",
    "SELECT b.price, i.name FROM bid AS b LEFT JOIN item FOR SYSTEM_TIME AS OF b.ts AS i ON b.auction = i.id WHERE b.price > 1",
    "WITH big AS (SELECT * FROM bid WHERE price > 5) SELECT DISTINCT auction FROM big UNION ALL SELECT auction FROM click",
    "SELECT auction, sum(price) OVER (PARTITION BY auction ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND "
    "CURRENT ROW) AS total FROM bid",
    "SELECT price, max(price) FILTER (WHERE price < 9) m FROM bid, click WHERE bid.auction = click.auction GROUP BY 1",
)


ADVERSE = (
    "'", '"', "`", "--", "/*", ";", "\0", "${", "🦆", "((((", "))", "1e999", "INTERVAL '-5' SECOND", "INTERVAL", "NULL", "..", "[0]",
    "GROUPING SETS", "CUBE(", "EXISTS (SELECT 1)", "QUALIFY 1", "WITH RECURSIVE", "OVER ()", "OVER w", "UNNEST(x)", "EMIT EARLY EVERY",
    "DESCRIPTOR(", "MATCH_RECOGNIZE (", "(VALUES (1))", "USING (id)", "NATURAL JOIN", "OFFSET 2", "GROUP BY ALL", "TIMESTAMP BY",
    "WINDOW TUMBLING (", "PARTITION BY", "WITHIN", "x -> x + 1", "CASE WHEN", "FILTER (WHERE", "WITHIN GROUP (ORDER BY", "IGNORE NULLS",
    "ROWS BETWEEN AND CURRENT ROW", "HoppingWindow(second, 5)", "TumblingWindow()", "latest_by_offset()", "INTO", "(TABLE bid)",
)  # fmt: skip
"""Words that end, open or continue something in the wrong place."""


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(n, marks=pytest.mark.proof) for n in range(5, 100))]
)
def test_a_statement_with_random_mistakes_is_a_plan_or_an_error_of_the_document(seed: int) -> None:
    chance = random.Random(seed)
    words = sorted({word for text in STATEMENTS for word in re.findall(r"\w+|[^\s\w]", text)})
    for _ in range(60):
        parts = re.findall(r"\s+|\w+|[^\s\w]", chance.choice(STATEMENTS))
        for _ in range(chance.randint(0, 3)):
            place = chance.randrange(len(parts))
            word = chance.choice(ADVERSE if chance.random() < 0.3 else words)
            parts[place : place + chance.randint(0, 1)] = chance.choice([[], [f" {word} "]])
        with contextlib.suppress(DocumentError):
            script(f"CREATE VIEW v AS {''.join(parts)}")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE SOURCE s (a TIMESTAMP, WATERMARK FOR a AS a - INTERVAL '4' FOR SECOND) WITH (connector = 'memory')",
        "CREATE SOURCE s (a TIMESTAMP, WATERMARK FOR a AS /* */) WITH (connector = 'memory')",
        "CREATE VIEW v AS where select * from bid match_recognize (partition by auction order by ts measures a.price as p "
        "pattern (a b+) define b as b.price > a.price)",
        "CREATE VIEW v AS SELECT auction FROM bid GROUP BY auction, TumblingWindow()",
    ],
)
def test_mistakes_of_fuzzed_statements_are_errors_of_the_document(statement: str) -> None:
    with pytest.raises(DocumentError) as caught:
        script(statement)
    assert all(re.fullmatch(r"shop\.sql:\d+:\d+", problem.where) for problem in caught.value.problems)


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
