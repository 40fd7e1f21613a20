"""Verification of a checkpoint directory without Spark: checksums of its files, and that none is missing.

A run verifies the small files that it reads again before it starts Spark; `verify` checks all files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from headrace.checkpoints.epoch_versions import read_versions
from headrace.checkpoints.integrity.continuity import (
    check_logs,
    find_gaps,
    metadata_files,
    times_files,
    verify_seals,
)
from headrace.checkpoints.integrity.damages import MISSING, Damage
from headrace.checkpoints.integrity.exchange_files import check_exchange, check_ledger, check_listing
from headrace.checkpoints.integrity.state_files import check_state, state_files
from headrace.checkpoints.journal import read_lines
from headrace.checkpoints.layout import CHECKPOINT_ID, has_epochs, read_record
from headrace.checkpoints.owner import read_owner
from headrace.checkpoints.signatures import NAME as STEP
from headrace.checkpoints.sources import NAME as SOURCES
from headrace.connectors.durable_files import read_json
from headrace.connectors.write_ahead_log import recovery
from headrace.errors import DamagedFileError
from headrace.sealed_files import CURRENT

JOURNALS = ("row_accounting.jsonl", "rules.jsonl", "lookups/*/journal.jsonl", "models/*/journal.jsonl")
"""Logs beside the checkpoint of a query."""
_RECORDS = {
    STEP: "the declaration that the state belongs to",
    SOURCES: "the sources that the offsets belong to",
    CHECKPOINT_ID: "the epochs that sinks have committed could not be recognised",
}


@dataclass
class Part:
    """One kind of files of a checkpoint directory that was verified."""

    name: str
    files: int = 0
    damages: list[Damage] = field(default_factory=list)


def check_files_of_run(directory: Path) -> None:
    """Verify the files that a run reads again before it writes, other than state.

    Raises:
        DamagedFileError: a file is damaged or missing.
    """
    for damage in _damages_of_run(directory):
        raise damage.error()


def verify(directory: Path) -> list[Part]:
    """Verify all files of a checkpoint directory, and return what was checked with its damages."""
    queries = sorted(path for path in (directory / "queries").glob("*") if path.is_dir())
    exchanges = sorted((directory / "exchange").glob("*"))
    unrouted = sorted((directory / "unrouted").glob("*/_headrace/*/log"))
    frames = sorted((directory / "sources").glob("*/_files.json"))
    logs = sorted((directory / "sources").glob("*/log"))
    return [
        Part("owner", int((directory / "pipeline").exists()), list(_check_owner(directory))),
        _part("records of queries", map(_records, queries), map(_check_records, queries)),
        _part("offsets and commits", map(_logs, queries), map(_check_all_logs, queries)),
        _part("logs of sources, metadata", map(_others, queries), map(_check_others, queries)),
        _part("state", map(state_files, queries), map(check_state, queries)),
        _part("journals", map(_journals, queries), map(_check_journals, queries)),
        _part(
            "tables of lookups", map(_tables, queries), (verify_seals([*_tables(q)], _TABLE) for q in queries)
        ),
        _part("models", map(_models, queries), (verify_seals([*_models(q)], _MODEL) for q in queries)),
        _part("exchanges", map(_files_below, exchanges), (check_exchange(directory, e) for e in exchanges)),
        _part("side outputs", map(_files_below, unrouted), map(check_ledger, unrouted)),
        _part("DataFrame sources", ([f] for f in frames), (check_listing(file.parent) for file in frames)),
        _part(
            "records of connectors", [_connector_records(directory)], [_check_connector_records(directory)]
        ),
        _part("write-ahead logs", map(_log_files, logs), map(check_write_ahead_log, logs)),
    ]


def check_write_ahead_log(log: Path) -> Iterator[Damage]:
    """Yield the damages of a write-ahead log."""
    for problem in recovery.verify(log):
        yield Damage(Path(problem.where), problem.what, "messages that were acknowledged", problem.hint)


_TABLE = "rows of a table that a lookup has used"
_MODEL = "a model that an epoch has used"


def _damages_of_run(directory: Path) -> Iterator[Damage]:
    for query in sorted((directory / "queries").glob("*")):
        yield from _check_records(query)
        yield from check_logs(query)
    for exchange in sorted((directory / "exchange").glob("*")):
        yield from check_exchange(directory, exchange)
    for listing in sorted((directory / "sources").glob("*/_files.json")):
        yield from check_listing(listing.parent)


def _part(name: str, files: Iterable[Iterable[Path]], damages: Iterable[Iterable[Damage]]) -> Part:
    # A file may have two damages: its content, and that of another file that names it.
    unique = {damage.file: damage for several in damages for damage in several}
    return Part(name, sum(1 for several in files for _ in several), list(unique.values()))


def _check(read: Callable[[], object], lost: str) -> Iterator[Damage]:
    try:
        read()
    except DamagedFileError as error:
        yield Damage.of(error, lost)


def _check_owner(directory: Path) -> Iterator[Damage]:
    yield from _check(partial(read_owner, directory), "the name of the pipeline")


def _records(query: Path) -> Iterator[Path]:
    yield from (query / name for name in _RECORDS if (query / name).exists())


def _check_records(query: Path) -> Iterator[Damage]:
    for name, lost in _RECORDS.items():
        yield from _check(partial(read_record, query, name), lost)
    if has_epochs(query) and not (query / CHECKPOINT_ID).exists():
        yield Damage(query / CHECKPOINT_ID, MISSING, _RECORDS[CHECKPOINT_ID])


def _logs(query: Path) -> Iterator[Path]:
    for log in ("offsets", "commits"):
        yield from (query / "spark" / log).glob("[0-9]*")


def _check_all_logs(query: Path) -> Iterator[Damage]:
    yield from find_gaps(query)
    yield from verify_seals(sorted(_logs(query)), "the input and the watermark of an epoch")


def _others(query: Path) -> Iterator[Path]:
    yield from metadata_files(query / "spark")
    yield from times_files(query)
    yield from (query / "spark" / "sources").rglob("[0-9]*/[0-9]*")


def _check_others(query: Path) -> Iterator[Damage]:
    logs = {query / "spark" / "offsets", query / "spark" / "commits"}
    yield from (damage for damage in check_logs(query) if damage.file.parent not in logs)


def _journals(query: Path) -> Iterator[Path]:
    for pattern in JOURNALS:
        yield from query.glob(pattern)


def _check_journals(query: Path) -> Iterator[Damage]:
    lost = "counts, rules or versions of tables and models by epoch"
    for journal in _journals(query):
        yield from _check(partial(_read_all, journal), lost)
    for current in (file for file in (*_tables(query), *_models(query)) if file.name == CURRENT):
        damages = _check(partial(read_versions, current.parent), lost)
        yield from (damage for damage in damages if damage.file != current)  # it is reported as a table


def _read_all(journal: Path) -> None:
    deque(read_lines(journal), maxlen=0)


def _tables(query: Path) -> Iterator[Path]:
    yield from sorted([*query.glob("lookups/*/current"), *query.glob("lookups/*/*.arrow")])


def _models(query: Path) -> Iterator[Path]:
    yield from sorted([*query.glob("models/*/current"), *query.glob("models/*/*.model")])


def _files_below(directory: Path) -> Iterator[Path]:
    yield from (file for file in directory.rglob("*") if file.is_file() and not file.name.startswith("."))


def _connector_records(directory: Path) -> Iterator[Path]:
    """Yield the records that sources and sinks store beside a checkpoint."""
    for place in ("sources", "sinks"):
        yield from sorted((directory / place).glob("*/*.json"))


def _check_connector_records(directory: Path) -> Iterator[Damage]:
    for file in _connector_records(directory):
        if file.name != "_files.json":
            yield from _check(partial(read_json, file, None), "the position or the counters of a connector")


def _log_files(log: Path) -> Iterator[Path]:
    yield from sorted(file for file in log.iterdir() if file.is_file())
