"""The ledger of a files sink: a log of small files, each created once.

    out/_headrace/<pipeline>.<sink>/log/0000000012
    {"number": 12, "token": 3, "epochs": {"<checkpoint id>": 41}, "moves": [...], "ledger": ...}
    #seal ...

A run takes over by writing the next entry, and commits an epoch by writing the next entry. If an old and a
new run both write number 13, one of them succeeds. This exclusive create is fence, ledger entry and commit of
the files at once; moving the files to their visible names follows, and the next `open` completes it after a
crash.

An entry is sealed and names its ledger, so that a damaged one, and one that was copied over another, is an
error. Numbers are consecutive: a deleted entry is an error unless it is the newest. Without the newest
entries the last epoch may be delivered again; its files have the same names, so they are replaced and no row
is doubled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.connectors.durable_files import HINT, decode_json
from headrace.connectors.files.store import Store
from headrace.connectors.ledger import LedgerEntry
from headrace.errors import DamagedFileError
from headrace.sealed_files import seal

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
        if numbers[-1] - numbers[0] + 1 != len(numbers):
            missing = next(n for n in range(numbers[0], numbers[-1]) if n not in numbers)
            what = "the file is missing: it is an entry in the ledger of a sink"
            raise DamagedFileError(what, where=self._path(missing), hint=HINT)
        return self._read(numbers[-1])

    def take_over(self, entry: LedgerEntry) -> bool:
        return self.commit(entry)

    def commit(self, entry: LedgerEntry) -> bool:
        numbers = self._numbers()
        if numbers and numbers[-1] >= entry.number:
            return False
        path = self._path(entry.number)
        content = replace(entry, detail={**entry.detail, "ledger": self._name}).encode()
        if not self.store.create(path, seal(content, Path(path))):
            return False
        if len(numbers) > 2 * _MIN_ENTRIES:
            for number in numbers[:-_MIN_ENTRIES]:
                if self.is_needed(self._read(number)):
                    break
                self.store.remove(self._path(number))
        return True

    def _read(self, number: int) -> LedgerEntry:
        path = self._path(number)
        try:
            entry = LedgerEntry.from_values(decode_json(self.store.read(path), Path(path)))
        except (KeyError, TypeError, AttributeError):
            what = "the file is damaged: it is no entry of a ledger"
            raise DamagedFileError(what, where=path, hint=HINT) from None
        ledger = entry.detail.get("ledger", self._name)
        # Entries of version 0.1 have no number.
        if ledger != self._name or entry.number not in (0, number):
            what = f"the file is entry {entry.number} in the ledger of `{ledger}`, copied over this one"
            raise DamagedFileError(what, where=path, hint=HINT)
        return replace(entry, number=number)

    @property
    def _name(self) -> str:
        """The pipeline and the sink."""
        return Path(self.directory).parent.name

    def _numbers(self) -> list[int]:
        return [int(name) for name in self.store.names(self.directory) if name.isdigit()]

    def _path(self, number: int) -> str:
        return f"{self.directory}/{number:010d}"
