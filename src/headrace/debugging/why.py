"""Why a pattern has (not) matched for a key: told from the checkpoint, and from the input read again.

The checkpoint holds the truth about now: the key's partial matches and the rows that wait for the watermark. What became of
rows before them is no longer in it; where the input can be read again, the kernel goes through the key's rows once more,
with the same matcher, and notes which condition it asked of which row. Nothing is locked or written.
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
from headrace.debugging.key_report import Inquiry, Told
from headrace.debugging.rule_report import OfRule, RulesAsked, rules_asked, tell_rules
from headrace.errors import OptionError, did_you_mean
from headrace.runtime.inspection import plan_aside
from headrace.runtime.queries import refuse_changed
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.checkpoints.layout import Progress
    from headrace.plan.graph import Graph
    from headrace.rules.log import RuleFault


@dataclass(frozen=True)
class Why:
    """What a step with patterns says of one key."""

    step: str
    verb: str
    key: dict[str, str]
    progress: Progress
    told: Told | None = None
    """What it makes of the key; None where patterns come from a table."""
    table: str = ""
    """The table its rules come from."""
    rules: tuple[OfRule, ...] = ()
    """What each rule in force, or the one that was asked for, makes of the key."""
    faults: tuple[RuleFault, ...] = ()
    """What is wrong with rules of the table."""
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the checkpoint or the input has the key."""
        return self.told.known if self.told is not None else any(one.told.known for one in self.rules)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        said = {
            "step": self.step,
            "kind": self.verb,
            "key": self.key,
            "epoch": self.progress.epoch,
            "watermark": self.progress.watermark,
        }
        if self.told is not None:
            return {**said, **self.told.as_json()}
        return {
            **said,
            "table": self.table,
            "rules": [one.as_json() for one in self.rules],
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
    """What the steps with patterns say of a key.

    Args:
        graph: the plan.
        directory: the pipeline's directory.
        key: as `key_of` reads it.
        step: only this one.
        rule: only this one, of steps that take their patterns from a table.
        rows: so many of the last rows are told of.
        read_input: whether the sources are read again.
        master: as Spark spells it.
        conf: settings of Spark's.

    Raises:
        OptionError: there is no pattern, no checkpoint, no such rule, or no such key.
        PlanError: the state is of a step that was declared differently.
    """
    wanted = _wanted(graph, directory, step, rules_only=rule is not None)
    keys = {name: key_of(key, _columns(graph[name])) for name in wanted}
    tables = rules_asked(graph, directory, wanted, rule)
    wanted = wanted if rule is None else list(tables)
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_aside(spark, graph) as built:
        chosen = [one for one in built if one.query.name in wanted]
        refuse_changed(graph, chosen, directory)
        asked = [Inquiry(spark, graph, directory, one, keys[one.query.output.step]) for one in chosen]
        answers = [_answer(one, tables.get(one.node.name), rows, read_input=read_input) for one in asked]
        if not any(answer.known or _ruleless(answer) for answer in answers):
            raise _unknown_key(asked, answers)
        return answers


def _answer(inquiry: Inquiry, rules: RulesAsked | None, rows: int, *, read_input: bool) -> Why:
    said = (inquiry.node.name, inquiry.node.verb, inquiry.key, inquiry.progress)
    with closing(inquiry):
        if rules is None:
            return Why(*said, inquiry.answer(rows, read_input=read_input))
        told = tell_rules(inquiry, rules, rows, read_input=read_input)
    return Why(*said, table=rules.table, rules=told, faults=rules.faults, notes=rules.notes)


def _ruleless(why: Why) -> bool:
    """Whether it has no rule that could know a key."""
    return why.told is None and not why.rules


def _wanted(graph: Graph, directory: Path, step: str | None, *, rules_only: bool) -> list[str]:
    """The names of the steps that are asked."""
    kinds = MatchRules if rules_only else Match | MatchRules | RowPattern
    known = [node.name for node in graph if isinstance(node, kinds)]
    if not known and rules_only:
        hint = "leave --rule out"
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


def _unknown_key(asked: Sequence[Inquiry], answers: Sequence[Why]) -> OptionError:
    said = ",".join(asked[0].key.values())
    known = sorted({key for question in asked for key in question.keys_at_hand()})
    near = difflib.get_close_matches(said, known, n=5, cutoff=0.5) or known[:5]
    hint = f"keys that are there: {', '.join(near)}" if near else "it has no keys yet"
    if len(near) < len(known):
        hint += ", ..."
    notes = {note for answer in answers for told in _all_told(answer) for note in told.notes}
    where = "the checkpoint" if notes else "the checkpoint and the input"
    return OptionError(f"{where} know nothing of the key {said}", where="--key", hint=hint)


def _all_told(why: Why) -> list[Told]:
    return [why.told] if why.told is not None else [one.told for one in why.rules]
