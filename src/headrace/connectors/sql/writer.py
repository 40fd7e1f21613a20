"""Writes epochs to a table of a database; the package's docstring describes the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from headrace.connectors.base import WriteContext, require_open
from headrace.connectors.failpoints import reach
from headrace.connectors.ledger import Ledger, LedgerWriter
from headrace.connectors.retry import LazySession, find_problem, retry
from headrace.connectors.sql.dialect import SEQUENCE, STAGING, Dialect, Session
from headrace.connectors.sql.ledger_tables import LedgerTables
from headrace.connectors.sql.staging import StagedTable, Staging
from headrace.connectors.sql.table import Table, apply_changes, mode_problem
from headrace.connectors.sql.target import ensure_table
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_Result = TypeVar("_Result")


class TableWriter(LedgerWriter):
    """Delivers the epochs of one sink to a table.

    Args:
        dialect: the database.
        table: the target, with or without its schema: `public.totals`.
        key: the key columns.
        staging: where rows wait for their commit.
        retry_timeout: how long an unavailable server is retried, in seconds.
    """

    def __init__(
        self, dialect: Dialect, table: str, key: Sequence[str], staging: Staging, retry_timeout: float = 0.0
    ) -> None:
        self._dialect, self._target, self._key = dialect, table, tuple(key)
        self._staging, self._retry_timeout = staging, retry_timeout
        self._context: WriteContext | None = None
        self._ledger: Ledger | None = None
        self._session: LazySession[Session] = LazySession(dialect)
        self._ensured: Table | None = None
        self._insert_first = dialect.insert_first

    @property
    def upsert_key(self) -> tuple[str, ...]:
        return self._key

    def open(self, context: WriteContext) -> int:
        self._context = context
        if problem := mode_problem(context.mode, self._key):
            raise DeliveryError(
                problem, where=context.sink, hint="add key=[...], or write with mode append or complete"
            )
        tables = LedgerTables(self._dialect, context, self._session.get)
        ledger = self._ledger = Ledger(tables, context, f"`{self._target}` at {self._dialect.address}")
        digest = sha256(f"{context.pipeline}\n{context.sink}".encode()).hexdigest()[:12]
        with self._translate_errors("cannot be opened"):
            session = self._session.get()
            tables.create()
            with self._transaction(session):
                committed = ledger.take_over()
            self._reach("fenced")
            self._staging.open(session, f"{STAGING}_{digest}", ledger.token)
        return committed

    def stage(self, epoch: int, frame: DataFrame) -> StagedTable:
        sink, action = self._active_context.sink, f"cannot take epoch {epoch}"
        frame = apply_changes(frame, self._key)
        schema = frame.schema.jsonValue()
        table = Table.from_schema(self._target, schema, self._key, self._dialect.column_type, where=sink)
        self._retry(action, lambda session: self._prepare(session, table))
        with self._translate_errors(action):
            staged = self._staging.load(frame, table)
        self._reach("staged")
        return staged

    def commit(self, epoch: int, staged: StagedTable) -> None:
        self._retry(f"cannot commit epoch {epoch}", lambda session: self._commit(session, epoch, staged))
        self._reach("committed")
        if staged.rows:
            self._retry(f"cannot clear epoch {epoch}", self._staging.clear)

    def close(self) -> None:
        if self._session.is_open:
            with suppress(Exception):  # the next run removes what is left
                self._staging.close(self._session.get())
        self._session.close()
        self._context = self._ledger = self._ensured = None

    def _prepare(self, session: Session, table: Table) -> None:
        if self._ensured != table:
            ensure_table(self._dialect, session, table, where=self._active_context.sink)
            self._ensured = table
        self._staging.prepare(session, table)

    def _commit(self, session: Session, epoch: int, staged: StagedTable) -> None:
        context, ledger = self._active_context, self._ledger
        with self._transaction(session):
            if ledger is None or ledger.has(epoch):
                return
            self._reach("begun")
            if context.mode == "complete":
                session.execute(f"DELETE FROM {self._dialect.quote_table(staged.table.name)}")
            if staged.rows:
                self._merge(session, epoch, staged)
            self._reach("rows")
            ledger.commit(epoch)
            self._reach("ledger")

    def _merge(self, session: Session, epoch: int, staged: StagedTable) -> None:
        """Write the staged rows to the table."""
        dialect, table = self._dialect, staged.table
        rows = self._staging.select(session, staged)
        null_key = dialect.has_null_key(table.key) or "1 = 0"
        counts = f"SELECT count(*), count(CASE WHEN {null_key} THEN 1 END) FROM ({rows}) s"
        count, null_keys = map(int, session.rows(counts)[0])
        if count != staged.rows:  # staging tables do not survive a crash of the server
            what = f"the server restarted and lost {staged.rows - count} of {staged.rows} staged rows"
            hint = "run again: the epoch is read and written again, and no row is lost"
            raise self._delivery_error(f"cannot commit epoch {epoch}", what, hint)
        if not table.key:
            session.execute(f"{dialect.insert(table, rows)} ORDER BY {SEQUENCE}")
        elif null_keys or table.retracts or not self._insert(session, table, rows):
            for statement in dialect.upsert(table, rows, null_keys=null_keys > 0):
                session.execute(statement)

    def _insert(self, session: Session, table: Table, rows: str) -> bool:
        """Insert rows whose keys are all new, which is cheaper than an upsert; return False if a key exists.

        After the first key that exists, the rest of the run upserts.
        """
        if not self._insert_first:
            return False
        session.execute("SAVEPOINT _headrace_insert")
        try:
            session.execute(self._dialect.insert_last(table, rows))
        except Exception as error:
            if not self._dialect.is_duplicate_key(error):
                raise
            self._insert_first = False
            session.execute("ROLLBACK TO SAVEPOINT _headrace_insert")
        return self._insert_first

    def _retry(self, action: str, run: Callable[[Session], _Result]) -> _Result:
        """Run an idempotent action, retrying while the server is unavailable."""
        with self._translate_errors(action):
            session = self._session
            return retry(self._dialect, self._retry_timeout, lambda: run(session.get()), session.close)

    @contextmanager
    def _transaction(self, session: Session) -> Iterator[None]:
        for statement in self._dialect.begin:
            session.execute(statement)
        try:
            yield
            session.execute("COMMIT")
        except BaseException:
            with suppress(Exception):  # the first failure is the one to raise
                session.execute("ROLLBACK")
            raise

    @contextmanager
    def _translate_errors(self, action: str) -> Iterator[None]:
        """Raise errors of the server or of a task as delivery errors."""
        from pyspark.errors import PySparkException

        try:
            yield
        except DeliveryError as error:
            if error.where:
                raise
            raise DeliveryError(error.what, where=self._active_context.sink, hint=error.hint) from None
        except PySparkException as error:
            problem = find_problem(str(error))
            what, hint = (problem.what, problem.hint) if problem else (str(error).strip().splitlines()[0], "")
            raise self._find_fencing_error() or self._delivery_error(action, what, hint) from error
        except Exception as error:
            translation = self._dialect.translate_error(error)
            if translation is None:
                raise
            fenced = None if self._dialect.is_unavailable(error) else self._find_fencing_error()
            raise fenced or self._delivery_error(action, *translation) from error

    def _delivery_error(self, action: str, what: str, hint: str) -> DeliveryError:
        text = f"the table `{self._target}` at {self._dialect.address} {action}: {what}"
        return DeliveryError(text, where=self._active_context.sink, hint=hint)

    def _reach(self, step: str) -> None:
        reach(f"{self._dialect.failpoints}.{step}")

    @property
    def _active_context(self) -> WriteContext:
        return require_open(self._context, self._dialect.kind)
