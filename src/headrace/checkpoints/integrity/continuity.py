"""Continuity of the logs of a query: offsets, commits, and the logs of file sources.

Spark assumes that the numbers of a log are consecutive, and starts a file source from the newest file of its
log. A missing file would therefore repeat or skip rows without an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from headrace.checkpoints.integrity.damages import MISSING, Damage
from headrace.checkpoints.layout import read_log_file, read_record
from headrace.checkpoints.sources import MODE
from headrace.checkpoints.sources import NAME as SOURCES
from headrace.connectors.durable_files import write_json
from headrace.errors import DamagedFileError
from headrace.sealed_files import RESTORE, read_sealed, unseal

_OFFSETS = "the input of an epoch"
_COMMIT = "the watermark and the state after an epoch"
_SOURCE_LOG = "the files that the source has read"
_TIMES = "the highest event times of the partitions of a source"


def log_numbers(log: Path) -> list[int]:
    """Return the numbers of the files of a log, ascending; compacted files are named `<number>.compact`."""
    return sorted({int(file.name.partition(".")[0]) for file in log.glob("[0-9]*")})


def find_gaps(query: Path) -> Iterator[Damage]:
    """Yield the files that are missing from the logs of a query."""
    offsets, commits = query / "spark" / "offsets", query / "spark" / "commits"
    started, committed = log_numbers(offsets), log_numbers(commits)
    if not started and not committed:
        return
    last = max([*started, *committed])
    done = max(committed, default=-1)
    # Only the last epoch may be without a commit. Spark reads the last two offsets and removes old files.
    yield from _missing(offsets, started, [last - 1, last], _OFFSETS)
    yield from _missing(commits, committed, [last - 1, *([last] if done == last else [])], _COMMIT)
    if not (query / "spark" / "metadata").exists():
        yield Damage(query / "spark" / "metadata", MISSING, "the id of the query")


def check_logs(query: Path) -> Iterator[Damage]:
    """Yield the damages of the files that Spark reads when a query starts, other than state."""
    yield from find_gaps(query)
    spark = query / "spark"
    for log, lost in ((spark / "offsets", _OFFSETS), (spark / "commits", _COMMIT)):
        yield from verify_seals([log / str(number) for number in log_numbers(log)[-2:]], lost)
    yield from verify_seals(list(metadata_files(spark)), "the id of the query, or the form of its state")
    damages = list(
        verify_seals([file for file in (spark / "sources").rglob("[0-9]*") if file.is_file()], _SOURCE_LOG)
    )
    yield from damages
    if not damages:
        yield from _check_source_logs(spark)
    yield from verify_seals(times_files(query), _TIMES)
    yield from _missing_times(query)


def times_files(query: Path) -> list[Path]:
    """Return the files with the event times of partitions, `watermarks/<step>/<epoch>.json`."""
    return sorted(query.glob("watermarks/*/[0-9]*.json"))


def newest_times(query: Path) -> list[Path]:
    """Return the files with event times of the last committed epoch."""
    committed = log_numbers(_commits(query))[-1:]
    return [file for number in committed for file in sorted(query.glob(f"watermarks/*/{number}.json"))]


def copy_times(times: list[Path], query: Path) -> None:
    """Copy files with event times to those of the last committed epoch, which read no rows."""
    for file in times:
        copy = file.with_name(f"{log_numbers(_commits(query))[-1]}.json")
        write_json(copy, read_sealed(file, hint=RESTORE))


def metadata_files(spark: Path) -> Iterator[Path]:
    """Yield the sealed files of Spark that describe a query and its state."""
    patterns = (
        "metadata",
        "state/*/_metadata/**/*",
        "state/*/_stateSchema/**/*",
        "state/**/_metadata/schema",
    )
    files = {file for pattern in patterns for file in spark.glob(pattern)}
    yield from sorted(file for file in files if file.is_file() and not file.name.startswith("."))


def verify_seals(files: list[Path], lost: str) -> Iterator[Damage]:
    """Yield the files whose seal does not match."""
    for file in files:
        try:
            unseal(file.read_bytes(), file, hint=RESTORE)
        except DamagedFileError as error:
            yield Damage.of(error, lost)
        except FileNotFoundError:  # removed by a run
            continue


def _missing_times(query: Path) -> Iterator[Damage]:
    """Yield the files with event times that an epoch wrote before it committed, and that are missing.

    Steps that the query no longer has were removed when it started.
    """
    committed = log_numbers(_commits(query))[-1:]
    for times in sorted(query.glob("watermarks/*/")):
        yield from _missing(times, log_numbers(times), committed, _TIMES, suffix=".json")


def _commits(query: Path) -> Path:
    return query / "spark" / "commits"


def _missing(
    log: Path, present: list[int], needed: list[int], lost: str, suffix: str = ""
) -> Iterator[Damage]:
    complete = {*range(min(present, default=0), max(present, default=-1) + 1), *(n for n in needed if n >= 0)}
    for number in sorted(complete.difference(present)):
        yield Damage(log / f"{number}{suffix}", MISSING, lost)


def _check_source_logs(spark: Path) -> Iterator[Damage]:
    """Compare the logs of file sources with the newest offsets, which name the last entry that was read."""
    offsets = spark / "offsets"
    newest = log_numbers(offsets)[-1:]
    try:
        lines = [line for number in newest for line in read_log_file(offsets / str(number))[2:]]
    except (DamagedFileError, FileNotFoundError):  # reported above
        return
    if reads_repeatedly(spark.parent, lines):
        return
    for source, line in enumerate(lines):
        if '"logOffset"' in line:
            yield from _check_source_log(spark / "sources" / str(source), json.loads(line)["logOffset"])


def reads_repeatedly(query: Path, lines: Sequence[str]) -> bool:
    """Return True if a query reads an exchange or a source more than once, as a union of selections does.

    Spark then writes its offset for each time that it is read, and numbers it once, so that the place of an
    offset is not the number of its source.
    """
    try:
        names = [name for name in read_record(query, SOURCES) or {} if name != MODE]
    except DamagedFileError:  # reported with the records of the query
        return False
    return bool(names) and sum('"logOffset"' in line for line in lines) > len(names)


def _check_source_log(log: Path, last: int) -> Iterator[Damage]:
    compacted = [int(file.stem) for file in log.glob("*.compact")]
    first = max(compacted, default=0)
    present = set(log_numbers(log))
    for number in range(first, max(last, *present, -1) + 1):
        if number not in present:
            yield Damage(log / str(number), MISSING, _SOURCE_LOG)
