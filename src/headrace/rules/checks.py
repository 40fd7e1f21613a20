"""Validate rules without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headrace.durations import text as length
from headrace.errors import did_you_mean
from headrace.steps.patterns.checks import check_state_bound
from headrace.steps.patterns.declaration import PatternDeclaration
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.steps.facts import Time
    from headrace.yaml.rules import Rule


RulePattern = tuple["Rule", Match]
"""A rule, and the `match` step with its pattern."""


class RuleChecks:
    """The checks of rules that do not need Spark."""

    def __init__(self, graph: Graph, node: MatchRules, keys: Sequence[str], *, time: Time = "event") -> None:
        self.graph = graph
        self.node = node
        self._keys = tuple(keys)
        self._time: Time = time

    def declared(self, rule: Rule) -> str:
        """Return the declaration of a rule for the kernel, as JSON."""
        return PatternDeclaration(match_of(self.node, rule), self._keys, time=self._time).text

    def problems(self, rule: Rule) -> Iterator[tuple[str, str]]:
        """Yield the problems of a rule, each with a hint; expressions are not analysed."""
        node = match_of(self.node, rule)
        yield from ((finding.what, finding.hint) for finding in node.check_pattern(self.graph))
        yield from self._measures(rule)
        yield from self._bounds(node)

    def _measures(self, rule: Rule) -> Iterator[tuple[str, str]]:
        known = self.node.measures.names if self.node.measures is not None else ()
        for name, _ in rule.select or ():
            if name not in known:
                hint = did_you_mean(name, known) if known else "declare measures='...' at the step"
                yield f"unknown measure `{name}` of the step `{self.node.name}`", hint

    def _bounds(self, node: Match) -> Iterator[tuple[str, str]]:
        if problem := check_state_bound(node.pattern, node.within):
            yield problem
        longest, within = self.node.longest, node.within.whole or node.within.between
        if longest is not None and (within is None or within > longest):
            duration = length(within) if within is not None else "any time"
            what = f"a match may take {duration}; the longest that this step allows is {length(longest)}"
            yield what, "make `within` shorter"


def match_of(node: MatchRules, rule: Rule) -> Match:
    """Return a rule as a `match` step."""
    return Match(
        node.name, node.input, node.keys, rule.pattern, rule.within, rule.skip, rule.select, order=node.order
    )
