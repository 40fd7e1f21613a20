"""Explain why a pattern did or did not match a key, from the checkpoint and the replayed input.

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
from headrace.errors import OptionError, did_you_mean
from headrace.runtime.inspection import plan_queries
from headrace.runtime.queries import check_signatures
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
    """The report of a step with patterns about one key."""

    step: str
    verb: str
    key: dict[str, str]
    progress: Progress
    report: KeyReport | None = None
    """The report of its pattern; None if the patterns come from a rule table."""
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
        return (
            self.report.known
            if self.report is not None
            else any(answer.report.known for answer in self.rules)
        )

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        text = {
            "step": self.step,
            "kind": self.verb,
            "key": self.key,
            "epoch": self.progress.epoch,
            "watermark": self.progress.watermark,
        }
        if self.report is not None:
            return {**text, **self.report.as_json()}
        return {
            **text,
            "table": self.table,
            "rules": [answer.as_json() for answer in self.rules],
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
    """Return the reports of the steps with patterns about a key.

    Args:
        graph: the plan.
        directory: the checkpoint directory.
        key: in the form of `key_of`.
        step: only this step.
        rule: only this rule, of steps with a rule table.
        rows: the number of last rows in the report.
        read_input: replay the sources.
        master: the Spark master.
        conf: Spark settings.

    Raises:
        OptionError: there is no pattern, checkpoint, rule or key of this name.
        PlanError: the state belongs to another declaration of the step.
    """
    wanted = _steps_to_report(graph, directory, step, rules_only=rule is not None)
    keys = {name: key_of(key, _columns(graph[name])) for name in wanted}
    tables = active_rules(graph, directory, wanted, rule)
    wanted = wanted if rule is None else list(tables)
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_queries(spark, graph) as built:
        chosen = [item for item in built if item.query.name in wanted]
        check_signatures(graph, chosen, directory)
        inquiries = [Inquiry(spark, graph, directory, item, keys[item.query.output.step]) for item in chosen]
        answers = [
            _answer(item, tables.get(item.node.name), rows, read_input=read_input) for item in inquiries
        ]
        if not any(answer.known or _ruleless(answer) for answer in answers):
            raise _unknown_key(inquiries, answers)
        return answers


def _answer(inquiry: Inquiry, rules: ActiveRules | None, rows: int, *, read_input: bool) -> Why:
    text = (inquiry.node.name, inquiry.node.verb, inquiry.key, inquiry.progress)
    with closing(inquiry):
        if rules is None:
            return Why(*text, inquiry.answer(rows, read_input=read_input))
        report = report_rules(inquiry, rules, rows, read_input=read_input)
    return Why(*text, table=rules.table, rules=report, faults=rules.faults, notes=rules.notes)


def _ruleless(why: Why) -> bool:
    """Return true if it has no rules."""
    return why.report is None and not why.rules


def _steps_to_report(graph: Graph, directory: Path, step: str | None, *, rules_only: bool) -> list[str]:
    """Return the names of the steps to report on."""
    known = [
        node.name
        for node in graph
        if node.finds_patterns and (isinstance(node, MatchRules) or not rules_only)
    ]
    if not known and rules_only:
        hint = "remove --rule"
        raise OptionError(
            f"no step of `{graph.name}` takes its patterns from a table", where="--rule", hint=hint
        )
    if not known:
        hint = "headrace state shows what other steps remember"
        raise OptionError(f"expected a step with a pattern; `{graph.name}` has none", where="FILE", hint=hint)
    if step is not None and step not in known:
        what = (
            f"`{step}` has no pattern"
            if any(node.name == step for node in graph)
            else f"no step is called `{step}`"
        )
        raise OptionError(what, where="--step", hint=did_you_mean(step, known))
    begun = [query.name for query in queries_with_state(graph, directory, step) if query.name in known]
    if not begun:
        hint = "run the pipeline first"
        raise OptionError("no step with a pattern has a checkpoint yet", where=str(directory), hint=hint)
    return begun


def _columns(node: Any) -> list[str]:
    if isinstance(node, RowPattern):
        return list(node.clause.partition_by)
    return [name for name, _ in node.keys]


def _unknown_key(inquiries: Sequence[Inquiry], answers: Sequence[Why]) -> OptionError:
    text = ",".join(inquiries[0].key.values())
    known = sorted({key for question in inquiries for key in question.sample_keys()})
    near = difflib.get_close_matches(text, known, n=5, cutoff=0.5) or known[:5]
    hint = f"keys that are there: {', '.join(near)}" if near else "it has no keys yet"
    if len(near) < len(known):
        hint += ", ..."
    notes = {note for answer in answers for report in _reports(answer) for note in report.notes}
    where = "the checkpoint" if notes else "the checkpoint and the input"
    return OptionError(f"{where} have no key {text}", where="--key", hint=hint)


def _reports(why: Why) -> list[KeyReport]:
    return [why.report] if why.report is not None else [answer.report for answer in why.rules]
