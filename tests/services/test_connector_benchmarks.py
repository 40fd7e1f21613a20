"""The connector benchmarks run on a few events, and their sides produce the same results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import connectors, harness, topics
from benchmarks.connectors.cases import CASES
from benchmarks.connectors.setting import Setting
from benchmarks.engines.consumed import ALL, Consumed, measure_range
from pyspark.sql import SparkSession

from headrace.devtools.kafka_client import Client
from tests.support.topics_held import held

EVENTS = topics.Events(3_000, keys=10)


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    return topics.fill(broker.servers, EVENTS)


@pytest.fixture
def setting(broker: Any, topic: Any, tmp_path: Path) -> Setting:
    return Setting(broker.servers, topic, warm=1_500, events=1_500, batch=1_500, place=tmp_path)


def sides_on_spark(name: str) -> Any:
    case = next(case for case in CASES if case.name == name)
    return case, [side for side in case.sides if "Flink" not in side.name]


@pytest.mark.parametrize("name", ["filter", "tumbling"])
def test_all_sides_of_a_case_give_the_same_results(
    spark: SparkSession,
    setting: Setting,
    name: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(harness, "RESULTS", setting.place)
    case, sides = sides_on_spark(name)

    actual = [(side.name, connectors.measure(side, setting)) for side in sides]
    connectors.report(case, actual)
    connectors.check(case, actual)

    assert {outcome.consumed.events for _, outcome in actual} == {1_500}
    assert (setting.place / f"connectors_{name}.json").exists()


@pytest.mark.proof
def test_both_ways_from_kafka_to_kafka_write_the_same_records(
    spark: SparkSession, setting: Setting, broker: Any
) -> None:
    for side in sides_on_spark("kafka")[1]:
        connectors.measure(side, setting)

    client = Client(broker.servers)
    by_hand, ours = (
        sorted(str(record.value) for record in held(client, name)) for name in ("by-hand", "by-headrace")
    )
    assert len(by_hand) == len(ours) == EVENTS.count
    assert ours[0].count('"v":') == 1


@pytest.mark.proof
def test_upserts_reach_postgres_one_by_one_and_by_headrace(
    spark: SparkSession, setting: Setting, servers: Any
) -> None:
    case, _ = sides_on_spark("postgres")
    server = servers("postgres")
    for side in (case.side("row by row"), case.side("Headrace")):
        connectors.measure(replace(side, share=1), replace(setting, database=server.url))
    tables = [
        server.sql(f"SELECT k, v, ts, note FROM {name} ORDER BY k, ts")
        for name in ("row_by_row", "by_headrace")
    ]

    keys = [[(k, ts) for k, _, ts, _ in rows] for rows in tables]
    assert keys[0] == keys[1]
    assert len(keys[0]) > EVENTS.count / 2


def test_a_filled_topic_is_reused(broker: Any, topic: Any) -> None:
    held = {item.name: item.records for item in Client(broker.servers).topics()}

    assert topics.fill(broker.servers, EVENTS) == topic
    assert held[topic] == EVENTS.count


def test_the_measured_range_begins_where_the_warm_up_ends() -> None:
    assert measure_range([(0, 0), (5, 100), (7, 200), (8, 300)], warm=100, events=200) == Consumed(200, 3)


def test_the_end_of_a_job_counts_as_the_end_of_its_events() -> None:
    assert measure_range([(0, 0), (1, 100), (4, ALL)], warm=100, events=500).seconds == 3


def test_a_range_that_was_never_reached_is_reported() -> None:
    with pytest.raises(ValueError, match="300 events were never consumed"):
        measure_range([(0, 0), (1, 100)], warm=100, events=200)
