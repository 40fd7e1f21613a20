"""The graph of the flow editor: one node for each entry of a document, valid or not.

The plan of a valid document gives execution tier and facts, as in the graph of a job. Without it, nodes,
edges and outputs follow from the entries that can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.connectors import registry
from headrace.dashboard.editor.flow.references import Reference, entries_of, other_path, references_of
from headrace.plan.graph import Graph
from headrace.steps.base import MAIN
from headrace.yaml.entries import STEPS

Drawn = Mapping[str, Any]
_KINDS = {"sources": "source", "steps": "step", "sinks": "sink"}

_SIDE_OUTPUTS = {
    "format": ("dead_letters",),
    "window": ("late",),
    "match": ("timeouts", "late"),
    "match_rules": ("timeouts", "late"),
    "join": ("late",),
    "join_as_of": ("late",),
    "latest": ("late",),
}


def flow_of(text: str, problems: Sequence[Drawn], draft: Graph | None, drawn: Drawn | None) -> dict[str, Any]:
    r"""Return the nodes and edges of a document.

    Args:
        text: the document.
        problems: its problems, with paths.
        draft: the plan of the entries that can be read.
        drawn: the graph of the plan, if the document is valid.

    >>> flow = flow_of("sources: {tx: {memory: }}\nsteps: {big: {from: tx, where: }}", (), None, None)
    >>> [(node["id"], node["verb"]) for node in flow["nodes"]], [edge["id"] for edge in flow["edges"]]
    ([('tx', 'memory'), ('big', 'where')], ['tx>big.from'])
    """
    entries = entries_of(text)
    references = [each for each in references_of(entries) if each.name in entries]
    planned = {node["id"]: node for node in (drawn or {"nodes": ()})["nodes"]}
    faults = _count(problems)
    return {
        "nodes": [
            _node(name, section, entry, _outputs(name, entry, draft, references))
            | _facts(planned.get(name))
            | {"problems": faults.get(name, 0)}
            for name, (section, entry) in entries.items()
        ],
        "edges": [_edge(reference) for reference in references],
    }


def _node(name: str, section: str, entry: Mapping[str, Any], outputs: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "kind": _KINDS[section],
        "section": section,
        "verb": verb_of(section, entry),
        "inputs": _inputs(section, entry),
        "outputs": [] if section == "sinks" else outputs,
    }


def verb_of(section: str, entry: Mapping[str, Any]) -> str:
    """Return the connector of an entry, or the keys of its operations in the order in which they apply.

    >>> verb_of("steps", {"from": "tx", "aggregate": {}, "where": "", "window": {}})
    'where + window'
    """
    if section != "steps":
        return next((key for key in entry if key in registry.kinds()), "no connector")
    keys = dict.fromkeys(model.key for model in STEPS if model.key in entry)
    words = ["window" if key == "aggregate" and "window" in entry else key for key in keys]
    return " + ".join(words) or "no operation"


def _inputs(section: str, entry: Mapping[str, Any]) -> list[str]:
    if section == "sources":
        return []
    if "union" in entry:
        return ["union"]
    other = other_path(entry) if section == "steps" else None
    return ["from", other[1]] if other else ["from"]


def _outputs(
    name: str, entry: Mapping[str, Any], draft: Graph | None, references: Iterable[Reference]
) -> list[str]:
    node = draft.nodes.get(name) if draft is not None else None
    known = node.outputs if node is not None else guess_outputs(entry)
    read = [reference.output for reference in references if reference.name == name]
    return list(dict.fromkeys([*known, *read]))


def guess_outputs(entry: Mapping[str, Any]) -> list[str]:
    """Return the outputs that an entry is likely to have once it is valid.

    >>> guess_outputs({"window": {}, "aggregate": {}}), guess_outputs({"route": {"low": "a < 1"}})
    (['', 'late'], ['low'])
    """
    if isinstance(entry.get("route"), dict):
        return list(entry["route"])
    return [MAIN, *(output for key, outputs in _SIDE_OUTPUTS.items() if key in entry for output in outputs)]


def _facts(planned: Drawn | None) -> dict[str, Any]:
    if planned is None:
        return {"tier": "", "stateful": False, "about": ""}
    return {key: planned[key] for key in ("tier", "stateful")} | {"about": (planned["facts"] or [""])[0]}


def _edge(reference: Reference) -> dict[str, Any]:
    return {
        "id": f"{reference.ref}>{reference.reader}.{reference.input}",
        "source": reference.name,
        "target": reference.reader,
        "output": reference.output,
        "input": reference.input,
        "ref": reference.ref,
    }


def _count(problems: Sequence[Drawn]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for problem in problems:
        if len(problem["path"]) > 1:
            counts[problem["path"][1]] = counts.get(problem["path"][1], 0) + 1
    return counts
