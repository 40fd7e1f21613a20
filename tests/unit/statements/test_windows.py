"""Windows in SQL give the steps that the same windows in YAML give."""

from __future__ import annotations

import pytest
from yaml import safe_load  # type: ignore[import-untyped]

from headrace import yaml
from headrace.errors import DocumentError
from headrace.plan.graph import Graph
from headrace.statements.load import from_text

SOURCES = """
CREATE SOURCE bid (item STRING, price INT, ts TIMESTAMP, now AS PROCTIME(), WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE SOURCE ask (item STRING, cost INT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE VIEW tumbled AS SELECT * FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND);
CREATE VIEW sums AS SELECT item, window_start AS ws, window_end AS we, window_time AS wt, sum(price) AS total
  FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY item, window_start, window_end, window_time;
"""
TUMBLE = "TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
BOUNDS = "window_start: window.start, window_end: window.end"


def steps(query: str) -> dict[str, object]:
    """Return the steps of a view, without those of the other views."""
    document = safe_load(yaml.dump(view(query)))
    return {name: step for name, step in document["steps"].items() if name.split(":")[0] == "v"}


def view(query: str) -> Graph:
    return from_text(SOURCES + f"CREATE VIEW v AS {query};", file="shop.sql", name="shop")


@pytest.mark.parametrize(
    ("function", "window"),
    [
        (
            "TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '-2' SECOND)",
            "tumbling: {size: 10 seconds, offset: 8 seconds}",
        ),
        (
            "TUMBLE(DATA => TABLE bid, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' SECOND)",
            "tumbling: 10 seconds",
        ),
        (
            "HOP(SIZE => INTERVAL '10' SECOND, SLIDE => INTERVAL '5' SECOND, DATA => TABLE bid, TIMECOL => DESCRIPTOR(ts))",
            "sliding: {size: 10 seconds, every: 5 seconds}",
        ),
        (
            "HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND, INTERVAL '7' SECOND)",
            "sliding: {size: 10 seconds, every: 5 seconds, offset: 2 seconds}",
        ),
        (
            "CUMULATE(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND, INTERVAL '1' SECOND)",
            "cumulating: {size: 20 seconds, step: 5 seconds, offset: 1 second}",
        ),
        (
            "CUMULATE(DATA => TABLE bid, TIMECOL => DESCRIPTOR(ts), STEP => INTERVAL '5' SECOND, SIZE => INTERVAL '20' SECOND)",
            "cumulating: {size: 20 seconds, step: 5 seconds}",
        ),
        ("SESSION(TABLE bid PARTITION BY item, DESCRIPTOR(ts), INTERVAL '5' SECOND)", "session: 5 seconds"),
        ("SESSION(TABLE bid PARTITION BY (item), DESCRIPTOR(ts), INTERVAL '5' SECOND)", "session: 5 seconds"),
        (
            "SESSION(DATA => TABLE bid PARTITION BY item, TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '5' SECOND)",
            "session: 5 seconds",
        ),
        ("TUMBLE(TABLE bid PARTITION BY item, DESCRIPTOR(ts), INTERVAL '10' SECOND)", "tumbling: 10 seconds"),
    ],
)
def test_arguments_by_position_and_by_name(function: str, window: str) -> None:
    added = steps(
        f"SELECT item, count(*) AS n FROM TABLE({function}) GROUP BY item, window_start, window_end"
    )
    document = f"{{from: bid, key_by: item, window: {{{window}}}, aggregate: {{n: COUNT(*)}}, select: {{item: item, n: n}}}}"
    assert added == same(document)


def same(document: str, name: str = "v") -> dict[str, object]:
    """Return steps of a document as they are written again."""
    sources = (
        "name: shop\nsources:\n"
        '  bid: {memory: {}, schema: "item string, price int, ts timestamp", event_time: ts}\n'
        '  ask: {memory: {}, schema: "item string, cost int, at timestamp", event_time: at}\n'
    )
    graph = yaml.from_text(f"{sources}steps:\n  {name}: {document}\n", file="shop.yaml")
    return dict(safe_load(yaml.dump(graph))["steps"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(
            f"SELECT item, window_start, window_time FROM {TUMBLE}",
            {
                "v:assign_window": {"from": "bid", "assign_window": {"tumbling": "10 seconds"}},
                "v": {
                    "from": "v:assign_window",
                    "select": {
                        "item": "item",
                        "window_start": "window.start",
                        "window_time": "window.end - interval 1 millisecond",
                    },
                },
            },
            id="rows-with-their-window",
        ),
        pytest.param(
            "SELECT item, count(*) AS n FROM tumbled GROUP BY item, window_start, window_end",
            {
                "v": {
                    "from": "tumbled",
                    "key_by": "item",
                    "window": {"attached": {"start": "window_start", "end": "window_end"}},
                    "aggregate": {"n": "COUNT(*)"},
                    "select": {"item": "item", "n": "n"},
                }
            },
            id="rows-of-a-view-by-the-window-they-carry",
        ),
        pytest.param(
            "SELECT ws, we, max(total) AS best FROM sums GROUP BY ws, we, wt",
            {
                "v": {
                    "from": "sums",
                    "window": {"attached": {"start": "ws", "end": "we"}},
                    "aggregate": {"best": "MAX(total)"},
                    "select": {"ws": "window.start", "we": "window.end", "best": "best"},
                }
            },
            id="aggregates-of-aggregates-with-renamed-bounds",
        ),
        pytest.param(
            "SELECT window_start, sum(total) AS total FROM HOP(TABLE sums, DESCRIPTOR(wt), INTERVAL '10' SECOND, "
            "INTERVAL '30' SECOND) GROUP BY window_start, window_end",
            {
                "v": {
                    "from": "sums",
                    "window": {"sliding": {"size": "30 seconds", "every": "10 seconds"}},
                    "aggregate": {"total": "SUM(total)"},
                    "select": {"window_start": "window.start", "total": "total"},
                }
            },
            id="a-window-over-the-time-of-windows",
        ),
        pytest.param(
            "SELECT item, count(*) AS n FROM SESSION(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' SECOND) "
            "GROUP BY item, window_start, window_end",
            {
                "v:assign_window": {"from": "bid", "assign_window": {"session": "5 seconds"}},
                "v": {
                    "from": "v:assign_window",
                    "key_by": "item",
                    "window": {"attached": {}},
                    "aggregate": {"n": "COUNT(*)"},
                    "select": {"item": "item", "n": "n"},
                },
            },
            id="sessions-of-all-rows-with-other-keys",
        ),
        pytest.param(
            f"SELECT item, count(*) AS n FROM {TUMBLE} WHERE price > 3 AND window_end > ts GROUP BY item, window_start, window_end",
            {
                "v:assign_window": {"from": "bid", "assign_window": {"tumbling": "10 seconds"}},
                "v": {
                    "from": "v:assign_window",
                    "where": "(price > 3) and (window.end > ts)",
                    "key_by": "item",
                    "window": {"attached": {}},
                    "aggregate": {"n": "COUNT(*)"},
                    "select": {"item": "item", "n": "n"},
                },
            },
            id="a-filter-by-the-window-of-a-row",
        ),
        pytest.param(
            "SELECT item, price, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, item "
            "ORDER BY price DESC) AS rn FROM tumbled) WHERE rn <= 2",
            {
                "v:top_n": {
                    "from": "tumbled",
                    "where": "true",
                    "key_by": "item",
                    "window": {"attached": {"start": "window_start", "end": "window_end"}},
                    "top_n": {"n": 2, "order_by": "price desc"},
                },
                "v": {"from": "v:top_n", "select": {"item": "item", "price": "price", "rn": "rank"}},
            },
            id="the-first-rows-of-a-window",
        ),
    ],
)
def test_windows_that_rows_carry(query: str, expected: dict[str, object]) -> None:
    assert steps(query) == expected


def test_joins_compare_the_windows_of_both_sides() -> None:
    added = steps(
        "SELECT s.item, s.total, a.cost FROM sums s LEFT JOIN (SELECT *, window_start AS start_of FROM TABLE(TUMBLE(TABLE ask, "
        "DESCRIPTOR(at), INTERVAL '10' SECOND))) a ON s.item = a.item AND s.ws = a.start_of AND s.we = a.window_end AND a.cost > s.total"
    )
    join = added["v:join"]
    assert isinstance(join, dict)
    assert join["window"] == {"attached": {"start": "join_start", "end": "join_end"}}
    assert join["with_columns"] == {"join_start": "ws", "join_end": "we"}
    assert {key: join["join"][key] for key in ("with", "how", "where")} == {
        "with": "v:with_columns:2",
        "how": "left",
        "where": "(right.cost > left.total)",
    }
    assert added["v:with_columns:2"]["with_columns"] == {"join_start": "start_of", "join_end": "window_end"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("condition", "how"),
    [
        (
            "EXISTS (SELECT * FROM {ask} a WHERE a.item = t.item AND a.window_start = t.window_start AND a.window_end = t.window_end)",
            "semi",
        ),
        (
            "NOT EXISTS (SELECT * FROM {ask} a WHERE a.window_start = t.window_start AND a.window_end = t.window_end)",
            "anti",
        ),
        (
            "t.item IN (SELECT item FROM {ask} a WHERE a.window_start = t.window_start AND a.window_end = t.window_end)",
            "semi",
        ),
    ],
)
def test_subqueries_of_the_same_window_are_window_joins(condition: str, how: str) -> None:
    ask = "TABLE(TUMBLE(TABLE ask, DESCRIPTOR(at), INTERVAL '10' SECOND))"
    added = steps(f"SELECT item FROM tumbled t WHERE {condition.format(ask=ask)}")
    join = next(step for name, step in added.items() if name == "v:join")
    assert isinstance(join, dict)
    assert join["join"]["how"] == how
    assert "attached" in join["window"]


def test_processing_time_in_a_window_function() -> None:
    graph = view(
        "SELECT count(*) AS n FROM CUMULATE(TABLE bid, DESCRIPTOR(now), INTERVAL '5' SECOND, INTERVAL '10' SECOND) "
        "GROUP BY window_start, window_end"
    )
    assert graph.facts(graph["v"].inputs[0]).by_clock


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (
            "SELECT * FROM TUMBLE(TABLE bid, upper(ts), INTERVAL '10' SECOND)",
            "expected DESCRIPTOR(column) in TUMBLE",
        ),
        (
            "SELECT * FROM TUMBLE(TABLE bid, DESCRIPTOR(price), INTERVAL '10' SECOND)",
            "`price` is not the event time",
        ),
        ("SELECT * FROM TUMBLE(TABLE bid, DESCRIPTOR(ts))", "expected 1 durations in TUMBLE, got 0"),
        (
            "SELECT * FROM TUMBLE(DATA => TABLE bid, TIMECOL => DESCRIPTOR(ts), STEP => INTERVAL '1' SECOND)",
            "unknown argument `STEP` of TUMBLE",
        ),
        (
            "SELECT * FROM CUMULATE(TABLE bid, DESCRIPTOR(ts), INTERVAL '3' SECOND, INTERVAL '10' SECOND)",
            "expected a size that is a multiple of `step`, got 10 seconds and 3 seconds",
        ),
        (
            "SELECT * FROM SESSION(TABLE bid, DESCRIPTOR(ts), INTERVAL '3' SECOND, INTERVAL '1' SECOND)",
            "sessions have no offset",
        ),
        (
            f"SELECT count(*) AS n FROM {TUMBLE} GROUP BY CUBE (window_start, window_end)",
            "the window of the stream is not in GROUP BY",
        ),
        (
            f"SELECT grouping(price) AS g FROM {TUMBLE} GROUP BY window_start, window_end, CUBE (item)",
            "`price` is not in GROUP BY",
        ),
        (f"SELECT count(*) AS n FROM {TUMBLE} GROUP BY item", "the window of the stream is not in GROUP BY"),
    ],
)
def test_wrong_windows_are_refused_with_their_place(query: str, problem: str) -> None:
    with pytest.raises(DocumentError) as error:
        view(query)
    assert problem in str(error.value)
    assert "shop.sql:7:" in str(error.value)
