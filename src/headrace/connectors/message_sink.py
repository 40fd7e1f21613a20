"""A sink that publishes rows as messages, at least once.

    open      connects, and reads the epoch last published under this checkpoint
    stage     encodes the rows and collects them on the driver          invisible to readers
    commit    1. publishes the messages and waits until the server has acknowledged all of them
              2. records the epoch in a file beside the checkpoint

After a crash between 1 and 2, or during 1, the next run publishes the epoch again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace.connectors.base import StagedRows, WriteContext, require_open
from headrace.connectors.durable_files import read_json, write_json
from headrace.connectors.failpoints import reach
from headrace.connectors.network.writer_schemas import forget_writer_schemas
from headrace.connectors.row_encoding import Fields, fields_of

if TYPE_CHECKING:
    from pyarrow import Table
    from pyspark.sql import DataFrame


class Publisher(Protocol):
    """A connection over which a sink sends the messages of one run."""

    def expressions(self, fields: Fields) -> Sequence[str]:
        """Return the SQL expressions of a message, for the columns of the rows.

        Raises:
            DeliveryError: an option names an unknown column.
        """
        ...

    def open(self) -> None:
        """Connect.

        Raises:
            DeliveryError: there is no server, or it refuses the connection.
        """
        ...

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        """Send the messages of an epoch and return once the server has acknowledged all of them.

        Raises:
            DeliveryError: the server refuses a message, or was unavailable for longer than the retry timeout.
        """
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


class MessageWriter:
    """Publishes epochs; one column of the collected rows for each expression.

    Args:
        create_publisher: returns the publisher of a run.
    """

    def __init__(self, create_publisher: Callable[[WriteContext], Publisher]) -> None:
        self._create_publisher = create_publisher
        self._publisher: Publisher | None = None
        self._context: WriteContext | None = None

    def open(self, context: WriteContext) -> int:
        self._context = context
        forget_writer_schemas()
        self._publisher = self._create_publisher(context)
        self._publisher.open()
        recorded = read_json(self._record_file, {}) if self._record_file is not None else {}
        same = recorded.get("checkpoint_id") == context.checkpoint_id
        return int(recorded["epoch"]) if same else -1

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        expressions = self._active_publisher.expressions(fields_of(frame.schema.jsonValue()))
        table = frame.selectExpr(*expressions).toArrow()
        return StagedRows(table.num_rows, table)

    def commit(self, epoch: int, staged: StagedRows) -> None:
        context = self._active_context
        self._active_publisher.publish(_rows(staged.content), epoch)
        reach("messages.published")
        if self._record_file is not None:
            write_json(self._record_file, {"checkpoint_id": context.checkpoint_id, "epoch": epoch})
        reach("messages.recorded")

    def close(self) -> None:
        if self._publisher is not None:
            self._publisher.close()
        self._publisher = self._context = None

    @property
    def _active_publisher(self) -> Publisher:
        return require_open(self._publisher, "messages")

    @property
    def _active_context(self) -> WriteContext:
        return require_open(self._context, "messages")

    @property
    def _record_file(self) -> Path | None:
        """The file with the epoch last published; None if the run has no directory."""
        directory = self._active_context.directory
        return Path(directory) / "published.json" if directory else None


def _rows(table: Table) -> Iterable[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
