"""The ledger of a files sink: a log of small files, each created once, in which runs and epochs are numbered together.

    out/_headrace/<pipeline>.<sink>/log/0000000012     {"run": 3, "epochs": {"<lineage>": 41}, "moves": [...]}

A run takes over by writing the next entry, and an epoch is committed by writing the next entry, so of an old and a new
run that both want number 13 one gets it, and the other sees who did. That one exclusive create is fence, ledger row and
commit of the files at once; moving the files into sight follows, and whoever opens the sink next completes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.connectors.files.store import Store

KEPT = 100
"""Entries kept for late comers; a run that sleeps through as many epochs between two steps would not see its fence."""


@dataclass(frozen=True)
class Entry:
    """One entry, with all that later ones need: nobody reads further back."""

    number: int
    run: int
    epochs: dict[str, int] = field(default_factory=dict)
    moves: tuple[tuple[str, str], ...] = ()
    """Staged file -> visible file, relative to the target; done again until nothing is left to move."""

    def encoded(self) -> bytes:
        content = {"run": self.run, "epochs": self.epochs, "moves": [list(move) for move in self.moves]}
        return json.dumps(content).encode()

    @classmethod
    def decoded(cls, number: int, content: bytes) -> Entry:
        read: dict[str, Any] = json.loads(content)
        moves = tuple((source, target) for source, target in read["moves"])
        return cls(number, read["run"], read["epochs"], moves)

    def taken_over(self) -> Entry:
        """The entry by which a new run becomes the owner."""
        return replace(self, number=self.number + 1, run=self.run + 1, moves=())

    def with_epoch(self, lineage: str, epoch: int, moves: tuple[tuple[str, str], ...]) -> Entry:
        """The entry that commits an epoch."""
        return replace(self, number=self.number + 1, epochs={**self.epochs, lineage: epoch}, moves=moves)


class Ledger:
    """Reads and extends the log in one directory."""

    def __init__(self, store: Store, directory: str) -> None:
        self._store = store
        self._directory = directory

    def last(self) -> Entry:
        """The newest entry; number -1 before there is one."""
        numbers = self._numbers()
        if not numbers:
            return Entry(-1, 0)
        return Entry.decoded(numbers[-1], self._store.read(self._name(numbers[-1])))

    def write(self, entry: Entry) -> bool:
        """Add an entry; false if another run has one with that or a later number."""
        numbers = self._numbers()
        if numbers and numbers[-1] >= entry.number:
            return False
        if not self._store.create(self._name(entry.number), entry.encoded()):
            return False
        if len(numbers) > 2 * KEPT:
            for number in numbers[:-KEPT]:
                self._store.remove(self._name(number))
        return True

    def _numbers(self) -> list[int]:
        return [int(name) for name in self._store.names(self._directory) if name.isdigit()]

    def _name(self, number: int) -> str:
        return f"{self._directory}/{number:010d}"
