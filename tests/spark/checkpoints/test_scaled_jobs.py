"""The driver of a job rewrites the state of its checkpoint when the settings have other partitions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.checkpoints.layout import checkpoint_of, progress_of
from headrace.jobs.directory import JobDirectory
from headrace.jobs.driver import Driver
from headrace.jobs.model import JobSettings
from headrace.plan.queries import queries_of

KEYS = 40
PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture(autouse=True)
def partitions(spark: SparkSession) -> Iterator[None]:
    """Restore the setting of the session: a job has one of its own, the tests share theirs."""
    before = str(spark.conf.get(PARTITIONS))
    yield
    spark.conf.set(PARTITIONS, before)


def build(feed: Any, out: Any) -> Pipeline:
    pipeline = Pipeline("scaled")
    rows = pipeline.read("rows", feed, schema="k int, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("counts", n="count(*)")
    counts.write("out", out)
    return pipeline


def partitions_of(pipeline: Pipeline, checkpoint: Path) -> int | None:
    (query,) = queries_of(pipeline._plan())
    return progress_of(checkpoint_of(checkpoint, query)).partitions


def test_job_scaled_from_2_to_8_to_3_partitions_keeps_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    feed, out, job = connect.memory(), connect.memory(), JobDirectory(tmp_path)
    pipeline = build(feed, out)
    for attempt, partitions in enumerate((2, 8, 3), start=1):
        feed.add(*({"k": k, "ts": f"2026-03-02T09:00:{attempt:02}Z"} for k in range(KEYS)))
        settings = JobSettings(until="caught_up", partitions=partitions)
        assert Driver(tmp_path, attempt, settings).run(lambda: pipeline) == "caught_up"
        assert partitions_of(pipeline, job.checkpoint) == partitions
    Driver(tmp_path, 4, JobSettings(until="drained", partitions=3)).run(lambda: pipeline)
    effect = "out (memory): rows are written again and appended to those written since"
    assert json.loads(job.plan.read_text())["restore_effects"] == [effect]
    assert sorted((row["k"], row["n"]) for row in out.contents()) == [(k, 3) for k in range(KEYS)]


def test_epoch_that_was_interrupted_is_finished_before_the_state_is_rewritten(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed, out, job = connect.memory(), connect.memory(), JobDirectory(tmp_path)
    pipeline = build(feed, out)
    feed.add(*({"k": k, "ts": "2026-03-02T09:00:01Z"} for k in range(KEYS)))
    Driver(tmp_path, 1, JobSettings(until="caught_up", partitions=2)).run(lambda: pipeline)
    commits = next(job.checkpoint.glob("queries/*/spark/commits"))
    last = max(int(file.name) for file in commits.glob("[0-9]*"))
    for file in commits.glob(f"*{last}*"):
        file.unlink()
    Driver(tmp_path, 2, JobSettings(until="drained", partitions=3)).run(lambda: pipeline)
    assert partitions_of(pipeline, job.checkpoint) == 3
    assert sorted((row["k"], row["n"]) for row in out.contents()) == [(k, 1) for k in range(KEYS)]
