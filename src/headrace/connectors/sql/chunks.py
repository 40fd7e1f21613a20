"""Chunks that tasks have loaded into a staging table, as they tell of them in a table beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.sql.dialect import Database, Dialect
from headrace.connectors.sql.loading import attempt_of, task_of

MOST_AGAIN = 10_000
"""More rows of keys that come more than once aren't worth telling apart."""


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


@dataclass(frozen=True)
class Lot:
    """Chunks that were found together."""

    chunks: list[Chunk]
    again: set[int]
    """Hashes of their rows which other rows of theirs, or of chunks that were found before, have, too."""


@dataclass
class Register:
    """Finds chunks, each once, and compares their keys with those that were found before.

    Args:
        dialect: how to speak to the server.
        stage: the staging table.
        keyed: whether the target has a key.
        repeated: takes hashes, eight bytes each, and gives back those that it was given before.
    """

    dialect: Dialect
    stage: str
    keyed: bool
    repeated: Callable[[bytes], bytes]
    _found: list[Chunk] = field(default_factory=list)

    def fetch(self, database: Database) -> Lot:
        """The chunks that are new since the last time.

        Raises:
            InVain: rows are more than new rows of their key, or come from two attempts of one task.
        """
        known = ", ".join(str(chunk.number) for chunk in self._found) or "-1"
        told = self.dialect.quoted(register(self.stage))
        query = f"SELECT chunk, first, size, keys FROM {told} WHERE chunk NOT IN ({known})"
        rows = database.rows(query)
        new = [self._read(*row) for row in rows]
        self._found += new
        tasks = {(task_of(chunk.first), attempt_of(chunk.number)) for chunk in self._found}
        if len({task for task, _ in tasks}) < len(tasks):
            raise InVain  # two attempts of one task: only Spark knows which will count
        keys = b"".join(row[-1] for row in rows)
        return Lot(new, set(memoryview(self.repeated(keys)).cast("q")) if keys else set())

    def _read(self, number: int, first: int, size: int, keys: bytes) -> Chunk:
        import pyarrow

        count = len(keys) // 8
        if self.keyed and count != size:
            raise InVain  # retractions, or nulls in keys
        hashes = pyarrow.Array.from_buffers(pyarrow.int64(), count, [None, pyarrow.py_buffer(keys)])
        return Chunk(number, first, size, hashes)


def register(stage: str) -> str:
    """The table in which tasks tell of the chunks in a staging table."""
    return f"{stage}_chunks"


def listed(chunks: Iterable[Chunk], hashes: Iterable[int]) -> str:
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
    if len(numbers) > MOST_AGAIN:
        raise InVain
    return ", ".join(f"({number})" for number in numbers)
