"""List the rules of the rule tables of a plan, and which are active, for `headrace explain` and `draw`.

Spark is not used, so that unknown columns are reported only after a micro-batch has read the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.checkpoints.layout import checkpoint_of
from headrace.errors import HeadraceError, OptionError, Problem, did_you_mean
from headrace.plan.queries import queries_of
from headrace.rules.checks import RuleChecks, RulePattern, match_of
from headrace.rules.log import ActiveRule, RuleFault, RuleLog, RuleSet
from headrace.rules.revision import BEFORE, Revision, rule_location
from headrace.rules.tables import table_of
from headrace.steps.expressions import hidden_key
from headrace.steps.patterns.describe import describe_conditions, describe_pattern
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.yaml.rules import Rule, Rules

Standing = Literal["in force", "next batch", "retired", "not active", "wrong"]
"""Status of a rule: `next batch` if it is new or changed, `retired` if the next micro-batch drops it."""


@dataclass(frozen=True)
class RuleListing:
    """A rule of a table, or an active rule that was removed from it."""

    id: str
    standing: Standing
    version: int | None = None
    """The active or next version; None if there is none."""
    since: int | None = None
    """The first epoch of the active version."""
    until_then: int | None = None
    """The active version that a changed rule has not replaced yet."""
    place: str = ""
    """Location in the table."""
    description: str = ""
    """The pattern in words; empty if the rule was removed from the table."""
    conditions: tuple[str, ...] = ()
    """The conditions of its steps."""
    faults: tuple[Problem, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the listing as plain data."""
        return {
            "id": self.id,
            "standing": self.standing,
            "version": self.version,
            "since_epoch": self.since,
            "until_then": self.until_then,
            "place": self.place,
            "pattern": self.description,
            "conditions": list(self.conditions),
            "faults": [_plain(fault) for fault in self.faults],
        }


@dataclass(frozen=True)
class TableListing:
    """The table of a step."""

    step: str
    table: str
    begun: bool
    """True if a run has loaded rules from it."""
    rules: tuple[RuleListing, ...] = ()
    faults: tuple[Problem, ...] = ()
    """Error of the whole table."""

    def as_json(self) -> dict[str, Any]:
        """Return the listing as plain data."""
        return {
            "step": self.step,
            "table": self.table,
            "begun": self.begun,
            "rules": [rule.as_json() for rule in self.rules],
            "faults": [_plain(fault) for fault in self.faults],
        }


def list_rule_tables(graph: Graph, directory: Path) -> list[TableListing]:
    """Return the rule tables of all steps; a table that cannot be read has its error and the active rules."""
    queries = {query.output.step: query for query in queries_of(graph)}
    listings = []
    for node in graph.of(MatchRules):
        known = node.name in queries
        log = RuleLog(checkpoint_of(directory, queries[node.name])) if known else None
        listings.append(_list_rules(graph, node, log))
    return listings


def rules_as_steps(graph: Graph, node: MatchRules, rule: str = "") -> tuple[list[RulePattern], list[Problem]]:
    """Return the rules of a table as steps, and the errors of the invalid ones.

    Raises:
        SourceError: the table cannot be read.
        DocumentError: the table is invalid.
        OptionError: the rule is unknown or invalid.
    """
    name, read = _read(node)
    wrong = [
        Problem(rule_location(problem.where, name), problem.what, problem.hint)
        for name, problem in read.faults
    ]
    checks = _checks(graph, node)
    good = []
    for item in read.rules:
        problems = [Problem(rule_location(item.where, item.id), *reason) for reason in checks.problems(item)]
        wrong += problems
        good += [] if problems else [item]
    if rule:
        good = [_select(rule, name, good, read, wrong)]
    shown = [item for item in good if item.active or rule]
    return [(item, match_of(node, item)) for item in shown], wrong if not rule else []


def _select(rule: str, table: str, good: list[Rule], read: Rules, wrong: list[Problem]) -> Rule:
    for item in good:
        if item.id == rule:
            return item
    for problem in wrong:
        if f"rule `{rule}`" in problem.where:
            raise OptionError.of(problem)
    raise OptionError(f"{table} has no rule `{rule}`", where="--rule", hint=did_you_mean(rule, read.ids))


def _list_rules(graph: Graph, node: MatchRules, log: RuleLog | None) -> TableListing:
    before = (log.last if log else None) or RuleSet(BEFORE)
    table = table_of(node)
    begun = log is not None and log.last is not None
    try:
        content = table.read_content()
        read = content.read()
    except HeadraceError as error:
        problems = getattr(error, "problems", (error.problem,))
        rules = tuple(_in_force(rule, log, None) for rule in before.rules)
        return TableListing(node.name, table.name, begun, rules, tuple(problems))
    finally:
        table.close()
    after = before
    if content.digest != before.digest:
        after = Revision(_checks(graph, node), before).rule_set(read, content.digest, BEFORE)
    return TableListing(node.name, table.name, begun, tuple(_rules(read, before, after, log)))


def _rules(read: Rules, before: RuleSet, after: RuleSet, log: RuleLog | None) -> Iterator[RuleListing]:
    """Yield the rules in the order of the table, then active ones that were removed from it."""
    old, new = ({rule.id: rule for rule in rule_set.rules} for rule_set in (before, after))
    written = {rule.id: rule for rule in read.rules}
    for name in (*written, *dict.fromkeys(name for name, _ in read.faults if name not in written)):
        rule, faults = written.get(name), _faults(after.faults, name)
        if faults:
            active = old.get(name)
            version, since = active.version if active else None, _since(active, log)
            yield RuleListing(name, "wrong", version, since, **_describe(rule), faults=faults)
        elif rule is not None and not rule.active:
            if name in old:
                yield RuleListing(
                    name, "retired", old[name].version, _since(old[name], log), **_describe(rule)
                )
            else:
                yield RuleListing(name, "not active", rule.version, **_describe(rule))
        elif name in old and new.get(name) == old[name]:
            yield _in_force(old[name], log, rule)
        elif name in new and rule is not None:
            was = old[name].version if name in old else None
            yield RuleListing(name, "next batch", new[name].version, until_then=was, **_describe(rule))
    for name in sorted(old.keys() - new.keys() - written.keys()):
        yield RuleListing(name, "retired", old[name].version, _since(old[name], log))


def _in_force(rule: ActiveRule, log: RuleLog | None, written: Rule | None) -> RuleListing:
    return RuleListing(rule.id, "in force", rule.version, _since(rule, log), **_describe(written))


def _since(rule: ActiveRule | None, log: RuleLog | None) -> int | None:
    return max(log.first_epoch(rule), 0) if rule is not None and log is not None else None


def _describe(rule: Rule | None) -> dict[str, Any]:
    """Describe a rule of the table."""
    if rule is None:
        return {}
    conditions = tuple(describe_conditions(rule.pattern))
    return {"place": rule.where, "description": describe_pattern(rule.pattern), "conditions": conditions}


def _faults(faults: tuple[RuleFault, ...], name: str) -> tuple[Problem, ...]:
    return tuple(Problem(f.place, f.reason, f.hint) for f in faults if f.rule == name)


def _read(node: MatchRules) -> tuple[str, Rules]:
    table = table_of(node)
    try:
        return table.name, table.read_content().read()
    finally:
        table.close()


def _checks(graph: Graph, node: MatchRules) -> RuleChecks:
    keys = [name if key == name else hidden_key(name) for name, key in node.keys]
    return RuleChecks(graph, node, keys, time=graph.facts(node.input).time)


def _plain(problem: Problem) -> dict[str, str]:
    return {"where": problem.where, "what": problem.what, "hint": problem.hint}
