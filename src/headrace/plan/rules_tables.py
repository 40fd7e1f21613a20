"""What can be wrong with a step that takes its patterns from a table of rules, before any rule is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from headrace.connectors.base import Connector
from headrace.plan.facts import RULE_COLUMNS
from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.patterns.match_rules import MatchRules

Found = Iterator[tuple[str, str]]

FILES = (".yaml", ".yml", ".json", ".jsonl", ".csv")
"""The kinds of files that rules may be in."""


def rules_problems(graph: Graph, node: Node) -> Found:
    """Everything that is wrong with a table of rules, and with a step that remembers something of its matches."""
    if isinstance(node, MatchRules):
        yield from _table(node)
        yield from _names(node)
    elif node.stateful:
        yield from _after(graph, node)


def _table(node: MatchRules) -> Found:
    if isinstance(node.table, Connector):
        if not node.table.listable:
            yield f"{node.table.kind} holds no table of rules", "use a file, postgres, mysql or sqlite"
    elif PurePath(node.table).suffix.lower() not in FILES:
        yield f"{node.table} is no file of rules", f"its name ends with {', '.join(FILES)}"


def _names(node: MatchRules) -> Found:
    measures = node.measures.names if node.measures is not None else ("matched",)
    given = [*(name for name, _ in node.keys), *RULE_COLUMNS, *measures]
    for name in dict.fromkeys(name for name in given if given.count(name) > 1):
        yield (
            f"two columns of a match are called `{name}`",
            f"keys and measures are beside {', '.join(RULE_COLUMNS)}; name them otherwise",
        )


def _after(graph: Graph, node: Node) -> Found:
    """A match may come as long after its rows as its rule says, and the next step has to wait for it."""
    for before in _origins(graph, node):
        rules = graph[before.step]
        if isinstance(rules, MatchRules) and before.output == MAIN and rules.longest is None:
            yield (
                f"it waits for matches of `{rules.name}`, and nothing says how late these can be",
                "say how long a rule may take: match_rules(..., longest='1 hour')",
            )


def _origins(graph: Graph, node: Node) -> Iterator[Ref]:
    for ref in node.inputs:
        before = graph[ref.step]
        if before.stateful:
            yield ref
        else:
            yield from _origins(graph, before)
