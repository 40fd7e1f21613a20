"""Checksums of state files: those that Spark writes for changelogs and snapshots, and Hadoop's for tables."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from headrace.checkpoints.integrity.continuity import log_numbers
from headrace.checkpoints.integrity.damages import MISSING, Damage
from headrace.checkpoints.layout import read_log_file
from headrace.errors import DamagedFileError

_LOST = "the state of a step"
_MISMATCH = "the file is damaged: its checksum does not match"
_HADOOP = struct.Struct(">4si")
"""The head of Hadoop's checksum file: magic bytes, and the length of a block that has a checksum."""


def check_state(query: Path) -> Iterator[Damage]:
    """Yield the state files of a query that are damaged, or missing although the last commit names them."""
    state = query / "spark" / "state"
    for file in state_files(query):
        if not _is_intact(file):
            yield Damage(file, _MISMATCH, _LOST)
    yield from _missing_versions(query, state)


def state_files(query: Path) -> Iterator[Path]:
    """Yield the files of the state of a query that have a checksum."""
    state = query / "spark" / "state"
    for suffix in ("changelog", "zip", "sst"):
        yield from sorted(file for file in state.rglob(f"*.{suffix}") if _checksum_file(file).exists())


def crc32c(content: bytes) -> int:
    """Return the CRC-32C of content.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, crc = _table(), 0xFFFFFFFF
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@cache
def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [(value >> 1) ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


def _checksum_file(file: Path) -> Path:
    name = f".{file.name}.crc" if file.suffix == ".sst" else f"{file.name}.crc"
    return file.with_name(name)


def _is_intact(file: Path) -> bool:
    """Return True if a file has its checksum, or was removed by a run."""
    try:
        content, expected = file.read_bytes(), _checksum_file(file).read_bytes()
    except FileNotFoundError:
        return True
    try:
        return _matches_hadoop(content, expected) if file.suffix == ".sst" else _matches(content, expected)
    except (ValueError, KeyError, TypeError, struct.error):  # the checksum itself is damaged
        return False


def _matches(content: bytes, expected: bytes) -> bool:
    record: dict[str, Any] = json.loads(expected)
    if record["algorithm"] != "CRC32C":
        return True
    size, crc = int(record["mainFileSize"]), int(record["value"]) & 0xFFFFFFFF  # signed in Java
    return len(content) == size and crc32c(content) == crc


def _matches_hadoop(content: bytes, expected: bytes) -> bool:
    magic, block = _HADOOP.unpack_from(expected)
    if magic != b"crc\0" or block <= 0:
        return False
    blocks = [content[start : start + block] for start in range(0, len(content), block)]
    sums = struct.unpack(f">{len(blocks)}I", expected[_HADOOP.size :])
    # The kind of checksum is a setting of Hadoop and not part of the file.
    pairs = list(zip(blocks, sums, strict=True))
    return all(zlib.crc32(part) == crc for part, crc in pairs) or all(
        crc32c(part) == crc for part, crc in pairs
    )


def _missing_versions(query: Path, state: Path) -> Iterator[Damage]:
    """Yield the state files that the last commit names and that are missing."""
    commits = query / "spark" / "commits"
    for epoch in log_numbers(commits)[-1:]:
        try:
            line = next(line for line in read_log_file(commits / str(epoch)) if line.startswith("{"))
        except (DamagedFileError, FileNotFoundError, StopIteration):  # reported with the commits
            return
        for operator, partitions in (json.loads(line).get("stateUniqueIds") or {}).items():
            for number, ids in enumerate(partitions):
                place = state / operator / str(number)
                for identity in ids:
                    if not any(place.rglob(f"*_{identity}.*")):
                        yield Damage(place / f"{epoch + 1}_{identity}.changelog", MISSING, _LOST)
