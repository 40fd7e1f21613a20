"""Compute the next rule set of a step after a read of its table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.errors import PlanError, Problem
from headrace.rules.log import ActiveRule, RuleFault, RuleSet

if TYPE_CHECKING:
    from headrace.lowering.patterns.rules import RuleStep
    from headrace.rules.checks import RuleChecks
    from headrace.rules.tables import RuleTable
    from headrace.yaml.rules import Rule, Rules

BEFORE = -1
"""Epoch number of the initial rules of a first run."""


class Revision:
    """Computes the rule set after `before`: unchanged rules, new versions, and errors."""

    def __init__(self, checks: RuleChecks, before: RuleSet) -> None:
        self._checks = checks
        self._before = before
        self._old = {rule.id: rule for rule in before.rules}
        self._serials = before.serials
        self._faults: list[RuleFault] = []

    def rule_set(self, read: Rules, digest: str, epoch: int) -> RuleSet:
        """Return the rule set from this epoch on; an invalid rule keeps its previous version."""
        wrong = {name for name, _ in read.faults}
        for name, problem in read.faults:
            self._add_fault(name, problem)
        kept = [rule for rule in self._before.rules if rule.id in wrong]
        active = [self._next_version(rule) for rule in read.rules if rule.active]
        rules = tuple(sorted((*kept, *filter(None, active)), key=lambda rule: rule.serial))
        changed = rules != self._before.rules
        return RuleSet(
            epoch,
            digest,
            self._number if changed else self._before.number,
            rules,
            {**self._before.versions, **{rule.id: rule.version for rule in rules}},
            self._serials,
            tuple(self._faults),
        )

    @property
    def _number(self) -> int:
        return self._before.number + 1

    def _next_version(self, rule: Rule) -> ActiveRule | None:
        """Return the version of a rule in the next rule set; None if it is invalid and new."""
        old = self._old.get(rule.id)
        pattern = self._checks.declared(rule)
        if old is not None and old.pattern == pattern:
            return old if rule.version in (None, old.version) else replace(old, version=rule.version)
        problems = list(self._checks.problems(rule))
        if old is not None and rule.version == old.version:
            what = f"the rule has changed, but its version is still {old.version}"
            problems.append((what, "increase its version"))
        for what, hint in problems:
            self._add_fault(rule.id, Problem(rule.where, what, hint))
        if problems:
            return old
        self._serials += 1
        return ActiveRule(rule.id, self._version(rule), self._serials, self._number, pattern)

    def _version(self, rule: Rule) -> int:
        return rule.version if rule.version is not None else self._before.versions.get(rule.id, 0) + 1

    def _add_fault(self, name: str, problem: Problem) -> None:
        old = self._old.get(name)
        located = replace(problem, where=rule_location(problem.where, name))
        self._faults.append(fault_of(located, name, old.version if old else None))


def rule_location(place: str, name: str) -> str:
    """Return a location in a table with the name of the rule, unless it contains the name."""
    label = f"rule `{name}`"
    return place if label in place else f"{place}: {label}"


def fault_of(problem: Problem, name: str, version: int | None) -> RuleFault:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return RuleFault(name, version, problem.what, problem.hint, problem.where, now)


def load_now(step: RuleStep, table: RuleTable) -> None:
    """Load all rules of a table into a step over a batch.

    Raises:
        PlanError: a rule is invalid.
    """
    rule_set = Revision(step, RuleSet(BEFORE)).rule_set(table.read_content().read(), "", BEFORE)
    raise_faults(rule_set)
    step.kernel.load(rule_set.as_json)


def raise_faults(rule_set: RuleSet) -> None:
    """Raise the errors of rules, if there are any."""
    if rule_set.faults:
        raise PlanError([Problem(f.place, f.reason, f.hint) for f in rule_set.faults])
