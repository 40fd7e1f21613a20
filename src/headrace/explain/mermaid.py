"""Format an explanation as a Mermaid flowchart with a subgraph per query."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.explain.explanation import Explanation, Step
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source

_COLOURS = {"native": "#2f855a", "kernel": "#2b6cb0", "arrow": "#805ad5", "python": "#b7791f"}


def mermaid(explanation: Explanation) -> str:
    """Return the flowchart; a step that runs in several queries is outside of the subgraphs."""
    return "\n".join([*_lines(explanation), ""])


def _lines(explanation: Explanation) -> Iterator[str]:
    graph = explanation.graph
    ids = {node.name: f"s{number}" for number, node in enumerate(graph)}
    yield "flowchart LR"
    for number, query in enumerate(explanation.queries, 1):
        yield f'  subgraph q{number}["query {number}: {_escape(query.name)}"]'
        yield from (
            f"    {ids[node.name]}{_box(node, explanation.steps[node.name])}"
            for node in graph
            if explanation.steps[node.name].queries == (number,)
        )
        yield "  end"
    for node in graph:
        if len(explanation.steps[node.name].queries) != 1:
            yield f"  {ids[node.name]}{_box(node, explanation.steps[node.name])}"
    for node in graph:
        for ref in node.inputs:
            yield f"  {ids[ref.step]} {_arrow(explanation, ref, node)} {ids[node.name]}"
    for tier, colour in _COLOURS.items():
        members = [ids[name] for name, step in explanation.steps.items() if step.tier.name == tier]
        if members:
            yield f"  classDef {tier} stroke:{colour},stroke-width:2px"
            yield f"  class {','.join(members)} {tier}"


def _arrow(explanation: Explanation, ref: Ref, node: Node) -> str:
    cut = (ref, node.name) in explanation.cuts
    label = " · ".join(filter(None, [ref.output, "exchange" if cut else ""]))
    arrow = "-.->" if cut else "-->"
    return f'{arrow}|"{_escape(label)}"|' if label else arrow


def _box(node: Node, step: Step) -> str:
    name = f"<b>{_escape(step.name)}</b><br/>" if not node.anonymous else ""
    first = f"<br/>{_escape(step.facts[0])}" if step.facts else ""
    text = f'"{name}{step.verb}{first}"'
    if isinstance(node, Sink):
        return f"[/{text}/]"
    if isinstance(node, Source) or not node.inputs:
        return f"([{text}])"
    return f"[[{text}]]" if node.stateful else f"[{text}]"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
