"""A run of a pipeline in a simulated process: the product's code, assembled as `MicroBatchRun` does.

`install` lets the modules of the product see the simulated world.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

from headrace.checkpoints import directory as directory_module
from headrace.checkpoints import journal, layout, lock, owner
from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.layout import read_checkpoint_id, sync_offsets
from headrace.connectors import durable_files, failpoints, retry
from headrace.connectors.base import WriteContext, Writer
from headrace.connectors.files import Files
from headrace.connectors.files import sink as files_sink
from headrace.connectors.files import store as files_store
from headrace.connectors.files.sink import FilesWriter
from headrace.connectors.kafka import Kafka
from headrace.connectors.kafka import ledger as kafka_ledger
from headrace.connectors.kafka import sink as kafka_sink
from headrace.connectors.kafka.sink import KafkaWriter
from headrace.connectors.sql.writer import TableWriter
from headrace.connectors.write_ahead_log import (
    LogClosedError,
    Message,
    acknowledged,
    log,
    records,
    recovery,
    segments,
    store,
)
from headrace.connectors.write_ahead_log.enumerator import LogEnumerator
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.connectors.write_ahead_log.records import decode
from headrace.runtime import delivery as delivery_module
from headrace.runtime.delivery import Delivery, SinkBinding
from headrace.steps.base import Ref
from tests.simulation import kafka, threads
from tests.simulation.database import Server, SimulatedDialect, SimulatedStaging
from tests.simulation.disk import Fcntl, Os, Shutil, SimulatedPath
from tests.simulation.spark import Counter, Lowering, MicroBatches, Offset
from tests.simulation.world import Process, active

PIPELINE = "payments"
OUT = "/out"
LOG_LIMIT = 6000
"""Small, so that segments of the write-ahead log are rotated, removed and full."""


@dataclass
class Input:
    """The records that exist, and the client that sends them to a source that cannot be replayed."""

    records: int
    acknowledged: set[int] = field(default_factory=set)

    @property
    def all_acknowledged(self) -> bool:
        return len(self.acknowledged) == self.records


class ReplayableSource:
    """A source whose records can be read again from any offset."""

    def __init__(self, records: Input) -> None:
        self._records = records

    def initial(self) -> Offset:
        return {"position": 0}

    def latest(self, start: Offset) -> Offset:
        active().step("source.latest")
        return {"position": min(self._records.records, start["position"] + active().random.randint(1, 6))}

    def read(self, start: Offset, end: Offset) -> list[int]:
        active().step("source.read")
        return list(range(start["position"], end["position"]))

    def commit(self, end: Offset) -> None: ...
    def close(self) -> None: ...


class Receiver:
    """Receives the messages of a server that delivers again what is not acknowledged."""

    def __init__(self, records: Input) -> None:
        self._records = records
        self._stopped = False
        self._thread: threads.Thread | None = None

    def start(self, messages: WriteAheadLog) -> None:
        self._thread = threads.Thread(lambda: self._receive(messages))
        self._thread.start()

    def settle(self) -> None: ...

    def stop(self) -> None:
        self._stopped = True
        if self._thread is not None:
            self._thread.join()

    def _receive(self, messages: WriteAheadLog) -> None:
        for number in range(self._records.records):
            if number not in self._records.acknowledged and not self._stopped:
                active().step("receiver.received")
                message = Message(str(number).encode(), id=f"id-{number}", redelivered=True)
                try:
                    messages.submit([message], lambda number=number: self._acknowledge(number))  # type: ignore[misc]
                except LogClosedError:
                    return

    def _acknowledge(self, number: int) -> None:
        active().step("receiver.acknowledged")
        self._records.acknowledged.add(number)


class LoggedSource:
    """A source with a write-ahead log."""

    def __init__(self, records: Input, directory: SimulatedPath) -> None:
        self._messages = WriteAheadLog(directory, LogSettings(LOG_LIMIT))  # type: ignore[arg-type]
        receiver = Receiver(records)
        receiver.start(self._messages)
        self._enumerator = LogEnumerator(self._messages, receiver, "source", 5)
        self.initial = self._enumerator.initial
        self.latest = self._enumerator.latest
        self.commit = self._enumerator.commit
        self.close = self._enumerator.close

    def read(self, start: Offset, end: Offset) -> list[int]:
        splits = self._enumerator.splits(start, end) if start != end else []
        prefix = struct.calcsize(">Q")
        return [int(record.value) for split in splits for record in decode(split[prefix:])]


@dataclass
class Target:
    """What outlives runs: the input, and the servers that sinks write to."""

    input: Input
    sinks: Sequence[str]
    logged: bool
    server: Server = field(default_factory=Server)

    def writer(self, sink: str) -> Writer:
        """Return the product's writer of a sink."""
        if sink.startswith("files"):
            return FilesWriter(Files(path=f"{OUT}/{sink}", format="json"))
        if sink.startswith("kafka"):
            return _KafkaWriter(Kafka(servers="simulated:9092", topic="out"))
        key = ["key"] if sink == "keyed" else []
        dialect = SimulatedDialect(self.server)
        return TableWriter(dialect, sink, key, SimulatedStaging(dialect, 30.0), 30.0)

    def source(self, directory: SimulatedPath) -> Any:
        """Return the source of a new run."""
        if self.logged:
            return LoggedSource(self.input, directory / "sources" / "messages" / "log")
        return ReplayableSource(self.input)

    def is_over(self) -> bool:
        """True if no record will be added."""
        return not self.logged or self.input.all_acknowledged


class OrderError(Exception):
    """A sink commits an epoch that another sink of the run has not staged."""


class ObservedWriter:
    """A writer of the product; checks that all sinks of a run stage an epoch before one commits it."""

    def __init__(self, writer: Writer, sink: str, staged: dict[str, int]) -> None:
        self._writer, self._sink, self._staged = writer, sink, staged

    @property
    def ledger_epoch(self) -> int | None:
        return getattr(self._writer, "ledger_epoch", None)

    def open(self, context: WriteContext) -> int:
        self._staged[self._sink] = epoch = self._writer.open(context)
        return epoch

    def stage(self, epoch: int, frame: Any) -> Any:
        staged = self._writer.stage(epoch, frame)
        self._staged[self._sink] = epoch
        return staged

    def commit(self, epoch: int, staged: Any) -> None:
        for sink, last in self._staged.items():
            if last < epoch:
                raise OrderError(f"{self._sink} commits epoch {epoch}, which {sink} has not staged")
        self._writer.commit(epoch, staged)

    def close(self) -> None:
        self._writer.close()


class _KafkaWriter(KafkaWriter):
    def _prepare_topics(self, *, ledger: bool) -> None:
        active().step("kafka.topics")


def run_pipeline(process: Process, target: Target, checkpoint_directory: str) -> None:
    """Run the pipeline until its input is delivered."""
    path = SimulatedPath(checkpoint_directory)
    directory = PipelineDirectory.acquire(PIPELINE, path)  # type: ignore[arg-type]
    checkpoint = path / "queries" / "rows"
    checkpoint_id = read_checkpoint_id(checkpoint)  # type: ignore[arg-type]
    staged = dict[str, int]()
    bindings = [
        SinkBinding(
            sink,
            Ref("rows"),
            ObservedWriter(target.writer(sink), sink, staged),
            WriteContext(PIPELINE, sink, checkpoint_id, "update" if sink == "keyed" else "append", ""),
            prepare=lambda frame, epoch: frame,
        )
        for sink in target.sinks
    ]
    delivery = Delivery(Lowering, bindings, sync_offsets=partial(sync_offsets, checkpoint))  # type: ignore[arg-type]
    source = target.source(path)
    delivery.open()
    process.has_opened = True
    try:
        MicroBatches(process, checkpoint / "spark", source, delivery).run(target.is_over)
    except RuntimeError as error:
        raise delivery.failure or error from None
    delivery.close()
    source.close()
    directory.record_ending("caught_up")
    directory.release()


_FILES = {"os": Os, "Path": SimulatedPath}
_TIME = {"time": threads.Time}
_STAND_INS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (directory_module, {"Path": SimulatedPath, "shutil": Shutil}),
    (journal, {"os": Os}),
    (layout, {"Path": SimulatedPath, "uuid": threads.Uuids}),
    (lock, {**_FILES, **_TIME, "fcntl": Fcntl}),
    (owner, {"Path": SimulatedPath}),
    (durable_files, {"os": Os}),
    (retry, {**_TIME, "random": threads.SeededRandom()}),
    (files_sink, {"RowCounter": Counter}),
    (files_store, {**_FILES, "shutil": Shutil, "uuid": threads.Uuids}),
    (delivery_module, {"RowCounter": Counter}),
    (acknowledged, {"os": Os}),
    (log, {**_TIME, "threading": threads}),
    (records, _TIME),
    (recovery, {"os": Os}),
    (segments, {"os": Os}),
    (store, {"os": Os}),
    (kafka_sink, kafka.stand_ins()),
    (kafka_ledger, {**kafka.stand_ins(), **_TIME}),
)


@contextmanager
def install(boot_id: Callable[[], bytes]) -> Iterator[None]:
    """Let the product see the simulated world in place of the operating system.

    Args:
        boot_id: returns the boot of the machine.
    """
    with ExitStack() as stack:
        for module, names in _STAND_INS:
            for name, stand_in in names.items():
                if hasattr(module, name):
                    stack.enter_context(patch.object(module, name, stand_in))
        stack.enter_context(patch.object(acknowledged, "boot_id", boot_id))
        stack.enter_context(patch.object(lock, "machine_id", _machine))
        stack.enter_context(patch.object(lock, "_is_alive", _is_alive))
        stack.enter_context(failpoints.watch(lambda name: active().step(name)))
        yield


def _machine() -> str:
    thread = active().current
    return thread.process.machine if thread is not None else ""


def _is_alive(pid: int) -> bool:
    return any(process.pid == pid and process.driver_alive for process in active().processes)
