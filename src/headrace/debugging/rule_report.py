"""The reports of the active rules of a step about one key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.layout import checkpoint_of, progress_of
from headrace.debugging.consumed_offsets import consumed_before
from headrace.errors import HeadraceError, OptionError, did_you_mean
from headrace.plan.queries import queries_of
from headrace.rules.log import Edition, RuleFault, RuleInForce, RuleLog
from headrace.rules.tables import table_of
from headrace.spark.gateway import java_frame
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.debugging.key_report import Inquiry, KeyReport
    from headrace.plan.graph import Graph

_BEFORE = -1


@dataclass(frozen=True)
class RuleReport:
    """The report of one rule about a key."""

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
    edition: Edition
    """The rules of the last committed epoch."""
    in_force: tuple[RuleInForce, ...]
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
    active = {name: _in_force(node, checkpoint_of(directory, queries[name])) for name, node in nodes.items()}
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
    inquiry: Inquiry, rules: ActiveRules, rule: RuleInForce, rows: int, *, read_input: bool
) -> RuleReport:
    since = rules.since[rule.serial]
    query = inquiry.query.query
    sources = len(query.sources) + len(query.reads)
    less = consumed_before(inquiry.checkpoint, since, sources=sources) if since > 0 else None
    kernel = inquiry.jvm.rules.RulesExplainer.of(
        java_frame(inquiry.query.stream_plan), rules.edition.alone(rule).loaded
    )
    report = inquiry.ask(kernel, rows, read_input=read_input, less=less)
    if since > 0 and less is None and report.taken:
        note = (
            f"this version is in force since epoch {since}, and which rows came before cannot be report: "
            "rows are report of as if it had been there from the first on"
        )
        report = replace(report, notes=(note,))
    return RuleReport(rule.id, rule.version, max(since, 0), report)


def _in_force(node: MatchRules, checkpoint: Path) -> ActiveRules:
    log = RuleLog(checkpoint)
    epoch = progress_of(checkpoint).epoch
    edition = log.at(_BEFORE if epoch is None else epoch) or Edition(_BEFORE)
    since = {rule.serial: log.began(rule) for rule in edition.rules}
    name, known, notes = _table_now(node, edition)
    faults = (log.last or edition).faults
    return ActiveRules(name, edition, edition.rules, since, faults, known, notes)


def _table_now(node: MatchRules, edition: Edition) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """Return the name of the table, its present rules, and notes."""
    table = table_of(node)
    try:
        content = table.look()
        ids = frozenset(content.read().ids)
    except HeadraceError as error:
        return table.name, frozenset(), (f"the table cannot be read now: {error.problem}",)
    finally:
        table.close()
    if content.digest == edition.digest:
        return table.name, ids, ()
    return table.name, ids, ("the table has changed since; the next batch will look at it",)


def _not_in_force(rule: str, active: Mapping[str, ActiveRules]) -> OptionError:
    for step, rules in active.items():
        for fault in rules.faults:
            if fault.rule == rule:
                return OptionError(
                    f"`{rule}` is not in force: {fault.reason}", where=fault.place, hint=fault.hint
                )
        if rule in rules.known:
            hint = "run the pipeline; `headrace explain` shows what its table holds"
            return OptionError(
                f"`{rule}` is in the table of `{step}`, and no batch has had it yet",
                where="--rule",
                hint=hint,
            )
        if rule in rules.edition.versions:
            what = f"`{rule}` is retired; version {rules.edition.versions[rule]} was its last"
            return OptionError(what, where="--rule", hint=f"in force are: {_names([rules])}")
    known = {r.id for rules in active.values() for r in rules.in_force}
    return OptionError(f"no rule is called `{rule}`", where="--rule", hint=did_you_mean(rule, known))


def _names(several: Iterable[ActiveRules]) -> str:
    return ", ".join(sorted(rule.id for rules in several for rule in rules.in_force)) or "none"
