"""Run tests on each supported version of Spark: `make sparks`.

    python -m tests.support.sparks environments          create them; prints the directories of their pyspark
    python -m tests.support.sparks run [4.1 ...]         run the tests; writes the page of the documentation
    python -m tests.support.sparks check-wheel           fail if the wheel in dist/ lacks a kernel jar

An environment has the locked packages, but another pyspark, pinned by its hash, in `.tools/spark-4.1`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.spark.kernel_jar import SUPPORTED, jar_path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / ".tools" / "sparks.json"
PAGE = ROOT / "docs" / "how-to" / "spark-versions.md"
UV = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")
OTHERS = {
    "4.1": ("4.1.4", "bcbd5e18690cf79d438e97210ad06fb8d451a251bb77becc2b0418868d2acd73"),
    "4.2": ("4.2.1", "d79b7c8ee41e66a9202fe6f600ca90b931ca571ae9dbdf31c58d2672e5102da0"),
}
"""The versions besides the locked one, and the SHA-256 of their packages on PyPI."""
LOCKED = "4.3"
TEXT = """# Versions of Spark

Headrace runs on Spark 4.1, 4.2 and 4.3. `pip install headrace` keeps the pyspark that is installed if it is one of them; the wheel has a
kernel for each, and a session uses that of its Spark. On a cluster, the driver needs the minor version of the cluster:

```console
$ pip install headrace 'pyspark~=4.1.0'
```

4.3 is the version of most tests. What an older one lacks is an error that names the version:

| | 4.1 | 4.2 | 4.3 |
|---|---|---|---|
| [real-time mode](kafka.md#real-time-mode) | no | without state | yes |
| [another number of state partitions](cluster.md#partitions) | no | yes | yes |
| [files in S3](object-stores.md) with the jars that Headrace downloads | no | yes | yes |
| `min_by` and `max_by` with a number of rows | no | yes | yes |

On 4.1 the expired windows of a key range are removed one by one, because its state stores cannot delete ranges.

## What ran

`make sparks` runs these tests in environments with each version and writes this page.

"""
LACKING = {
    "4.1": [
        f"tests/transcripts/trino/match_recognize_more.yaml::{name} by n, "
        "query 1 of TestCopyAggregationStateInRowPatternMatching"
        for name in ("min", "max")
    ]
}
"""Tests of what a version lacks."""
PYTEST = (
    "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header",
    # Older versions of pyspark leave sockets to the garbage collector.
    "-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning",
)  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """Tests that run on each version."""

    name: str
    command: tuple[str, ...]


SUITES = (
    Suite("unit tests of the kernel", ("kernel/tools.py", "test")),
    Suite(
        "stream equals batch",
        (*PYTEST, "tests/spark/test_windows_stream.py", "tests/spark/test_windows_batch.py"),
    ),
    Suite("kills", (*PYTEST, "tests/recovery/test_kill.py")),
    Suite(
        "code in Python",
        (*PYTEST, "tests/spark/test_python_aggregates.py", "tests/spark/code/test_functions.py"),
    ),
    Suite("CPU time of a million rows in windows", ("-m", "tests.support.spark_speed")),
    Suite("transcripts", (*PYTEST, "tests/transcripts", "tests/spark/test_transcript_runs.py")),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 1 if a suite failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("environments", help="create the environments")
    commands.add_parser("check-wheel", help="check the wheel in dist/")
    running = commands.add_parser("run", help="run the suites")
    running.add_argument(
        "--only", default="", metavar="TEXT", help="only suites with this text in their name"
    )
    running.add_argument("versions", nargs="*", default=[*OTHERS, LOCKED])
    chosen = parser.parse_args(arguments)
    if chosen.command == "environments":
        print(os.pathsep.join(str(spark_home(prepare(version))) for version in OTHERS))
        return 0
    if chosen.command == "check-wheel":
        return check_wheel(max((ROOT / "dist").glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime))
    return run(chosen.versions, chosen.only)


def prepare(version: str) -> Path:
    """Create the environment of a version if it is missing, and return its directory."""
    if version == LOCKED:
        return ROOT / ".venv"
    release, digest = OTHERS[version]
    target = ROOT / ".tools" / f"spark-{version}"
    if not (target / f"ready-{release}").exists():
        shutil.rmtree(target, ignore_errors=True)
        _uv("venv", "--python", sys.executable, str(target))
        locked = _uv("export", "--locked", "--all-extras", "--no-hashes", "--no-emit-project")
        others = [line for line in locked.splitlines() if not line.startswith("pyspark==")]
        _install(target, "\n".join(others))
        _install(target, f"pyspark=={release} --hash=sha256:{digest}", "--no-deps", "--require-hashes")
        (target / f"ready-{release}").touch()
    into = ("--python", str(target / "bin" / "python"))
    _uv("pip", "install", *into, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    return target


def spark_home(environment: Path) -> Path:
    """Return the directory of pyspark in an environment."""
    return next((environment / "lib").glob("python*/site-packages/pyspark"))


def check_wheel(wheel: Path) -> int:
    """Return 1 if a wheel lacks the kernel jar of a supported version."""
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name).name for name in archive.namelist()}
    missing = [jar_path(version).name for version in SUPPORTED if jar_path(version).name not in names]
    print(f"{wheel.name}: {f'lacks {missing}' if missing else 'has all kernel jars'}")
    return bool(missing)


def run(versions: Sequence[str], only: str) -> int:
    """Run the suites on each version and write the page, with the last results of other versions."""
    results: dict[str, dict[str, str]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for version in versions:
        python, done = prepare(version) / "bin" / "python", results.setdefault(version, {})
        for suite in (each for each in SUITES if only in each.name):
            print(f"Spark {version}: {suite.name}", flush=True)
            done[suite.name] = _run_suite(python, suite, LACKING.get(version, []))
            print(f"Spark {version}: {suite.name}: {done[suite.name]}", flush=True)
            RESULTS.write_text(json.dumps(results))
    PAGE.write_text(TEXT + table(results))
    return any("failed" in result for version in versions for result in results[version].values())


def table(results: Mapping[str, Mapping[str, str]]) -> str:
    """Return the results by version as a table."""
    versions = {**{version: release for version, (release, _) in OTHERS.items()}, LOCKED: "4.3.0"}
    lines = [f"| | {' | '.join(versions.values())} |", "|---|---|---|---|"]
    for suite in SUITES:
        cells = (results.get(version, {}).get(suite.name, "not run") for version in versions)
        lines.append(f"| {suite.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _run_suite(python: Path, suite: Suite, lacking: Sequence[str]) -> str:
    without = [f"--deselect={name}" for name in lacking] if "pytest" in suite.command else []
    with tempfile.TemporaryFile("w+") as output:
        status = subprocess.run(
            [str(python), *suite.command, *without],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
        output.seek(0)
        text = output.read()
    numbers = re.findall(r"^OK \((\d+) tests\)|(\d+) passed", text, re.MULTILINE)
    passed = "".join(numbers[-1]) if numbers else "0"
    if status:
        print(text[-6000:], flush=True)
        return f"failed, {passed} passed"
    time = re.search(r"^CPU time: (\d+ s)", text, re.MULTILINE)
    return time[1] if time else f"{passed} passed"


def _install(target: Path, requirements: str, *options: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements)
        file.flush()
        _uv("pip", "install", "--python", str(target / "bin" / "python"), *options, "-r", file.name)


def _uv(*words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [UV, *words, "--quiet"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
