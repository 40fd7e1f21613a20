"""Explain the results of a step for a key: of a pattern, a detector or an online model.

The checkpoint has the partial matches and buffered rows of the key. Earlier rows are no longer in it; if the
input can be replayed, the kernel runs the same matcher over the rows of the key and records which condition
it tested on which row. Nothing is locked or written.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.keys import key_of
from headrace.checkpoints.layout import queries_with_state
from headrace.debugging.key_report import Inquiry, KeyReport
from headrace.debugging.rule_report import ActiveRules, RuleReport, active_rules, report_rules
from headrace.debugging.verdict_text import VerdictReport
from headrace.debugging.verdicts import report_verdicts
from headrace.errors import OptionError, did_you_mean
from headrace.runtime.queries.inspection import plan_queries
from headrace.runtime.queries.signatures import check_signatures
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.checkpoints.layout import Progress
    from headrace.plan.graph import Graph
    from headrace.rules.log import RuleFault


@dataclass(frozen=True)
class Why:
    """The report of a step with patterns on one key."""

    step: str
    verb: str
    key: dict[str, str]
    progress: Progress
    report: KeyReport | VerdictReport | None = None
    """The report of its pattern, detector or model; None if the patterns come from a rule table."""
    table: str = ""
    """The rule table."""
    rules: tuple[RuleReport, ...] = ()
    """The reports of the active rules, or of the requested one."""
    faults: tuple[RuleFault, ...] = ()
    """Errors of the rule table."""
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """True if the checkpoint or the input has the key."""
        return any(report.known for report in self.reports)

    @property
    def reports(self) -> tuple[KeyReport | VerdictReport, ...]:
        """The report of the pattern, the detector or the model, or those of all rules."""
        return (self.report,) if self.report is not None else tuple(rule.report for rule in self.rules)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        header = {
            "step": self.step,
            "kind": self.verb,
            "key": self.key,
            "epoch": self.progress.epoch,
            "watermark": self.progress.watermark,
        }
        if self.report is not None:
            return {**header, **self.report.as_json()}
        return {
            **header,
            "table": self.table,
            "rules": [rule.as_json() for rule in self.rules],
            "faults": [asdict(fault) for fault in self.faults],
            "notes": list(self.notes),
        }


def why_of(
    graph: Graph,
    directory: Path,
    *,
    key: Sequence[str],
    step: str | None = None,
    rule: str | None = None,
    rows: int = 5,
    read_input: bool = True,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> list[Why]:
    """Return the reports of all steps with a pattern, a detector or an online model on a key.

    Args:
        graph: the plan.
        directory: the checkpoint directory.
        key: the arguments of `key_of`.
        step: only this step.
        rule: only this rule, of steps with a rule table.
        rows: the number of last rows in the report.
        read_input: replay the sources.
        master: the Spark master.
        conf: Spark settings.

    Raises:
        OptionError: unknown step, rule or key, or there is no checkpoint.
        PlanError: the state belongs to another declaration of the step.
    """
    steps = _steps_to_report(graph, directory, step, rules_only=rule is not None)
    keys = {name: key_of(key, _columns(graph[name])) for name in steps}
    tables = active_rules(graph, directory, steps, rule)
    steps = steps if rule is None else list(tables)
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_queries(spark, graph) as planned:
        chosen = [each for each in planned if each.query.name in steps]
        check_signatures(graph, chosen, directory)
        inquiries = [Inquiry(spark, graph, directory, each, keys[each.query.output.step]) for each in chosen]
        reports = [
            _report(inquiry, tables.get(inquiry.node.name), rows, read_input=read_input)
            for inquiry in inquiries
        ]
        if not any(why.known or not why.reports for why in reports):
            raise _unknown_key(inquiries, reports)
        return reports


def _report(inquiry: Inquiry, rules: ActiveRules | None, rows: int, *, read_input: bool) -> Why:
    header = (inquiry.node.name, inquiry.node.verb, inquiry.key, inquiry.progress)
    with closing(inquiry):
        if inquiry.node.is_explained:
            return Why(*header, report_verdicts(inquiry, rows, read_input=read_input))
        if rules is None:
            return Why(*header, inquiry.report_step(rows, read_input=read_input))
        reports = report_rules(inquiry, rules, rows, read_input=read_input)
    return Why(*header, table=rules.table, rules=reports, faults=rules.faults, notes=rules.notes)


def _steps_to_report(graph: Graph, directory: Path, step: str | None, *, rules_only: bool) -> list[str]:
    """Return the names of the steps to report on."""
    known = [
        node.name
        for node in graph
        if (node.finds_patterns or node.is_explained) and (isinstance(node, MatchRules) or not rules_only)
    ]
    if not known and rules_only:
        what = f"no step of `{graph.name}` reads its patterns from a table"
        raise OptionError(what, where="--rule", hint="remove --rule")
    if not known:
        hint = "headrace state shows the state of other steps"
        what = f"expected a step with a pattern, a detector or an online model; `{graph.name}` has none"
        raise OptionError(what, where="FILE", hint=hint)
    if step is not None and step not in known:
        what = (
            f"`{step}` has no pattern, detector or online model"
            if any(node.name == step for node in graph)
            else f"unknown step `{step}`"
        )
        raise OptionError(what, where="--step", hint=did_you_mean(step, known))
    names = [query.name for query in queries_with_state(graph, directory, step) if query.name in known]
    if not names:
        hint = "run the pipeline first"
        raise OptionError("no step that can be explained has a checkpoint", where=str(directory), hint=hint)
    return names


def _columns(node: Any) -> list[str]:
    if isinstance(node, RowPattern):
        return list(node.clause.partition_by)
    return [name for name, _ in node.keys]


def _unknown_key(inquiries: Sequence[Inquiry], reports: Sequence[Why]) -> OptionError:
    text = ",".join(inquiries[0].key.values())
    known = sorted({key for inquiry in inquiries for key in inquiry.sample_keys()})
    near = difflib.get_close_matches(text, known, n=5, cutoff=0.5) or known[:5]
    hint = f"known keys: {', '.join(near)}" if near else "there are no keys yet"
    if len(near) < len(known):
        hint += ", ..."
    only_checkpoint = any(report.notes for why in reports for report in why.reports)
    where = "the checkpoint" if only_checkpoint else "the checkpoint and the input"
    return OptionError(f"key {text} is not in {where}", where="--key", hint=hint)
