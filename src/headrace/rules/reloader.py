"""Reload the rules of a running step: read at the start of an epoch, validated, and passed to the kernel.

The active rules are part of the kernel's operator, which Spark serialises into the tasks of each micro-batch,
so that all tasks of an epoch use the same rules.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.rules.log import RuleFault, RuleLog, RuleSet
from headrace.rules.revision import BEFORE, Revision, fault_of, raise_faults

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.lowering.patterns.rules import RuleStep
    from headrace.rules.tables import Content, RuleTable
    from headrace.yaml.rules import Rules

FAULT_SCHEMA = "rule string, version int, reason string, hint string, place string, read_at timestamp"


class RuleReloader:
    """Loads the rule set of each epoch into a running step."""

    def __init__(self, step: RuleStep, table: RuleTable, checkpoint: Path) -> None:
        self.step = step
        self._table = table
        self._log = RuleLog(checkpoint)
        self._rule_set = self._log.last or RuleSet(BEFORE)
        self._new_faults: tuple[RuleFault, ...] = ()
        self._loaded = -1

    @property
    def name(self) -> str:
        return self.step.node.name

    @property
    def in_force(self) -> dict[str, int]:
        """Return the versions of the rules by id."""
        return {rule.id: rule.version for rule in self._rule_set.rules}

    @property
    def faults(self) -> tuple[RuleFault, ...]:
        """Return the errors of the table when it was last read."""
        return self._rule_set.faults

    def enter(self, epoch: int) -> None:
        """Start an epoch: read the table, unless the epoch is a replay."""
        logged = self._log.at(epoch)
        if logged is not None and (epoch <= self._log.last_started_epoch or logged.epoch == epoch):
            rule_set = logged
        else:
            rule_set = self._next_rule_set(epoch)
        self._new_faults = rule_set.faults if rule_set.epoch == epoch else ()
        self._load(rule_set)

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
            if self._rule_set.digest != _error_digest(error):
                raise
        else:
            if content.digest != self._rule_set.digest:
                rule_set = self._revise(content.read(), content.digest, BEFORE)
                raise_faults(rule_set)
                if self._log.last is None:
                    self._log.add(rule_set)
        self._load(self._log.last or self._rule_set)

    def _next_rule_set(self, epoch: int) -> RuleSet:
        before = self._rule_set
        try:
            content = self._table.read_content()
        except HeadraceError as error:
            digest = _error_digest(error)
            rule_set = self._keep_rules(error, digest, epoch)
        else:
            digest = content.digest
            rule_set = before if digest == before.digest else self._read(content, epoch)
        if digest == before.digest:
            return before
        self._log.add(rule_set)
        return rule_set

    def _read(self, content: Content, epoch: int) -> RuleSet:
        try:
            return self._revise(content.read(), content.digest, epoch)
        except HeadraceError as error:
            return self._keep_rules(error, content.digest, epoch)

    def _load(self, rule_set: RuleSet) -> None:
        if rule_set.number != self._loaded:
            self.step.kernel.load(rule_set.as_json)
            self._loaded = rule_set.number
        self._rule_set = rule_set

    def _keep_rules(self, error: HeadraceError, digest: str, epoch: int) -> RuleSet:
        """Return the present rules with the error of a table that cannot be read."""
        faults = tuple(fault_of(problem, "", None) for problem in error.problems)
        return replace(self._rule_set, epoch=epoch, digest=digest, faults=faults)

    def _revise(self, read: Rules, digest: str, epoch: int) -> RuleSet:
        """Return the rules after a read; an invalid rule keeps its previous version."""
        return Revision(self.step, self._rule_set).rule_set(read, digest, epoch)


def _error_digest(error: HeadraceError) -> str:
    """Return the digest of a table that cannot be read."""
    return f"unread: {error.what}"
