"""The options that all sources with a write-ahead log share."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from headrace.connectors.base import Guarantee, ReadContext, Reader
from headrace.connectors.metadata import MetadataSource
from headrace.connectors.options import DurationOption, SizeOption
from headrace.connectors.roles import SourceOption
from headrace.connectors.write_ahead_log import Fsync, Overflow, Receiver

QuietOption = SourceOption[
    Annotated[
        DurationOption,
        Field(description="A run with `--once` ends when no message has arrived for this long"),
    ]
]


class LoggedSource(MetadataSource):
    """A source that receives messages once and stores them in a write-ahead log.

    A subclass implements `receiver`. A connector that is also a sink uses the same class.
    """

    replayable: ClassVar[bool] = True
    concurrent_readers: ClassVar[bool] = False

    overflow: SourceOption[Overflow] = Field(
        default="backpressure",
        description="When the log is full: stop receiving (`backpressure`), drop new messages "
        "(`drop_newest`) or the oldest unprocessed ones (`drop_oldest`); dropped messages are counted",
    )
    log_limit: SourceOption[SizeOption] = Field(
        default="1 GB", description="The maximum size of the write-ahead log on disk"
    )
    fsync: SourceOption[Fsync] = Field(
        default="always",
        description="Acknowledge a message after fsync (`always`: survives a power failure), or after the "
        "write, with an fsync every 0.2 seconds (`interval`) or none (`never`): survives a killed process",
    )
    max_per_batch: SourceOption[int] = Field(
        default=100_000, ge=1, description="The maximum number of messages per epoch"
    )

    def receiver(self, context: ReadContext) -> Receiver:
        """Return a receiver for a new run."""
        raise NotImplementedError

    @property
    def received_guarantee(self) -> Guarantee:
        """The guarantee with which messages reach the log, while it has room."""
        return "at_least_once"

    @property
    def source_guarantee(self) -> Guarantee:
        return self.received_guarantee if self.overflow == "backpressure" else "at_most_once"

    def reader(self) -> Reader:
        from headrace.connectors.write_ahead_log.source import LogReader

        return LogReader(self)
