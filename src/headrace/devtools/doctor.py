"""Checks the requirements of Headrace on this machine; a missing one has the command that installs it."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from tempfile import TemporaryFile
from typing import Literal

from headrace.connectors import registry
from headrace.errors import HeadraceError
from headrace.spark import kernel_jar
from headrace.spark.cache import cache_directory
from headrace.spark.class_archive import archive_path
from headrace.spark.jars import jar_sets
from headrace.spark.java import Unfit, candidates, find_java, java_options, require_safe_java
from headrace.spark.launch import DRIVER_OPTIONS, active_session, log_file, spark_home

Status = Literal["ok", "optional", "missing"]


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: The requirement.
        status: `ok`; `optional`: absent, needed by some pipelines; `missing`: required.
        fact: The version or reason.
        fix: The command that fixes it, if any.
    """

    name: str
    status: Status
    fact: str
    fix: str = ""


def examine(*, start_spark: bool = False) -> tuple[Check, ...]:
    """Run all checks, in the order in which a pipeline needs them.

    Args:
        start_spark: Also start a session and run a query; takes some seconds.

    >>> {check.name for check in examine()} >= {"python", "java", "spark", "kernel"}
    True
    """
    checks = [
        _python(),
        _run_check("java", _java),
        _run_check("spark", _spark),
        _run_check("kernel", _kernel),
        _cache(),
        _run_check("class archive", _class_archive),
    ]
    if start_spark:
        checks.append(_run_check("session", _session))
    return (*checks, *_jars(), *_connectors(), *_extras())


def healthy(checks: tuple[Check, ...]) -> bool:
    """True if a pipeline can run here."""
    return all(check.status != "missing" for check in checks)


def _run_check(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except HeadraceError as error:
        return Check(name, "missing", error.what, error.hint)


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()} ({platform.python_implementation()})")


def _java() -> Check:
    java = find_java()
    skipped = [f"skipped {other}" for other in candidates() if isinstance(other, Unfit) and other.present]
    require_safe_java(java.release, java_options({}, "driver"), DRIVER_OPTIONS)
    fact = f"Java {java.version} from {java.origin}: {java.home}"
    return Check("java", "ok", "; ".join([fact, *skipped]))


def _spark() -> Check:
    home = kernel_jar.find_spark_home()
    kernel_jar.installed_jar()  # an unsupported version is an error
    return Check("spark", "ok", f"Spark {kernel_jar.spark_version(home)} in {home}")


def _kernel() -> Check:
    jar = kernel_jar.installed_jar()
    properties = kernel_jar.read_properties(jar)
    sources = kernel_jar.checkout_sources()
    if sources is not None and properties.get("digest") != sources.digest:
        state = "stale" if properties else "not compiled"
        return Check("kernel", "optional", f"{state}; the next session compiles it", "make kernel")
    if not properties:
        return Check("kernel", "missing", "the jar is missing", "pip install --force-reinstall headrace")
    return Check("kernel", "ok", f"{jar.name} {properties['digest'][:8]} for Spark {properties['spark']}")


def _cache() -> Check:
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            return Check("cache", "ok", str(directory))
    except OSError as error:
        fact = f"{directory} cannot be written to: {error.strerror}"
        return Check("cache", "missing", fact, "export HEADRACE_CACHE=<a directory>")


def _class_archive() -> Check:
    archive = archive_path(find_java(), spark_home())
    if archive.exists():
        return Check("class archive", "ok", f"Spark starts with stored classes: {archive}")
    return Check("class archive", "optional", "none: Spark starts more slowly", "headrace jars archive")


def _session() -> Check:
    from headrace.spark.session import open_session

    was_running = active_session() is not None
    session = open_session("headrace-doctor", report=lambda line: None)
    try:
        rows = session.range(3).count()
        return Check("session", "ok", f"Spark started and counted {rows} rows; its log: {log_file()}")
    finally:
        if not was_running:
            session.stop()


def _jars() -> Iterator[Check]:
    for known in jar_sets().values():
        name = f"jars {known.name}"
        if known.missing():
            fix = f"headrace jars fetch {known.name}"
            yield Check(name, "optional", f"to {known.about}: {known.size / 1e6:.1f} MB to be fetched", fix)
        else:
            yield Check(name, "ok", f"to {known.about}: {len(known.jars)} jars")


def _connectors() -> Iterator[Check]:
    for kind in registry.kinds():
        try:
            roles = sorted(registry.connector(kind).roles)
        except ImportError as error:
            fix = f"pip install 'headrace[{kind}]'" if kind in _extra_requirements() else ""
            yield Check(f"connector {kind}", "optional", f"cannot be loaded: {error}", fix)
        else:
            yield Check(f"connector {kind}", "ok", ", ".join(roles))


def _extras() -> Iterator[Check]:
    for extra, packages in _extra_requirements().items():
        absent = [package for package in packages if not _is_installed(package)]
        if absent:
            fact = f"needs {', '.join(absent)}"
            yield Check(f"extra {extra}", "optional", fact, f"pip install 'headrace[{extra}]'")
        else:
            yield Check(f"extra {extra}", "ok", ", ".join(packages))


def _extra_requirements() -> dict[str, list[str]]:
    """Return the packages of each extra from the installed metadata."""
    packages: dict[str, list[str]] = {}
    for requirement in metadata.requires("headrace") or []:
        extra = re.search(r"""extra == ['"](.+?)['"]""", requirement)
        package = re.match(r"[\w.-]+", requirement)
        if extra and package:
            packages.setdefault(extra[1], []).append(package[0])
    return packages


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
