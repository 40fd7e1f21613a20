"""The order of queries in a bounded run: concurrent, or after the exchange that they read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headrace import Pipeline, connect, windows
from headrace.plan.queries import queries_of
from headrace.runtime.micro_batch.bounded import group_into_waves


def waves_of(pipeline: Pipeline) -> list[list[str]]:
    assembled: Any = [SimpleNamespace(query=query) for query in queries_of(pipeline._plan())]
    return [[built.query.name for built in wave] for wave in group_into_waves(assembled)]


def test_queries_that_share_a_source_run_concurrently() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("rows", connect.memory(), schema="k string, ts timestamp").event_time("ts")
    rows.where("k = 'a'").write("some", connect.memory())
    rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("counts", n="count(*)").write(
        "counted", connect.memory()
    )
    assert waves_of(pipeline) == [["counts", "rows"]]


def test_reader_of_an_exchange_runs_after_its_writer() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("rows", connect.memory(), schema="k string, ts timestamp").event_time("ts")
    minutes = rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("minutes", n="count(*)")
    hours = minutes.key_by("k").window(windows.tumbling("1 hour")).aggregate("hours", n="sum(n)")
    hours.write("counted", connect.memory())
    rows.where("k = 'a'").write("some", connect.memory())
    assert waves_of(pipeline) == [["minutes"], ["hours", "rows"]]
