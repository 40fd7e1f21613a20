"""The session: its settings, its reuse and its refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.engine.session import log_file, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.streaming.stateStore.checkpointFormatVersion", "2"),
        ("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true"),
        ("spark.ui.enabled", "false"),
        ("spark.sql.shuffle.partitions", "2"),
        ("spark.master", "local[2]"),
    ],
)
def test_session_has_the_setting(spark: SparkSession, setting: str, value: str) -> None:
    assert spark.conf.get(setting) == value


def test_asking_again_gives_the_running_session_with_the_new_settings(spark: SparkSession) -> None:
    again = open_session(conf={"spark.sql.streaming.numRecentProgressUpdates": "7"})
    assert again.sparkContext is spark.sparkContext
    assert spark.conf.get("spark.sql.streaming.numRecentProgressUpdates") == "7"
    spark.conf.unset("spark.sql.streaming.numRecentProgressUpdates")


def test_spark_writes_its_log_to_a_file(spark: SparkSession) -> None:
    log = log_file(spark)
    assert log is not None
    assert "Running Spark version" in log.read_text()
