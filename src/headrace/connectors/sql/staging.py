"""Staging of the rows of an epoch until they are committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from headrace.connectors.failpoints import reach
from headrace.connectors.retry import connect, portable_errors
from headrace.connectors.sql.copy_text import line_bytes
from headrace.connectors.sql.dialect import ATTEMPT, Dialect, Session
from headrace.connectors.sql.table import Table

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame

_RESULT = "attempt bigint, rows bigint"


@dataclass(frozen=True)
class StagedTable:
    """The staged rows of an epoch."""

    table: Table
    rows: int
    content: Any
    """The rows, in the form of the staging that holds them."""


class Staging(Protocol):
    """Stages the epochs of one run of a sink."""

    def open(self, session: Session, prefix: str, token: int) -> None:
        """Remove staging tables of older runs, and use names of prefix and fencing token."""
        ...

    def prepare(self, session: Session, table: Table) -> None:
        """Create the staging table for the rows of a table, unless it exists."""
        ...

    def load(self, frame: DataFrame, table: Table) -> StagedTable:
        """Compute the frame and stage its rows."""
        ...

    def select(self, session: Session, staged: StagedTable) -> str:
        """Return the query for the staged rows; called inside the commit transaction."""
        ...

    def clear(self, session: Session) -> None:
        """Remove the rows of committed epochs."""
        ...

    def close(self, session: Session) -> None:
        """Remove the staging table."""
        ...


class ServerStaging:
    """A table on the server, one per run, that the tasks load in parallel.

    Rows are tagged with the task attempt that loaded them. Only rows of attempts that Spark accepted are
    committed; others stay until the table is truncated. So no step waits for a task of an older attempt or
    run.
    """

    def __init__(self, dialect: Dialect, retry_timeout: float) -> None:
        self._dialect, self._retry_timeout = dialect, retry_timeout
        self._stage = ""
        self._created_for: Table | None = None

    def open(self, session: Session, prefix: str, token: int) -> None:
        self._stage, self._created_for = f"{prefix}_{token}", None
        for stage in self._dialect.tables(session):
            if stage.startswith(f"{prefix}_"):
                self._unless_locked(session, f"DROP TABLE IF EXISTS {self._dialect.quote(stage)}")
        reach("database.swept")

    def prepare(self, session: Session, table: Table) -> None:
        if self._created_for != table:
            session.execute(f"DROP TABLE IF EXISTS {self._dialect.quote(self._stage)}")
            session.execute(self._dialect.create_stage(table, self._stage))
            self._created_for = table
        reach("database.prepared")

    def load(self, frame: DataFrame, table: Table) -> StagedTable:
        lines = self._dialect.text_forms.lines(frame, tuple(table.stage_columns))
        load = TaskLoader(self._dialect, self._stage, table.stage_columns, self._retry_timeout)
        tasks = lines.mapInArrow(load, _RESULT).collect()
        return StagedTable(table, sum(task.rows for task in tasks), tuple(task.attempt for task in tasks))

    def select(self, session: Session, staged: StagedTable) -> str:
        attempts = ", ".join(map(str, staged.content))
        return f"SELECT * FROM {self._dialect.quote(self._stage)} WHERE {ATTEMPT} IN ({attempts})"

    def clear(self, session: Session) -> None:
        self._unless_locked(session, f"TRUNCATE TABLE {self._dialect.quote(self._stage)}")
        reach("database.cleared")

    def close(self, session: Session) -> None:
        if self._created_for is not None:
            self._unless_locked(session, f"DROP TABLE IF EXISTS {self._dialect.quote(self._stage)}")
        self._created_for = None

    def _unless_locked(self, session: Session, statement: str) -> None:
        """Run a statement; skip it if a task of an older attempt still locks the table."""
        short, usual = self._dialect.short_lock_wait
        session.execute(short)
        try:
            session.execute(statement)
        except Exception as error:
            if not self._dialect.is_locked(error):
                raise
        finally:
            with suppress(Exception):  # the connection may be lost, and its settings with it
                session.execute(usual)


@dataclass(frozen=True)
class TaskLoader:
    """Loads the lines of one task; runs on an executor.

    Args:
        dialect: the server.
        stage: the staging table.
        columns: of a line after its number, with their Spark types.
        retry_timeout: how long an unavailable server is retried, in seconds.
    """

    dialect: Dialect
    stage: str
    columns: dict[str, str]
    retry_timeout: float

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.taskAttemptId() if context is not None else 0
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        lines = _Lines(chain([first], batches))
        # Only connecting is retried: lines that were taken from Spark cannot be taken again.
        with portable_errors(self.dialect), connect(self.dialect, self.retry_timeout) as session:
            session.load(self.stage, self.columns, attempt, lines)
        yield pyarrow.record_batch({"attempt": [attempt], "rows": [lines.rows]})


class _Lines:
    """The lines of some batches, and their number so far."""

    def __init__(self, batches: Iterable[RecordBatch]) -> None:
        self._batches = batches
        self.rows = 0

    def __iter__(self) -> Iterator[bytes]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield line_bytes(batch)
