"""The session: its settings, its reuse and its refusals."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import OptionError, SetupError
from headrace.spark import session
from headrace.spark.gateway import system_property
from headrace.spark.launch import log_file
from headrace.spark.session import _executor_releases, open_session

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


def test_variables_of_spark_are_not_replaced_in_expressions(spark: SparkSession) -> None:
    open_session()
    spark.conf.set("spark.sql.streaming.x", "' || upper('replaced') || '")
    texts = ["'${env:PATH}'", "'${system:java.home}'", "'${spark.sql.streaming.x}'"]
    [row] = spark.range(1).selectExpr(*texts).collect()
    assert [f"'{value}'" for value in row] == texts
    spark.conf.unset("spark.sql.streaming.x")


def test_asking_again_gives_the_running_session_with_the_new_settings(spark: SparkSession) -> None:
    again = open_session(conf={"spark.sql.streaming.numRecentProgressUpdates": "7"})
    assert again.sparkContext is spark.sparkContext
    assert spark.conf.get("spark.sql.streaming.numRecentProgressUpdates") == "7"
    spark.conf.unset("spark.sql.streaming.numRecentProgressUpdates")


@pytest.mark.usefixtures("spark")
def test_spark_writes_its_log_to_a_file() -> None:
    log = log_file()
    assert log is not None
    assert "Running Spark version" in log.read_text()


def test_a_running_session_that_differs_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SetupError) as caught:
        open_session(master="local[7]", jars=[Path("/opt/more.jar")])
    assert str(caught.value) == (
        "session: Spark already runs in this process, and spark.master is local[2], expected local[7]; "
        "more.jar is not among its jars\n"
        "  hint: stop it first (spark.stop()), or leave these settings out"
    )
    assert spark.range(1).count() == 1


def test_a_setting_that_is_not_sparks_is_refused() -> None:
    with pytest.raises(OptionError) as caught:
        open_session(conf={"park.ui.enabled": "true"})
    assert str(caught.value) == (
        "conf: expected a Spark setting, got 'park.ui.enabled'\n  hint: names start with `spark.`"
    )


@pytest.mark.usefixtures("spark")
def test_a_value_that_spark_does_not_take_is_refused() -> None:
    with pytest.raises(OptionError, match=r"conf spark\.sql\.ansi\.enabled: .*perhaps"):
        open_session(conf={"spark.sql.ansi.enabled": "perhaps"})


def test_a_setting_that_results_depend_on_is_refused() -> None:
    with pytest.raises(OptionError) as caught:
        open_session(conf={"spark.sql.session.timeZone": "Europe/Paris"})
    assert str(caught.value) == (
        "conf spark.sql.session.timeZone: expected UTC, got 'Europe/Paris': checkpoints and results depend on it\n"
        "  hint: convert times in expressions: from_utc_timestamp(ts, 'Europe/Paris')"
    )


def test_spark_connect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    with pytest.raises(SetupError) as caught:
        open_session()
    assert str(caught.value) == (
        "session: expected classic Spark, got Spark Connect (SPARK_REMOTE is sc://localhost)\n"
        "  hint: unset SPARK_REMOTE, and set the cluster with --master"
    )


@pytest.mark.usefixtures("spark")
def test_a_kernel_that_changed_while_spark_runs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "read_properties", lambda jar: {"digest": "newer"})
    with pytest.raises(SetupError) as caught:
        open_session()
    assert str(caught.value) == (
        "session: the running Spark has another version of the Headrace kernel\n"
        "  hint: restart this Python process"
    )


def test_state_is_in_rocksdb(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.txt").write_text("a\nb\na\n")
    counts = spark.readStream.text(str(tmp_path / "in")).groupBy("value").count()
    writer = counts.writeStream.format("noop").outputMode("complete").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    progress: Any = query.lastProgress
    [operator] = progress["stateOperators"]
    assert "rocksdbCommitFlushLatency" in operator["customMetrics"]
    # Format 2 names each state checkpoint in the commit log; format 1 has only a number.
    assert '"stateUniqueIds":{"0":[[' in (tmp_path / "checkpoint" / "commits" / "0").read_text()
    assert list((tmp_path / "checkpoint" / "state" / "0" / "0").glob("1_*.changelog"))


NO_KERNEL = """
from pyspark.sql import SparkSession
from headrace.spark.gateway import system_property
from headrace.spark.session import _executor_releases, open_session
from headrace.errors import SetupError
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
try:
    open_session()
except SetupError as error:
    print(error)
spark.stop()
"""


def test_a_session_without_the_kernel_is_refused(tmp_path: Path) -> None:
    text = run_python(NO_KERNEL, tmp_path).stdout
    assert text.startswith(
        "session: the running Spark has no Headrace kernel\n"
        "  hint: let Headrace start it, or set spark.jars and spark.driver.extraClassPath to "
    )
    assert re.search(r"headrace-kernel-4\.\d\.jar\n$", text)


FAILS = """
import sys
from headrace.spark.gateway import system_property
from headrace.spark.session import _executor_releases, open_session
from headrace.errors import SetupError
try:
    open_session(conf=dict([sys.argv[1].split("=")]))
except SetupError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (
            "spark.driver.memory=lots",
            "Invalid initial heap size: -Xmslots|Invalid maximum heap size: -Xmxlots",
        ),
        (
            "spark.master=nonsense",
            ".*SparkException: Master must either be yarn or start with spark, k8s, or local",
        ),
    ],
)
def test_a_spark_that_does_not_start_reports_the_reason(tmp_path: Path, setting: str, reason: str) -> None:
    done = run_python(FAILS, tmp_path, setting)
    assert re.fullmatch(
        f"spark: Spark did not start: ({reason})\n  hint: see its log: {tmp_path}/cache/logs/.*[.]log\n",
        done.stdout,
    )
    assert done.stderr == ""


def run_python(script: str, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own, with an empty cache."""
    environment = os.environ | {"HEADRACE_CACHE": str(directory / "cache")}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=600)


def test_versions_of_java_are_those_of_the_executors(spark: SparkSession) -> None:
    assert _executor_releases(spark) == [system_property("java.version")]


def test_active_session_with_an_affected_java_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "system_property", lambda name: "25.0.2")
    monkeypatch.delenv("JAVA_TOOL_OPTIONS")
    with pytest.raises(SetupError, match=r"Java 25\.0\.2 can corrupt data"):
        open_session()
