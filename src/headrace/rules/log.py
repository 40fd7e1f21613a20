"""Which rules were in force in which epoch: a line for each change, beside the query's checkpoint.

An epoch that is run again must use the rules it used before, whatever the table says by then: some of its sinks may have
it already. So a change is written down before the epoch in which it takes effect begins, and an epoch that had begun when
the run died takes none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headrace.checkpoints.journal import read_lines

NAME = "rules.jsonl"


@dataclass(frozen=True)
class RuleInForce:
    """One version of a rule."""

    id: str
    version: int
    serial: int
    """Tells its state from that of every other rule and version."""
    since: int
    """The number of the first set that has it; rows that came before are none of its business."""
    pattern: str
    """As the kernel reads it."""


@dataclass(frozen=True)
class RuleFault:
    """What is wrong with a rule, or with the whole table where `rule` is empty."""

    rule: str
    version: int | None
    """The version that stays in force; None where there is none."""
    reason: str
    hint: str
    place: str
    read_at: str

    def __str__(self) -> str:
        stays = f" (version {self.version} stays in force)" if self.version is not None else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.place}: {self.reason}{stays}{hint}"


@dataclass(frozen=True)
class Edition:
    """The rules from one epoch on."""

    epoch: int
    digest: str = ""
    """Of the table they were read from."""
    number: int = 0
    """Counts the changes of rules; a table can change without one."""
    rules: tuple[RuleInForce, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    """The last version of every rule there ever was."""
    serials: int = 0
    """How many serial numbers have been given."""
    faults: tuple[RuleFault, ...] = ()
    """What was wrong with rules of the table."""

    @property
    def loaded(self) -> str:
        """As the kernel takes it."""
        return json.dumps({"number": self.number, "rules": [asdict(rule) for rule in self.rules]})

    @property
    def held(self) -> frozenset[int]:
        """The serial numbers of its rules."""
        return frozenset(rule.serial for rule in self.rules)

    def alone(self, rule: RuleInForce) -> Edition:
        """The same with one rule of it."""
        return replace(self, rules=(rule,))


class RuleLog:
    """The editions of one step's rules."""

    def __init__(self, checkpoint: Path) -> None:
        self._file = checkpoint / NAME
        self._editions = [_edition(line) for line in read_lines(self._file)]
        offsets = checkpoint / "spark" / "offsets"
        self.begun = max((int(file.name) for file in offsets.glob("[0-9]*")), default=-1)
        """The last epoch that had begun when the run started."""

    @property
    def last(self) -> Edition | None:
        return self._editions[-1] if self._editions else None

    def at(self, epoch: int) -> Edition | None:
        """The rules of an epoch, as far as it is known."""
        return next((edition for edition in reversed(self._editions) if edition.epoch <= epoch), None)

    def began(self, rule: RuleInForce) -> int:
        """The epoch from which on a version of a rule has been in force; below 1 for the first of all."""
        return next((edition.epoch for edition in self._editions if rule.serial in edition.held), -1)

    def add(self, edition: Edition) -> None:
        """Write an edition down for good, before anything is done by it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as log:
            log.write(json.dumps(asdict(edition)) + "\n")
            log.flush()
            os.fsync(log.fileno())
        self._editions.append(edition)


def _edition(line: dict[str, Any]) -> Edition:
    rules = tuple(RuleInForce(**rule) for rule in line.pop("rules"))
    faults = tuple(RuleFault(**fault) for fault in line.pop("faults"))
    return Edition(**line, rules=rules, faults=faults)
