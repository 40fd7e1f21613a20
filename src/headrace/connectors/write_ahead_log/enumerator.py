"""Plans the epochs of a source over its write-ahead log, on the driver."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from headrace.connectors.driver_source import Offset
from headrace.connectors.retry import portable_error, problem_of
from headrace.connectors.write_ahead_log import Receiver
from headrace.connectors.write_ahead_log.log import WriteAheadLog
from headrace.errors import HeadraceError, Problem

_POSITION = struct.Struct(">Q")
"""A split begins with the position of its first record."""

_Result = TypeVar("_Result")


class LogEnumerator:
    """The split enumerator of one log. Splits hold records: only the driver reads the log.

    An offset is `{"position": of the next record}`.
    """

    def __init__(self, messages: WriteAheadLog, receiver: Receiver, source: str, max_per_batch: int) -> None:
        self._log, self._receiver, self._source = messages, receiver, source
        self._max_per_batch = max_per_batch
        self._final: int | None = None
        """The end of a run that processes the available messages and stops."""

    def initial(self) -> Offset:
        return {"position": self._log.first}

    def available(self) -> None:
        if self._final is None:
            self._translate(self._receiver.settle)
            self._final = self._log.end

    def latest(self, start: Offset) -> Offset:
        position: int = start["position"]
        self._check_range(position, position)
        self._log.release(position)
        end = self._translate(lambda: self._log.plan(position, self._max_per_batch, self._final))
        return {"position": end}

    def splits(self, start: Offset, end: Offset) -> list[bytes]:
        self._check_range(start["position"], end["position"])
        slices = self._translate(lambda: list(self._log.read(start["position"], end["position"])))
        return [_POSITION.pack(position) + records for position, records in slices]

    def commit(self, end: Offset) -> None:
        self._log.release(end["position"])

    def close(self) -> None:
        self._log.close()  # first: a receiver that waits for room in a full log could not stop
        self._receiver.stop()

    def _check_range(self, start: int, end: int) -> None:
        """Raise an error if the log does not have the records that the checkpoint expects."""
        if end > self._log.end:
            what = f"the checkpoint is at message {end}, but the write-ahead log ends at {self._log.end}"
        elif start < self._log.delivered:
            what = (
                f"the checkpoint is at message {start}, but the write-ahead log has removed the messages "
                f"before {self._log.delivered}, which were delivered: the checkpoint is an older version"
            )
        else:
            return
        hint = "restore the directory of the pipeline as a whole, or start over with --fresh"
        raise portable_error(Problem(self._source, what, hint))

    def _translate(self, action: Callable[[], _Result]) -> _Result:
        """Run an action; raise its failure as an error of the source that survives Spark's stack traces."""
        try:
            return action()
        except HeadraceError as error:
            raise portable_error(problem_of(error, self._source)) from error
        except Exception as error:
            raise portable_error(Problem(self._source, str(error) or type(error).__name__)) from error
