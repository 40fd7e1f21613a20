"""`headrace why` of detectors and online models: what a row was compared with, and which condition decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, detectors, models
from headrace.cli.terminal.render_why import lines_of
from headrace.debugging.why import Why, why_of
from headrace.errors import OptionError
from headrace.explain.text import text_of

SCHEMA = "room string, celsius double, hour int, ts timestamp"
VALUES = [20.0, 20.4, 19.6, 20.0, 35.0, 20.2]
ROWS = [
    {"room": room, "celsius": value, "hour": minute, "ts": f"2026-03-02T09:0{minute}:00Z"}
    for minute, value in enumerate(VALUES)
    for room in ("a", "b")
]


class Rooms:
    """A detector and an online model over the same rows."""

    def __init__(self, feed: Any) -> None:
        self.pipeline = Pipeline("rooms")
        rows = self.pipeline.read("rows", feed, schema=SCHEMA)
        jumps = detectors.z_score(limit=4, rows=3)
        jumps_as_read = rows.key_by("room").detect("jumps", jumps, on="celsius", warm_up=3, order="arrival")
        jumps_as_read.write("j", connect.memory())
        rooms = rows.event_time("ts").key_by("room")
        spikes = rooms.detect("spikes", detectors.z_score(limit=4, rows=3), on="celsius", warm_up=3)
        spikes.write("s", connect.memory())
        model = models.river("linear_model.LinearRegression()")
        rooms.learn("forecasts", model, features="hour", label="celsius").write("f", connect.memory())


@pytest.fixture(scope="module")
def feed() -> Any:
    return connect.memory(rows=ROWS)


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, feed: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("why") / "checkpoint"
    with Rooms(feed).pipeline.start(checkpoint=place, until="caught_up") as running:
        running.wait(timeout=300)
    return place


def ask(feed: Any, checkpoint: Path, step: str, key: str = "a", **options: Any) -> Why:
    [why] = why_of(Rooms(feed).pipeline._plan(), checkpoint, key=[key], step=step, **options)
    return why


def test_a_detector_shows_the_rows_that_it_compared_with_and_the_condition(
    feed: Any, checkpoint: Path
) -> None:
    why = ask(feed, checkpoint, "spikes", rows=2)
    text = text_of(lines_of(why))
    assert "the last 2 of 5 rows" in text
    assert (
        "  2026-03-02T09:04:00Z  room=a, celsius=35.0, hour=4, ts=2026-03-02T09:04:00Z\n"
        "      compared with  z_score (limit 4, rows 3) of 3 earlier rows, "
        "from 2026-03-02T09:01:00Z to 2026-03-02T09:03:00Z\n"
    ) in text
    spike = why.as_json()["rows"][-1]["result"]
    assert spike["anomalous"]
    assert spike["expected"] == pytest.approx(20.0)
    assert f"35 is above {spike['high']:.6g}" == spike["reason"]
    assert spike["reason"] in text
    assert "1 row ahead of the watermark\n    2026-03-02T09:05:00Z  room=a, celsius=20.2" in text


def test_rows_without_time_are_shown_in_arrival_order(feed: Any, checkpoint: Path) -> None:
    why = ask(feed, checkpoint, "jumps", rows=2)
    assert "compared with  z_score (limit 4, rows 3) of 3 earlier rows\n" in text_of(lines_of(why))
    last = why.as_json()["rows"]
    assert [row["row"]["celsius"] for row in last] == [35.0, 20.2]
    assert [row["result"]["anomalous"] for row in last] == [True, False]
    assert [row["time"] for row in last] == [None, None]


def test_rows_of_the_warm_up_are_labelled(feed: Any, checkpoint: Path) -> None:
    text = text_of(lines_of(ask(feed, checkpoint, "spikes", rows=5)))
    assert "compared with  z_score (limit 4, rows 3); only learned, in the warm-up" in text
    assert "of 1 earlier row, from 2026-03-02T09:00:00Z to 2026-03-02T09:00:00Z; only learned" in text


def test_a_linear_model_shows_features_and_contributions(feed: Any, checkpoint: Path) -> None:
    why = ask(feed, checkpoint, "forecasts", rows=1)
    [row] = why.as_json()["rows"]
    assert row["features"] == {"hour": 4}
    assert row["result"]["model_rows"] == 4
    assert sum(row["contributions"].values()) == pytest.approx(row["result"]["prediction"])
    text = text_of(lines_of(why))
    assert "features       hour=4\n" in text
    assert "contributions  hour=" in text


def test_without_the_input_there_is_a_note_and_an_unknown_key_is_an_error(
    feed: Any, checkpoint: Path
) -> None:
    assert "the input was not replayed" in text_of(
        lines_of(ask(feed, checkpoint, "spikes", read_input=False))
    )
    with pytest.raises(
        OptionError, match=r"key c is not in the checkpoint and the input\n  hint: known keys: "
    ):
        ask(feed, checkpoint, "spikes", "c")
