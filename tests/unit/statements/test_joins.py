"""Joins and subqueries of SQL give the live joins that the same steps in YAML give."""

from __future__ import annotations

import pytest

from headrace import yaml
from headrace.errors import DocumentError
from headrace.plan.graph import Graph
from headrace.plan.validation import problems_of
from headrace.statements.load import from_text
from headrace.steps.base import Ref

SOURCES = """
CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE SOURCE click (auction BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE TABLE item (id BIGINT, name STRING, PRIMARY KEY (id)) WITH (connector = 'memory');
CREATE SOURCE part (detail STRUCT<id: BIGINT, kind: STRUCT<code: STRING>>) WITH (connector = 'memory');
"""
DOCUMENT = """
name: shop
sources:
  bid: {memory: {}, schema: "auction bigint, price int, ts timestamp", event_time: {column: ts, out_of_order: 0 seconds}}
  click: {memory: {}, schema: "auction bigint, at timestamp", event_time: {column: at, out_of_order: 0 seconds}}
  item: {memory: {}, schema: "id bigint, name string"}
  part: {memory: {}, schema: "detail struct<id: bigint, kind: struct<code: string>>"}
steps:
  "item:latest": {from: item, key_by: [id], latest: {}}
"""
BID = "auction: left.auction, price: left.price, ts: left.ts"
BOTH = f"{BID}, c_auction: right.auction, at: right.at"
NAMED = f"{BID}, id: right.id, name: right.name"


def view(query: str) -> Graph:
    return from_text(SOURCES + f"CREATE VIEW v AS {query};", file="shop.sql", name="shop")


@pytest.mark.parametrize(
    ("query", "steps"),
    [
        pytest.param(
            "SELECT b.price, c.at FROM bid b JOIN click c ON b.auction = c.auction AND c.at >= b.ts WHERE b.price > 1",
            f"""
  "v:join": {{from: "v:where", join: {{with: click, on: auction, at: live, where: (right.at >= left.ts), select: {{{BOTH}}}}}}}
  "v:where": {{from: bid, where: price > 1}}
  v: {{from: "v:join", select: {{price: price, at: at, change: change}}}}""",
            id="streams-without-both-bounds-and-a-filter-before",
        ),
        pytest.param(
            "SELECT b.price, i.name FROM bid b LEFT JOIN item i ON b.auction = i.id AND i.name <> 'x' AND b.price > 3",
            f"""
  "v:where": {{from: "item:latest", where: name <> 'x'}}
  "v:join":
    from: bid
    join: {{with: "v:where", on: {{auction: id}}, how: left, at: live, where: (left.price > 3), select: {{{NAMED}}}}}
  v: {{from: "v:join", select: {{price: price, name: name, change: change}}}}""",
            id="left-with-conditions-of-one-side",
        ),
        pytest.param(
            "SELECT b.price FROM bid b FULL JOIN item i ON b.auction = i.id AND i.name <> 'x' WHERE b.price > 3",
            f"""
  "v:join":
    from: bid
    join: {{with: "item:latest", on: {{auction: id}}, how: full, at: live, where: (right.name <> 'x'), select: {{{NAMED}}}}}
  v: {{from: "v:join", where: price > 3, select: {{price: price, change: change}}}}""",
            id="full-filters-nothing-before",
        ),
        pytest.param(
            "SELECT b.price, c.at FROM bid b, item i, click c WHERE b.auction = i.id AND i.id = c.auction AND b.price > i.id",
            f"""
  "v:join":
    from: bid
    join: {{with: "item:latest", on: {{auction: id}}, at: live, where: (left.price > right.id), select: {{{NAMED}}}}}
  "v:join:2":
    from: "v:join"
    join:
      with: click
      on: {{id: auction}}
      at: live
      select: {{{BID}, id: left.id, name: left.name, c_auction: right.auction, at: right.at}}
  v: {{from: "v:join:2", select: {{price: price, at: at, change: change}}}}""",
            id="commas-in-a-chain",
        ),
        pytest.param(
            "SELECT auction, at FROM bid FULL JOIN click USING (auction)",
            f"""
  "v:join":
    from: bid
    join:
      with: click
      on: auction
      how: full
      at: live
      select: {{{BID}, click_auction: right.auction, at: right.at}}
  v: {{from: "v:join", select: {{auction: "coalesce(auction, click_auction)", at: at, change: change}}}}""",
            id="using",
        ),
        pytest.param(
            "SELECT b.price FROM bid b CROSS JOIN item i",
            f"""
  "v:join": {{from: bid, join: {{with: "item:latest", at: live, select: {{{NAMED}}}}}}}
  v: {{from: "v:join", select: {{price: price, change: change}}}}""",
            id="cross",
        ),
        pytest.param(
            "SELECT price FROM bid WHERE auction IN (SELECT auction FROM click WHERE at > ts) AND price > 4",
            """
  "v:subquery": {from: click, select: {subquery1_value1: auction, subquery1_column2: at}}
  "v:where": {from: bid, where: price > 4}
  "v:join":
    from: "v:where"
    join:
      with: "v:subquery"
      on: {auction: subquery1_value1}
      how: semi
      at: live
      where: (right.subquery1_column2 > left.ts)
  v: {from: "v:join", select: {price: price, change: change}}""",
            id="in-correlated",
        ),
        pytest.param(
            "SELECT price FROM bid WHERE auction NOT IN (SELECT id FROM item)",
            """
  "v:subquery": {from: "item:latest", select: {subquery1_value1: id, change: change}}
  "v:join":
    from: bid
    join:
      with: "v:subquery"
      how: anti
      at: live
      where: (COALESCE(left.auction = right.subquery1_value1, TRUE))
  v: {from: "v:join", select: {price: price, change: change}}""",
            id="not-in-excludes-nulls",
        ),
        pytest.param(
            "SELECT price FROM bid b WHERE NOT EXISTS (SELECT * FROM click c WHERE c.auction = b.auction)",
            """
  "v:subquery": {from: click, select: {subquery1_key1: auction}}
  "v:join": {from: bid, join: {with: "v:subquery", on: {auction: subquery1_key1}, how: anti, at: live}}
  v: {from: "v:join", select: {price: price, change: change}}""",
            id="not-exists",
        ),
        pytest.param(
            "SELECT p.detail.kind.code FROM part p WHERE EXISTS (SELECT 1 FROM item i WHERE i.id = p.detail.id)",
            """
  "v:subquery": {from: "item:latest", select: {subquery1_key1: id, change: change}}
  "v:with_columns": {from: part, with_columns: {join_key1: detail.id}}
  "v:join":
    from: "v:with_columns"
    join: {with: "v:subquery", on: {join_key1: subquery1_key1}, how: semi, at: live}
  v: {from: "v:join", select: {code: detail.kind.code, change: change}}""",
            id="fields-of-structs",
        ),
    ],
)
def test_a_join_and_its_steps_are_the_same_plan(query: str, steps: str) -> None:
    graph = view(query)
    expected = yaml.from_text(DOCUMENT + steps.lstrip("\n"))
    assert yaml.dump(graph) == yaml.dump(expected)
    assert problems_of(graph) == []


ARRAYS = """
CREATE SOURCE s (k INT, a ARRAY<STRUCT<x STRING NOT NULL, y INT>>, m MAP<STRING, INT>, n ARRAY<INT>, d STRUCT<i: ARRAY<STRUCT<q: INT>>>)
  WITH (connector = 'memory');
"""


@pytest.mark.parametrize(
    ("query", "view"),
    [
        ("SELECT k, x, y FROM s CROSS JOIN UNNEST(a) AS t(x, y)", "lateral view inline(a) t as x, y"),
        ("SELECT k, q FROM s, UNNEST(s.d.i)", "lateral view inline(d.i) t_rows as q"),
        ("SELECT k, b, v FROM s, UNNEST(m) AS t(b, v)", "lateral view explode(m) t as b, v"),
        ("SELECT k, x FROM s LEFT JOIN UNNEST(n) AS t(x) ON TRUE", "lateral view outer explode(n) t as x"),
        ("SELECT x, i FROM s, UNNEST(n) WITH ORDINALITY AS t(x, i)", "lateral view posexplode(n) t as i, x"),
        (
            "SELECT y, i FROM s, UNNEST(a) WITH ORDINALITY AS t(x, y, i)",
            "posexplode(a) t as i, unnested_item",
        ),
    ],
)
def test_unnest_has_a_column_for_each_field_of_an_item(query: str, view: str) -> None:
    graph = from_text(f"{ARRAYS}CREATE VIEW v AS {query};", name="shop")
    assert view in yaml.dump(graph)
    assert problems_of(graph) == []


def test_both_bounds_of_event_times_are_an_interval_join_and_those_of_a_table_are_not() -> None:
    bounds = "BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE"
    streams = view(f"SELECT b.price FROM bid b JOIN click c ON b.auction = c.auction AND c.at {bounds}")
    assert type(streams["v:join"]).__name__ == "IntervalJoin"
    current = "(SELECT auction, max(at) AS at FROM click GROUP BY auction)"
    query = f"SELECT b.price FROM bid b JOIN {current} c ON b.auction = c.auction AND c.at {bounds}"
    assert type(view(query)["v:join"]).__name__ == "TableJoin"


def test_a_left_lookup_has_a_condition_and_no_key_without_a_row() -> None:
    graph = from_text(
        """
        CREATE SOURCE orders (id INT, customer INT, total INT, at AS PROCTIME()) WITH (connector = 'memory');
        CREATE TABLE customers (code INT, name STRING, PRIMARY KEY (code)) WITH (connector = 'sqlite', path = 'c.db', table = 'c');
        CREATE VIEW v AS SELECT o.id, c.code, c.name FROM orders o
          LEFT JOIN customers FOR SYSTEM_TIME AS OF o.at AS c ON o.customer = c.code AND c.name <> 'x' AND o.total > 5;
        """,
        name="shop",
    )
    text = yaml.dump(graph)
    assert not any("customers" in name for name in graph.nodes)
    assert "where: (right.name <> 'x') and (left.total > 5)" in text
    assert "select: {id: id, code: 'if(name is not null, code, null)', name: name}" in text
    assert problems_of(graph) == []


def test_columns_of_one_name_get_those_of_the_sink() -> None:
    graph = from_text(
        SOURCES
        + """
        CREATE SINK out (a BIGINT, b BIGINT) WITH (connector = 'memory');
        INSERT INTO out SELECT b.auction, c.auction FROM bid b JOIN click c ON b.auction = c.auction;
        """,
        file="shop.sql",
    )
    assert graph.facts(Ref("out_rows")).columns == ("a", "b", "change")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (
            "SELECT b.price FROM bid b JOIN click c ON b.auction = (SELECT max(id) FROM item)",
            "shop.sql:6:60: a subquery in ON is not supported",
        ),
        (
            "SELECT price FROM bid WHERE price > (SELECT price FROM bid)",
            "shop.sql:6:62: a scalar subquery can have several rows",
        ),
        (
            "SELECT price FROM bid WHERE price > (SELECT max(price), 1 FROM bid)",
            "a scalar subquery selects one column",
        ),
        (
            "SELECT price FROM bid b WHERE price > (SELECT count(*) FROM click c WHERE c.at > b.ts)",
            "a scalar subquery is correlated by equal columns only",
        ),
        (
            "SELECT price FROM bid WHERE (auction, price) IN (SELECT id FROM item)",
            "IN compares 2 values with 1 columns",
        ),
        ("SELECT price FROM bid WHERE auction IN (SELECT * FROM item)", "IN compares named columns"),
        (
            "SELECT price FROM bid b WHERE price = 1 OR EXISTS (SELECT 1 FROM click c WHERE c.at > b.ts)",
            "this subquery is correlated by equal columns only",
        ),
        (
            "SELECT price FROM bid WHERE price = 1 OR (auction, price) IN (SELECT id, id FROM item)",
            "IN with several columns is supported with AND in WHERE only",
        ),
        (
            "SELECT auction FROM bid GROUP BY auction HAVING count(*) > (SELECT count(*) FROM click)",
            "a subquery in HAVING is not supported",
        ),
        ("SELECT x FROM bid JOIN UNNEST(array(1)) AS t(x) ON x > 1", "UNNEST has no condition of its own"),
        (
            "SELECT 1 FROM bid b NATURAL JOIN (SELECT at AS x FROM click) c",
            "the sides of NATURAL JOIN share no column",
        ),
    ],
)
def test_a_refused_join_names_the_reason(query: str, problem: str) -> None:
    with pytest.raises(DocumentError) as error:
        view(query)
    assert problem in str(error.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT b.price FROM bid b JOIN click c ON b.auction = c.auction WHERE b.price IN (SELECT auction FROM click)",
        "SELECT price FROM bid b WHERE EXISTS (SELECT * FROM click c JOIN click d ON c.auction = d.auction WHERE c.at = b.ts)",
        "SELECT price, (SELECT count(*) FROM click c, click d WHERE c.auction = d.auction AND c.auction = b.auction) AS n FROM bid b",
    ],
)
def test_subqueries_and_joins_in_one_query(query: str) -> None:
    assert problems_of(from_text(f"{SOURCES}CREATE VIEW v AS {query};", name="shop")) == []


def test_bounds_that_no_times_satisfy_match_nothing() -> None:
    graph = view(
        "SELECT b.price, c.at FROM bid b LEFT JOIN click c ON b.auction = c.auction "
        "AND b.ts BETWEEN c.at + INTERVAL '10' SECOND AND c.at + INTERVAL '5' SECOND"
    )
    [join] = [node for node in graph if node.verb == "join"]
    assert (join.how, join.within, join.where) == ("left", (-10_000_000, -5_000_000), "(FALSE)")  # type: ignore[attr-defined]
