"""The kernel jar: when it is stale, its manifest, and the error if it is missing."""

from __future__ import annotations

import zipfile
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from headrace.errors import SetupError
from headrace.spark import kernel_jar
from headrace.spark.kernel_jar import (
    KernelSources,
    build,
    ensure_kernel_jar,
    find_spark_home,
    read_properties,
)


def silent(line: str) -> None:
    pass


@pytest.fixture
def sources(tmp_path: Path) -> KernelSources:
    root = tmp_path / "src"
    root.mkdir()
    (root / "A.scala").write_text("class A")
    spark_home = tmp_path / "spark"
    (spark_home / "jars").mkdir(parents=True)
    (spark_home / "jars" / "spark-core_2.13-4.3.0.jar").touch()
    return KernelSources(root, spark_home)


def test_an_unchanged_source_keeps_the_digest(sources: KernelSources) -> None:
    before = sources.digest
    (sources.root / "A.scala").touch()
    (sources.root / "notes.txt").write_text("not Scala")
    assert sources.digest == before


def test_a_changed_source_changes_the_digest(sources: KernelSources) -> None:
    before = sources.digest
    (sources.root / "A.scala").write_text("class A { }")
    assert sources.digest != before


def test_a_moved_or_new_source_changes_the_digest(sources: KernelSources) -> None:
    before = sources.digest
    (sources.root / "A.scala").rename(sources.root / "B.scala")
    moved = sources.digest
    (sources.root / "C.scala").write_text("class C")
    assert len({before, moved, sources.digest}) == 3


def test_another_spark_changes_the_digest(sources: KernelSources) -> None:
    before = sources.digest
    jars = sources.spark_home / "jars"
    (jars / "spark-core_2.13-4.3.0.jar").rename(jars / "spark-core_2.13-4.3.1.jar")
    assert sources.digest != before


def test_a_jar_made_from_these_sources_is_left_alone(sources: KernelSources, tmp_path: Path) -> None:
    jar = tmp_path / "kernel.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(kernel_jar.PROPERTIES, f"digest={sources.digest}\nspark=4.3.0\n")
    before = jar.stat()
    assert build(sources, jar, silent) == jar
    assert jar.stat() == before


def test_a_file_that_is_no_jar_has_no_version(tmp_path: Path) -> None:
    assert read_properties(tmp_path / "none.jar") == {}
    (tmp_path / "torn.jar").write_bytes(b"PK")
    assert read_properties(tmp_path / "torn.jar") == {}


def test_the_checkout_is_found() -> None:
    sources = kernel_jar.checkout_sources()
    assert sources is not None
    assert any(file.name == "Kernel.scala" for file in sources.files)


def test_an_installed_package_without_its_jar_states_how_to_mend_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_jar, "checkout_sources", lambda: None)
    monkeypatch.setattr(kernel_jar, "JARS", tmp_path)
    monkeypatch.setattr(kernel_jar, "spark_version", lambda home: "4.2.1")
    with pytest.raises(SetupError) as caught:
        ensure_kernel_jar(silent)
    assert str(caught.value) == (
        f"kernel: the kernel is missing: {tmp_path}/headrace-kernel-4.2.jar\n  hint: pip install --force-reinstall headrace"
    )


def test_a_spark_without_jars_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        kernel_jar.spark_version(tmp_path)
    assert str(caught.value) == (
        f"spark: {tmp_path}/jars has no spark-core_2.13 jar\n"
        "  hint: pip install --force-reinstall pyspark (not pyspark-client)"
    )


def test_a_missing_pyspark_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SetupError, match="spark: pyspark is not installed\n  hint: pip install headrace"):
        find_spark_home()


def test_under_spark_submit_spark_is_at_spark_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    zipped = ModuleSpec("pyspark", None, origin=str(tmp_path / "pyspark.zip" / "pyspark" / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: zipped)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    assert find_spark_home() == tmp_path / "spark"
