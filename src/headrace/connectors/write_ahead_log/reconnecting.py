"""The base of receivers that read one connection, and open another one when it breaks."""

from __future__ import annotations

import threading
import time
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from headrace.connectors.base import ReadContext
from headrace.connectors.options import seconds_of
from headrace.connectors.write_ahead_log import LogClosedError
from headrace.connectors.write_ahead_log.arrivals import Arrivals
from headrace.durations import Duration
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_BACKOFF_SECONDS = (0.25, 10.0)
_Connection = TypeVar("_Connection")


class ReconnectingReceiver(Generic[_Connection]):
    """Reads a connection in a thread; reconnects with backoff while the server is unavailable.

    A subclass implements `connect`, `read`, `close` and `describe`, and calls `arrivals.note` for each
    message.

    Args:
        context: the run.
        quiet: `settle` waits until no message has arrived for this long; None: it does not wait.
        retry_timeout: how long an unavailable server is retried; None: without a limit.
        backoff: the first and the longest pause before a reconnect, in seconds.
    """

    errors: ClassVar[tuple[type[Exception], ...]] = (OSError,)
    """The errors of a connection that cannot be opened or breaks."""

    def __init__(
        self,
        context: ReadContext,
        *,
        quiet: Duration | None = None,
        retry_timeout: Duration | None = None,
        backoff: tuple[float, float] = _BACKOFF_SECONDS,
    ) -> None:
        self.source, self.stopped = context.source, threading.Event()
        self.arrivals = Arrivals(self.stopped)
        self._quiet, self._backoff = quiet, backoff
        self._timeout = inf if retry_timeout is None else seconds_of(retry_timeout)
        self._thread: threading.Thread | None = None

    def connect(self) -> _Connection:
        """Open a connection, or raise one of `errors`."""
        raise NotImplementedError

    def read(self, log: WriteAheadLog, connection: _Connection) -> None:
        """Append messages to the log until the connection ends or `stopped` is set."""
        raise NotImplementedError

    def close(self, connection: _Connection) -> None:
        """Close a connection, which may be broken."""
        raise NotImplementedError

    def describe(self, error: Exception) -> SourceError:
        """Return the error of the run for an error of the connection."""
        raise NotImplementedError

    def is_final(self, error: Exception) -> bool:
        """Return True for a refusal that a retry does not change."""
        return False

    def start(self, log: WriteAheadLog) -> None:
        try:
            connection = self.connect()
        except self.errors as error:
            raise self.describe(error) from error
        self.arrivals.note()
        self._thread = threading.Thread(
            target=self._work, args=(log, connection), name="headrace-receiver", daemon=True
        )
        self._thread.start()

    def settle(self) -> None:
        if self._quiet is not None:
            self.arrivals.await_quiet(self._quiet)

    def stop(self) -> None:
        self.stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self, log: WriteAheadLog, connection: Any) -> None:
        """Read, and reconnect, until the receiver is stopped."""
        lost_at: float | None = None
        pause, longest = self._backoff
        while not self.stopped.is_set():
            try:
                connection = connection or self.connect()
                lost_at, pause = None, self._backoff[0]
                self.read(log, connection)
            except LogClosedError:
                return
            except self.errors as error:
                lost_at = lost_at or time.monotonic()
                if self.is_final(error) or time.monotonic() - lost_at > self._timeout:
                    log.fail(self.describe(error))
                    return
            except Exception as error:  # a fault of the receiver ends the run; it is never silent
                log.fail(error)
                return
            finally:
                if connection is not None:
                    self.close(connection)
                connection = None
            self.stopped.wait(pause)
            pause = min(2 * pause, longest)
