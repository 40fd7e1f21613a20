"""The rules of a running step: read at the start of an epoch, validated, and passed to the kernel.

The kernel's operator holds the active rules. Spark serialises it into the tasks of each micro-batch, so a
change between two epochs reaches all tasks of the second and none of the first.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.rules.log import Edition, RuleFault, RuleLog
from headrace.rules.revision import BEFORE, Revision, fault_of, refuse

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.lowering.patterns.rules import RuleStep
    from headrace.rules.tables import Content, RuleTable
    from headrace.yaml.rules import Rules

FAULT_SCHEMA = "rule string, version int, reason string, hint string, place string, read_at timestamp"


class RuleBook:
    """The rules of a running step by epoch."""

    def __init__(self, step: RuleStep, table: RuleTable, checkpoint: Path) -> None:
        self.step = step
        self._table = table
        self._log = RuleLog(checkpoint)
        self._edition = self._log.last or Edition(BEFORE)
        self._noticed: tuple[RuleFault, ...] = ()
        self._loaded = -1

    @property
    def name(self) -> str:
        return self.step.node.name

    @property
    def in_force(self) -> dict[str, int]:
        """Return the versions of the rules by id."""
        return {rule.id: rule.version for rule in self._edition.rules}

    @property
    def faults(self) -> tuple[RuleFault, ...]:
        """Return the errors of the table when it was last read."""
        return self._edition.faults

    def enter(self, epoch: int) -> None:
        """Start an epoch: read the table, unless the epoch is a replay."""
        known = self._log.at(epoch)
        again = known is not None and (epoch <= self._log.begun or known.epoch == epoch)
        edition = known if again and known is not None else self._next(epoch)
        self._noticed = edition.faults if edition.epoch == epoch else ()
        self._load(edition)

    def fault_rows(self, spark: SparkSession) -> DataFrame:
        """Return the errors found at the start of this epoch as rows of `.faults`."""
        rows = [
            (f.rule or None, f.version, f.reason, f.hint or None, f.place, datetime.fromisoformat(f.read_at))
            for f in self._noticed
        ]
        return spark.createDataFrame(rows, FAULT_SCHEMA)

    def close(self) -> None:
        """Close the table."""
        self._table.close()

    def begin(self) -> None:
        """Restore the last rules, or read the first ones.

        Raises:
            HeadraceError: the table cannot be read or a rule is invalid, and the last run did not end this
                way.
        """
        try:
            content = self._table.look()
        except HeadraceError as error:
            if self._edition.digest != _unread(error):
                raise
        else:
            if content.digest != self._edition.digest:
                edition = self._after(content.read(), content.digest, BEFORE)
                refuse(edition)
                if self._log.last is None:
                    self._log.add(edition)
        self._load(self._log.last or self._edition)

    def _next(self, epoch: int) -> Edition:
        before = self._edition
        try:
            content = self._table.look()
        except HeadraceError as error:
            digest, edition = _unread(error), self._as_before(error, _unread(error), epoch)
        else:
            digest = content.digest
            edition = before if digest == before.digest else self._read(content, epoch)
        if digest == before.digest:
            return before
        self._log.add(edition)
        return edition

    def _read(self, content: Content, epoch: int) -> Edition:
        try:
            return self._after(content.read(), content.digest, epoch)
        except HeadraceError as error:
            return self._as_before(error, content.digest, epoch)

    def _load(self, edition: Edition) -> None:
        if edition.number != self._loaded:
            self.step.kernel.load(edition.loaded)
            self._loaded = edition.number
        self._edition = edition

    def _as_before(self, error: HeadraceError, digest: str, epoch: int) -> Edition:
        """Keep all rules if the table cannot be read."""
        problems = error.problems
        faults = tuple(fault_of(problem, "", None) for problem in problems)
        return replace(self._edition, epoch=epoch, digest=digest, faults=faults)

    def _after(self, read: Rules, digest: str, epoch: int) -> Edition:
        """Return the rules after a read; an invalid rule keeps its previous version."""
        return Revision(self.step, self._edition).edition(read, digest, epoch)


def _unread(error: HeadraceError) -> str:
    """Digest of a table that cannot be read."""
    return f"unread: {error.what}"
