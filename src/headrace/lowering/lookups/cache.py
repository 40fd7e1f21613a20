"""A cache of lookups by key, with a maximum size and a time to live; also for keys without a row."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from headrace.connectors.lookups import Key, Values

TableRows = Sequence[Values]
"""The rows of a key; empty for a key without a row."""


class KeyCache:
    """The results of one lookup in one worker process; the least recently used are removed first.

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
