"""The driver of a running job answers inquiries: the state of a key, physical plans and executors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import wait_until

from headrace import Pipeline, connect, windows
from headrace.errors import OptionError
from headrace.jobs.directory import JobDirectory, read_json
from headrace.jobs.driver import Driver
from headrace.jobs.inquiries import Inquiry, inquire
from headrace.jobs.model import JobSettings

SETTINGS = JobSettings(partitions=2)
FEED = connect.memory(rows=[{"k": k, "ts": "2026-03-02T09:00:01Z"} for k in range(4)])


def build() -> Pipeline:
    pipeline = Pipeline("inquired")
    rows = pipeline.read("rows", FEED, schema="k int, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("counts", n="count(*)")
    counts.write("out", connect.memory())
    return pipeline


@pytest.fixture(scope="module")
def running(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobDirectory]:
    """The directory of a job that has read its rows and goes on."""
    directory: Path = tmp_path_factory.mktemp("job")
    job, pipeline = JobDirectory(directory), build()
    driver = Driver(directory, 1, SETTINGS)
    thread = threading.Thread(target=lambda: driver.run(lambda: pipeline))
    thread.start()

    def has_read() -> bool:
        return ((read_json(job.attempt(1).status) or {}).get("metrics") or {}).get("rows_in") == 4

    try:
        wait_until(has_read)
        yield job
    finally:
        job.request("stop")
        thread.join()


def test_state_of_a_key_has_its_open_window(running: JobDirectory) -> None:
    answer = inquire(running, Inquiry(kind="state", step="counts", key="3"))
    [step] = answer["steps"]
    [entry] = step["entries"]
    assert entry["key"] == {"k": 3}
    assert [window["values"] for window in entry["windows"]] == [{"n": 1}]


def test_physical_plan_and_executors(running: JobDirectory) -> None:
    answer = inquire(running, Inquiry(kind="plan"))
    assert list(answer["plans"]) == ["counts"]
    assert [executor["id"] for executor in answer["executors"]] == ["driver"]
    assert answer["executors"][0]["completed_tasks"] > 0


def test_rows_of_an_edge_are_sampled(running: JobDirectory) -> None:
    def feed() -> None:
        while asked.is_alive():
            FEED.add({"k": 9, "ts": "2026-03-02T09:00:02Z"})
            asked.join(0.2)

    answers: list[dict[str, Any]] = []
    inquiry = Inquiry(kind="sample", step="rows", rows=1)
    asked = threading.Thread(target=lambda: answers.append(inquire(running, inquiry)))
    asked.start()
    feed()
    assert answers == [{"step": "rows", "rows": [{"k": 9, "ts": "2026-03-02T09:00:02.000Z"}]}]
    with pytest.raises(OptionError, match="unknown step or output `rwos`"):
        inquire(running, Inquiry(kind="sample", step="rwos"))


def test_sink_without_rows_has_no_last_rows(running: JobDirectory) -> None:
    assert inquire(running, Inquiry(kind="last_rows", step="out")) == {"step": "out", "at": 0.0, "rows": []}


def test_unknown_step_is_rejected_and_the_job_goes_on(running: JobDirectory) -> None:
    with pytest.raises(OptionError, match="unknown stateful step `cuonts`"):
        inquire(running, Inquiry(kind="state", step="cuonts"))
    assert inquire(running, Inquiry(kind="state"))["steps"][0]["keys"] >= 4


def test_tables_are_queried_while_the_job_runs(running: JobDirectory) -> None:
    answer = inquire(running, Inquiry(kind="query", sql="SELECT n FROM counts WHERE k = 3"))
    assert answer["rows"] == [{"n": 1}]
    assert answer["epochs"]["counts"] >= 0
    [row] = inquire(running, Inquiry(kind="table", step="counts", key="3"))["rows"]
    assert (row["k"], row["n"], set(row["window"])) == (3, 1, {"start", "end"})
    with pytest.raises(OptionError, match="unknown table `cuonts`"):
        inquire(running, Inquiry(kind="query", sql="SELECT n FROM cuonts"))
