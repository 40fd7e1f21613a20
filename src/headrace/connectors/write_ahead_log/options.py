"""The options that all sources with a write-ahead log share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from headrace.connectors.base import Connector, Guarantee, ReadContext, Reader
from headrace.connectors.metadata import check_metadata
from headrace.connectors.options import SizeOption
from headrace.connectors.retry import find_problem
from headrace.connectors.roles import SourceOption
from headrace.connectors.write_ahead_log import Fsync, Overflow, Receiver
from headrace.errors import Problem


class LoggedSource(Connector):
    """A source that receives messages once and stores them in a write-ahead log.

    A subclass implements `receiver` and lists its metadata in `metadata_types`. A connector that is also a
    sink uses the same class.
    """

    metadata_types: ClassVar[Mapping[str, str]] = {}
    """The metadata of a message that can become columns: name to Spark type."""

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

    @model_validator(mode="after")
    def _check_metadata(self) -> Self:
        check_metadata(self.columns_of_metadata, self.metadata_types)
        return self

    def receiver(self, context: ReadContext) -> Receiver:
        """Return a receiver for a new run."""
        raise NotImplementedError

    @property
    def columns_of_metadata(self) -> Mapping[str, str]:
        """The metadata that become columns: name to column name."""
        chosen: Any = getattr(self, "metadata", {})
        return dict(chosen)

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        return tuple(self.columns_of_metadata.values())

    @property
    def replayable(self) -> bool:
        return True

    @property
    def source_guarantee(self) -> Guarantee:
        return "at_least_once"

    @property
    def concurrent_readers(self) -> bool:
        return False

    def explain_failure(self, failure: str) -> Problem | None:
        problem = find_problem(failure)
        return problem if problem is not None and problem.where else None

    def reader(self) -> Reader:
        from headrace.connectors.write_ahead_log.source import LogReader

        return LogReader(self)
