"""A stream of files lists its directory when that has changed, and sees every file."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.connectors.files.source import lines
from headrace.runtime.virtual_time import Clock, SteppedQuery, quick_session
from headrace.spark.gateway import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLLS = 50


class Watch:
    """A query that reads the lines of a directory, one poll per step."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.input = place / "in put"
        self.input.mkdir()
        self._session, self._read = quick_session(spark), set[str]()
        reader = self._session.readStream.option("recursiveFileLookup", "true")
        frame = lines(self._session, reader, f"file://{self.input}", streaming=True)
        checkpoint = str(place / "checkpoint")
        clock = Clock(self._session)
        self.query: SteppedQuery = clock.start(
            frame, self._deliver, mode="append", name=uuid.uuid4().hex, checkpoint=checkpoint
        )

    def _deliver(self, batch: DataFrame, epoch: int) -> None:
        self._read |= {bytes(row.value).decode() for row in batch.collect()}

    def write(self, name: str, *, changed: float | None = None) -> None:
        """Write a file; `changed` is what its directory then shows as the time of its last change."""
        file = self.input / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(name)
        if changed is not None:
            os.utime(file.parent, (changed, changed))

    def polls_until(self, name: str) -> int:
        """Poll until a file has been read, and return the number of polls."""
        deadline, polls = time.monotonic() + 60, 0
        while name not in self._read:
            assert time.monotonic() < deadline, f"{name} was not read"
            self.query.step()
            polls += 1
        return polls

    def listed(self) -> int:
        """Return the number of files that Spark has listed."""
        metrics = jvm(self._session).org.apache.spark.metrics.source.HiveCatalogMetrics
        return int(metrics.METRIC_FILES_DISCOVERED().getCount())


@pytest.fixture
def watch(spark: SparkSession, tmp_path: Path) -> Iterator[Watch]:
    watched = Watch(spark, tmp_path)
    yield watched
    watched.query.stop()


def test_an_unchanged_directory_is_not_listed_at_every_poll(watch: Watch) -> None:
    watch.write("a", changed=1_700_000_000)
    watch.polls_until("a")
    watch.query.step()
    before, began = watch.listed(), time.monotonic()
    for _ in range(POLLS):
        watch.query.step()
    # One file, listed every two seconds.
    assert watch.listed() - before <= (time.monotonic() - began) / 2 + 1


def test_new_files_are_read_at_the_next_poll_also_in_new_directories(watch: Watch) -> None:
    watch.write("a", changed=1_700_000_000)
    watch.polls_until("a")
    watch.query.step()
    for name in ("b", "c", "below/d", "below/e", "f"):
        watch.write(name)
        assert watch.polls_until(name) == 1


def test_a_file_is_read_although_its_directory_does_not_show_the_change(watch: Watch) -> None:
    for name in ("a", "b"):
        watch.write(name, changed=1_700_000_000)
        watch.polls_until(name)
