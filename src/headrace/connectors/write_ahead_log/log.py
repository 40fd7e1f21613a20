"""The write-ahead log of a source: messages in, durable records out.

Receivers call `append` or `submit`. A thread of the log writes the messages that are waiting together,
makes them durable with one fsync, and calls back. One query plans epochs over the log, reads them, and
releases them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.connectors.base import Reception
from headrace.connectors.failpoints import reach
from headrace.connectors.write_ahead_log import (
    Fsync,
    LogClosedError,
    LogFullError,
    Message,
    MessageTooLargeError,
    Overflow,
)
from headrace.connectors.write_ahead_log.counters import Counters
from headrace.connectors.write_ahead_log.records import decode, encode
from headrace.connectors.write_ahead_log.recovery import open_files
from headrace.connectors.write_ahead_log.segments import Segment
from headrace.connectors.write_ahead_log.store import RecordStore
from headrace.errors import SourceError

SLICE = 10_000
"""The maximum number of records of a split."""
_EPOCH_BYTES = 64 * 1024 * 1024
_SYNC_SECONDS = 0.2
_OVERHEAD = 4096
"""More than the metadata of a message needs."""
_MIN_SEGMENTS = 8
_MAX_SEGMENT_BYTES = 16 * 1024 * 1024

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LogSettings:
    """The bound of a log, and how it stores messages."""

    limit: int = 1024 * 1024 * 1024
    """The maximum number of bytes on disk."""
    overflow: Overflow = "backpressure"
    fsync: Fsync = "always"


@dataclass
class _Waiting:
    """Records that are not on disk yet, and the function to call when they are durable."""

    records: list[bytes]
    ids: list[str]
    """The message ids that were not known before."""
    size: int
    done: Callable[[], None]


class WriteAheadLog:
    """A bounded log of messages in a directory. All methods may be called from any thread.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     messages = WriteAheadLog(Path(directory))
    ...     messages.append([Message(b"on"), Message(b"off")])
    ...     messages.close()
    ...     messages.end
    2
    """

    def __init__(self, directory: Path, settings: LogSettings | None = None) -> None:
        """Open the log of a directory, with the records that earlier runs left.

        Raises:
            DamagedFileError: a file of the log is damaged or missing; nothing was changed.
        """
        self._directory, self._settings = directory, settings or LogSettings()
        segment = min(self._settings.limit // _MIN_SEGMENTS, _MAX_SEGMENT_BYTES)
        files = open_files(directory)
        self._store = RecordStore(files.segments, segment)
        self._counters, self._ids, self._acknowledged = files.counters, files.ids, files.acknowledged
        self._ids.update(self._stored_ids())
        self._end = self._store.end
        # Spark may replay an epoch before it plans one, so no stored record may be dropped until then.
        self._replayable = self._end
        self._delivered = self._store.first
        self._changed = threading.Condition()
        self._queue: deque[_Waiting] = deque()
        self._queued_bytes = 0
        self._blocked = 0
        self._synced, self._unsynced = 0.0, False
        self._closed = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="headrace-log", daemon=True)
        self._thread.start()

    @property
    def first(self) -> int:
        """The position of the oldest record."""
        return self._store.first

    @property
    def end(self) -> int:
        """The position after the newest durable record."""
        return self._end

    @property
    def delivered(self) -> int:
        """The position up to which records were removed because they were delivered."""
        return self._counters.delivered

    @property
    def failed(self) -> bool:
        """True if an error has ended the receiver or the log."""
        return self._failure is not None

    @property
    def counters(self) -> Counters:
        """A copy of the counters."""
        return replace(self._counters)

    def reception(self) -> Reception:
        """Return the counts of messages and the backlog."""
        with self._changed:
            counters, backlog = self._counters, self._store.count_between(self._delivered, self._end)
            return Reception(
                counters.received,
                counters.stored,
                counters.duplicates,
                counters.dropped,
                counters.refused,
                backlog,
            )

    def append(self, messages: Sequence[Message], *, timeout: float | None = None) -> None:
        """Store messages and return when they are durable.

        Args:
            messages: stored together; either all of them or none.
            timeout: how long to wait for room, in seconds; default: without a limit.

        Raises:
            LogFullError: there is no room, after the timeout or because of `overflow="drop_newest"`.
            MessageTooLargeError: they are larger than half of the limit.
            LogClosedError: the log was closed before they were durable.
        """
        durable = threading.Event()
        if not self.submit(messages, durable.set, timeout=timeout):
            raise LogFullError
        while not durable.wait(0.1):
            if self._failure is not None or not self._thread.is_alive():
                raise LogClosedError from self._failure

    def submit(
        self, messages: Sequence[Message], done: Callable[[], None], *, timeout: float | None = None
    ) -> bool:
        """Store messages and return immediately; `done` is called, in another thread, when they are durable.

        Blocks while the log is full under `overflow="backpressure"`. Returns False, without calling `done`,
        if the messages were dropped because the log is full; they may then be acknowledged, since they are
        counted.

        Raises:
            MessageTooLargeError: they are larger than half of the limit.
            LogClosedError: the log was closed.
        """
        encoded = [(message, encode(message)) for message in messages]
        with self._changed:
            self._check_open()
            self._counters.received += len(messages)
            records = [record for message, record in encoded if not self._is_duplicate(message)]
            self._counters.duplicates += len(messages) - len(records)
            size = self._store.size_of(records)
            if size > self._settings.limit // 2:
                self._counters.too_large += len(records)
                raise MessageTooLargeError
            if not self._make_room(size, timeout):
                self._count_rejected(len(records))
                return False
            ids = [message.id for message in messages if message.id is not None]
            self._enqueue(_Waiting(records, [each for each in ids if each not in self._ids], size, done))
            self._ids.update(ids)
        return True

    def await_room(self, size: int, timeout: float) -> bool:
        """Wait until a message of that size fits under backpressure; False after the timeout.

        For receivers that have to serve their connection while they wait.
        """
        with self._changed:
            self._check_open()
            waits = self._settings.overflow == "backpressure" and size <= self._settings.limit // 2
            return self._make_room(size + _OVERHEAD, timeout) if waits else True

    def fail(self, error: BaseException) -> None:
        """Report an error that ends the receiver; the next epoch of the query raises it."""
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def plan(self, start: int, limit: int, final: int | None = None) -> int:
        """Return the end of an epoch that begins at a position; records before it are never dropped.

        Raises:
            Exception: the error that ended the receiver or the log.
        """
        with self._changed:
            if self._failure is not None:
                raise self._failure
            available = self._end if final is None else min(self._end, final)
            end = max(start, min(available, start + limit))
            end = self._store.limit_bytes(start, end, _EPOCH_BYTES)
            self._replayable = start
            if end > self._counters.planned:
                self._counters.planned = end
                self._counters.store(self._directory)
        return end

    def read(self, start: int, end: int, limit: int = SLICE) -> Iterator[tuple[int, bytes]]:
        """Return the encoded records of a range in slices, each with its first position."""
        return self._store.read(start, end, limit)

    def release(self, position: int) -> None:
        """Remove the records before a position, all of which are delivered."""
        with self._changed:
            self._delivered = max(self._delivered, position)
            if self._should_rotate(position):
                self._store.rotate()
            segments = self._store.complete_before(position)
            if not segments:
                return
            if self._ids:
                pending = {identity for waiting in self._queue for identity in waiting.ids}
                self._ids.store(self._directory, self._counters.log, self._end, without=pending)
                self._counters.ids = self._end
            self._counters.delivered = segments[-1].end
            self._remove(segments)
            self._changed.notify_all()
        reach("log.released")

    def close(self) -> None:
        """Write the messages that are waiting, and close the files."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        with suppress(OSError):  # a full disk must not hide the error that ended the run
            self._counters.store(self._directory)
            self._store.close()
            if self._failure is None:
                self._acknowledged.store(self._end, self._store.durable)
                self._acknowledged.sync()
            self._acknowledged.close()

    def _check_open(self) -> None:
        if self._closed or self._failure is not None:
            raise LogClosedError from self._failure

    def _is_duplicate(self, message: Message) -> bool:
        return message.id is not None and message.redelivered and message.id in self._ids

    def _make_room(self, size: int, timeout: float | None) -> bool:
        """Wait or drop records until there is room; False if the messages do not fit."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._store.size + self._queued_bytes + size > self._settings.limit:
            if self._settings.overflow == "drop_newest":
                return False
            if self._settings.overflow == "drop_oldest":
                if not self._drop_oldest():
                    return False
                continue
            remaining = None if deadline is None else deadline - time.monotonic()
            if remaining is not None and remaining <= 0:
                return False
            self._blocked += 1
            self._changed.wait(min(remaining, 0.5) if remaining is not None else 0.5)
            self._blocked -= 1
            self._check_open()
        return True

    def _should_rotate(self, position: int) -> bool:
        """True if the newest segment is delivered, unused by the writer, and large enough to be removed."""
        delivered = position >= self._store.end > self._store.first
        return delivered and not self._queue and (self._blocked > 0 or self._store.is_half_full())

    def _enqueue(self, waiting: _Waiting) -> None:
        self._queue.append(waiting)
        self._queued_bytes += waiting.size
        if len(self._queue) == 1:  # the writer waits for the first message only
            self._changed.notify_all()

    def _count_rejected(self, messages: int) -> None:
        if self._settings.overflow == "backpressure":
            self._counters.refused += messages
        else:
            self._counters.dropped_newest += messages

    def _drop_oldest(self) -> bool:
        """Remove the oldest segment that no epoch contains; False if there is none."""
        while self._queue:  # the writer must have no segment in use
            self._changed.wait(0.1)
            self._check_open()
        segments = self._store.oldest_after(max(self._counters.planned, self._replayable))
        self._counters.dropped_oldest += sum(segment.count for segment in segments)
        if segments:
            self._remove(segments)
        return bool(segments)

    def _remove(self, segments: Sequence[Segment]) -> None:
        """Remove segments; the removal is recorded first, so that a missing segment is noticed."""
        self._counters.remove(segments)
        self._counters.store(self._directory)
        reach("log.removing")
        self._store.remove(segments)

    def _write(self) -> None:
        """Write messages to disk until the log is closed."""
        try:
            while (waiting := self._next_batch()) is not None:
                if waiting:
                    with self._changed:
                        self._store.append([record for part in waiting for record in part.records])
                    reach("log.appended")
                self._sync()
                reach("log.synced")
                self._acknowledged.store(self._store.end, self._store.durable)
                self._publish(waiting)
                for part in waiting:
                    _call(part.done)
        except OSError as error:
            what = f"the write-ahead log cannot be written: {error.strerror or error}"
            self.fail(SourceError(what, hint=f"make room on the disk of {self._directory}"))

    def _next_batch(self) -> list[_Waiting] | None:
        """Wait for messages and return all that are waiting; none when a sync is due; None once closed."""
        with self._changed:
            while not self._queue and not self._closed:
                if not self._changed.wait(_SYNC_SECONDS if self._unsynced else None):
                    return []
            return list(self._queue) or None

    def _sync(self) -> None:
        """Make the records durable as the policy requires."""
        now = time.monotonic()
        if self._settings.fsync == "always" or (
            self._settings.fsync == "interval" and now - self._synced >= _SYNC_SECONDS
        ):
            self._store.sync()
            self._synced, self._unsynced = now, False
        else:
            self._unsynced = self._settings.fsync == "interval"

    def _publish(self, waiting: list[_Waiting]) -> None:
        """Let the query see records that are durable."""
        with self._changed:
            for part in waiting:
                self._queue.popleft()
                self._queued_bytes -= part.size
                self._counters.stored += len(part.records)
            self._end = self._store.end
            self._changed.notify_all()

    def _stored_ids(self) -> Iterator[str]:
        """Yield the message ids of the records on disk."""
        for _, records in self._store.read(self._store.first, self._store.end, SLICE):
            yield from (record.id for record in decode(records) if record.id)


def _call(done: Callable[[], None]) -> None:
    try:
        done()
    except Exception:  # the connection may be gone; its server delivers the message again
        log.warning("a stored message could not be acknowledged", exc_info=True)
