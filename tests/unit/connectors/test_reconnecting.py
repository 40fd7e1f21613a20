"""A receiver with a connection that breaks: reconnects, or ends the run with the error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

from headrace.connectors.base import ReadContext
from headrace.connectors.write_ahead_log import Message
from headrace.connectors.write_ahead_log.log import WriteAheadLog
from headrace.connectors.write_ahead_log.reconnecting import ReconnectingReceiver
from headrace.errors import SourceError


class Scripted(ReconnectingReceiver[Iterator[Exception]]):
    """Stores a message for each connection, then raises the next error of a script."""

    def __init__(self, *script: Exception) -> None:
        super().__init__(
            ReadContext("p", "tx", None, None, ""), retry_timeout="1 minute", backoff=(0.001, 0.001)
        )
        self._script = iter(script)

    def connect(self) -> Iterator[Exception]:
        return self._script

    def read(self, log: WriteAheadLog, connection: Iterator[Exception]) -> None:
        log.append([Message(b"x")])
        raise next(connection)

    def close(self, connection: Iterator[Exception]) -> None: ...

    def describe(self, error: Exception) -> SourceError:
        return SourceError(str(error))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WriteAheadLog]:
    log = WriteAheadLog(tmp_path / "log")
    yield log
    log.close()


def test_broken_connection_is_opened_again_and_a_fault_of_the_receiver_ends_the_run(
    log: WriteAheadLog,
) -> None:
    receiver = Scripted(OSError("broken"), OSError("broken"), ZeroDivisionError("a fault"))
    receiver.start(log)
    wait_until(lambda: log.failed)
    receiver.stop()
    assert log.end == 3
    with pytest.raises(ZeroDivisionError, match="a fault"):
        log.plan(0, 1)
