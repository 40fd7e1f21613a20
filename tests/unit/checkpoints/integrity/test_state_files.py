"""Checksums of state files, as Spark and Hadoop write them."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import pytest
from tests.support.checkpoints import write_epochs, write_sealed

from headrace.checkpoints.integrity.state_files import check_state, crc32c, state_files

CONTENT = bytes(range(256)) * 5


def write_changelog(query: Path, name: str = "state/0/0/1_a.changelog", content: bytes = CONTENT) -> Path:
    file = query / "spark" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    value = struct.unpack("i", struct.pack("I", crc32c(content)))[0]
    record = {"algorithm": "CRC32C", "value": value, "mainFileSize": len(content)}
    file.with_name(f"{file.name}.crc").write_text(json.dumps(record))
    return file


def write_table(query: Path) -> Path:
    file = query / "spark" / "state" / "0" / "0" / "SSTs" / "8.sst"
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    sums = [zlib.crc32(CONTENT[start : start + 512]) for start in range(0, len(CONTENT), 512)]
    file.with_name(".8.sst.crc").write_bytes(struct.pack(f">4si{len(sums)}I", b"crc\0", 512, *sums))
    return file


def test_intact_files_are_counted(tmp_path: Path) -> None:
    files = [write_changelog(tmp_path), write_changelog(tmp_path, "state/0/0/1_a.zip"), write_table(tmp_path)]
    assert list(state_files(tmp_path)) == files
    assert list(check_state(tmp_path)) == []


@pytest.mark.parametrize("position", [0, 600, len(CONTENT) - 1])
def test_flipped_bit_is_found(tmp_path: Path, position: int) -> None:
    for file in (write_changelog(tmp_path), write_table(tmp_path)):
        content = bytearray(file.read_bytes())
        content[position] ^= 4
        file.write_bytes(content)
        (damage,) = check_state(tmp_path)
        assert damage.file == file
        assert "checksum does not match: the state of a step" in str(damage.error())
        file.unlink()


@pytest.mark.parametrize("content", [b"", b"{", b"crc\0", b'{"algorithm": "CRC32C"}'])
def test_damaged_checksum_is_found(tmp_path: Path, content: bytes) -> None:
    changelog, table = write_changelog(tmp_path), write_table(tmp_path)
    changelog.with_name(f"{changelog.name}.crc").write_bytes(content)
    table.with_name(".8.sst.crc").write_bytes(content)
    assert [damage.file for damage in check_state(tmp_path)] == [changelog, table]


def test_truncated_file_is_found(tmp_path: Path) -> None:
    file = write_table(tmp_path)
    file.write_bytes(CONTENT[:100])
    assert [damage.file for damage in check_state(tmp_path)] == [file]


def test_version_that_the_last_commit_names_must_exist(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=2)
    write_sealed(tmp_path / "spark" / "commits" / "0", 'v2\n{"stateUniqueIds":{"0":[["a"],["b"]]}}')
    write_changelog(tmp_path)
    (damage,) = check_state(tmp_path)
    assert damage.file == tmp_path / "spark" / "state" / "0" / "1" / "1_b.changelog"
    assert damage.what == "the file is missing"
    write_changelog(tmp_path, "state/0/1/1_b.zip")
    assert list(check_state(tmp_path)) == []
