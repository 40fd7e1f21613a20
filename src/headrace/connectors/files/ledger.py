"""The ledger of a files sink: a log of small files, each created once.

    out/_headrace/<pipeline>.<sink>/log/0000000012
    {"number": 12, "token": 3, "epochs": {"<checkpoint id>": 41}, "moves": [...]}

A run takes over by writing the next entry, and commits an epoch by writing the next entry. If an old and a
new run both write number 13, one of them succeeds. This exclusive create is fence, ledger entry and commit of
the files at once; moving the files to their visible names follows, and the next `open` completes it after a
crash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.connectors.files.store import Store
from headrace.connectors.ledger import LedgerEntry
from headrace.errors import DamagedFileError
from headrace.sealed_files import is_sealed, seal, unseal

_HINT = "restore the file from a backup, or start over with --fresh in an empty directory"

_MIN_ENTRIES = 100
"""Entries to keep; a run that misses more of them between two steps would not detect that it is fenced."""


@dataclass(frozen=True)
class LedgerLog:
    """Stores the entries in one directory."""

    store: Store
    directory: str
    is_needed: Callable[[LedgerEntry], bool] = lambda entry: False
    """True for an old entry that must be kept."""

    def read(self) -> LedgerEntry:
        numbers = self._numbers()
        if not numbers:
            return LedgerEntry()
        return self._read(numbers[-1])

    def take_over(self, entry: LedgerEntry) -> bool:
        return self.commit(entry)

    def commit(self, entry: LedgerEntry) -> bool:
        numbers = self._numbers()
        if numbers and numbers[-1] >= entry.number:
            return False
        if not self.store.create(*self._seal(entry)):
            return False
        if len(numbers) > 2 * _MIN_ENTRIES:
            for number in numbers[:-_MIN_ENTRIES]:
                if self.is_needed(self._read(number)):
                    break
                self.store.remove(self._path(number))
        return True

    def _read(self, number: int) -> LedgerEntry:
        path = self._path(number)
        content = self.store.read(path)
        if is_sealed(content):
            content = unseal(content, Path(path), hint=_HINT, where=path)
        try:  # version 0.2 wrote entries without a seal
            return replace(LedgerEntry.decode(content), number=number)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = "the file is damaged: it is no entry of a ledger"
            raise DamagedFileError(what, where=path, hint=_HINT) from error

    def _seal(self, entry: LedgerEntry) -> tuple[str, bytes]:
        path = self._path(entry.number)
        return path, seal(entry.encode(), Path(path))

    def _numbers(self) -> list[int]:
        return [int(name) for name in self.store.names(self.directory) if name.isdigit()]

    def _path(self, number: int) -> str:
        return f"{self.directory}/{number:010d}"
