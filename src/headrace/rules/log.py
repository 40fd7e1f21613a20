"""The log of active rules per epoch: a line for each rule set, in the checkpoint of the query.

A replayed epoch must use the same rules as before, because some of its sinks may have committed it. A change
is therefore logged before the epoch in which it takes effect, and a replayed epoch does not read the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headrace.checkpoints.journal import append_durably, read_lines
from headrace.checkpoints.layout import last_entry
from headrace.connectors.durable_files import read_json, write_json
from headrace.errors import DamagedFileError
from headrace.sealed_files import RESTORE

NAME = "rules.jsonl"
COUNT = "rules.json"
"""The number of lines: the end of a log that was cut looks like that of a run which was killed."""

_SEALED_COUNT = Path("query") / COUNT


@dataclass(frozen=True)
class ActiveRule:
    """One version of a rule."""

    id: str
    version: int
    serial: int
    """Identifies the state of this rule and version."""
    since: int
    """The number of the first rule set with this rule; it does not apply to earlier rows."""
    pattern: str
    """The declaration for the kernel, as JSON."""


@dataclass(frozen=True)
class RuleFault:
    """An error of a rule, or of the whole table if `rule` is empty."""

    rule: str
    version: int | None
    """The version that stays active; None if there is none."""
    reason: str
    hint: str
    place: str
    read_at: str

    def __str__(self) -> str:
        stays = f" (version {self.version} stays in force)" if self.version is not None else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.place}: {self.reason}{stays}{hint}"


@dataclass(frozen=True)
class RuleSet:
    """The active rules from an epoch on."""

    epoch: int
    digest: str = ""
    """Digest of the table."""
    number: int = 0
    """Number of rule changes; a table can change without one."""
    rules: tuple[ActiveRule, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    """The last version of every rule."""
    serials: int = 0
    """Number of assigned serial numbers."""
    faults: tuple[RuleFault, ...] = ()
    """Errors of the table."""

    @property
    def as_json(self) -> str:
        """The rule set as JSON for the kernel."""
        return json.dumps({"number": self.number, "rules": [asdict(rule) for rule in self.rules]})

    def select(self, rule: ActiveRule) -> RuleSet:
        """Return the rule set with one rule only."""
        return replace(self, rules=(rule,))


class RuleLog:
    """The rule sets of a step, from its first epoch on."""

    def __init__(self, checkpoint: Path) -> None:
        self._file = checkpoint / NAME
        self._count_file = checkpoint / COUNT
        self._rule_sets = [_rule_set(line) for line in read_lines(self._file)]
        if len(self._rule_sets) < read_json(self._count_file, 0, name=_SEALED_COUNT):
            what = "the newest rules are missing from the log"
            raise DamagedFileError(what, where=str(self._file), hint=RESTORE)
        self.last_started_epoch = last_entry(checkpoint / "spark" / "offsets")
        """The last epoch that an earlier run started."""

    @property
    def last(self) -> RuleSet | None:
        return self._rule_sets[-1] if self._rule_sets else None

    def at(self, epoch: int) -> RuleSet | None:
        """Return the rules of an epoch, if they are logged."""
        return next((rule_set for rule_set in reversed(self._rule_sets) if rule_set.epoch <= epoch), None)

    def first_epoch(self, rule: ActiveRule) -> int:
        """Return the first epoch of a rule version; below 1 for the initial rules."""
        return next(
            (e.epoch for e in self._rule_sets if any(other.serial == rule.serial for other in e.rules)), -1
        )

    def add(self, rule_set: RuleSet) -> None:
        """Append a rule set durably."""
        append_durably(self._file, asdict(rule_set))
        self._rule_sets.append(rule_set)
        write_json(self._count_file, len(self._rule_sets), name=_SEALED_COUNT)


def _rule_set(line: dict[str, Any]) -> RuleSet:
    rules = tuple(ActiveRule(**rule) for rule in line.pop("rules"))
    faults = tuple(RuleFault(**fault) for fault in line.pop("faults"))
    return RuleSet(**line, rules=rules, faults=faults)
