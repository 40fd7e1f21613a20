"""The file of a class archive depends on everything that Java compares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.spark import class_archive
from headrace.spark.class_archive import MAX_ARCHIVES, archive_options, archive_path, store_archive
from headrace.spark.java import Java


@pytest.fixture(autouse=True)
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jar = tmp_path / "kernel.jar"
    jar.write_text("kernel")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").write_text("spark")
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(class_archive, "installed_jar", lambda: jar)
    return jar


def test_another_jar_or_java_has_another_archive(tmp_path: Path, kernel: Path) -> None:
    java = Java(tmp_path / "java", 17, "PATH")
    before = archive_path(java, tmp_path)
    assert archive_path(java, tmp_path) == before
    assert archive_path(Java(tmp_path / "other", 17, "PATH"), tmp_path) != before
    (tmp_path / "jars" / "more.jar").write_text("more")
    with_more = archive_path(java, tmp_path)
    os.utime(kernel, (1, 1))
    assert len({before, with_more, archive_path(java, tmp_path)}) == 3


def test_options_name_an_archive_that_exists(tmp_path: Path) -> None:
    java = Java(tmp_path / "java", 17, "PATH")
    assert archive_options(java, tmp_path) == ""
    archive = archive_path(java, tmp_path)
    archive.parent.mkdir(parents=True)
    archive.write_text("classes")
    assert f'-XX:SharedArchiveFile="{archive}"' in archive_options(java, tmp_path)


def test_old_archives_are_deleted(tmp_path: Path) -> None:
    directory = tmp_path / "cache" / "classes"
    directory.mkdir(parents=True)
    for number in range(MAX_ARCHIVES + 1):
        old = directory / f"{number}.jsa"
        old.write_text("old")
        os.utime(old, (number, number))
    draft = tmp_path / "draft"
    draft.write_text("new")
    store_archive(draft, directory / "new.jsa")
    assert {file.name for file in directory.iterdir()} == {"new.jsa", "2.jsa", "3.jsa"}
