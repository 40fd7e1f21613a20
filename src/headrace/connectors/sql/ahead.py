"""Takes chunks of an epoch into the table while tasks still load others: the server's session needn't wait for the last task.

It is the transaction of the commit, begun early: nobody sees its rows before. It is a guess, twice. That an attempt of a
task whose chunk is taken will count: when Spark has told which ones do, exactly their chunks must have been taken. And that keys are
new: rows are added, not upserted. A key that comes twice is found by its hash, which tasks tell with each chunk; all rows of such
keys are upserted at the end, where the last one of each is known. Where a guess is wrong, everything is undone, and the epoch is taken
as if nothing had been tried (`intake.py`): all of its rows are still in the staging table.

The session has the most to do of all, so it is spared what others can. Tasks sort their rows by key, as neighbours in an
index are quicker to add together: in runs, the first one a short one (`Run.scala`). And while the session adds rows,
chunks that come are found, and their keys compared, on a thread and a connection of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Event, Thread

from headrace.connectors.failpoints import reach
from headrace.connectors.sql.chunks import Chunk, InVain, Lot, Register, listed
from headrace.connectors.sql.dialect import SEQUENCE, Database, Dialect, Overlapping, staged
from headrace.connectors.sql.intake import Novelty
from headrace.connectors.sql.tables import Table

_PAUSE = 0.02
_LEAST = 10_000
"""Fewer rows aren't worth a transaction that is held open."""
_SHARE = 2
"""A statement reads all small chunks of the epoch: it waits for half as much as was taken, so that there are few of them."""
_TRIED = "_headrace_tried"


@dataclass
class Ahead:
    """Takes the chunks of one epoch, in one session.

    Args:
        dialect: how to speak to the server; it must be `Overlapping`.
        database: the session, which nobody else uses while `beside` lasts.
        table: the target.
        stage: the staging table.
        novelty: is told whether the guess was right.
        repeated: takes hashes, eight bytes each, and gives back those that it was given before.
    """

    dialect: Dialect
    database: Database
    table: Table
    stage: str
    novelty: Novelty
    repeated: Callable[[bytes], bytes]
    begun: bool = False
    """Whether the transaction has begun before the commit."""
    _over: bool = False
    _tried: bool = False
    _ended: Event | None = None
    """Within `beside`: set when it ends."""
    _watcher: Thread | None = None
    """Looks for chunks while the session is busy."""
    _found: SimpleQueue[Lot | Exception] = field(default_factory=SimpleQueue)
    """By that thread."""
    _waiting: list[Chunk] = field(default_factory=list)
    _taken: list[Chunk] = field(default_factory=list)
    _again: set[int] = field(default_factory=set)
    """Hashes that came more than once, in chunks that wait or were taken."""

    def __post_init__(self) -> None:
        self._register = Register(self.dialect, self.stage, bool(self.table.key), self.repeated)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Take chunks as they come, on threads of its own, for as long as the block lasts."""
        ended, failures = Event(), list[BaseException]()

        def work() -> None:
            try:
                while not ended.wait(_PAUSE):
                    self.look()
            except BaseException as failure:  # told where somebody listens
                failures.append(failure)
            if self._watcher:
                self._watcher.join()
            self._watcher = self._ended = None

        self._ended = ended
        thread = Thread(target=work, name=f"headrace-{self.stage}", daemon=True)
        thread.start()
        try:
            yield
        except BaseException:
            ended.set()
            thread.join()
            self.abandon()
            raise
        ended.set()
        thread.join()
        if failures:
            raise failures[0]

    def look(self, least: int = _LEAST) -> None:
        """Take what has come, if it is enough. What the server says against it is said again at the commit."""
        if self._over:
            return
        try:
            self._fetch()
            held = sum(chunk.size for chunk in self._taken)
            if sum(chunk.size for chunk in self._waiting) >= max(least, held // _SHARE):
                self._begin()
                self._take()
        except Exception as error:
            if not isinstance(error, InVain) and self.dialect.told(error) is None:
                raise
            self.novelty.seen(new=False)
            self.abandon()

    def finish(self, database: Database, chunks: Collection[int]) -> bool:
        """Take what is left, within the transaction of the commit, and tell whether the table has just these chunks now.

        Where it has not, all is as it was when the transaction began.
        """
        if self._over or database is not self.database:
            return False
        try:
            self._fetch()
            self._take()
            self._settle()
            if {chunk.number for chunk in self._taken} == set(chunks):
                if self._taken:
                    self.novelty.seen(new=True)
                return True
        except Exception as error:
            if not isinstance(error, InVain) and not self._overlapping.refused(error):
                raise
        self.novelty.seen(new=False)
        self.undo()
        return False

    def undo(self) -> None:
        """Within the transaction, take everything back."""
        if self._tried:
            self.database.execute(f"ROLLBACK TO SAVEPOINT {_TRIED}")
        self._over = True

    def abandon(self) -> None:
        """Give up the transaction, if it has begun."""
        if self.begun:
            with suppress(Exception):  # the session may be gone, and the transaction with it
                self.database.execute("ROLLBACK")
        self.begun, self._over = False, True

    def _begin(self) -> None:
        if not self.begun:
            self.database.execute(self._overlapping.hold())
            self.begun = True
            if self._ended:
                self._watcher = Thread(target=self._watch, args=(self._ended,), daemon=True)
                self._watcher.start()

    def _watch(self, ended: Event) -> None:
        """Find chunks while the session adds others; nobody but its own thread speaks to it."""
        last = False
        try:
            with closing(self.dialect.connect()) as database:
                while not (self._over or last):
                    last = ended.wait(_PAUSE)  # tasks have told of everything then; the session may be busy
                    self._found.put(self._register.fetch(database))
        except Exception as error:
            self._found.put(error if self.dialect.told(error) is None else InVain())

    def _fetch(self) -> None:
        if not self._watcher:
            self._found.put(self._register.fetch(self.database))
        while not self._found.empty():
            found = self._found.get()
            if isinstance(found, Exception):
                raise found
            self._waiting += found.chunks
            self._again |= found.again

    def _take(self) -> None:
        """Add the rows of chunks that wait, but for those whose key comes more than once."""
        if not self._waiting:
            return
        if not self._tried:
            self.database.execute(f"SAVEPOINT {_TRIED}")
            self._tried = True
        rows = staged(self.dialect, self.stage, [chunk.number for chunk in self._waiting])
        if again := listed(self._waiting, self._again):
            rows = f"SELECT * FROM ({rows}) c WHERE {SEQUENCE} NOT IN (VALUES {again})"
        self.database.execute(self._overlapping.add(self.table, rows))
        self._taken += self._waiting
        self._waiting = []
        reach("database.ahead")

    def _settle(self) -> None:
        """Upsert the last row of each key that came again."""
        if self._again:
            rows = staged(self.dialect, self.stage, [chunk.number for chunk in self._taken])
            again = listed(self._taken, self._again)
            rows = f"SELECT * FROM ({rows}) c WHERE {SEQUENCE} IN (VALUES {again})"
            for statement in self.dialect.fold(self.table, rows, null_keys=False):
                self.database.execute(statement)

    @property
    def _overlapping(self) -> Overlapping:
        if not isinstance(self.dialect, Overlapping):
            raise TypeError(f"{self.dialect.kind} takes rows at the commit alone")
        return self.dialect
