"""Sealed files: every change of a file is detected."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import DamagedFileError
from headrace.sealed_files import is_sealed, read_sealed, seal, unseal

PATH = Path("spark/offsets/4")
CONTENT = b'v1\n{"batchWatermarkMs":1000}\n7'
SEALED = seal(CONTENT, PATH)


def test_content_is_returned_as_it_was_written() -> None:
    assert unseal(SEALED, PATH, hint="") == CONTENT
    assert is_sealed(SEALED)
    assert not is_sealed(CONTENT)


def test_empty_content_can_be_sealed() -> None:
    assert unseal(seal(b"", PATH), PATH, hint="") == b""


@pytest.mark.parametrize("position", range(len(SEALED)))
def test_every_flipped_bit_is_detected(position: int) -> None:
    for bit in range(8):
        damaged = bytearray(SEALED)
        damaged[position] ^= 1 << bit
        with pytest.raises(DamagedFileError, match="checksum does not match"):
            unseal(bytes(damaged), PATH, hint="restore a savepoint")


@pytest.mark.parametrize("length", range(1, len(SEALED)))
def test_every_truncation_is_detected(length: int) -> None:
    with pytest.raises(DamagedFileError):
        unseal(SEALED[:length], PATH, hint="")


def test_file_copied_over_another_one_is_detected() -> None:
    with pytest.raises(DamagedFileError):
        unseal(SEALED, PATH.with_name("5"), hint="")
    with pytest.raises(DamagedFileError):
        unseal(SEALED, Path("spark/commits/4"), hint="")


def test_sealed_file_can_move_with_its_directory() -> None:
    assert unseal(SEALED, Path("elsewhere/offsets/4"), hint="") == CONTENT


def test_error_names_file_and_hint(tmp_path: Path) -> None:
    file = tmp_path / "sources.json"
    file.write_bytes(b"")
    with pytest.raises(DamagedFileError, match="the file is empty") as caught:
        read_sealed(file, hint="restore a savepoint, or start over with --fresh")
    assert caught.value.where == str(file)
    assert "--fresh" in caught.value.hint


def test_sealed_json_is_read(tmp_path: Path) -> None:
    file = tmp_path / "step.json"
    file.write_bytes(seal(b'{"n": 1}', file))
    assert read_sealed(file, hint="") == {"n": 1}
