"""Compiling the kernel: the jar is rebuilt after a change of a source and records its sources."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from headrace.errors import SetupError
from headrace.spark import kernel_jar
from headrace.spark.kernel_jar import KernelSources, build, read_properties


@pytest.fixture
def sources(tmp_path: Path) -> KernelSources:
    ours = kernel_jar.checkout_sources()
    assert ours is not None
    root = tmp_path / "a source" / "src" / "main"  # a path with a space, as on many desktops
    target = root / "scala/org/apache/spark/sql/headrace/ProgressReports.scala"
    target.parent.mkdir(parents=True)
    shutil.copy(ours.root / target.relative_to(root), target)
    return KernelSources(root, ours.spark_home)


def test_the_jar_is_made_again_when_a_source_changes_and_warnings_are_reported(
    sources: KernelSources, tmp_path: Path
) -> None:
    """The same sources give the same bytes; strictly, a warning is an error.

    One test: every compilation takes seconds.
    """
    jar = tmp_path / "kernel.jar"
    message: list[str] = []
    build(sources, jar, message.append)
    assert read_properties(jar) == {"digest": sources.digest, "spark": sources.spark_version}
    assert message[0] == f"kernel: compiling 1 Scala files for Spark {sources.spark_version}"
    again = build(sources, tmp_path / "again.jar", message.append)
    assert again.read_bytes() == jar.read_bytes()

    text = "package org.apache.spark.sql.headrace\nimport java.util.Properties\nobject More\n"
    (sources.root / "More.scala").write_text(text)
    build(sources, jar, message.append)
    assert read_properties(jar)["digest"] == sources.digest
    with zipfile.ZipFile(jar) as archive:
        assert "org/apache/spark/sql/headrace/More.class" in archive.namelist()
    assert any("More.scala:2: warning: Unused import" in line for line in message)

    count = len(message)
    build(sources, jar, message.append)
    assert len(message) == count
    with pytest.raises(SetupError, match="Unused import"):
        build(sources, jar, message.append, force=True, strict=True)


def test_a_source_that_does_not_compile_is_shown_with_its_line(
    sources: KernelSources, tmp_path: Path
) -> None:
    (sources.root / "Bad.scala").write_text("object Bad {\n  val x: Int = missing\n}\n")
    with pytest.raises(SetupError) as caught:
        build(sources, tmp_path / "kernel.jar", lambda line: None)
    text = str(caught.value)
    assert text.startswith("kernel: the kernel does not compile\n")
    assert "Bad.scala:2: error: not found: value missing" in text
    assert text.endswith("hint: fix the errors, then run `make kernel`")
    assert not (tmp_path / "kernel.jar").exists()
