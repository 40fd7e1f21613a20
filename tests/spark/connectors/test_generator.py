"""The generator: the same rows in every run, at their pace, to their end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.errors import SourceError
from headrace.formats import Json, of
from headrace.jobs.driver import GENERATORS_END_NOW

Drain = Callable[..., list[list[dict[str, Any]]]]
Context = Callable[..., ReadContext]

PAYMENTS = "id bigint, card string, country string, city string, amount double, online boolean, ts timestamp"
RECIPES = {
    "id": "sequence",
    "card": {"integer": {"high": 19, "prefix": "card-"}},
    "amount": "lognormal",
    "country": {
        "choice": {"FI": 0.9, "SE": 0.1},
    },
    "ts": {"timestamp": {"every": "1 second", "jitter": "10 seconds"}},
}


def flat(epochs: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [row for rows in epochs for row in rows]


def test_same_seed_gives_the_same_rows_in_stream_batch_and_after_a_restart(
    spark: SparkSession, context: Context, drained: Drain
) -> None:
    made = connect.generator(seed=7, rows=2500, max_rows_per_batch=1000, columns=RECIPES)
    epochs = drained(made.reader().stream(spark, context(PAYMENTS)))
    assert [len(rows) for rows in epochs] == [1000, 1000, 500]
    assert flat(epochs) == made.reader().batch(spark, context(PAYMENTS)).toArrow().to_pylist()
    assert drained(made.reader().stream(spark, context(PAYMENTS))) == []
    longer = connect.generator(seed=7, rows=2600, columns=RECIPES)
    more = flat(drained(longer.reader().stream(spark, context(PAYMENTS))))
    assert more == longer.reader().batch(spark, context(PAYMENTS)).toArrow().to_pylist()[2500:]


def test_drain_on_request_ends_at_the_rows_that_were_read(
    spark: SparkSession, context: Context, drained: Drain
) -> None:
    first = connect.generator(rows=10, columns=RECIPES).reader().stream(spark, context(PAYMENTS))
    assert len(flat(drained(first))) == 10
    longer = connect.generator(rows=12, columns=RECIPES)
    spark.conf.set(GENERATORS_END_NOW, "true")
    try:
        assert drained(longer.reader().stream(spark, context(PAYMENTS))) == []
    finally:
        spark.conf.unset(GENERATORS_END_NOW)
    assert len(flat(drained(longer.reader().stream(spark, context(PAYMENTS))))) == 2


def test_another_seed_gives_other_rows(spark: SparkSession, context: Context) -> None:
    first, second = (
        connect.generator(seed=seed, rows=50).reader().batch(spark, context("amount double")).toArrow()
        for seed in (1, 2)
    )
    assert first != second


def test_values_are_what_the_recipes_say(spark: SparkSession, context: Context) -> None:
    reader = connect.generator(rows=4000, columns=RECIPES).reader()
    rows = reader.batch(spark, context(PAYMENTS)).toArrow().to_pylist()
    assert [row["id"] for row in rows] == list(range(4000))
    cards = {row["card"] for row in rows}
    assert cards == {f"card-{number}" for number in range(20)}
    share = sum(row["country"] == "FI" for row in rows) / 4000
    assert 0.87 < share < 0.93
    amounts = sorted(row["amount"] for row in rows)
    assert 22 < amounts[2000] < 28
    assert amounts[0] > 0
    assert amounts[-1] > 300
    assert {row["online"] for row in rows} == {True, False}
    turns = [row["ts"].timestamp() - rows[0]["ts"].timestamp() for row in rows]
    assert turns != sorted(turns)
    assert all(-10 <= turn - number <= 10 for number, turn in enumerate(turns))


def test_every_recipe_makes_values(spark: SparkSession, context: Context) -> None:
    columns: dict[str, Any] = {
        "a": {"sequence": {"start": 5, "prefix": "no-"}},
        "c": {"integer": {"low": 1, "high": 3}},
        "d": {"uniform": {"low": 10, "high": 20, "decimals": 1}},
        "e": {"normal": {"mean": 100, "deviation": 0}},
        "h": {"choice": [1.5]},
        "i": {"sql": "concat(number, '-', a, if(random < 2, ' number random', ''))"},
        "j": {"choice": [1, 2]},
        "k": {"boolean": {"share": 1, "nulls": 1.0}},
        "l": {"timestamp": {"start": "2026-01-01", "late_share": 1, "late_by": "1 hour"}},
        "m": {"choice": {"of": ["x", "y", "z"], "by": "c"}},
    }
    made = connect.generator(rows=200, columns=columns)
    frame = made.reader().batch(spark, context())
    rows = frame.drop("__position").toArrow().to_pylist()
    assert dict(frame.dtypes)["h"] == "double"
    assert dict(frame.dtypes)["j"] == "bigint"
    first = rows[0]
    assert (first["a"], first["e"], first["h"]) == ("no-5", 100.0, 1.5)
    assert first["i"] == "0-no-5 number random"
    assert first["l"].isoformat() == "2025-12-31T23:00:00+00:00"
    assert {row["c"] for row in rows} == {1, 2, 3}
    assert all(10 <= row["d"] < 20 for row in rows)
    assert {row["j"] for row in rows} == {1, 2}
    assert {row["k"] for row in rows} == {None}
    assert len({(row["c"], row["m"]) for row in rows}) == 3


def test_planted_rows_are_there(spark: SparkSession, context: Context) -> None:
    planted = {3: {"amount": 900, "ts": "2026-02-01T00:00:00Z"}, 5: {"card": None}}
    made = connect.generator(rows=10, planted=planted)
    rows = (
        made.reader().batch(spark, context("card string, amount double, ts timestamp")).toArrow().to_pylist()
    )
    assert (rows[3]["amount"], rows[3]["ts"].isoformat()) == (900.0, "2026-02-01T00:00:00+00:00")
    assert [row["card"] is None for row in rows] == [number == 5 for number in range(10)]


def test_rate_paces_a_run_that_ends_by_itself(spark: SparkSession, context: Context, drained: Drain) -> None:
    made = connect.generator(rows=60, rate=100, columns={"id": "sequence"})
    begun = time.monotonic()
    epochs = drained(made.reader().stream(spark, context("id bigint")))
    assert time.monotonic() - begun > 0.5
    assert [row["id"] for row in flat(epochs)] == list(range(60))


def test_endless_rows_give_a_second_of_them_once(
    spark: SparkSession, context: Context, drained: Drain
) -> None:
    made = connect.generator(rate=30, columns={"id": "sequence"})
    for expected in (list(range(30)), list(range(30, 60))):
        rows = flat(drained(made.reader().stream(spark, context("id bigint"))))
        assert [row["id"] for row in rows] == expected


def test_endless_rows_are_no_batch(spark: SparkSession, context: Context) -> None:
    with pytest.raises(
        SourceError, match="tx: a batch needs an end, and these rows have none\n  hint: set the number"
    ):
        connect.generator(rate=1).reader().batch(spark, context("id bigint"))


def recording(directory: Path) -> Path:
    moments = ["00:00:00.000", "00:00:02.000", "00:00:01.000", "no time", "00:00:04.000"]
    lines = [json.dumps({"id": n, "ts": f"2026-01-01T{at}Z"}) for n, at in enumerate(moments)]
    (directory / "events.jsonl").write_text("\n".join(lines))
    return directory / "events.jsonl"


@pytest.mark.parametrize(
    ("options", "least"),
    [({"speed": 4}, 1.0), ({"speed": "max"}, 0), ({"rate": 10}, 0.4)],
)
def test_recording_is_replayed_in_its_order_at_its_pace(
    spark: SparkSession,
    context: Context,
    drained: Drain,
    tmp_path: Path,
    options: Any,
    least: float,
) -> None:
    reader = connect.generator(replay=recording(tmp_path), time="ts", **options).reader()
    begun = time.monotonic()
    rows = flat(drained(reader.stream(spark, context("id bigint, ts timestamp", Json()))))
    reader.close()
    assert time.monotonic() - begun >= least
    assert [json.loads(row["value"])["id"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 4]
    assert set(rows[0]) == {"value", "partition", "offset"}


def test_recording_goes_on_after_a_restart(
    spark: SparkSession, context: Context, drained: Drain, tmp_path: Path
) -> None:
    path = recording(tmp_path)
    for rows, expected in ((2, [0, 1]), (4, [2, 3]), (None, [4])):
        made = connect.generator(replay=path, speed="max", rows=rows)
        received = flat(drained(made.reader().stream(spark, context("id bigint", Json()))))
        assert [json.loads(row["value"])["id"] for row in received] == expected
    assert made.reader().batch(spark, context("id bigint", Json())).count() == 5


def test_recorded_csv_is_paced_by_its_column(
    spark: SparkSession, context: Context, drained: Drain, tmp_path: Path
) -> None:
    (tmp_path / "events.csv").write_text("a;2026-01-01 00:00:00\nb;2026-01-01 00:00:10\n")
    reader = connect.generator(replay=tmp_path / "events.csv", time="ts", speed=20).reader()
    begun = time.monotonic()
    rows = flat(
        drained(reader.stream(spark, context("k string, ts timestamp", of({"csv": {"delimiter": ";"}}))))
    )
    assert time.monotonic() - begun > 0.5
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("options", "schema", "message"),
    [
        ({}, None, "tx: generated rows need a schema or recipes\n  hint: set schema="),
        (
            {"columns": {"crd": "sequence"}},
            "card string",
            "tx: unknown column `crd`\n  hint: did you mean `card`",
        ),
        ({"planted": {1: {"amont": 1}}}, "amount double", "tx: unknown column `amont`"),
        (
            {},
            "tags array<string>",
            "tx: the column `tags` (array<string>) needs a recipe\n  hint: set one: columns=",
        ),
    ],
)
def test_columns_that_cannot_be_made_are_reported(
    spark: SparkSession, context: Context, options: Any, schema: str | None, message: str
) -> None:
    with pytest.raises(SourceError) as caught:
        connect.generator(rows=1, **options).reader().batch(spark, context(schema))
    assert message in str(caught.value)


def test_pace_by_an_unknown_column_is_reported(spark: SparkSession, context: Context, tmp_path: Path) -> None:
    reader = connect.generator(replay=recording(tmp_path), time="at").reader()
    with pytest.raises(SourceError, match="tx: unknown column `at` in `time`"):
        reader.stream(spark, context("id bigint, ts timestamp", Json()))
