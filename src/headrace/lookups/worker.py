"""The part of a lookup that runs in Python workers: from Arrow batches of keys to table rows.

Only keys are sent to Python, and only table rows are returned, as text that Spark casts. The connection and
the cache of a step are kept in the worker process, which Spark reuses for many tasks.
"""

from __future__ import annotations

import gc
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import pyarrow

from headrace.connectors.lookups import Key, KeyReader, KeyTable, Values
from headrace.connectors.retry import portable_errors, retry

NO_COLUMNS = "__none"
"""The field of a table without columns besides its key."""


TableRows = Sequence[Values]
"""The rows of a key; empty for a key without a row."""


@dataclass(frozen=True)
class LookupTask:
    """The part of a lookup that is sent to the workers."""

    id: str
    """The key of the connection and the cache in a worker; unique per run."""
    step: str
    width: int
    """The number of key columns; several are encoded as a JSON list."""
    table: KeyTable
    cache: int
    ttl: float
    """In seconds."""


class KeyCache:
    """The results of one lookup in one worker process, also for keys without a row.

    The least recently used are removed first.

    >>> cache = KeyCache(size=2, ttl=60, clock=lambda: 0)
    >>> keys_read = []
    >>> def read(keys):
    ...     keys_read.extend(keys)
    ...     return {("a",): [("1",)]}
    >>> cache.get([("a",), ("b",)], read), cache.get([("a",), ("b",)], read), keys_read
    ([[('1',)], ()], [[('1',)], ()], [('a',), ('b',)])

    Args:
        size: the maximum number of keys; 0 for no cache.
        ttl: the time to live of an entry, in seconds.
        clock: returns the time in seconds.
    """

    def __init__(self, size: int, ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._ttl, self._clock = size, ttl, clock
        self._entries: OrderedDict[Key, tuple[float, TableRows]] = OrderedDict()

    def get(
        self, keys: Sequence[Key], read: Callable[[Sequence[Key]], Mapping[Key, TableRows]]
    ) -> list[TableRows]:
        """Return the rows of distinct keys; `read` reads those that are not cached."""
        if not self._size:
            values = read(keys) if keys else {}
            return [values.get(key, ()) for key in keys]
        now = self._clock()
        results = {key: rows for key in keys if (rows := self._cached(key, now)) is not None}
        if missing := [key for key in keys if key not in results]:
            values = read(missing)
            for key in missing:
                results[key] = values.get(key, ())
                self._store(key, now + self._ttl, results[key])
        return [results[key] for key in keys]

    def _cached(self, key: Key, now: float) -> TableRows | None:
        expires, rows = self._entries.get(key, (now, None))
        if rows is None or expires <= now:
            return None
        self._entries.move_to_end(key)
        return rows

    def _store(self, key: Key, expires: float, rows: TableRows) -> None:
        self._entries[key] = (expires, rows)
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)


class WorkerLookup:
    """The connection and the cache of one lookup in this process."""

    def __init__(self, task: LookupTask) -> None:
        self._task = task
        self._cache = KeyCache(task.cache, task.ttl)
        self._reader: KeyReader | None = None

    def find(self, keys: Sequence[Key]) -> list[TableRows]:
        """Return the rows of each key, retrying while the server is unavailable."""
        table = self._task.table
        with portable_errors(table, self._task.step):
            return self._cache.get(
                keys,
                lambda missing: retry(
                    table, table.retry_timeout, lambda: self._connect().rows(missing), self.close
                ),
            )

    def _connect(self) -> KeyReader:
        if self._reader is None:
            self._reader = self._task.table.connect()
        return self._reader

    def close(self) -> None:
        """Close the connection; the next lookup opens a new one."""
        if self._reader is not None:
            with suppress(Exception):  # the connection may be lost already
                self._reader.close()
        self._reader = None


_lookups: dict[str, WorkerLookup] = {}
"""The lookups of this worker process."""


def lookup_function(task: LookupTask) -> Callable[[Any], Any]:
    """Return the Arrow function of a lookup: from encoded keys to lists of table rows."""

    def find(keys: pyarrow.Array) -> pyarrow.Array:
        return find_rows(task, keys)

    # Spark needs the types; annotations are strings in this module.
    find.__annotations__ = {"keys": pyarrow.Array, "return": pyarrow.Array}
    return find


def find_rows(task: LookupTask, keys: Any) -> Any:
    """Return the table rows of each key of an Arrow batch; each distinct key is looked up once."""
    encoded = keys.dictionary_encode()
    if task.id not in _lookups:
        _lookups[task.id] = WorkerLookup(task)
    with paused_collector():
        texts = encoded.dictionary.to_pylist()
        distinct = (
            list(zip(texts, strict=True)) if task.width == 1 else [(*json.loads(text),) for text in texts]
        )
        table_rows = _lookups[task.id].find(distinct) if distinct else []
        rows = _encode(table_rows, list(task.table.columns) or [NO_COLUMNS])
    return rows.take(encoded.indices)


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause Python's cyclic garbage collector.

    It would traverse the tens of thousands of tuples of a batch repeatedly, which takes more than half of the
    CPU time of a lookup.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _encode(rows_by_key: Sequence[TableRows], columns: Sequence[str]) -> Any:
    """Return the rows of each key as an Arrow array of lists of structs of text."""
    rows = list(chain.from_iterable(rows_by_key))
    values = zip(*rows, strict=True) if rows and rows[0] else ([None] * len(rows) for _ in columns)
    arrays = [pyarrow.array(list(column), pyarrow.string()) for column in values]
    structs = pyarrow.StructArray.from_arrays(arrays, names=list(columns))
    offsets = pyarrow.array([0, *accumulate(map(len, rows_by_key))], pyarrow.int32())
    return pyarrow.ListArray.from_arrays(offsets, structs)
