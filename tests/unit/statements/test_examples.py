"""The steps of the examples as views in SQL and in Python are the same plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, connect, windows
from headrace.plan.graph import Graph
from headrace.statements import from_text
from headrace.steps.base import Ref

FILES = "WITH (connector = 'files', path = 'events.jsonl')"
EVENTS = connect.files(path="events.jsonl")


def stocks(p: Pipeline) -> None:
    ticks = p.read("ticks", EVENTS, schema="symbol string, price double, ts timestamp")
    rolling = (
        ticks.event_time("ts", out_of_order="2 seconds")
        .key_by("symbol")
        .window(windows.sliding("10 seconds", every="5 seconds"))
        .aggregate("rolling", low="MIN(price)", high="MAX(price)", mean="AVG(price)")
    )
    rolling.select(symbol="symbol", since="window.start", low="low", high="high", mean="mean")


STOCKS = f"""
CREATE SOURCE ticks (symbol STRING, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) {FILES};
CREATE VIEW rolling AS
  SELECT symbol, window_start AS since, min(price) AS low, max(price) AS high, avg(price) AS mean
  FROM HOP(TABLE ticks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)
  GROUP BY symbol, window_start, window_end;
"""


def ad_attribution(p: Pipeline) -> None:
    schema = "kind string, person string, ad string, ts timestamp"
    events = p.read("events", EVENTS, schema=schema).event_time("ts", out_of_order="30 seconds")
    impressions = events.where("kind = 'impression'", step_name="impressions")
    clicks = events.where("kind = 'click'", step_name="clicks")
    left = {"kind": "left.kind", "person": "left.person", "ad": "left.ad", "ts": "left.ts"}
    right = {"c_kind": "right.kind", "c_person": "right.person", "c_ad": "right.ad", "c_ts": "right.ts"}
    impressions.join(
        "inner",
        clicks,
        on=["person", "ad"],
        within=("0 seconds", "10 minutes"),
        how="left",
        select=left | right,
    ).select(person="person", ad="ad", seen="ts", clicked="c_ts", step_name="attributed")


AD_ATTRIBUTION = f"""
CREATE SOURCE events (kind STRING, person STRING, ad STRING, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '30' SECOND) {FILES};
CREATE VIEW impressions AS SELECT * FROM events WHERE kind = 'impression';
CREATE VIEW clicks AS SELECT * FROM events WHERE kind = 'click';
CREATE VIEW attributed AS
  SELECT i.person, i.ad, i.ts AS seen, c.ts AS clicked
  FROM impressions i LEFT JOIN clicks c
    ON i.person = c.person AND i.ad = c.ad AND c.ts BETWEEN i.ts AND i.ts + INTERVAL '10' MINUTE;
"""


def leader_board(p: Pipeline) -> None:
    schema = "game string, player string, score int, ts timestamp"
    scores = p.read("scores", EVENTS, schema=schema).event_time("ts", out_of_order="30 seconds")
    columns = {name: name for name in ("game", "player", "score", "ts", "change")}
    current = scores.key_by("game", "player").latest("inner").select(**columns, step_name="current")
    current.key_by("game").top_n("inner2", n=3, order_by="score desc, ts").select(
        game="game", place="rank", player="player", score="score", change="change", step_name="leaders"
    )


LEADER_BOARD = f"""
CREATE SOURCE scores (game STRING, player STRING, score INT, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '30' SECOND) {FILES};
CREATE VIEW current AS
  SELECT game, player, score, ts
  FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY game, player ORDER BY ts DESC) AS n FROM scores) WHERE n = 1;
CREATE VIEW leaders AS
  SELECT game, place, player, score
  FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY game ORDER BY score DESC, ts) AS place FROM current)
  WHERE place <= 3;
"""


def page_views(p: Pipeline) -> None:
    views = p.read("views", EVENTS, schema="visitor string, page string, status int")
    views.key_by("page").aggregate("counts", n="COUNT(*)", failed="COUNT_IF(status >= 500)")


PAGE_VIEWS = f"""
CREATE SOURCE views (visitor STRING, page STRING, status INT) {FILES};
CREATE VIEW counts AS SELECT page, count(*) AS n, count_if(status >= 500) AS failed FROM views GROUP BY page;
"""


def ip_traffic(p: Pipeline) -> None:
    packets = p.read("packets", EVENTS, schema="sourceIP string, length int, time timestamp")
    packets.where("length > 512").select(sourceIP="sourceIP", time="time", step_name="large")


IP_TRAFFIC = f"""
CREATE SOURCE packets (sourceIP STRING, length INT, time TIMESTAMP) {FILES};
CREATE VIEW large AS SELECT sourceIP, time FROM packets WHERE length > 512;
"""


def currency_conversion(p: Pipeline) -> None:
    orders = p.read("orders", EVENTS, schema="id int, currency string, amount double, ts timestamp")
    rates = p.read("rates", EVENTS, schema="currency string, rate double, since timestamp")
    table = rates.event_time("since", out_of_order="1 minute").key_by("currency").latest("inner")
    left = {name: f"left.{name}" for name in ("id", "currency", "amount", "ts")}
    right = {"r_currency": "right.currency", "rate": "right.rate", "since": "right.since"}
    orders.event_time("ts", out_of_order="1 minute").join_table(
        "inner2", table, on="currency", at="event_time", how="left", select=left | right
    ).select(id="id", euros="ROUND(amount / rate, 2)", step_name="euros")


CURRENCY_CONVERSION = f"""
CREATE SOURCE orders (id INT, currency STRING, amount DOUBLE, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) {FILES};
CREATE TABLE rates (currency STRING, rate DOUBLE, since TIMESTAMP, PRIMARY KEY (currency),
  WATERMARK FOR since AS since - INTERVAL '1' MINUTE) {FILES};
CREATE VIEW euros AS
  SELECT o.id, round(o.amount / r.rate, 2) AS euros
  FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency;
"""


def card_fraud(p: Pipeline) -> None:
    payments = p.read("payments", EVENTS, schema="card string, amount double, ts timestamp")
    totals = (
        payments.event_time("ts", out_of_order="1 minute")
        .key_by("card")
        .window(windows.tumbling("10 minutes"))
        .aggregate("inner", smallest="MIN(amount)", largest="MAX(amount)")
    )
    totals.where("smallest < 1 AND largest > 500").select(
        card="card", since="window.start", smallest="smallest", largest="largest", step_name="tested"
    )


CARD_FRAUD = f"""
CREATE SOURCE payments (card STRING, amount DOUBLE, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) {FILES};
CREATE VIEW tested AS
  SELECT card, window_start AS since, min(amount) AS smallest, max(amount) AS largest
  FROM payments GROUP BY card, tumble(ts, INTERVAL '10' MINUTE)
  HAVING min(amount) < 1 AND max(amount) > 500;
"""


@pytest.mark.parametrize(
    ("script", "build", "names"),
    [
        (STOCKS, stocks, {}),
        (AD_ATTRIBUTION, ad_attribution, {"inner": "attributed:join"}),
        (LEADER_BOARD, leader_board, {"inner": "current:latest", "inner2": "leaders:top_n"}),
        (PAGE_VIEWS, page_views, {}),
        (IP_TRAFFIC, ip_traffic, {}),
        (CURRENCY_CONVERSION, currency_conversion, {"inner": "rates:latest", "inner2": "euros:join"}),
        (CARD_FRAUD, card_fraud, {"inner": "tested:aggregate"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_view_and_the_same_steps_are_the_same_plan(
    script: str, build: Callable[[Pipeline], None], names: dict[str, str]
) -> None:
    pipeline = Pipeline("example")
    build(pipeline)
    assert from_text(script, name="example") == renamed(pipeline._plan(), names)


def renamed(graph: Graph, names: dict[str, str]) -> Graph:
    """Return the plan with the names that SQL generates for steps that must have one in Python."""

    def rename(value: Any) -> Any:
        if isinstance(value, Ref):
            return Ref(names.get(value.step, value.step), value.output)
        return tuple(map(rename, value)) if isinstance(value, tuple) else value

    nodes = []
    for node in graph:
        values = {field.name: rename(getattr(node, field.name)) for field in dataclasses.fields(node)}
        nodes.append(dataclasses.replace(node, **values | {"name": names.get(node.name, node.name)}))
    return Graph(graph.name, {node.name: node for node in nodes})
