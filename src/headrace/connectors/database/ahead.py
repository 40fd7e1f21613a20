"""Takes chunks of an epoch into the table while tasks still load others: the server's session needn't wait for the last task.

It is the transaction of the commit, begun early: nobody sees its rows before. It is a guess, twice. That an attempt of a
task whose chunk is taken will count: when Spark has told which ones do, exactly their chunks must have been taken. And that keys are
new: rows are added, not upserted. A key that comes twice is found by its hash, which tasks tell with each chunk; all rows of such
keys are upserted at the end, where the last one of each is known. Where a guess is wrong, everything is undone, and the epoch is taken
as if nothing had been tried (`intake.py`): all of its rows are still in the staging table.

The session has the most to do of all, so it is spared what others can: tasks sort their rows by key, as neighbours in an
index are quicker to add together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

from headrace.connectors.database.dialect import SEQUENCE, Database, Dialect, Overlapping, staged
from headrace.connectors.database.intake import Novelty
from headrace.connectors.database.loading import attempt_of, task_of
from headrace.connectors.database.tables import Table
from headrace.connectors.failpoints import reach

_PAUSE = 0.02
_LEAST = 10_000
"""Fewer rows aren't worth a transaction that is held open."""
_SHARE = 4
"""A statement reads all of the staging table: it waits for a quarter of what was taken, so that there are few of them."""
_MOST_AGAIN = 10_000
"""More rows of keys that come more than once aren't worth telling apart."""
_TRIED = "_headrace_tried"


class InVain(Exception):  # noqa: N818 - not an error: how an attempt ends that isn't worth more
    """The rows have to be taken the other way."""


@dataclass(frozen=True)
class Chunk:
    """Rows that a task has loaded: their numbers are consecutive."""

    number: int
    first: int
    size: int
    keys: Any
    """Hashes of the rows' keys, in their order (a pyarrow array)."""


@dataclass
class Ahead:
    """Takes the chunks of one epoch, in one session.

    Args:
        dialect: how to speak to the server; it must be `Overlapping`.
        database: the session, which nobody else uses while `beside` lasts.
        table: the target.
        stage: the staging table.
        novelty: is told whether the guess was right.
    """

    dialect: Dialect
    database: Database
    table: Table
    stage: str
    novelty: Novelty
    begun: bool = False
    """Whether the transaction has begun before the commit."""
    _over: bool = False
    _tried: bool = False
    _waiting: list[Chunk] = field(default_factory=list)
    _taken: list[Chunk] = field(default_factory=list)
    _again: set[int] = field(default_factory=set)
    """Hashes that came more than once."""

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Take chunks as they come, on a thread of its own, for as long as the block lasts."""
        ended, failures = Event(), list[BaseException]()

        def work() -> None:
            try:
                while not ended.wait(_PAUSE):
                    self.look()
            except BaseException as failure:  # told where somebody listens
                failures.append(failure)

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

    def _fetch(self) -> None:
        known = ", ".join(str(chunk.number) for chunk in (*self._taken, *self._waiting)) or "-1"
        told = self.dialect.quoted(register(self.stage))
        query = f"SELECT chunk, first, size, keys FROM {told} WHERE chunk NOT IN ({known})"
        for number, first, size, keys in self.database.rows(query):
            self._waiting.append(Chunk(number, first, size, self._hashes(keys, size)))
        tasks = {(task_of(chunk.first), attempt_of(chunk.number)) for chunk in (*self._taken, *self._waiting)}
        if len({task for task, _ in tasks}) < len(tasks):
            raise InVain  # two attempts of one task: only Spark knows which will count

    def _hashes(self, keys: bytes, size: int) -> Any:
        import pyarrow

        count = len(keys) // 8
        if self.table.key and count != size:
            raise InVain  # retractions, or nulls in keys
        return pyarrow.Array.from_buffers(pyarrow.int64(), count, [None, pyarrow.py_buffer(keys)])

    def _take(self) -> None:
        """Add the rows of chunks that wait, but for those whose key comes more than once."""
        if not self._waiting:
            return
        if not self._tried:
            self.database.execute(f"SAVEPOINT {_TRIED}")
            self._tried = True
        again = self._come_again()
        self._again.update(again)
        rows = staged(self.dialect, self.stage, [chunk.number for chunk in self._waiting])
        if again:
            rows += f" AND {SEQUENCE} NOT IN (VALUES {_listed(self._waiting, again)})"
        self.database.execute(self._overlapping.add(self.table, rows))
        self._taken += self._waiting
        self._waiting = []
        reach("database.ahead")

    def _come_again(self) -> set[int]:
        """Hashes of rows that wait which other rows that wait or were taken have, too."""
        import pyarrow
        from pyarrow import compute

        come = pyarrow.concat_arrays([chunk.keys for chunk in self._waiting])
        values, counts = come.value_counts().flatten()
        again = set(values.filter(compute.greater(counts, 1)).to_pylist())
        if self._taken:
            seen = pyarrow.concat_arrays([chunk.keys for chunk in self._taken])
            again.update(values.filter(compute.is_in(values, value_set=seen)).to_pylist())
        return again

    def _settle(self) -> None:
        """Upsert the last row of each key that came again."""
        if self._again:
            rows = staged(self.dialect, self.stage, [chunk.number for chunk in self._taken])
            rows += f" AND {SEQUENCE} IN (VALUES {_listed(self._taken, self._again)})"
            for statement in self.dialect.fold(self.table, rows, null_keys=False):
                self.database.execute(statement)

    @property
    def _overlapping(self) -> Overlapping:
        if not isinstance(self.dialect, Overlapping):
            raise TypeError(f"{self.dialect.kind} takes rows at the commit alone")
        return self.dialect


def register(stage: str) -> str:
    """The table in which tasks tell of the chunks in a staging table."""
    return f"{stage}_chunks"


def _listed(chunks: list[Chunk], hashes: set[int]) -> str:
    """The numbers of the rows whose key has one of these hashes.

    Raises:
        InVain: they are many.
    """
    import pyarrow
    from pyarrow import compute

    wanted = pyarrow.array(hashes, pyarrow.int64())
    numbers = [
        chunk.first + place
        for chunk in chunks
        for place in compute.indices_nonzero(compute.is_in(chunk.keys, value_set=wanted)).to_pylist()
    ]
    if len(numbers) > _MOST_AGAIN:
        raise InVain
    return ", ".join(f"({number})" for number in numbers)
