"""Report on one key of a step with rules: one report per active rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.layout import checkpoint_of, progress_of
from headrace.debugging.consumed_offsets import consumed_before
from headrace.errors import HeadraceError, OptionError, did_you_mean
from headrace.plan.queries import queries_of
from headrace.rules.log import ActiveRule, RuleFault, RuleLog, RuleSet
from headrace.rules.revision import BEFORE
from headrace.rules.tables import table_of
from headrace.spark.gateway import java_frame
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.debugging.key_report import Inquiry, KeyReport
    from headrace.plan.graph import Graph


@dataclass(frozen=True)
class RuleReport:
    """The report of one rule on a key."""

    rule: str
    version: int
    since: int
    """The first epoch of this version."""
    report: KeyReport

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "rule": self.rule,
            "version": self.version,
            "since_epoch": self.since,
            **self.report.as_json(),
        }


@dataclass(frozen=True)
class ActiveRules:
    """The active rules of a step, and notes about their table."""

    table: str
    rule_set: RuleSet
    """The rules of the last committed epoch."""
    in_force: tuple[ActiveRule, ...]
    since: Mapping[int, int]
    """The first epoch of each rule, by serial number."""
    faults: tuple[RuleFault, ...] = ()
    """Errors of the table when a run last read it; that epoch may not be committed."""
    known: frozenset[str] = frozenset()
    """The present rules of the table."""
    notes: tuple[str, ...] = ()


def active_rules(
    graph: Graph, directory: Path, steps: Iterable[str], rule: str | None
) -> dict[str, ActiveRules]:
    """Return the active rules by step; with `rule`, only of steps that have it.

    Raises:
        OptionError: no step has an active rule of this name.
    """
    queries = {query.name: query for query in queries_of(graph)}
    nodes = {name: node for name in steps if isinstance(node := graph[name], MatchRules)}
    active = {name: _load(node, checkpoint_of(directory, queries[name])) for name, node in nodes.items()}
    if rule is None:
        return active
    chosen = {
        name: replace(rules, in_force=tuple(r for r in rules.in_force if r.id == rule))
        for name, rules in active.items()
    }
    chosen = {name: rules for name, rules in chosen.items() if rules.in_force}
    if not chosen:
        raise _not_in_force(rule, active)
    return chosen


def report_rules(
    inquiry: Inquiry, rules: ActiveRules, rows: int, *, read_input: bool
) -> tuple[RuleReport, ...]:
    """Return the report of each rule."""
    return tuple(_report(inquiry, rules, rule, rows, read_input=read_input) for rule in rules.in_force)


def _report(
    inquiry: Inquiry, rules: ActiveRules, rule: ActiveRule, rows: int, *, read_input: bool
) -> RuleReport:
    since = rules.since[rule.serial]
    query = inquiry.query.query
    sources = len(query.sources) + len(query.reads)
    earlier = consumed_before(inquiry.checkpoint, since, sources=sources) if since > 0 else None
    explainer = inquiry.jvm.rules.RulesExplainer.of(
        java_frame(inquiry.query.stream_plan), rules.rule_set.select(rule).as_json
    )
    report = inquiry.report(explainer, rows, read_input=read_input, exclude=earlier)
    if since > 0 and earlier is None and report.taken:
        note = (
            f"this version is in force since epoch {since}; earlier rows cannot be determined, so the report "
            "shows all rows as if it had been in force from the start"
        )
        report = replace(report, notes=(note,))
    return RuleReport(rule.id, rule.version, max(since, 0), report)


def _load(node: MatchRules, checkpoint: Path) -> ActiveRules:
    log = RuleLog(checkpoint)
    epoch = progress_of(checkpoint).epoch
    rule_set = log.at(BEFORE if epoch is None else epoch) or RuleSet(BEFORE)
    since = {rule.serial: log.first_epoch(rule) for rule in rule_set.rules}
    name, known, notes = _read_table(node, rule_set)
    faults = (log.last or rule_set).faults
    return ActiveRules(name, rule_set, rule_set.rules, since, faults, known, notes)


def _read_table(node: MatchRules, rule_set: RuleSet) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """Return the name of the table, its present rules, and notes."""
    table = table_of(node)
    try:
        content = table.read_content()
        ids = frozenset(content.read().ids)
    except HeadraceError as error:
        return table.name, frozenset(), (f"cannot read the table: {error.problem}",)
    finally:
        table.close()
    if content.digest == rule_set.digest:
        return table.name, ids, ()
    return table.name, ids, ("the table has changed; the next micro-batch reads it",)


def _not_in_force(rule: str, active: Mapping[str, ActiveRules]) -> OptionError:
    for step, rules in active.items():
        for fault in rules.faults:
            if fault.rule == rule:
                return OptionError(
                    f"`{rule}` is not in force: {fault.reason}", where=fault.place, hint=fault.hint
                )
        if rule in rules.known:
            what = f"`{rule}` is in the table of `{step}`, but no micro-batch has loaded it"
            hint = "run the pipeline; `headrace explain` lists the rules of the table"
            return OptionError(what, where="--rule", hint=hint)
        if rule in rules.rule_set.versions:
            what = f"`{rule}` is retired; its last version is {rules.rule_set.versions[rule]}"
            names = ", ".join(sorted(active_rule.id for active_rule in rules.in_force)) or "none"
            return OptionError(what, where="--rule", hint=f"in force are: {names}")
    known = {r.id for rules in active.values() for r in rules.in_force}
    return OptionError(f"unknown rule `{rule}`", where="--rule", hint=did_you_mean(rule, known))
