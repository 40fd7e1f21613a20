"""The events of the Nexmark benchmark: the same in every run, with the shares and the skew of the benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import ReadContext
from headrace.connectors.nexmark import Nexmark, Table
from headrace.connectors.nexmark.events import TABLES, rows_among
from headrace.errors import HeadraceError

Drain = Callable[..., list[list[dict[str, Any]]]]
Context = Callable[..., ReadContext]
EVENTS = 20_000


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    return {table: read(spark, table) for table in TABLES}


def read(spark: SparkSession, table: Any, **options: Any) -> list[dict[str, Any]]:
    source = connect.nexmark(table=table, events=options.pop("events", EVENTS), **options)
    context = ReadContext("p", table, None, None, "")
    frame = source.reader().batch(spark, context).drop("__position")
    result: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return result


def test_one_event_in_fifty_is_a_person_three_are_auctions(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert {table: len(rows[table]) for table in rows} == {"person": 400, "auction": 1200, "bid": 18_400}


@pytest.mark.parametrize(
    ("events", "expected"), [(0, (0, 0, 0)), (1, (1, 0, 0)), (3, (1, 2, 0)), (54, (2, 6, 46))]
)
def test_last_cycle_of_events_may_be_incomplete(events: int, expected: tuple[int, ...]) -> None:
    assert tuple(rows_among(events, table) for table in TABLES.values()) == expected


def test_ids_are_consecutive_and_references_exist_or_come_soon(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert [row["id"] for row in rows["person"]] == list(range(1000, 1400))
    assert [row["id"] for row in rows["auction"]] == list(range(1000, 2200))
    for number, bid in enumerate(rows["bid"]):
        last_auction, last_person = 1000 + number // 46 * 3 + 2, 1000 + number // 46
        assert last_auction - 200 <= bid["auction"] <= last_auction + 10
        assert 1000 <= bid["bidder"] <= last_person + 10
    for number, auction in enumerate(rows["auction"]):
        assert 1000 <= auction["seller"] <= 1000 + number // 3 + 10


def test_half_of_the_bids_go_to_hot_auctions_and_three_quarters_come_from_hot_bidders(
    rows: dict[str, list[dict[str, Any]]],
) -> None:
    bids = rows["bid"]
    hot_auctions = sum(bid["auction"] % 100 == 0 for bid in bids) / len(bids)
    hot_bidders = sum(bid["bidder"] % 100 == 1 for bid in bids) / len(bids)
    hot_channels = sum(not bid["channel"].startswith("channel-") for bid in bids) / len(bids)
    assert 0.48 < hot_auctions < 0.53
    assert 0.73 < hot_bidders < 0.78
    assert 0.48 < hot_channels < 0.52


def test_values_have_the_forms_of_the_benchmark(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert {row["state"] for row in rows["person"]} == {"az", "ca", "id", "or", "wa", "wy"}
    assert {row["category"] for row in rows["auction"]} == {10, 11, 12, 13, 14}
    assert all(
        row["expires"] > row["date_time"] and row["reserve"] > row["initial_bid"] for row in rows["auction"]
    )
    prices = [row["price"] for row in rows["bid"]]
    assert min(prices) >= 100
    assert max(prices) <= 100_000_000
    assert (
        0.3 < sum(price < 10_000 for price in prices) / len(prices) < 0.37
    )  # two of six orders of magnitude
    urls = Counter(row["url"] for row in rows["bid"] if row["channel"] == "Apple")
    assert len(urls) == 1
    with_id = [row for row in rows["bid"] if row["channel"].startswith("channel-")]
    assert all(row["url"].endswith(f"&channel_id={row['channel'][8:]}") for row in with_id)
    assert all(len(row["url"].split("/")) == 7 for row in rows["bid"])


def test_times_follow_the_event_rate(rows: dict[str, list[dict[str, Any]]]) -> None:
    start = datetime.fromisoformat("2015-07-15T00:00:00Z")
    assert rows["person"][0]["date_time"] == start
    assert rows["person"][200]["date_time"] == start + timedelta(seconds=1)
    times = [row["date_time"] for row in rows["bid"]]
    assert times == sorted(times)


def test_disorder_moves_times_within_a_group_only(
    spark: SparkSession, rows: dict[str, list[dict[str, Any]]]
) -> None:
    mixed = [row["date_time"] for row in read(spark, "bid", disorder=1000)]
    ordered = [row["date_time"] for row in rows["bid"]]
    assert mixed != ordered
    assert max(abs(a - b) for a, b in zip(mixed, ordered, strict=True)) <= timedelta(milliseconds=100)
    everything = [
        row["date_time"] for table in TABLES for row in read(spark, table, disorder=50, event_rate=1000)
    ]
    assert len(set(everything)) == EVENTS  # one time for each event


@pytest.mark.parametrize("table", TABLES)
def test_stream_and_batch_have_the_same_rows(
    table: Table, spark: SparkSession, context: Context, drained: Drain
) -> None:
    source = connect.nexmark(table=table, events=5000, max_rows_per_batch=1000)
    streamed = [row for epoch in drained(source.reader().stream(spark, context(None))) for row in epoch]
    assert streamed == source.reader().batch(spark, context(None)).toArrow().to_pylist()


def test_another_seed_gives_other_events(spark: SparkSession, rows: dict[str, list[dict[str, Any]]]) -> None:
    assert read(spark, "bid", seed=1) != rows["bid"]
    assert read(spark, "bid") == rows["bid"]


def test_events_without_end_need_a_rate() -> None:
    pipeline = Pipeline("endless")
    pipeline.read("bid", Nexmark(table="bid")).write("out", connect.memory())
    with pytest.raises(HeadraceError, match=r"expected `events`, `rate` or both\n  hint: rows without end"):
        pipeline.run()
