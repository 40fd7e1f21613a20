"""The data-flow graph of a job, from its plan as `headrace explain --json` prints it; needs no JVM.

A step without a name of its own, such as the `event_time` of a source, is folded into a named neighbour, so
that the graph has one node for each entry of the document.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from headrace.errors import Location

Plan = Mapping[str, Any]
Step = Mapping[str, Any]


def graph_of(plan: Plan, document: str = "") -> dict[str, Any]:
    """Return nodes and edges; nodes have the declaration of their step in the YAML text, if there is one.

    >>> steps = [
    ...     {"name": "tx", "verb": "read", "kind": "source", "inputs": [], "queries": [1]},
    ...     {"name": "tx:event_time", "verb": "event_time", "kind": "step", "inputs": ["tx"], "queries": [1]},
    ...     {"name": "big", "verb": "where", "kind": "step", "inputs": ["tx:event_time"], "queries": [1]},
    ... ]
    >>> graph = graph_of({"steps": steps})
    >>> [node["id"] for node in graph["nodes"]], graph["edges"]
    (['tx', 'big'], [{'id': 'tx>big', 'source': 'tx', 'target': 'big', 'output': '', 'ref': 'tx:event_time', \
'exchange': False, 'columns': []}])
    """
    steps = {step["name"]: step for step in plan["steps"]}
    owners = _fold(steps)
    parts = defaultdict(list)
    for name, step in steps.items():
        parts[owners[name]].append(step)
    return {
        "nodes": [_node(steps[name], members, document) for name, members in parts.items()],
        "edges": _edges(steps, owners),
    }


_NODE, _SOURCE, _STATEFUL, _GAP = 104, 120, 136, 22
"""The heights of nodes and the gap between them, as `graph.js` draws them."""


def height_of(graph: Mapping[str, Any]) -> int:
    """Estimate the height of a graph in pixels, so that a page can reserve it before the graph is laid out.

    >>> chain = [{"id": name, "stateful": False} for name in "ab"]
    >>> one_row = {"nodes": chain, "edges": [{"source": "a", "target": "b"}]}
    >>> height_of(one_row), height_of({"nodes": chain, "edges": []})
    (104, 230)
    """
    ranks = {node["id"]: 0 for node in graph["nodes"]}
    for _ in ranks:  # the longest path to each node
        for edge in graph["edges"]:
            ranks[edge["target"]] = max(ranks[edge["target"]], ranks[edge["source"]] + 1)
    heights: dict[int, int] = defaultdict(int)
    for node in graph["nodes"]:
        plain = _SOURCE if node.get("kind") == "source" else _NODE
        heights[ranks[node["id"]]] += (_STATEFUL if node["stateful"] else plain) + _GAP
    return max(heights.values(), default=_GAP) - _GAP


def _fold(steps: Mapping[str, Step]) -> dict[str, str]:
    """Return the node of each step: itself, or the neighbour that an anonymous step is folded into."""
    readers = defaultdict(list)
    for step in steps.values():
        for ref in step["inputs"]:
            readers[ref].append(step)
    owners: dict[str, str] = {}
    for name, step in steps.items():
        before = step["inputs"][0] if len(step["inputs"]) == 1 else ""
        if ":" in name and before in owners and len(readers[before]) == 1:
            owners[name] = owners[before]
        else:
            owners[name] = name
    for name in reversed(list(steps)):  # an anonymous step of its own goes to its only reader
        after = readers[name]
        if owners[name] == name and ":" in name and len(after) == 1 and after[0]["kind"] == "step":
            target = owners[after[0]["name"]]
            owners = {step: target if owner == name else owner for step, owner in owners.items()}
    return owners


def _node(step: Step, parts: list[Step], document: str) -> dict[str, Any]:
    stateful = next((part for part in parts if part.get("stateful")), step)
    return {
        "id": step["name"],
        "kind": step["kind"],
        **_endpoint(step),
        "verb": stateful["verb"] if stateful.get("stateful") else " + ".join(part["verb"] for part in parts),
        "parts": [part["name"] for part in parts],
        "patterns": stateful["verb"].startswith("match"),
        "stateful": any(part.get("stateful") for part in parts),
        "facts": [fact for part in parts for fact in part.get("facts", ())],
        "tier": stateful.get("tier", ""),
        "why": stateful.get("why", ""),
        "state": stateful.get("state", ""),
        "unbounded": stateful.get("unbounded", ""),
        "queries": step.get("queries", []),
        "outputs": step.get("outputs", []),
        "columns": parts[-1].get("columns", {}).get("main", []),
        "edges": edges_of(step, parts),
        "declaration": declaration_at(document, step.get("place", "")),
    }


_TARGETS = ("topic", "topics", "subscribe", "table", "path", "url", "queue", "stream", "replay")
"""Options that identify what a connector reads or writes; the first one that is set is shown."""


def _endpoint(step: Step) -> dict[str, str]:
    """Return the connector and the target of a source or a sink; both are empty for other steps.

    >>> _endpoint({"kind": "sink", "facts": ["sqlite path=fraud.db table=totals key=card,window"]})
    {'connector': 'sqlite', 'target': 'totals'}
    """
    if step["kind"] == "step" or not step.get("facts"):
        return {"connector": "", "target": ""}
    connector, *words = step["facts"][0].split(" ")
    options = dict(word.split("=", 1) for word in words if "=" in word)
    return {
        "connector": connector,
        "target": next((options[name] for name in _TARGETS if name in options), ""),
    }


def edges_of(step: Step, parts: list[Step]) -> list[tuple[str, str]]:
    """Return the edges of a node that can be sampled, each with its label."""
    if step["kind"] == "sink":
        return [(step["name"], "in")]
    inside = {part["name"] for part in parts}
    before = [ref for part in parts for ref in part["inputs"] if ref not in inside]
    into = [(ref, "in" if len(before) == 1 else f"in from {ref}") for ref in before]
    outputs = [(part["name"], output) for part in parts for output in part.get("outputs", ("main",))]
    main = [(name, "out") for name, output in outputs if output == "main"][-1:]
    sides = [(f"{name}.{output}", output.replace("_", " ")) for name, output in outputs if output != "main"]
    return [*into, *main, *sides]


def _edges(steps: Mapping[str, Step], owners: Mapping[str, str]) -> list[dict[str, Any]]:
    edges: dict[tuple[str, str, str], dict[str, Any]] = {}
    for name, step in steps.items():
        for ref in step["inputs"]:
            producer, output = _split(ref, steps)
            source, target = owners[producer], owners[name]
            if source != target:
                shared = set(steps[producer].get("queries", ())) & set(step.get("queries", ()))
                edges[source, target, output] = {
                    "id": f"{source}.{output}>{target}" if output else f"{source}>{target}",
                    "source": source,
                    "target": target,
                    "output": output,
                    "ref": ref,
                    "exchange": bool(step.get("queries")) and not shared,
                    "columns": steps[producer].get("columns", {}).get(output or "main", []),
                }
    return list(edges.values())


def _split(ref: str, steps: Mapping[str, Step]) -> tuple[str, str]:
    if ref in steps:
        return ref, ""
    producer, _, output = ref.rpartition(".")
    return producer, output


def declaration_at(document: str, place: str) -> str:
    r"""Return the lines of a document that declare the step at a place, as `file:line:column`.

    >>> text = "steps:\n  big:\n    where: v > 1\n  other: {}\n"
    >>> print(declaration_at(text, "p.yaml:2:3"))
    big:
      where: v > 1
    """
    location = Location.parse(place)
    lines = document.splitlines()
    if location is None or not 0 < location.line <= len(lines):
        return ""
    start, indent = location.line - 1, location.column - 1
    end = start + 1
    while end < len(lines) and (
        not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent
    ):
        end += 1
    return "\n".join(text[indent:] for text in lines[start:end]).rstrip()
