"""Versions of a model: selected for each epoch, the same in a replay, also if the file is gone."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headrace.errors import DamagedFileError, LoadError
from headrace.models.versions import ModelVersions, find_file


def load(content: bytes) -> object:
    if content == b"broken":
        raise ValueError("not a model")
    return content


def open_versions(tmp_path: Path, path: str = "models") -> ModelVersions:
    return ModelVersions("scored", str(tmp_path / path), (".joblib",), tmp_path / "checkpoint", load)


def write(tmp_path: Path, **versions: str) -> None:
    (tmp_path / "models").mkdir(exist_ok=True)
    for name, content in versions.items():
        (tmp_path / "models" / f"{name}.joblib").write_text(content)


def active(versions: ModelVersions) -> tuple[str, str]:
    """Return the active version without its checksum, and its content, as a worker reads them."""
    version = versions.stored.current()
    return version.rpartition("-")[0], versions.stored.read(version).decode()


def test_the_last_version_in_natural_order_is_used_from_the_next_epoch_on(tmp_path: Path) -> None:
    write(tmp_path, v9="nine")
    (tmp_path / "models" / "v99.txt").write_text("notes")
    (tmp_path / "models" / ".v98.joblib").write_text("a draft")
    versions = open_versions(tmp_path)
    versions.enter(0)
    assert active(versions) == ("v9", "nine")
    write(tmp_path, v10="ten")
    assert active(versions) == ("v9", "nine")
    versions.enter(1)
    assert active(versions) == ("v10", "ten")


def test_a_replayed_epoch_uses_its_version_even_if_the_file_is_gone(tmp_path: Path) -> None:
    write(tmp_path, v1="one")
    before = open_versions(tmp_path)
    before.enter(0)
    before.enter(1)
    (tmp_path / "models" / "v1.joblib").unlink()
    write(tmp_path, v2="two")
    again = open_versions(tmp_path)  # a new run, which replays epoch 1
    again.enter(1)
    assert active(again) == ("v1", "one")
    again.enter(2)
    assert active(again) == ("v2", "two")
    again.enter(3)
    again.enter(4)
    assert [path.name[:2] for path in (tmp_path / "checkpoint").glob("*.model")] == ["v2"]


def test_a_file_that_changes_is_another_version(tmp_path: Path) -> None:
    path = tmp_path / "risk.joblib"
    path.write_text("one")
    versions = open_versions(tmp_path, "risk.joblib")
    versions.enter(0)
    first = versions.stored.current()
    path.write_text("second")
    versions.enter(1)
    second = versions.stored.current()
    assert first.startswith("risk-")
    assert second.startswith("risk-")
    assert first != second
    assert versions.stored.read(second) == b"second"


def test_a_file_that_cannot_be_loaded_keeps_the_last_version_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, v1="one")
    versions = open_versions(tmp_path)
    versions.enter(0)
    write(tmp_path, v2="broken")
    with caplog.at_level(logging.WARNING, logger="headrace"):
        versions.enter(1)
        versions.enter(2)
    assert active(versions) == ("v1", "one")
    [record] = caplog.records
    assert record.getMessage().startswith("`scored`: the model at ")
    assert "cannot be loaded, version v1-" in record.getMessage()
    write(tmp_path, v2="mended")
    versions.enter(3)
    assert active(versions) == ("v2", "mended")


def test_a_directory_that_is_gone_keeps_the_last_version(tmp_path: Path) -> None:
    write(tmp_path, v1="one")
    versions = open_versions(tmp_path)
    versions.enter(0)
    (tmp_path / "models" / "v1.joblib").unlink()
    (tmp_path / "models").rmdir()
    versions.enter(1)
    assert active(versions) == ("v1", "one")
    again = open_versions(tmp_path)
    again.enter(2)
    assert active(again) == ("v1", "one")


def test_a_run_does_not_start_without_a_version(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="models: there is no model\n"):
        open_versions(tmp_path)
    (tmp_path / "models").mkdir()
    with pytest.raises(LoadError, match=r"models: there is no model \*\.joblib\n"):
        open_versions(tmp_path)
    write(tmp_path, v1="broken")
    with pytest.raises(ValueError, match="not a model"):
        open_versions(tmp_path)


def test_a_damaged_or_missing_version_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, v1="one")
    versions = open_versions(tmp_path)
    versions.enter(0)
    [stored] = (tmp_path / "checkpoint").glob("*.model")
    stored.write_bytes(stored.read_bytes().replace(b"one", b"two"))
    with pytest.raises(DamagedFileError):
        versions.stored.read(versions.stored.current())
    stored.unlink()
    with pytest.raises(DamagedFileError, match="the file is missing"):
        versions.stored.read(versions.stored.current())


@pytest.mark.parametrize("kept", [None, 0, 1])
def test_a_journal_without_its_last_lines_is_an_error(tmp_path: Path, kept: int | None) -> None:
    write(tmp_path, v1="one")
    versions = open_versions(tmp_path)
    versions.enter(0)
    versions.enter(1)
    journal = tmp_path / "checkpoint" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    if kept is None:
        journal.unlink()
    else:
        journal.write_bytes(b"".join(lines[:kept]))
    with pytest.raises(DamagedFileError, match="missing: the version that epoch 1 has used") as caught:
        open_versions(tmp_path)
    assert caught.value.where == str(journal)


def test_a_run_that_was_killed_before_it_activated_a_version_continues(tmp_path: Path) -> None:
    write(tmp_path, v1="one")
    versions = open_versions(tmp_path)
    versions.enter(0)
    before = (tmp_path / "checkpoint" / "current").read_bytes()
    versions.enter(1)
    (tmp_path / "checkpoint" / "current").write_bytes(before)
    open_versions(tmp_path).enter(1)
    assert active(versions) == ("v1", "one")


def test_a_file_needs_no_known_suffix(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("one")
    assert find_file(str(tmp_path / "model"), (".joblib",)) == tmp_path / "model"
