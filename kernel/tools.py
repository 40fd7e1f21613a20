"""Format and test the kernel's Scala with jars from Maven Central; no sbt is needed.

python kernel/tools.py format            format the sources in place
python kernel/tools.py format --check    fail if a file is not formatted
python kernel/tools.py test [CLASS...]   compile src/test/scala and run its suites
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from headrace.spark.jars import fetch
from headrace.spark.java import find_java
from headrace.spark.kernel_jar import OPTIONS, ensure_kernel_jar, find_spark_home

HERE = Path(__file__).resolve().parent
LOCK = HERE / "jars.toml"
SOURCES = (HERE / "src" / "main", HERE / "src" / "test" / "scala")
JVM = ("-Xss4m", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
OPENED = tuple(
    f"--add-opens=java.base/{name}=ALL-UNNAMED"
    for name in ("java.lang", "java.nio", "java.util", "sun.nio.ch")
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python kernel/tools.py", description="Format and test the kernel.")
    commands = parser.add_subparsers(dest="command", required=True)
    formatting = commands.add_parser("format", help="format the Scala sources")
    formatting.add_argument("--check", action="store_true", help="fail instead of writing")
    commands.add_parser("test", help="run the Scala tests").add_argument("suites", nargs="*")
    chosen = parser.parse_args(arguments)
    return format_sources(check=chosen.check) if chosen.command == "format" else run_tests(chosen.suites)


def format_sources(*, check: bool = False) -> int:
    """Run scalafmt with `.scalafmt.conf`."""
    options = ["--config", str(HERE / ".scalafmt.conf"), "--non-interactive", "--quiet"]
    command = ["org.scalafmt.cli.Cli", *options, *(["--test"] if check else []), *map(str, SOURCES)]
    code = _java([*fetch("scalafmt", lock=LOCK), *_spark_jars()], command)
    if code and check:
        sys.stderr.write("Scala sources are not formatted; run `python kernel/tools.py format`\n")
    return code


def run_tests(suites: Sequence[str] = ()) -> int:
    """Compile the tests with Spark's bundled compiler and run them with JUnit."""
    kernel = ensure_kernel_jar(print)
    classpath = [kernel, *fetch("munit", lock=LOCK), *fetch("kafka"), *_spark_jars()]
    files = sorted(SOURCES[1].rglob("*.scala"))
    with tempfile.TemporaryDirectory(prefix="headrace-kernel-tests-") as classes:
        arguments = [*OPTIONS, "-Werror", "-usejavacp", "-d", classes, *map(str, files)]
        if code := _java(classpath, ["scala.tools.nsc.Main", *arguments]):
            return code
        names = suites or [_class_name(file) for file in files if file.stem.endswith("Suite")]
        resources = HERE / "src" / "test" / "resources"
        return _java(
            [resources, Path(classes), *classpath],
            [
                f"-Dlog4j2.configurationFile={resources}/log4j2.properties",
                "org.junit.runner.JUnitCore",
                *names,
            ],
        )


def _class_name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCES[1]).with_suffix("").parts)


def _spark_jars() -> Iterable[Path]:
    return sorted((find_spark_home() / "jars").glob("*.jar"))


def _java(classpath: Iterable[Path], command: Sequence[str]) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".args") as file:
        file.write(f'-cp "{":".join(map(str, classpath))}"')
        file.flush()
        java = str(find_java().executable)
        return subprocess.run([java, *JVM, *OPENED, f"@{file.name}", *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
