"""The rules of a step asked about one key: those that were in force when the checkpoint was written, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.layout import checkpoint_of, progress_of
from headrace.debugging.consumed_offsets import taken_before
from headrace.errors import HeadraceError, OptionError, did_you_mean
from headrace.plan.queries import queries_of
from headrace.rules.log import Edition, RuleFault, RuleInForce, RuleLog
from headrace.rules.tables import table_of
from headrace.spark.gateway import java_frame
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.debugging.key_report import Inquiry, Told
    from headrace.plan.graph import Graph

_BEFORE = -1


@dataclass(frozen=True)
class OfRule:
    """What a rule makes of a key."""

    rule: str
    version: int
    since: int
    """The first epoch of this version."""
    told: Told

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "rule": self.rule,
            "version": self.version,
            "since_epoch": self.since,
            **self.told.as_json(),
        }


@dataclass(frozen=True)
class RulesAsked:
    """The rules of a step that are asked, and what is to be said of the table they come from."""

    table: str
    edition: Edition
    """What was in force in the last finished epoch."""
    asked: tuple[RuleInForce, ...]
    since: Mapping[int, int]
    """The first epoch of each, by serial number."""
    faults: tuple[RuleFault, ...] = ()
    """What was wrong with the table when a run last looked at it, though that epoch may not have been finished."""
    known: frozenset[str] = frozenset()
    """The rules that the table has by now."""
    notes: tuple[str, ...] = ()


def rules_asked(
    graph: Graph, directory: Path, steps: Iterable[str], rule: str | None
) -> dict[str, RulesAsked]:
    """The rules in force of those steps that have a table, by step; those that have the rule, if it is named.

    Raises:
        OptionError: no step has a rule of that name in force.
    """
    queries = {query.name: query for query in queries_of(graph)}
    nodes = {name: node for name in steps if isinstance(node := graph[name], MatchRules)}
    found = {name: _in_force(node, checkpoint_of(directory, queries[name])) for name, node in nodes.items()}
    if rule is None:
        return found
    chosen = {
        name: replace(one, asked=tuple(r for r in one.asked if r.id == rule)) for name, one in found.items()
    }
    chosen = {name: one for name, one in chosen.items() if one.asked}
    if not chosen:
        raise _not_in_force(rule, found)
    return chosen


def tell_rules(inquiry: Inquiry, rules: RulesAsked, rows: int, *, read_input: bool) -> tuple[OfRule, ...]:
    """What each rule makes of the key."""
    return tuple(_told(inquiry, rules, rule, rows, read_input=read_input) for rule in rules.asked)


def _told(inquiry: Inquiry, rules: RulesAsked, rule: RuleInForce, rows: int, *, read_input: bool) -> OfRule:
    since = rules.since[rule.serial]
    query = inquiry.query.query
    sources = len(query.sources) + len(query.reads)
    less = taken_before(inquiry.checkpoint, since, sources=sources) if since > 0 else None
    kernel = inquiry.jvm.rules.RulesExplainer.of(
        java_frame(inquiry.query.stream_plan), rules.edition.alone(rule).loaded
    )
    told = inquiry.ask(kernel, rows, read_input=read_input, less=less)
    if since > 0 and less is None and told.taken:
        note = (
            f"this version is in force since epoch {since}, and which rows came before can't be told: "
            "rows are told of as if it had been there from the first on"
        )
        told = replace(told, notes=(note,))
    return OfRule(rule.id, rule.version, max(since, 0), told)


def _in_force(node: MatchRules, checkpoint: Path) -> RulesAsked:
    log = RuleLog(checkpoint)
    epoch = progress_of(checkpoint).epoch
    edition = log.at(_BEFORE if epoch is None else epoch) or Edition(_BEFORE)
    since = {rule.serial: log.began(rule) for rule in edition.rules}
    name, known, notes = _table_now(node, edition)
    faults = (log.last or edition).faults
    return RulesAsked(name, edition, edition.rules, since, faults, known, notes)


def _table_now(node: MatchRules, edition: Edition) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """What the table is called, which rules it has by now, and what is to be said of that."""
    table = table_of(node)
    try:
        found = table.look()
        ids = frozenset(found.read().ids)
    except HeadraceError as error:
        return table.name, frozenset(), (f"the table can't be read now: {error.problem}",)
    finally:
        table.close()
    if found.digest == edition.digest:
        return table.name, ids, ()
    return table.name, ids, ("the table has changed since; the next batch will look at it",)


def _not_in_force(rule: str, found: Mapping[str, RulesAsked]) -> OptionError:
    for step, one in found.items():
        for fault in one.faults:
            if fault.rule == rule:
                return OptionError(
                    f"`{rule}` is not in force: {fault.reason}", where=fault.place, hint=fault.hint
                )
        if rule in one.known:
            hint = "run the pipeline; `headrace explain` shows what its table holds"
            return OptionError(
                f"`{rule}` is in the table of `{step}`, and no batch has had it yet",
                where="--rule",
                hint=hint,
            )
        if rule in one.edition.versions:
            what = f"`{rule}` is retired; version {one.edition.versions[rule]} was its last"
            return OptionError(what, where="--rule", hint=f"in force are: {_names([one])}")
    known = {r.id for one in found.values() for r in one.asked}
    return OptionError(f"no rule is called `{rule}`", where="--rule", hint=did_you_mean(rule, known))


def _names(several: Iterable[RulesAsked]) -> str:
    return ", ".join(sorted(rule.id for one in several for rule in one.asked)) or "none"
