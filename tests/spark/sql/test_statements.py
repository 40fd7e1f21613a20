"""Statements that a `sql` step runs give the rows of Spark's batch SQL over all rows that are not late."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.sql_statements import LATE_ORDER, SCHEMAS, Shop, Statement, batches, statements

from headrace import connect

KEYS = {"F44": "customer", "T3": "customer", "T5": "customer"}
"""The keys of sinks for changed rows."""
ONE_ROW = ("T9", "T13")
"""Statements with one row, which is written again when it changes."""
WITHOUT_LATE_ROWS = ("F8", "F9", "T9", "T11")
"""Statements with windows, which do not count late rows."""
MATCHES = [("a", 1, 3), ("a", 4, 7), ("b", 2, 5), ("c", 6, 9)]
"""The rows of F27, which Spark cannot run."""

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def streamed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """The rows of each statement after three micro-batches."""
    shop, sinks = Shop(), {}
    for statement in statements():
        if not statement.refused:
            key = KEYS.get(statement.name, ())
            sinks[statement.name] = connect.memory(key=key)
            query = shop.pipeline.sql(statement.name, statement.sql)
            query.write(f"{statement.name}_out", sinks[statement.name])
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
    return {name: [_values(row) for row in sink.contents()] for name, sink in sinks.items()}


def _values(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(value for name, value in row.items() if name != "change")


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
    }
    for name, query in views.items():
        spark.sql(query).createOrReplaceTempView(name)


@pytest.mark.parametrize(
    "statement", [each for each in statements() if not each.refused], ids=lambda s: s.name
)
def test_a_statement_gives_the_rows_of_a_batch(
    statement: Statement, streamed: dict[str, Rows], spark: SparkSession
) -> None:
    actual = streamed[statement.name]
    if statement.name == "F27":
        assert sorted(actual) == MATCHES
        return
    session = spark.newSession()
    _tables(session, late=statement.name not in WITHOUT_LATE_ROWS)
    expected = [tuple(row.values()) for row in session.sql(statement.sql).toArrow().to_pylist()]
    rows = actual[-1:] if statement.name in ONE_ROW else actual
    assert sorted(rows, key=repr) == sorted(expected, key=repr)
