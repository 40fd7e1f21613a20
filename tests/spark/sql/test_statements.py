"""Statements that a `sql` step runs give the rows of Spark's batch SQL over all rows that are not late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.sql_statements import LATE_ORDER, SCHEMAS, Shop, batches, statements

from headrace import connect
from headrace.connectors.base import WriteMode
from headrace.steps.base import Ref
from headrace.testing.transcripts.results.contents import remaining_rows

KEYS = {"F44": "customer", "T3": "customer", "T5": "customer"}
"""The keys of sinks for changed rows."""
ONE_ROW = ("T9", "T13")
"""Statements with one row, which is written again when it changes."""
ANY_ROW = ("T7",)
"""Statements that may have any of the rows."""
EARLY = ("K2", "K3")
"""Windows that are emitted with every row, each time without their start."""
WITHOUT_LATE_ROWS = {
    *(f"F{number}" for number in (1, 2, *range(4, 13), 21, 37, 43)),
    *("F13", "F14", "K2", "K3", "K4", "K5", "A1", "A2", "A4", "A7"),
    *(f"T{number}" for number in range(7, 13)),
}
"""Statements by event time, which do not count late rows. (A row that comes too late for one of the windows of F3 is in the later ones.)"""
MATCHES = [("a", 1, 3), ("a", 4, 7), ("b", 2, 5), ("c", 6, 9)]
"""The rows of F27, which Spark cannot run."""
_TUMBLE = "select customer, {} from orders group by customer, window(ts, '10 seconds')"
_HOP = "select customer, {} from orders group by customer, window(ts, '10 seconds', '5 seconds')"
_SESSION = "select customer, {} from orders group by customer, session_window(ts, '5 seconds')"
_STEPS = "filter(transform(sequence(1, 4), i -> timestampadd(SECOND, 5 * i, w.start)), e -> e > ts)"
_WATERMARK = "timestamp '2026-01-01 10:00:11'"  # when the late order comes
_WINDOWED = "select *, w.start as s, w.end as e, w.end - interval 1 millisecond as t, row_number() over (partition by w order by amount desc) as rn"
BATCH = {
    "F1": _TUMBLE.format("window.start as s, window.end as e, sum(amount) as total"),
    "F2": _HOP.format("window.start as s, count(*) as n"),
    "F3": f"select customer, e, count(*) as n from (select id, customer, explode({_STEPS}) as e from "
    f"(select *, window(ts, '20 seconds') as w from orders)) where id <> {LATE_ORDER} or e > {_WATERMARK} group by customer, e",
    "F4": _SESSION.format("session_window.start as s, count(*) as n"),
    "F5": _TUMBLE.format("window.start as s, count(*) as n"),
    "F6": _HOP.format("count(*) as n"),
    "F7": _SESSION.format("session_window.start as s, count(*) as n"),
    "F21": f"select * except (w) from ({_WINDOWED} from (select *, window(ts, '10 seconds') as w from orders)) where rn <= 2",
    "F42": "select id, tag from orders lateral view explode(split(tags, ',')) x as tag",
    "K2": _TUMBLE.format("count(*) as n"),
    "K3": _HOP.format("count(*) as n"),
    "K4": _SESSION.format("count(*) as n"),
    "K5": "select o.id, s.id as sid from orders o join shipments s on o.id = s.order_id "
    "and s.at between o.ts - interval 10 seconds and o.ts + interval 10 seconds",
    "K7": "select customer, max_by(amount, id) as last from orders group by customer",
    "K9": "select customer, slice(sort_array(collect_list(amount), false), 1, 2) as top from orders group by customer",
    "K10": "select id from orders where id <= 5",
    "A1": _TUMBLE.format("count(*) as n"),
    "A2": _HOP.format("count(*) as n"),
    "A4": _SESSION.format("count(*) as n"),
    "A6": "select id from orders",
    "A7": "select o.id, s.id as sid from orders o join shipments s on o.id = s.order_id "
    "and s.at between o.ts and o.ts + interval 10 seconds",
    "F39": "select id from orders where id <= 2",
}
"""The statements that Spark has no form for, as batch SQL; their results are those that the systems document."""

Rows = list[tuple[Any, ...]]
OFTEN = [
    *("F8", "F9", "F13", "F14", "F15", "F24", "F27", "F40", "F41", "F44", "T3", "T5", "T9", "T11", "T13"),
    *("F1", "F20", "F35", "A7", "T2", "T10", "T14"),
]
"""The statements that Spark runs as one step, and some that become other steps."""
RARELY = [each.name for each in statements() if not each.refused and each.name not in OFTEN]


def run_statements(
    names: list[str], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Rows]:
    """Return the rows of each statement after three micro-batches."""
    shop, sinks = Shop(), {}
    for statement in statements():
        if statement.name in names:
            key = KEYS.get(statement.name, ())
            sinks[statement.name] = connect.memory(key=key)
            query = shop.pipeline.sql(statement.name, statement.sql)
            query.write(f"{statement.name}_out", sinks[statement.name], mode=_mode(shop, statement.name))
    directory = tmp_path_factory.mktemp("statements")
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")  # a query commits a state store for each
    try:
        for batch in range(3):
            shop.add(batch)
            shop.pipeline.run(
                until="caught_up" if batch < 2 else "drained", progress=False, checkpoint=directory
            )
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    return {
        name: [_values(row) for row in remaining_rows(sink.contents(), ())] for name, sink in sinks.items()
    }


@pytest.fixture(scope="module")
def streamed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """The rows of the statements of each run."""
    return run_statements(OFTEN, spark, tmp_path_factory)


@pytest.fixture(scope="module")
def streamed_rarely(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """The rows of the other statements."""
    return run_statements(RARELY, spark, tmp_path_factory)


def _mode(shop: Shop, step: str) -> WriteMode | None:
    """Return the mode that writes every change of a running aggregate."""
    is_table = shop.pipeline._graph.facts(Ref(step)).change == "table"
    return "changes" if is_table and step not in KEYS else None


def _values(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(
        tuple(value) if isinstance(value, list) else value for name, value in row.items() if name != "change"
    )


def _tables(spark: SparkSession, *, late: bool) -> None:
    """Create the streams and the results of steps as temporary views of a batch."""
    for table, schema in SCHEMAS.items():
        rows = [row for batch in batches(table) for row in batch]
        if not late and table == "orders":
            rows = [row for row in rows if row["id"] != LATE_ORDER]
        spark.read.json(
            spark.sparkContext.parallelize(map(str, rows)), schema=schema
        ).createOrReplaceTempView(table)
    views = {
        "orders_src": "select * from orders",
        "totals": "select customer, sum(amount) as total from orders group by customer",
        "counts": "select customer, count(*) as n from orders group by customer, window(ts, '5 seconds')",
        "current": "select customer, max_by(rate, since) as rate, max(since) as since from rates group by customer",
        "rated": "select customer, count(*) as n from rates group by customer, window(since, '5 seconds')",
    }
    for name, query in views.items():
        spark.sql(query).createOrReplaceTempView(name)


@pytest.mark.parametrize("name", OFTEN)
def test_a_statement_gives_the_rows_of_a_batch(
    name: str, streamed: dict[str, Rows], spark: SparkSession
) -> None:
    compare(name, streamed[name], spark)


@pytest.mark.proof
@pytest.mark.parametrize("name", RARELY)
def test_more_statements_give_the_rows_of_a_batch(
    name: str, streamed_rarely: dict[str, Rows], spark: SparkSession
) -> None:
    compare(name, streamed_rarely[name], spark)


def compare(name: str, actual: Rows, spark: SparkSession) -> None:
    if name == "F27":
        assert sorted(actual) == MATCHES
        return
    session = spark.newSession()
    _tables(session, late=name not in WITHOUT_LATE_ROWS)
    [sql] = [statement.sql for statement in statements() if statement.name == name]
    query = BATCH.get(name, sql.replace(" limit 1", "") if name in ANY_ROW else sql)
    expected = [_values(row) for row in session.sql(query).toArrow().to_pylist()]
    if name in ANY_ROW:
        assert len(actual) == 1
        assert actual[0] in expected
    elif name in EARLY:
        assert set(expected) <= set(actual)
        assert max(expected) == max(actual)
    else:
        rows = actual[-1:] if name in ONE_ROW else actual
        assert sorted(rows, key=repr) == sorted(expected, key=repr)
