"""The ledger of a files sink: a log of small files, each created once.

    out/_headrace/<pipeline>.<sink>/log/0000000012
    {"number": 12, "token": 3, "epochs": {"<checkpoint id>": 41}, "moves": [...]}

A run takes over by writing the next entry, and commits an epoch by writing the next entry. If an old and a
new run both write number 13, one of them succeeds. This exclusive create is fence, ledger entry and commit of
the files at once; moving the files to their visible names follows, and the next `open` completes it after a
crash.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.connectors.files.store import Store
from headrace.connectors.ledger import LedgerEntry

_MIN_ENTRIES = 100
"""Entries to keep; a run that misses more of them between two steps would not detect that it is fenced."""


@dataclass(frozen=True)
class LedgerLog:
    """Stores the entries in one directory."""

    store: Store
    directory: str

    def read(self) -> LedgerEntry:
        numbers = self._numbers()
        if not numbers:
            return LedgerEntry()
        entry = LedgerEntry.decode(self.store.read(self._path(numbers[-1])))
        return replace(entry, number=numbers[-1])

    def take_over(self, entry: LedgerEntry) -> bool:
        return self.commit(entry)

    def commit(self, entry: LedgerEntry) -> bool:
        numbers = self._numbers()
        if numbers and numbers[-1] >= entry.number:
            return False
        if not self.store.create(self._path(entry.number), entry.encode()):
            return False
        if len(numbers) > 2 * _MIN_ENTRIES:
            for number in numbers[:-_MIN_ENTRIES]:
                self.store.remove(self._path(number))
        return True

    def _numbers(self) -> list[int]:
        return [int(name) for name in self.store.names(self.directory) if name.isdigit()]

    def _path(self, number: int) -> str:
        return f"{self.directory}/{number:010d}"
