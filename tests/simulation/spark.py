"""Spark's micro-batch loop, modelled by the rules that it guarantees.

1. The end offsets of an epoch are in the offset log before `foreachBatch` is called with it.
2. The commit of an epoch is in the commit log only after `foreachBatch` has returned.
3. A run that finds offsets without a commit calls `foreachBatch` with the same epoch number and the same rows
   before it plans a new epoch. It does not if the commit is there.
4. An epoch that fails ends the query.
5. A log file appears complete or not at all, and an existing one is never replaced: of two runs that plan
   the same epoch, one fails.
6. A source is asked for new offsets from the end of the last committed epoch on, and told to remove what is
   before it only after the next epoch is in the offset log.

`tests/spark/runtime/test_micro_batch_rules.py` shows that Spark keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.checkpoints.layout import last_entry, read_log_file
from headrace.sealed_files import seal
from tests.simulation.disk import Shutil, SimulatedPath
from tests.simulation.world import Process, active

Offset = dict[str, Any]

SCHEMA = {
    "type": "struct",
    "fields": [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("id", "key")],
}


class Source(Protocol):
    """A source that plans its offsets on the driver."""

    def initial(self) -> Offset: ...
    def latest(self, start: Offset) -> Offset: ...
    def read(self, start: Offset, end: Offset) -> list[int]: ...
    def commit(self, end: Offset) -> None: ...


class ConcurrentWriteError(Exception):
    """Another run has planned or committed the epoch."""


@dataclass(frozen=True)
class Frame:
    """The rows of a micro-batch, where the product expects a DataFrame."""

    rows: list[dict[str, Any]]
    columns: tuple[str, ...] = ("id", "key")
    sparkSession: None = None  # noqa: N815 - pyspark's name

    @property
    def schema(self) -> Frame:
        return self

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802 - pyspark's name
        return SCHEMA

    def persist(self) -> None: ...
    def unpersist(self) -> None: ...

    def selectExpr(self, *expressions: str) -> Frame:  # noqa: N802 - pyspark's name
        return self

    @property
    def write(self) -> FrameWriter:
        return FrameWriter(self)


class FrameWriter:
    """Writes the files of a micro-batch as tasks of Spark do: without a sync."""

    def __init__(self, frame: Frame) -> None:
        self._rows = frame.rows

    def mode(self, mode: str) -> FrameWriter:
        return self

    def partitionBy(self, *columns: str) -> FrameWriter:  # noqa: N802 - pyspark's name
        return self

    def format(self, name: str) -> FrameWriter:
        return self

    def options(self, **options: str) -> FrameWriter:
        return self

    def save(self, path: str = "") -> None:
        if not path:  # to read the rows of an epoch that all sinks have
            return
        directory = SimulatedPath(path.removeprefix("file://"))
        if directory.exists():
            Shutil.rmtree(directory)
        directory.mkdir(parents=True)
        for number, rows in enumerate((self._rows[::2], self._rows[1::2])):
            if rows:
                content = "".join(f"{json.dumps(row)}\n" for row in rows)
                (directory / f"part-{number:05d}-x.json").write_bytes(content.encode())


class Counter:
    """Where the product expects its `RowCounter`."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.rows = frame, len(frame.rows)


class Lowering:
    """Where the product expects its `Lowering`: every sink writes the rows of the batch."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def frame(self, ref: object) -> Frame:
        return self._frame

    def with_frames(self, frames: object) -> Lowering:
        return self

    def share(self, outputs: object, functions: object) -> None: ...

    def release(self) -> None: ...


class MicroBatches:
    """A streaming query: epochs from a source to `foreachBatch`, with a checkpoint."""

    def __init__(
        self, process: Process, checkpoint: SimulatedPath, source: Source, deliver: Callable[[Any, int], None]
    ) -> None:
        self._process, self._source, self._deliver = process, source, deliver
        self._checkpoint = checkpoint
        self._offsets, self._commits = checkpoint / "offsets", checkpoint / "commits"

    def run(self, is_over: Callable[[], bool]) -> None:
        """Run epochs until the input has ended and is delivered."""
        self._process.call_jvm(self._prepare)
        epoch = last_entry(self._offsets)  # type: ignore[arg-type]
        if epoch >= 0 and epoch > last_entry(self._commits):  # type: ignore[arg-type]
            self._execute(epoch)
        start = self._end_of(epoch)
        while True:
            end = self._source.latest(start)
            if end == start:
                if is_over():
                    return
                active().sleep(0.1)
                continue
            epoch += 1
            self._process.call_jvm(lambda: self._log(self._offsets, epoch, self._describe(end)))  # noqa: B023
            if epoch:
                self._source.commit(start)
            self._execute(epoch)
            start = end

    def _prepare(self) -> None:
        metadata = self._checkpoint / "metadata"
        for directory in (self._checkpoint, self._offsets, self._commits):
            directory.mkdir(parents=True, exist_ok=True)
        if not metadata.exists():
            _create(metadata, b'{"id":"query"}')

    def _execute(self, epoch: int) -> None:
        ids = self._source.read(self._end_of(epoch - 1), self._end_of(epoch))
        self._deliver(Frame(rows_of(ids)), epoch)
        active().step("spark.delivered")
        self._process.call_jvm(lambda: self._log(self._commits, epoch, ["v1", '{"nextBatchWatermarkMs":0}']))

    def _end_of(self, epoch: int) -> Offset:
        if epoch < 0:
            return self._source.initial()
        offset: Offset = json.loads(read_log_file(self._offsets / str(epoch))[2])  # type: ignore[arg-type]
        return offset

    @staticmethod
    def _describe(end: Offset) -> list[str]:
        return ["v1", '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}', json.dumps(end)]

    @staticmethod
    def _log(log: SimulatedPath, epoch: int, lines: Sequence[str]) -> None:
        active().step(f"spark.{log.name}")
        _create(log / str(epoch), "\n".join(lines).encode())


def rows_of(ids: Sequence[int]) -> list[dict[str, Any]]:
    """Return the row of each record."""
    return [{"id": number, "key": number % 3} for number in ids]


def _create(path: SimulatedPath, content: bytes) -> None:
    """Create a file as the checkpoint file manager of Spark does, sealed by the kernel."""
    draft = path.with_name(f".{path.name}.{active().random.getrandbits(64):x}.tmp")
    draft.write_bytes(seal(content, path))  # type: ignore[arg-type]
    if path.exists():
        raise ConcurrentWriteError(f"{path}: another run has written the file")
    draft.replace(path)
