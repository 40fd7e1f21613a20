"""The ledger of a sink: the epoch last committed under each checkpoint id, and the fencing token.

A run takes over a sink by raising its fencing token; from then on every commit of an older run fails with
`FencedError`. An epoch is committed by a ledger entry that becomes visible together with the rows. All sinks
share this logic; a `LedgerStorage` stores the entries: rows of a database, files of a directory, records of a
Kafka topic, or memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from headrace.connectors.base import WriteContext
from headrace.errors import FencedError

_MAX_CHECKPOINTS = 32
"""The maximum number of checkpoint ids per entry; older ones are only restored from a backup."""


@dataclass(frozen=True)
class LedgerEntry:
    """The state of a sink's ledger. The checkpoint id of the latest commit is the last of `epochs`."""

    number: int = 0
    """Counts the entries of the ledger; storages use it to detect concurrent writes."""
    token: int = 0
    epochs: Mapping[str, int] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the latest commit that the sink needs to complete it."""

    def with_epoch(self, checkpoint_id: str, epoch: int, detail: Mapping[str, Any]) -> LedgerEntry:
        """Return the entry that commits an epoch."""
        others = [(name, last) for name, last in self.epochs.items() if name != checkpoint_id]
        epochs = dict([*others[1 - _MAX_CHECKPOINTS :], (checkpoint_id, epoch)])
        return LedgerEntry(self.number + 1, self.token, epochs, detail)

    def encode(self) -> bytes:
        """Return the entry as JSON."""
        return json.dumps(
            {"number": self.number, "token": self.token, "epochs": self.epochs, **self.detail}
        ).encode()

    @classmethod
    def decode(cls, content: bytes) -> LedgerEntry:
        """Read an entry from JSON."""
        return cls.from_values(json.loads(content))

    @classmethod
    def from_values(cls, detail: dict[str, Any]) -> LedgerEntry:
        """Return the entry with the values of `encode`.

        Raises:
            KeyError: a value is missing.
        """
        # Entries of version 0.1 have no number and token.
        return cls(detail.pop("number", 0), detail.pop("token", 0), detail.pop("epochs"), detail)


class LedgerStorage(Protocol):
    """Stores the entries of one sink's ledger."""

    def read(self) -> LedgerEntry:
        """Return the newest entry; an empty one for a new sink."""
        ...

    def take_over(self, entry: LedgerEntry) -> bool:
        """Store an entry with a raised fencing token; return False if another run was faster."""
        ...

    def commit(self, entry: LedgerEntry) -> bool:
        """Store an entry with a new epoch; return False if another run has taken over."""
        ...


class Ledger:
    """The ledger as one run sees it.

    Args:
        storage: stores the entries.
        context: the sink and the checkpoint id.
        target: the target, for errors: "`totals` at db:5432/shop".
    """

    def __init__(self, storage: LedgerStorage, context: WriteContext, target: str) -> None:
        self._storage, self._context, self._target = storage, context, target
        self._entry = LedgerEntry()

    @property
    def token(self) -> int:
        """The fencing token of this run; 0 before `take_over`."""
        return self._entry.token

    @property
    def last_epoch(self) -> int:
        """The epoch last committed under this run's checkpoint id, or -1."""
        return self._entry.epochs.get(self._context.checkpoint_id, -1)

    def take_over(self, complete: Callable[[LedgerEntry], None] = lambda entry: None) -> int:
        """Raise the fencing token and return the epoch last committed.

        Args:
            complete: completes the commit of the newest entry, if an earlier run may have left it half done.
        """
        while True:
            newest = self._storage.read()
            complete(newest)
            entry = replace(newest, number=newest.number + 1, token=newest.token + 1, detail={})
            if self._storage.take_over(entry):
                self._entry = entry
                return self.last_epoch

    def has(self, epoch: int) -> bool:
        """Read the ledger again; return True if the epoch is committed.

        Raises:
            FencedError: a newer run has taken over.
        """
        newest = self._storage.read()
        if newest.token != self.token:
            raise self.fencing_error(epoch)
        self._entry = newest
        return epoch <= self.last_epoch

    def commit(self, epoch: int, detail: Mapping[str, Any] | None = None) -> LedgerEntry:
        """Store the entry that commits an epoch, and return it.

        Raises:
            FencedError: a newer run has taken over.
        """
        entry = self._entry.with_epoch(self._context.checkpoint_id, epoch, detail or {})
        if not self._storage.commit(entry):
            raise self.fencing_error(epoch)
        self._entry = entry
        return entry

    def is_overtaken(self) -> bool:
        """True if a newer run has taken over."""
        return 0 < self.token < self._storage.read().token

    def fencing_error(self, epoch: int | None = None) -> FencedError:
        """Return the error of a run that a newer one has locked out."""
        what = "nothing is" if epoch is None else f"epoch {epoch} is not"
        return FencedError(
            f"{what} written: a newer run has taken over {self._target}",
            where=self._context.sink,
            hint="two runs of one pipeline write here; stop one of them",
        )


class LedgerWriter:
    """A writer with a ledger, whose last epoch can be reported."""

    _ledger: Ledger | None = None

    @property
    def ledger_epoch(self) -> int | None:
        """The epoch last committed in the ledger, or -1; None if the sink is not open."""
        return None if self._ledger is None else self._ledger.last_epoch

    def _find_fencing_error(self) -> FencedError | None:
        """Return the error to raise if a newer run has taken over, and removed what this run had staged."""
        with suppress(Exception):  # the failure to explain may be that of the target
            if self._ledger is not None and self._ledger.is_overtaken():
                return self._ledger.fencing_error()
        return None
