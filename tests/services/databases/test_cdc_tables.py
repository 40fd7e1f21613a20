"""A CDC source is a table: streams join with it directly, and its order is that of the commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.support.servers import Server

from headrace import Pipeline, connect


@pytest.fixture
def prices(servers: Callable[[str], Server], table: str) -> Iterator[Server]:
    server = servers("postgres")
    server.sql(f"CREATE TABLE {table} (item text PRIMARY KEY, price int)")
    server.sql(f"INSERT INTO {table} VALUES ('tea', 3), ('jam', 5)")
    yield server
    slot = f"headrace_{table}_prices"
    server.sql(f"SELECT pg_drop_replication_slot('{slot}')")
    server.sql(f"DROP TABLE {table}")
    server.sql(f"DROP PUBLICATION IF EXISTS {slot}")


def test_joins_with_a_cdc_source_follow_its_changes(
    spark: SparkSession, prices: Server, table: str, tmp_path: Path
) -> None:
    rows, at_arrival, live = connect.memory(), connect.memory(), connect.memory(key=["id"])
    pipeline = Pipeline(table)
    source = connect.postgres_cdc(url=prices.url, table=table, every="10 milliseconds")
    changes = pipeline.read("prices", source, schema="item string, price int")
    sales = pipeline.read("sales", rows, schema="id int, item string")
    sales.join_table("arrived", changes, on="item", at="arrival", how="left").write("arrivals", at_arrival)
    sales.join_table("followed", changes, on="item", at="live", how="left").write("table", live)

    def run() -> list[tuple[int, int | None]]:
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
        return sorted((row["id"], row["price"]) for row in live.contents())

    rows.add({"id": 1, "item": "tea"}, {"id": 2, "item": "jam"}, {"id": 3, "item": "oil"})
    assert run() == [(1, 3), (2, 5), (3, None)]
    prices.sql(f"UPDATE {table} SET price = 4 WHERE item = 'tea'")
    prices.sql(f"UPDATE {table} SET price = 6 WHERE item = 'tea'")
    prices.sql(f"DELETE FROM {table} WHERE item = 'jam'")
    prices.sql(f"INSERT INTO {table} VALUES ('oil', 9)")
    rows.add({"id": 4, "item": "tea"})
    assert run() == [(1, 6), (2, None), (3, 9), (4, 6)]
    assert [row["price"] for row in at_arrival.contents() if row["id"] == 3] == [None]
    assert [row["price"] for row in at_arrival.contents() if row["id"] == 4] == [6]


def test_aggregates_and_ranks_over_latest_equal_a_query_on_the_table(
    spark: SparkSession, prices: Server, table: str, tmp_path: Path
) -> None:
    pipeline = Pipeline(table)
    source = connect.postgres_cdc(url=prices.url, table=table, every="10 milliseconds")
    current = (
        pipeline.read("prices", source, schema="item string, price int").key_by("item").latest("current")
    )
    counts, first = connect.memory(key=["price"]), connect.memory(key=["rank"])
    current.key_by("price").aggregate("by_price", n="count(*)", last="max(item)").write("counts", counts)
    current.key_by(shop="1").top_n("leaders", n=2, order_by="price desc, item").write("first", first)

    def check() -> None:
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
        queried = prices.sql(f"SELECT price, count(*), max(item) FROM {table} GROUP BY price ORDER BY price")
        assert sorted((row["price"], row["n"], row["last"]) for row in counts.contents()) == queried
        queried = prices.sql(f"SELECT item, price FROM {table} ORDER BY price DESC, item LIMIT 2")
        ranks = sorted(first.contents(), key=lambda row: row["rank"])
        assert [(row["item"], row["price"]) for row in ranks] == queried

    prices.sql(f"INSERT INTO {table} VALUES ('oil', 5), ('rye', 5), ('soy', 2)")
    check()
    prices.sql(f"INSERT INTO {table} VALUES ('yam', 3)")
    prices.sql(f"UPDATE {table} SET price = 3 WHERE item = 'jam'")
    prices.sql(f"DELETE FROM {table} WHERE item IN ('rye', 'soy')")
    check()
    prices.sql(f"UPDATE {table} SET item = 'ale' WHERE item = 'oil'")
    prices.sql(f"DELETE FROM {table} WHERE price = 3")
    check()
