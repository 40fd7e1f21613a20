"""The base of sources that cannot be replayed: a write-ahead log beside the checkpoint.

A broker, an HTTP client or a device sends a message once. A *receiver* appends each message to the log and
acknowledges it once the log has stored it durably. Queries read the log, so an epoch can be replayed after a
crash. Records are removed after the epoch that contains them is committed.

A connector that uses the log derives its options from `LoggedSource` (`write_ahead_log.options`) and
returns a `Receiver`. The log itself is a `WriteAheadLog` (`write_ahead_log.log`); `write_ahead_log.recovery`
opens its files, and checks them without a run (`verify`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

Overflow = Literal["backpressure", "drop_newest", "drop_oldest"]
Fsync = Literal["always", "interval", "never"]


@dataclass(frozen=True, slots=True)
class Message:
    """A received message.

    >>> Message(b"21.5", {"topic": "building/1/temperature"}).id is None
    True
    """

    value: bytes
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Fields that can become columns; values that JSON can represent."""
    id: str | None = None
    """The message id of the protocol, by which redeliveries are removed; None if the protocol has none."""
    redelivered: bool = True
    """True if the message may have been received before. False disables deduplication of this message."""


class Receiver(Protocol):
    """The connection of a source to its server or its clients.

    It runs in its own threads between `start` and `stop`, and reports an error that ends it with `log.fail`.
    """

    def start(self, log: WriteAheadLog) -> None:
        """Connect, and from then on append every message to the log.

        Raises:
            SourceError: there is no server, or it refuses the connection; no thread is left running.
        """
        ...

    def settle(self) -> None:
        """Return once the messages that were waiting at the server are in the log; for runs with `--once`."""
        ...

    def stop(self) -> None:
        """Disconnect without acknowledging messages that the log does not hold.

        The log is closed before this call: a thread that waits for room gets a `LogClosedError`.
        """
        ...


class LogFullError(Exception):
    """The log has reached its limit, and `overflow` does not allow the log to drop older messages."""


class MessageTooLargeError(Exception):
    """The message is larger than half of the limit of the log."""


class LogClosedError(Exception):
    """The log was closed while a message was waiting for it."""
