"""The rules of a running step: read at the start of an epoch, validated, and passed to the kernel.

The active rules are part of the kernel's operator, which Spark serialises into the tasks of each micro-batch,
so that all tasks of an epoch use the same rules.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.rules.log import Edition, RuleFault, RuleLog
from headrace.rules.revision import BEFORE, Revision, fault_of, raise_faults

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
        self._new_faults: tuple[RuleFault, ...] = ()
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
        logged = self._log.at(epoch)
        if logged is not None and (epoch <= self._log.last_started_epoch or logged.epoch == epoch):
            edition = logged
        else:
            edition = self._next_edition(epoch)
        self._new_faults = edition.faults if edition.epoch == epoch else ()
        self._load(edition)

    def fault_rows(self, spark: SparkSession) -> DataFrame:
        """Return the errors found at the start of this epoch as rows of `.faults`."""
        rows = [
            (f.rule or None, f.version, f.reason, f.hint or None, f.place, datetime.fromisoformat(f.read_at))
            for f in self._new_faults
        ]
        return spark.createDataFrame(rows, FAULT_SCHEMA)

    def close(self) -> None:
        """Close the table."""
        self._table.close()

    def begin(self) -> None:
        """Restore the last rules, or read the first ones.

        Raises:
            HeadraceError: the table cannot be read or a rule is invalid, unless the last run ended with the
                same error.
        """
        try:
            content = self._table.read_content()
        except HeadraceError as error:
            if self._edition.digest != _error_digest(error):
                raise
        else:
            if content.digest != self._edition.digest:
                edition = self._revise(content.read(), content.digest, BEFORE)
                raise_faults(edition)
                if self._log.last is None:
                    self._log.add(edition)
        self._load(self._log.last or self._edition)

    def _next_edition(self, epoch: int) -> Edition:
        before = self._edition
        try:
            content = self._table.read_content()
        except HeadraceError as error:
            digest = _error_digest(error)
            edition = self._keep_rules(error, digest, epoch)
        else:
            digest = content.digest
            edition = before if digest == before.digest else self._read(content, epoch)
        if digest == before.digest:
            return before
        self._log.add(edition)
        return edition

    def _read(self, content: Content, epoch: int) -> Edition:
        try:
            return self._revise(content.read(), content.digest, epoch)
        except HeadraceError as error:
            return self._keep_rules(error, content.digest, epoch)

    def _load(self, edition: Edition) -> None:
        if edition.number != self._loaded:
            self.step.kernel.load(edition.as_json)
            self._loaded = edition.number
        self._edition = edition

    def _keep_rules(self, error: HeadraceError, digest: str, epoch: int) -> Edition:
        """Return the present rules with the error of a table that cannot be read."""
        faults = tuple(fault_of(problem, "", None) for problem in error.problems)
        return replace(self._edition, epoch=epoch, digest=digest, faults=faults)

    def _revise(self, read: Rules, digest: str, epoch: int) -> Edition:
        """Return the rules after a read; an invalid rule keeps its previous version."""
        return Revision(self.step, self._edition).edition(read, digest, epoch)


def _error_digest(error: HeadraceError) -> str:
    """Return the digest of a table that cannot be read."""
    return f"unread: {error.what}"
