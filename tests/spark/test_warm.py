"""A warm session: runs use one JVM one after the other, with their own modules, and a killed run leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import wait_until

from headrace.jobs.process import start_time
from headrace.spark.warm import places

PROGRAM = """
import json, sys
import tags
from headrace import Pipeline, connect
from pyspark.sql import SparkSession

out, warm = connect.memory(), Pipeline("warm")
rows = warm.read("rows", connect.memory(rows=[{"n": 1}, {"n": 2}]), schema="n int")
rows.map("tagged", tags.tag, output="n int, tag string").write("out", out)
warm.run(until="drained", master="local[1]", progress=False)
spark = SparkSession.active()
views = [view.name for view in spark.catalog.listTables() if view.isTemporary]
spark.range(1).createOrReplaceTempView("left_behind")
process = spark._jvm.java.lang.ProcessHandle.current().pid()
print(json.dumps({"tags": sorted(row["tag"] for row in out.contents()), "jvm": process, "views": views}))
"""
ENDLESS = """
from headrace import Pipeline, connect
endless = Pipeline("endless")
rows = endless.read("rows", connect.generator(rate=5, columns={"n": {"integer": {"high": 4}}}), schema="n int")
rows.write("out", connect.files(path="out", format="json"))
endless.run(master="local[1]", progress=False)
"""
TAGS = "def tag(row):\n    return row.n, '{}'\n"
HEADRACE = (sys.executable, "-m", "headrace.cli.app")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory with a warm session; only its own is stopped at the end."""
    before = set(places.sockets())
    subprocess.run([*HEADRACE, "warm", "--master", "local[1]"], cwd=tmp_path, check=True)
    yield tmp_path
    from headrace.spark.warm.client import stop

    for socket in set(places.sockets()) - before:
        stop(socket)


def run(place: Path, tag: str) -> dict[str, Any]:
    """Run the program with a module that returns a tag."""
    (place / "tags.py").write_text(TAGS.format(tag))
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_runs_share_a_jvm_and_nothing_else_and_a_killed_run_replaces_it(place: Path) -> None:
    [socket] = [each for each in places.sockets() if each.stat().st_mtime >= place.stat().st_mtime - 120]
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    first, second = run(place, "first"), run(place, "second")
    assert first["jvm"] == second["jvm"]
    assert (first["tags"], second["tags"]) == (["first", "first"], ["second", "second"])
    assert second["views"] == []
    endless = subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=place)
    wait_until(lambda: any((place / "out").rglob("*.json")))
    other = run(place, "other")  # while the session is lent
    assert other["jvm"] != first["jvm"]
    os.kill(endless.pid, signal.SIGKILL)
    endless.wait()
    wait_until(lambda: start_time(first["jvm"]) is None)
    wait_until(socket.exists)
    third = run(place, "third")
    assert third["jvm"] not in (first["jvm"], other["jvm"])
    assert third["tags"] == ["third", "third"]
