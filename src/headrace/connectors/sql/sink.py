"""Writes epochs to a table of a database server; the protocol is told in the package's docstring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from headrace.connectors.base import Staged, WriteContext
from headrace.connectors.failpoints import reach
from headrace.connectors.sql.ahead import Ahead
from headrace.connectors.sql.chunks import register
from headrace.connectors.sql.dialect import (
    LEDGER,
    RUNS,
    STAGING,
    Database,
    Dialect,
    Overlapping,
    listed,
    qualified,
    staged,
)
from headrace.connectors.sql.intake import Contents, Novelty, take
from headrace.connectors.sql.loading import RESULT, Loader
from headrace.connectors.sql.patience import from_task, patiently
from headrace.connectors.sql.tables import RETRACTION, Table, applied
from headrace.errors import DeliveryError, FencedError
from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OWNER = "pipeline = %s AND sink = %s"
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Loaded:
    """An epoch's rows in a staging table, and the chunks that count: those of attempts which Spark counted."""

    table: Table
    stage: str
    chunks: tuple[int, ...]
    rows: int
    ahead: Ahead | None


class TableWriter:
    """Delivers the epochs of one sink to a table.

    Args:
        dialect: how to speak to the server.
        table: the target, perhaps with its schema: `public.totals`.
        key: the columns that tell rows apart.
        patience: how many seconds a server that went away in the middle of a run is waited for.
    """

    def __init__(self, dialect: Dialect, table: str, key: Sequence[str], patience: float) -> None:
        self._dialect = dialect
        self._target = table
        self._key = tuple(key)
        self._patience = patience
        self._run: WriteContext | None = None
        self._number = 0
        self._database: Database | None = None
        self._known: Table | None = None
        self._novelty = Novelty()
        self._ahead: Ahead | None = None

    def open(self, run: WriteContext) -> int:
        self._run = run
        with self._told("can't be opened"):
            database = self._connected()
            for statement in self._dialect.ledger():
                self._once(database, statement)
            with _transaction(database):
                self._number = self._take_over(database)
            reach("database.fenced")
            if isinstance(self._dialect, Overlapping):
                self._dialect.evict(database, f"{self._staging}_")
            self._drop_all(database, f"{self._staging}_")
            reach("database.swept")
            return self._committed(database)

    def stage(self, epoch: int, frame: DataFrame) -> Loaded:
        self._abandon()
        frame = applied(frame, self._key)
        schema = frame.schema.jsonValue()
        table = Table.of(self._target, schema, self._key, self._dialect.declared, where=self._running.sink)
        stage = f"{self._staging}_{self._number}_{epoch}"
        early = self._may_overlap()
        self._patiently(
            f"can't take epoch {epoch}", lambda database: self._prepare(database, table, stage, early)
        )
        reach("database.prepared")
        if early:
            database, repeated = self._connected(), kernel(frame.sparkSession).copytext.KeyHashes().repeated
            self._ahead = Ahead(self._dialect, database, table, stage, self._novelty, repeated)
        lines = self._lines(frame, table, sorted_by=table.key if early else ())
        told_in = register(stage) if early else ""
        load = Loader(self._dialect, stage, told_in, table.loaded, self._patience, _running_task)
        with self._told(f"can't take epoch {epoch}"), self._ahead.beside() if self._ahead else nullcontext():
            loaded = lines.mapInArrow(load, RESULT).collect()
        reach("database.staged")
        rows = sum(row.rows for row in loaded)
        return Loaded(table, stage, tuple(row.chunk for row in loaded), rows, self._ahead)

    def commit(self, epoch: int, staged: Staged) -> None:
        if not isinstance(staged, Loaded):
            raise TypeError("commit takes what stage gave")
        self._patiently(f"can't commit epoch {epoch}", lambda database: self._settle(database, epoch, staged))
        reach("database.committed")
        self._patiently(
            f"can't clear epoch {epoch}",
            lambda database: self._clear(database, staged.stage),
        )
        reach("database.cleared")

    def close(self) -> None:
        self._disconnect()
        self._run = self._known = self._ahead = None

    def _may_overlap(self) -> bool:
        """Whether the next epoch's chunks are taken as they come. `complete` empties the table first, which isn't done early."""
        may = isinstance(self._dialect, Overlapping) and self._running.mode != "complete"
        return may and self._novelty.likely()

    def _lines(self, frame: DataFrame, table: Table, *, sorted_by: tuple[str, ...]) -> DataFrame:
        """What tasks load: the values of each row; if they are sorted, then with a hash of the key."""
        schema, spelling = frame.schema.jsonValue(), self._dialect.spelling
        names = tuple(table.loaded)
        values = [f"{value} AS `{place}`" for place, value in enumerate(spelling.values(schema, names))]
        if sorted_by:
            values.append(spelling.hashed(schema, sorted_by, RETRACTION if table.retracts else ""))
        return _packed(frame.selectExpr(*values), [names.index(name) for name in sorted_by])

    def _take_over(self, database: Database) -> int:
        owner = (self._running.pipeline, self._running.sink)
        if not database.execute(f"UPDATE {RUNS} SET run = run + 1 WHERE {_OWNER}", owner):
            database.execute(f"INSERT INTO {RUNS} (pipeline, sink, run) VALUES (%s, %s, 1)", owner)
        return int(database.rows(f"SELECT run FROM {RUNS} WHERE {_OWNER}", owner)[0][0])

    def _prepare(self, database: Database, table: Table, stage: str, early: bool) -> None:
        """The target, made or checked once a run, and an empty staging table, perhaps with a register of chunks."""
        if self._known != table:
            self._ensure(database, table)
            self._known = table
        self._clear(database, stage)
        database.execute(self._dialect.create_stage(table, stage))
        if early and isinstance(self._dialect, Overlapping):
            database.execute(self._dialect.register(register(stage)))

    def _clear(self, database: Database, stage: str) -> None:
        """Drop an epoch's staging table; without it no task makes others, and those that were made go, too."""
        database.execute(f"DROP TABLE IF EXISTS {self._dialect.quoted(stage)}")
        if isinstance(self._dialect, Overlapping):
            self._drop_all(database, f"{stage}_")

    def _drop_all(self, database: Database, prefix: str) -> None:
        """Drop the staging tables whose names start so."""
        if stages := self._dialect.stages(database, prefix):
            database.execute(f"DROP TABLE IF EXISTS {listed(self._dialect, stages)}")

    def _ensure(self, database: Database, table: Table) -> None:
        there = self._dialect.columns(database, table.name)
        if not there:
            self._once(database, self._dialect.create(table))
            return
        _check(table, there, self._dialect, self._running.sink)
        if table.key and not self._dialect.unique(database, table.name, table.key):
            key = listed(self._dialect, table.key)
            raise DeliveryError(
                f"the table `{table.name}` doesn't keep its key ({key}) unique",
                where=self._running.sink,
                hint=f"ALTER TABLE {table.name} ADD UNIQUE ({key}), or name another key",
            )

    def _settle(self, database: Database, epoch: int, loaded: Loaded) -> None:
        if loaded.ahead is not self._ahead:
            self._abandon()
        ahead, self._ahead = self._ahead, None
        begun = ahead is not None and ahead.begun and ahead.database is database
        with _transaction(database, begun=begun):
            self._check_owner(database, epoch)
            if epoch <= self._committed(database):
                if begun and ahead is not None:
                    ahead.undo()
                return
            reach("database.begun")
            if self._running.mode == "complete":
                database.execute(f"DELETE FROM {qualified(self._dialect, loaded.table.name)}")
            if not (ahead and ahead.finish(database, loaded.chunks)) and loaded.chunks:
                self._take_in(database, epoch, loaded)
            reach("database.rows")
            self._enter(database, epoch)
            reach("database.ledger")

    def _check_owner(self, database: Database, epoch: int) -> None:
        """Nobody takes over from here to the commit: the row of the run is locked."""
        owner = (self._running.pipeline, self._running.sink)
        newest = database.rows(f"SELECT run FROM {RUNS} WHERE {_OWNER} FOR UPDATE", owner)
        if not newest or newest[0][0] != self._number:
            raise FencedError(
                f"epoch {epoch} is not written: a newer run has taken over `{self._target}` at {self._dialect.place}",
                where=self._running.sink,
                hint="two runs of one pipeline write here; stop one of them",
            )

    def _take_in(self, database: Database, epoch: int, loaded: Loaded) -> None:
        """Bring staged rows into the table. A server that crashed may have lost some: staging tables don't last."""
        rows = staged(self._dialect, loaded.stage, loaded.chunks)
        contents = Contents.of(self._dialect, database, loaded.table, rows)
        if contents.rows != loaded.rows:
            raise self._failure(
                f"can't commit epoch {epoch}",
                f"the server restarted and kept {contents.rows} of {loaded.rows} staged rows",
                "run again: the epoch comes again, and nothing is lost",
            )
        take(self._dialect, database, loaded.table, rows, contents)

    def _committed(self, database: Database) -> int:
        run = self._running
        found = database.rows(
            f"SELECT epoch FROM {LEDGER} WHERE {_OWNER} AND lineage = %s",
            (run.pipeline, run.sink, run.checkpoint_id),
        )
        return int(found[0][0]) if found else -1

    def _enter(self, database: Database, epoch: int) -> None:
        run = self._running
        entry = (run.pipeline, run.sink, run.checkpoint_id)
        database.execute(f"DELETE FROM {LEDGER} WHERE {_OWNER} AND lineage = %s", entry)
        database.execute(
            f"INSERT INTO {LEDGER} (pipeline, sink, lineage, epoch, run) VALUES (%s, %s, %s, %s, %s)",
            (*entry, epoch, self._number),
        )

    def _patiently(self, what: str, act: Callable[[Database], _Result]) -> _Result:
        """Do something that may be done again, and do it again while the server is away."""
        with self._told(what):
            return patiently(self._dialect, self._patience, lambda: act(self._connected()), self._disconnect)

    def _once(self, database: Database, statement: str) -> None:
        """Make a table that another run may be making at the same moment."""
        try:
            database.execute(statement)
        except Exception as error:
            if self._dialect.told(error) is None or self._dialect.lost(error):
                raise
            database.execute(statement)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Tell what a server or a task says as ours."""
        from pyspark.errors import PySparkException

        try:
            yield
        except DeliveryError:
            raise
        except PySparkException as error:
            raise self._failure(what, *from_task(str(error))) from error
        except Exception as error:
            told = self._dialect.told(error)
            if told is None:
                raise
            raise self._failure(what, *told) from error

    def _failure(self, what: str, said: str, hint: str) -> DeliveryError:
        text = f"the table `{self._target}` at {self._dialect.place} {what}: {said}"
        return DeliveryError(text, where=self._running.sink, hint=hint)

    def _abandon(self) -> None:
        """An epoch that was staged and comes again has perhaps a transaction open."""
        if self._ahead is not None:
            self._ahead.abandon()
        self._ahead = None

    def _connected(self) -> Database:
        if self._database is None:
            self._database = self._dialect.connect()
        return self._database

    def _disconnect(self) -> None:
        if self._database is not None:
            with suppress(Exception):  # it may be gone already
                self._database.close()
        self._database = None

    @property
    def _staging(self) -> str:
        owner = f"{self._running.pipeline}\n{self._running.sink}".encode()
        return f"{STAGING}_{sha256(owner).hexdigest()[:12]}"

    @property
    def _running(self) -> WriteContext:
        if self._run is None:
            raise DeliveryError("the sink is not open", where=self._dialect.kind)
        return self._run


@contextmanager
def _transaction(database: Database, *, begun: bool = False) -> Iterator[None]:
    """A transaction for the block, which has perhaps begun already."""
    if not begun:
        database.execute("BEGIN")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # the first failure is the one to tell
            database.execute("ROLLBACK")
        raise


def _packed(frame: DataFrame, key: list[int]) -> DataFrame:
    """The rows of a frame of whole numbers and text as lines, several in a value, sorted by a key that is told by its places."""
    from pyspark.sql import DataFrame

    return DataFrame(
        kernel(frame.sparkSession).copytext.CopyText.packed(java_frame(frame), key), frame.sparkSession
    )


def _running_task() -> tuple[int, int]:
    """The numbers of the attempt and of the task that this process runs."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return (0, 0) if context is None else (context.taskAttemptId(), context.partitionId())


def _check(table: Table, there: dict[str, tuple[str, bool]], dialect: Dialect, where: str) -> None:
    """Whether a table that is there can take the stream."""
    for column in table.columns:
        if column.name not in there:
            add = f"ALTER TABLE {table.name} ADD COLUMN {dialect.quoted(column.name)} {column.declared}"
            raise DeliveryError(
                f"the table `{table.name}` has no column `{column.name}`; the stream has it as {column.kind}",
                where=where,
                hint=add,
            )
        declared, _ = there[column.name]
        if not dialect.accepts(column.kind, declared):
            raise DeliveryError(
                f"column `{column.name}` is {declared} in the table `{table.name}` and {column.kind} in the stream",
                where=where,
                hint="cast it in a select, or write to another table",
            )
    for name, (_, demanded) in there.items():
        if demanded and name not in table.names:
            raise DeliveryError(
                f"the table `{table.name}` demands a value in `{name}`, which the stream lacks",
                where=where,
                hint="add the column to the stream, or give it a default there",
            )
