"""Why a pattern has (not) matched for a key: from a real run's checkpoint, and from its input read again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, patterns
from headrace.cli.terminal.render_why import lines_of
from headrace.debugging.key_report import KeyReport
from headrace.debugging.why import Why, why_of
from headrace.errors import OptionError
from headrace.explain.text import text_of
from headrace.plan.graph import Graph

SCHEMA = "card string, country string, amount double, ts timestamp"


def payment(card: str, amount: float, second: float, country: str = "FI") -> dict[str, Any]:
    return {
        "card": card,
        "country": country,
        "amount": amount,
        "ts": datetime.fromtimestamp(1_772_442_000 + second, UTC),
    }


PAYMENTS = [
    payment("4711", 0.5, 1),
    payment("4711", 700, 3),
    payment("4711", 20, 5),
    payment("4712", 0.5, 8),
    payment("4711", 0.9, 10),
    payment("4711", 80, 20, "SE"),
    payment("4712", 30, 40),
    payment("4711", 900, 45),
]

small_then_large = patterns.step("small", "amount < 1").followed_by(
    "large", "amount > 50 and amount > 100 * small.amount"
)
TREND = """select * from tx match_recognize (
  partition by card order by ts measures last(ts) as at
  after match skip past last row pattern (down up) define down as amount < 1, up as amount > prev(amount))"""


class Payments:
    """Several patterns over one stream, one of them with a key of two columns, one in SQL."""

    def __init__(self, feed: Any) -> None:
        self.pipeline = Pipeline("payments")
        tx = self.pipeline.read("tx", feed, schema=SCHEMA).event_time("ts", out_of_order="20 seconds")
        card = tx.key_by("card")
        chosen = {"at": "large.ts", "amount": "large.amount"}
        card.match("fraud", small_then_large, within="1 minute", select=chosen).write("f", connect.memory())
        places = tx.key_by("card", where="lower(country)")
        abroad = patterns.step("first").not_followed_by("second", "amount > 1000")
        places.match("quiet", abroad, within="30 seconds").write("q", connect.memory())
        self.pipeline.sql("trend", TREND).write("r", connect.memory())

    @property
    def graph(self) -> Graph:
        return self.pipeline._plan()


@pytest.fixture(scope="module")
def feed() -> Any:
    return connect.memory(rows=PAYMENTS)


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, feed: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("why") / "checkpoint"
    with Payments(feed).pipeline.start(checkpoint=place, until="caught_up") as running:
        running.wait(timeout=300)
    return place


@pytest.fixture(scope="module")
def answer(feed: Any, checkpoint: Path) -> Why:
    return explain_key(feed, checkpoint, "fraud", "4711")


def explain_key(feed: Any, checkpoint: Path, step: str, *key: str, **more: Any) -> Why:
    [actual] = why_of(Payments(feed).graph, checkpoint, step=step, key=list(key), **more)
    return actual


def of(why: Why) -> KeyReport:
    assert isinstance(why.report, KeyReport)
    return why.report


def show(why: Why) -> str:
    return text_of(lines_of(why))


def test_partial_matches_say_what_they_wait_for(answer: Why) -> None:
    [partial] = of(answer).partials
    assert [row["step"] for row in partial["rows"]] == ["small"]
    assert (partial["start"], partial["times_out"]) == (
        "2026-03-02T09:00:10.000Z",
        "2026-03-02T09:01:10.000Z",
    )
    assert partial["waits_for"] == [
        {"step": "large", "condition": "amount > 50 and amount > 100 * small.amount"}
    ]


def test_rows_say_which_part_of_a_condition_failed_and_on_which_values(answer: Why) -> None:
    last = of(answer).rows[-1]
    assert last["row"]["amount"] == 80
    [of_the_match, of_a_new_one] = last["attempts"]
    [test] = of_the_match["tests"]
    assert (test["step"], test["held"], of_the_match["outcome"]) == ("large", False, "passed over")
    assert test["parts"] == [
        {"text": "amount > 50", "held": True, "values": {"amount": 80.0}},
        {
            "text": "amount > 100 * small.amount",
            "held": False,
            "values": {"amount": 80.0, "small.amount": 0.9},
        },
    ]
    assert of_a_new_one["outcome"] == "begins nothing"


def test_rows_that_have_matched_and_rows_that_would(answer: Why) -> None:
    assert of(answer).taken == 5
    assert of(answer).rows[1]["results"] == [
        {"kind": "match", "values": {"at": "2026-03-02T09:00:03.000Z", "amount": 700.0}}
    ]
    [waiting] = of(answer).waiting
    assert waiting["attempts"][0]["outcome"] == "taken as large"
    assert waiting["results"][0]["values"]["amount"] == 900
    assert of(answer).notes == ()


def test_the_answer_for_a_person(answer: Why) -> None:
    assert show(answer).splitlines()[:12] == [
        "fraud  match  card=4711  epoch 1, watermark 2026-03-02T09:00:25Z",
        "  1 partial match",
        "    since 2026-03-02T09:00:10Z, times out at 2026-03-02T09:01:10Z",
        "      small  2026-03-02T09:00:10Z  card=4711, country=FI, amount=0.9, ts=2026-03-02T09:00:10Z",
        "      waits for large: amount > 50 and amount > 100 * small.amount",
        "  1 row waits for the watermark; if it passed now:",
        "    2026-03-02T09:00:45Z  card=4711, country=FI, amount=900.0, ts=2026-03-02T09:00:45Z",
        "      match since 2026-03-02T09:00:10Z: taken as large",
        "        true   large: amount > 50  (amount=900.0)",
        "        true   large: amount > 100 * small.amount  (amount=900.0, small.amount=0.9)",
        "      new match: begins nothing",
        "        false  small: amount < 1  (amount=900.0)",
    ]


def test_all_steps_are_queried_and_absence_waits_for_the_time(feed: Any, checkpoint: Path) -> None:
    """`quiet` has two key columns, one of them computed, and a step that any row fits."""
    quiet = explain_key(feed, checkpoint, "quiet", "where=se", "card=4711", rows=1)
    assert quiet.key == {"card": "4711", "where": "se"}
    assert show(quiet).splitlines()[1:6] == [
        "  1 partial match",
        "    since 2026-03-02T09:00:20Z, times out at 2026-03-02T09:00:50Z",
        "      first  2026-03-02T09:00:20Z  card=4711, country=SE, amount=80.0, ts=2026-03-02T09:00:20Z",
        "      matches when its time is up",
        "      ends with second: amount > 1000",
    ]


def test_match_recognize_states_what_each_row_was_tested_for(feed: Any, checkpoint: Path) -> None:
    trend = of(explain_key(feed, checkpoint, "trend", "4712"))
    assert trend.partials[0]["waits_for"] == [{"step": "UP", "condition": "amount > prev(amount)"}]
    assert [row["step"] for row in trend.partials[0]["rows"]] == ["DOWN"]
    [taken] = trend.rows
    assert taken["attempts"][0]["outcome"] == "taken as DOWN"
    [waiting] = trend.waiting
    [tested] = waiting["attempts"]
    assert [(test["step"], test["held"]) for test in tested["tests"]] == [("UP", True)]
    assert waiting["results"][0]["kind"] == "match"


def test_a_key_that_only_the_input_knows(spark: SparkSession, feed: Any, checkpoint: Path) -> None:
    more = connect.memory(rows=[*PAYMENTS, payment("4713", 0.3, 60), payment("4713", 3, 65)])
    fraud = explain_key(more, checkpoint, "fraud", "card=4713")
    assert (of(fraud).partials, len(of(fraud).unread), of(fraud).taken) == ((), 2, 0)
    assert "1 row of the input not read yet\n    2026-03-02T09:01:00Z" in show(fraud)
    assert "1 row ahead of the watermark fits no step\n    2026-03-02T09:01:05Z" in show(fraud)


def test_an_input_that_has_changed_is_noticed(spark: SparkSession, checkpoint: Path) -> None:
    other = connect.memory(rows=[payment("4711", 20, 5)])
    fraud = of(explain_key(other, checkpoint, "fraud", "4711"))
    assert "the partial matches of the replayed input differ from the checkpoint" in fraud.notes[0]
    assert len(fraud.partials) == 1


def test_without_the_input_the_checkpoint_still_answers(feed: Any, checkpoint: Path) -> None:
    fraud = of(explain_key(feed, checkpoint, "fraud", "4711", read_input=False))
    assert (len(fraud.partials), fraud.taken) == (1, None)
    assert fraud.notes == ("the input was not replayed (--no-input)",)


def test_a_key_that_is_unknown_is_reported_with_near_ones(feed: Any, checkpoint: Path) -> None:
    message = r"key 471 is not in the checkpoint and the input\n  hint: known keys: 471[12], 471[12]$"
    with pytest.raises(OptionError, match=message):
        why_of(Payments(feed).graph, checkpoint, step="fraud", key=["471"])
