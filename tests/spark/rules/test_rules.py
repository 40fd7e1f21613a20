"""Rules of a running job.

Changed between epochs, wrong at the start and later, replayed as they were, seen in the state.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.checkpoints.journal import read_lines
from headrace.connectors.failpoints import Crash, arm
from headrace.debugging.state import state_of
from headrace.errors import HeadraceError, PlanError, SourceError
from headrace.testing import read_case, stream_equals_batch
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.runs.spark import SparkRun

SCHEMA = "k string, v string, ts timestamp"
PAIR = "{steps: [{a: v = 'a'}, {b: {followed_by: v = '%s'}}], within: 1 hour}"


def rows(*letters: str, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"k": "x", "v": letter, "ts": f"2026-03-02T09:00:{second:02}Z"}
        for second, letter in enumerate(letters, start)
    ]


class Job:
    """A pipeline over a feed, with a file of rules that the test writes."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.feed = connect.memory()
        self.alerts, self.faults = connect.memory(), connect.memory()
        self.pipeline = Pipeline("job")
        tx = self.pipeline.read("tx", self.feed, schema=SCHEMA).event_time("ts")
        out = tx.key_by("k").match_rules("alerts", rules=work / "rules.yaml", order="arrival")
        out.write("alerts_out", self.alerts)
        out.faults.write("faults_out", self.faults)

    def rules(self, **rules: str) -> None:
        self.table("".join(f"{name}: {rule}\n" for name, rule in rules.items()))

    def table(self, text: str) -> None:
        """The table, all at once: a batch, also one without rows, may look at it at any time."""
        (self.work / "rules.new").write_text(text)
        (self.work / "rules.new").replace(self.work / "rules.yaml")

    def run(self) -> Any:
        with self.pipeline.start(until="caught_up", checkpoint=self.work / "checkpoint") as running:
            running.wait()
            return running.status()

    @property
    def found(self) -> list[tuple[str, int]]:
        return sorted((row["rule"], row["version"]) for row in self.alerts.contents())


def test_a_table_is_followed_from_run_to_run_and_a_wrong_one_does_not_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = Job(tmp_path)
    with pytest.raises(SourceError, match=r"rules.yaml: the rules cannot be read: No such file or directory"):
        job.run()
    job.rules(one=PAIR % "b", wrong="{steps: [{a: w = 'a'}], within: 1 hour}")
    with pytest.raises(
        PlanError, match=r"rules.yaml:2:1: rule `wrong`: the condition of `a`: unknown column `w`"
    ):
        job.run()
    job.rules(one=PAIR % "b", two=PAIR % "c", three=PAIR % "d")
    job.feed.add(*rows("a", "x"))
    assert job.run().rules["alerts"].in_force == {"one": 1, "two": 1, "three": 1}
    [state] = state_of(job.pipeline._plan(), tmp_path / "checkpoint", step="alerts")
    assert [
        (p["rule"], p["version"], p["matched"]["a"][0]["v"]) for p in state.stored.entries[0]["matches"]
    ] == [(name, 1, "a") for name in ("one", "two", "three")]
    job.rules(one=PAIR % "b", two=PAIR % "e")
    job.feed.add(*rows("b", "e", "d", start=2))
    status = job.run()
    assert job.found == [("one", 1)]  # `two` began anew, `three` is gone
    assert status.rules["alerts"].in_force == {"one": 1, "two": 2}
    assert status.steps["alerts"].dropped_matches == 2
    job.feed.add(*rows("a", "e", start=5))
    job.run()
    assert job.found == [("one", 1), ("two", 2)]
    assert job.faults.contents() == []
    log = list(read_lines(tmp_path / "checkpoint/queries/alerts/rules.jsonl"))
    assert [(rule_set["number"], len(rule_set["rules"])) for rule_set in log] == [(1, 3), (2, 2)]


def test_a_table_that_becomes_wrong_while_the_job_runs_is_reported_and_does_not_end_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = Job(tmp_path)
    job.rules(one=PAIR % "b")
    with job.pipeline.start(checkpoint=tmp_path / "checkpoint") as running:

        def feed_rows(*letters: str, start: int) -> None:
            expected = running.status().rows_in + len(letters)
            job.feed.add(*rows(*letters, start=start))
            while running.status().rows_in < expected:
                assert not running.wait(0.1)

        feed_rows("a", start=0)
        job.table("one: [")
        feed_rows("b", start=1)
        (tmp_path / "rules.yaml").unlink()
        feed_rows("a", start=2)
        assert "the rules cannot be read: No such file" in running.status().rules["alerts"].faults[0]
        job.rules(one=PAIR % "b", two="{steps: [{a: v = 'a'}], witin: 1 hour}")
        feed_rows("b", start=3)
        assert len(running.status().rules["alerts"].faults) == 1
    assert job.found == [("one", 1), ("one", 1)]
    faults = job.faults.contents()
    assert [(row["rule"], row["version"]) for row in faults] == [(None, None), (None, None), ("two", None)]
    assert "unknown key `witin` in the rule" in faults[2]["reason"]
    assert "did you mean `within`" in faults[2]["hint"]
    assert "rules.yaml:2:" in faults[2]["place"]
    job.run()  # what the last run ended with doesn't keep the next one from starting


def test_a_run_that_dies_around_a_change_gives_each_match_once_by_the_rules_of_its_epoch(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = Job(tmp_path)
    job.rules(one=PAIR % "b")
    job.run()
    for number, point in enumerate(("delivery.ruled", "delivery.staged", "delivery.committed")):
        letter = "cde"[number]
        job.rules(one=PAIR % letter)
        job.feed.add(*rows("a", letter, start=2 * number))
        with arm(point), pytest.raises((Crash, HeadraceError)):
            job.run()
        job.rules(one=PAIR % "z")  # while it was down; the epoch had begun
        job.run()
    assert [dict(row["matched"])["b"][0]["v"] for row in job.alerts.contents()] == ["c", "d", "e"]


CASE = """
name: an epoch that is run again uses the rules it used before
pipeline:
  sources: {s: {memory: {}, schema: "k string, v string, ts timestamp", event_time: ts}}
  steps: {out: {from: s, key_by: k, match_rules: {rules: none.yaml, order: arrival}}}
script:
  - rules: {out: {r: {steps: [{a: v = 'a'}], within: 1 minute}}}
  - rules: {out: {r: {steps: [{b: v = 'b'}], within: 1 minute}}}
  - rules: {out: {r: {steps: [{c: v = 'c'}], within: 1 minute}}}
  - expect: {out: []}
"""


def test_an_epoch_that_is_run_again_uses_the_rules_it_used_before(spark: SparkSession) -> None:
    case: Case = read_case(CASE)
    first, second, third = (line.tables for line in case.script[:3])  # type: ignore[union-attr]

    def make_rows(*letters: str, start: int) -> dict[str, Any]:
        return {"s": tuple({"k": "x", "v": v, "ts": (start + i) * 1_000_000} for i, v in enumerate(letters))}

    run = SparkRun(spark, case)
    try:
        run.rules(first)
        run.rows(make_rows("a", "b", "c", start=1), kill=True)
        run.rules(second)  # the table changes while the job is down, in an epoch that had begun
        run.restart()
        run.rows(make_rows("a", "b", "c", start=4), kill=True)
        run.rules(third)  # and again, in the epoch in which the change took effect
        run.restart()
        run.rows(make_rows("a", "b", "c", start=7))
        actual = [(row["version"], row["matched"].content) for row in run.all_rows("out")]
    finally:
        run.close()
    steps = [(version, *matched) for version, matched in actual]
    assert steps == [(1, "a"), (2, "b"), (3, "c")]


def test_a_stream_with_rules_finds_what_a_batch_finds(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(
        json.dumps(
            {"r": {"steps": [{"a": "v = 'a'"}, {"b": {"followed_by": "v = 'b'"}}], "within": "5 seconds"}}
        )
    )
    pipeline = Pipeline("same")
    feed = connect.memory(rows=rows("a", "b", "a", "x", "b", "b"))
    tx = pipeline.read("tx", feed, schema=SCHEMA).event_time("ts")
    alerts = tx.key_by("k").match_rules("alerts", rules=tmp_path / "rules.json", measures="at timestamp")
    alerts.write("out", connect.memory())
    assert stream_equals_batch(pipeline) == []
