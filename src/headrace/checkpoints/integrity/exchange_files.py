"""The files of exchanges: what their writer has committed, and what their readers have committed.

The ledger of an exchange has the length and the CRC-32 of each file. An entry is kept as long as one of its
files is stored, so that every file that a reader still needs can be verified.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from headrace.checkpoints.integrity.continuity import log_numbers, reads_repeatedly
from headrace.checkpoints.integrity.damages import MISSING, Damage
from headrace.checkpoints.layout import read_log_file
from headrace.checkpoints.sources import NAME as SOURCES
from headrace.checkpoints.sources import Record
from headrace.connectors.durable_files import read_json, write_json
from headrace.errors import DamagedFileError
from headrace.sealed_files import RESTORE, unseal

LISTING = "_files.json"
"""Spark ignores files whose names begin with `_`."""
_SEALED_LISTING = Path("frame") / LISTING
_ROWS = "rows that one query has passed to another"
_FRAME = "rows of a DataFrame source"
_LEDGER = "the epochs that are committed, and their files"


def committed_files(checkpoint: Path, exchange: Path) -> Iterator[str]:
    """Yield the names of files of an exchange that a reader has committed before its last epoch.

    Spark's file source logs the files of each offset in `sources/<n>/<offset>` of the reader's checkpoint.
    Files up to the offset of the last but one committed epoch are never read again, not even after a restart.
    """
    spark = checkpoint / "spark"
    epochs = log_numbers(spark / "commits")
    if len(epochs) < 2:
        return
    offsets = _read_lines(spark / "offsets" / str(epochs[-2]))[2:]
    if reads_repeatedly(checkpoint, offsets):
        return  # no file is removed
    for source, offset in enumerate(offsets):
        if '"logOffset"' in offset:
            last = json.loads(offset)["logOffset"]
            yield from _logged_files(spark / "sources" / str(source), last, exchange)


def check_exchange(directory: Path, exchange: Path) -> Iterator[Damage]:
    """Yield the damages of the files of an exchange that a reader may read."""
    for log in exchange.glob("_headrace/*/log"):
        yield from check_ledger(log)
    try:
        removable = _removable_files(directory, exchange)
        for log in exchange.glob("_headrace/*/log"):
            yield from _check_rows(exchange, log, removable)
    except DamagedFileError:  # reported with the ledger, or with the query that reads the exchange
        return


def check_ledger(log: Path) -> Iterator[Damage]:
    """Yield the damages of the ledger of a files sink."""
    numbers = log_numbers(log)
    for number in range(min(numbers, default=0), max(numbers, default=-1) + 1):
        file = log / f"{number:010d}"
        try:
            unseal(file.read_bytes(), file, hint=RESTORE)
        except DamagedFileError as error:
            yield Damage.of(error, _LEDGER)
        except FileNotFoundError:
            if number >= min(log_numbers(log), default=0):  # no run has removed it meanwhile
                yield Damage(file, MISSING, _LEDGER)


def checksum(file: Path) -> tuple[int, int]:
    """Return the length and the CRC-32 of a file."""
    size = crc = 0
    with file.open("rb") as content:
        while block := content.read(1 << 20):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return size, crc


def write_listing(directory: Path) -> None:
    """Store length and CRC-32 of each Parquet file of a directory, in the directory."""
    files = {file.name: checksum(file) for file in directory.glob("*.parquet")}
    write_json(directory / LISTING, files, name=_SEALED_LISTING)


def check_listing(directory: Path) -> Iterator[Damage]:
    """Yield the damages of the files that `write_listing` has listed."""
    try:
        files = read_json(directory / LISTING, {}, name=_SEALED_LISTING)
    except DamagedFileError as error:
        yield Damage.of(error, _FRAME)
        return
    for name, sums in files.items():
        yield from check_file(directory / name, *sums, lost=_FRAME)


def check_file(file: Path, size: int, crc: int, *, lost: str = _ROWS) -> Iterator[Damage]:
    """Yield the damage of a file whose length or CRC-32 differs."""
    try:
        if checksum(file) != (size, crc):
            yield Damage(file, "the file is damaged: its checksum does not match", lost)
    except FileNotFoundError:
        yield Damage(file, MISSING, lost)


def _check_rows(exchange: Path, log: Path, removable: set[str] | None) -> Iterator[Damage]:
    for number in log_numbers(log):
        file = log / f"{number:010d}"
        for staged, name, *sums in json.loads(unseal(file.read_bytes(), file, hint=RESTORE)).get("moves", ()):
            # Version 0.2 wrote no checksums. A run moves the files of the last entry when it starts.
            stored = next((f for f in (exchange / name, exchange / staged) if f.exists()), exchange / name)
            may_be_missing = removable is None or name in removable
            if sums and (stored.exists() or not may_be_missing):
                yield from check_file(stored, *sums)


def _removable_files(directory: Path, exchange: Path) -> set[str] | None:
    """Return the names of files that may be missing; None if the exchange has no reader.

    They are removed once all readers have committed them. A reader that was added later does not know them.
    """
    readers = [
        checkpoint
        for checkpoint in (directory / "queries").glob("*")
        if exchange.name in {name.replace(":", "_") for name in _read_sources(checkpoint)}
    ]
    committed, needed = set[str](), set[str]()
    for checkpoint in readers:
        done = set(committed_files(checkpoint, exchange.absolute()))
        logs = (checkpoint / "spark" / "sources").glob("*")
        needed |= {name for log in logs for name in _logged_files(log, None, exchange.absolute())} - done
        committed |= done
    return committed - needed if readers else None


def _read_sources(checkpoint: Path) -> Record:
    record: Record = read_json(checkpoint / SOURCES, {}, name=Path("query") / SOURCES)
    return record


def _logged_files(log: Path, last: int | None, exchange: Path) -> Iterator[str]:
    """Yield the names of files that a file source has logged, all or up to an offset; some repeatedly."""
    for file in log.glob("[0-9]*"):
        lines = [line for line in _read_lines(file)[1:] if '"batchId"' in line]  # other sources have none
        for line in lines:
            entry = json.loads(line)
            path = Path(unquote(urlparse(entry["path"]).path))
            if (last is None or entry["batchId"] <= last) and path.parent == exchange:
                yield path.name


def _read_lines(file: Path) -> list[str]:
    """Return the lines of a log file; none if Spark has deleted it, as it does after compaction."""
    try:
        return read_log_file(file)
    except FileNotFoundError:
        return []
