"""Mutants of the product: each lacks one guard, and the simulation must find it.

python -m tests.simulation.mutants
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from headrace.checkpoints.lock import DirectoryLock
from headrace.connectors import durable_files
from headrace.connectors.files.sink import FilesWriter
from headrace.connectors.files.store import LocalStore
from headrace.connectors.kafka.ledger import LedgerTopic
from headrace.connectors.ledger import Ledger, LedgerEntry
from headrace.connectors.sql.writer import TableWriter
from headrace.connectors.write_ahead_log import store
from headrace.connectors.write_ahead_log.deduplication import MessageIds
from headrace.connectors.write_ahead_log.log import WriteAheadLog
from headrace.connectors.write_ahead_log.store import RecordStore
from headrace.runtime.delivery import Delivery
from tests.simulation import run, spark
from tests.simulation.database import SimulatedDialect
from tests.simulation.disk import SimulatedPath
from tests.simulation.histories import simulate

LIMIT = 6_000
"""The number of histories after which a mutant counts as not found."""

Patch = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Mutant:
    """A product without one guard."""

    guard: str
    """The guard that it lacks."""
    remove: Patch
    seed: int = 0
    """A seed that finds it; after a change of the product or the simulation, others do."""


def _attribute(owner: Any, name: str, value: Any) -> Patch:
    return lambda: patch.object(owner, name, value)


def _has_without_token(self: Ledger, epoch: int) -> bool:
    self._entry = replace(self._storage.read(), token=self.token)
    return epoch <= self.last_epoch


def _commit_rows_first(self: TableWriter, session: Any, epoch: int, staged: Any) -> None:
    with self._transaction(session):
        if self._ledger is None or self._ledger.has(epoch):
            return
        if staged.rows:
            self._merge(session, epoch, staged)
    with self._transaction(session):
        self._ledger.commit(epoch)


def _stage_and_commit_each(self: Delivery, batch: Any, epoch: int, sinks: Any) -> Any:
    for sink in sinks:
        _, staged = self._stage(sink, self.lower_batch(batch), epoch, {})
        sink.writer.commit(epoch, staged)
        sink.committed = epoch
    return []


def _execute_after_commit(self: spark.MicroBatches, epoch: int) -> None:
    ids = self._source.read(self._end_of(epoch - 1), self._end_of(epoch))
    self._process.call_jvm(lambda: self._log(self._commits, epoch, ["v1", '{"nextBatchWatermarkMs":0}']))
    self._deliver(spark.Frame(spark.rows_of(ids)), epoch)


def _create_or_replace(self: LocalStore, path: str, content: bytes) -> bool:
    target = SimulatedPath(path.removeprefix("file://"))
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.draft")
    draft.write_bytes(content)
    draft.replace(target)
    return True


def _remove_staging(self: FilesWriter) -> None:
    self._store.remove(f"{self._root}/{self._internal_directory}/staging")


def _commit_two_transactions(self: LedgerTopic, entry: LedgerEntry) -> bool:
    self.producer.commitTransaction()
    self.producer.beginTransaction()
    self.producer.send(("_headrace_ledger", self._key, entry.encode()))
    self.producer.commitTransaction()
    return True


def _remove_before_recording(self: WriteAheadLog, segments: Any) -> None:
    self._store.remove(segments)
    self._counters.remove(segments)
    self._counters.store(self._directory)


def _write_without_sync(path: SimulatedPath, content: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)


@contextmanager
def _acknowledge_early() -> Iterator[None]:
    original = WriteAheadLog._enqueue

    def enqueue(self: WriteAheadLog, waiting: Any) -> None:
        waiting.done()
        waiting.done = lambda: None
        original(self, waiting)

    with patch.object(WriteAheadLog, "_enqueue", enqueue):
        yield


@contextmanager
def _without_syncs_of_names() -> Iterator[None]:
    with ExitStack() as stack:
        for module in (durable_files, store):
            stack.enter_context(patch.object(module, "sync_directory", lambda directory: None))
        yield


MUTANTS = (
    Mutant("the fencing token, checked in the transaction of a commit", _attribute(Ledger, "has", _has_without_token), 258),
    Mutant("the ledger entry of an epoch", _attribute(Ledger, "last_epoch", property(lambda self: -1))),
    Mutant("rows and ledger entry in one transaction of a database", _attribute(TableWriter, "_commit", _commit_rows_first)),
    Mutant("the row lock of a commit on the fencing token", _attribute(SimulatedDialect, "lock_rows", ""), 679),
    Mutant("the lock of the checkpoint directory", _attribute(DirectoryLock, "try_acquire", lambda self: True)),
    Mutant("all sinks stage before the first commits", _attribute(Delivery, "_stage_all", _stage_and_commit_each)),
    Mutant("sinks commit before Spark does", _attribute(spark.MicroBatches, "_execute", _execute_after_commit)),
    Mutant("offsets are synced before a sink commits", _attribute(run, "sync_offsets", lambda checkpoint, epoch: None)),
    Mutant("entries of the ledger of files are created exclusively", _attribute(LocalStore, "create", _create_or_replace), 2419),
    Mutant("a run leaves the staged files of a newer one", _attribute(FilesWriter, "_remove_older_staging", _remove_staging), 1850),
    Mutant("the commit of files is completed by the next run", _attribute(FilesWriter, "_roll_forward", lambda self, entry: None)),
    Mutant("rows and ledger entry in one transaction of Kafka", _attribute(LedgerTopic, "commit", _commit_two_transactions)),
    Mutant("the ledger is read behind open transactions", _attribute(LedgerTopic, "_read_committed", lambda *arguments: None), 1068),
    Mutant("the write-ahead log is synced", _attribute(RecordStore, "sync", lambda self: setattr(self, "durable", self.end))),
    Mutant("messages are acknowledged once they are durable", _acknowledge_early),
    Mutant("redelivered messages are recognised", _attribute(MessageIds, "__contains__", lambda self, identity: False)),
    Mutant("ids of removed messages are stored", _attribute(MessageIds, "store", lambda self, *arguments, **options: None)),
    Mutant("a removal of segments is recorded first", _attribute(WriteAheadLog, "_remove", _remove_before_recording), 9926),
    Mutant("counters of the log are written durably", _attribute(durable_files, "write_durably", _write_without_sync)),
    Mutant("names of files are synced", _without_syncs_of_names),
)  # fmt: skip


def find(mutant: Mutant, limit: int = LIMIT) -> tuple[int, str] | None:
    """Return a seed that finds a mutant, and the violation; None if none does."""
    with mutant.remove():
        for seed in (mutant.seed, *range(limit)):
            violation = simulate(seed).violation
            if violation:
                return seed, violation
    return None


def main() -> int:
    """Search all mutants, and print the seeds that find them."""
    survivors = 0
    for mutant in MUTANTS:
        finding = find(mutant)
        survivors += finding is None
        print(
            f"{mutant.guard:60} {'NOT FOUND' if finding is None else f'seed {finding[0]}: {finding[1][:100]}'}"
        )
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
