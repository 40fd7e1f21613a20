"""State diagrams of the patterns and rules of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.cli.terminal.errors import show_warnings
from headrace.errors import LoadError, OptionError, did_you_mean
from headrace.explain.pattern_diagram import Diagram, diagram_of
from headrace.explain.row_pattern_diagram import row_diagram_of
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.plan.graph import Graph


def diagrams_of(graph: Graph, step: str, rule: str, *, where: str) -> list[Diagram]:
    """Return the diagrams of all patterns, or of one step or rule. Invalid rules are reported as warnings.

    Raises:
        LoadError: the pipeline has no pattern.
        OptionError: unknown step or rule.
        SourceError: a rule table cannot be read.
    """
    nodes = [node for node in graph if node.finds_patterns and (isinstance(node, MatchRules) or not rule)]
    if not nodes and rule:
        raise OptionError("no step takes its patterns from a table", where="--rule", hint="leave it out")
    if not nodes:
        raise LoadError(
            "nothing to draw: no step has a `match` or a MATCH_RECOGNIZE",
            where=where,
            hint="time lines are drawn of cases, such as late.transcript.yaml",
        )
    if step and step not in (known := [node.name for node in nodes]):
        what = f"no step `{step}` with {'rules' if rule else 'a pattern'}"
        raise OptionError(what, where=graph.name, hint=did_you_mean(step, known))
    chosen = [node for node in nodes if step in ("", node.name)]
    diagrams, refused = list[Diagram](), list[OptionError]()
    for node in chosen:
        try:
            diagrams += _of_step(graph, node, rule, len(nodes) > 1)
        except OptionError as error:  # the rule may be in another table
            refused.append(error)
    if refused and not diagrams:
        raise refused[0]
    if not diagrams:
        hint = "headrace explain lists the rules of the table"
        raise LoadError("nothing to draw: no rule is active", where=where, hint=hint)
    return diagrams


def _of_step(graph: Graph, node: Any, rule: str, several: bool) -> list[Diagram]:
    if isinstance(node, RowPattern):
        return [row_diagram_of(node)]
    if not isinstance(node, MatchRules):
        return [diagram_of(node)]
    from headrace.rules.listing import rules_as_steps

    rules, wrong = rules_as_steps(graph, node, rule)
    show_warnings(wrong)
    drawn = []
    for item, match in rules:
        version = f", version {item.version}" if item.version is not None else ""
        name = f"{node.name}: {item.id}" if several else item.id
        drawn.append(replace(diagram_of(match), name=f"{name}{version}"))
    return drawn
