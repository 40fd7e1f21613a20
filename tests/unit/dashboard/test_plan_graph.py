"""The data-flow graph of the pages: one node for each entry of a document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import yaml
from headrace.dashboard.plan_graph import declaration_at, graph_of
from headrace.explain.explanation import as_json, explain

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/pipeline.yaml"))


def graph_for(text: str, file: str = "pipeline.yaml") -> dict[str, Any]:
    return graph_of(as_json(explain(yaml.from_text(text, file=file))), text)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_every_edge_of_an_example_joins_two_nodes(file: Path) -> None:
    graph = graph_for(file.read_text(), str(file))  # functions are beside the file
    nodes = {node["id"] for node in graph["nodes"]}
    assert len(nodes) == len(graph["nodes"])
    assert {end for edge in graph["edges"] for end in (edge["source"], edge["target"])} == nodes
    assert all(":" not in node for node in nodes)


def test_anonymous_steps_are_folded_and_declarations_are_cut_out() -> None:
    text = """
name: p
sources:
  tx:
    memory: {}
    schema: card string, amount double, ts timestamp
    event_time: {column: ts, out_of_order: 1 minute}
steps:
  # the totals
  totals:
    from: tx
    where: amount > 0
    key_by: card
    window: {tumbling: 10 minutes}
    aggregate: {n: count(*)}
sinks:
  out: {from: totals, console: {}}
  late: {from: totals.late, memory: {}}
"""
    graph = graph_for(text)
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert list(nodes) == ["tx", "totals", "out", "late"]
    assert nodes["totals"]["declaration"].splitlines()[-1] == "  aggregate: {n: count(*)}"
    assert nodes["totals"]["verb"] == "window"
    assert [edge["output"] for edge in graph["edges"]] == ["", "", "late"]
    assert (nodes["out"]["connector"], nodes["totals"]["connector"]) == ("console", "")
    assert graph["edges"][0]["columns"] == ["card string", "amount double", "ts timestamp"]
    assert "n bigint" in graph["edges"][1]["columns"]


def test_two_outputs_of_a_step_into_the_same_target_are_two_edges() -> None:
    split = {"name": "s", "verb": "route", "kind": "step", "inputs": [], "outputs": ["f", "r"]}
    union = {"name": "u", "verb": "union", "kind": "step", "inputs": ["s.f", "s.r"]}
    edges = graph_of({"steps": [split, union]})["edges"]
    assert [(edge["id"], edge["output"]) for edge in edges] == [("s.f>u", "f"), ("s.r>u", "r")]


def test_place_outside_the_document_has_no_declaration() -> None:
    assert declaration_at("name: p", "pipeline.yaml:7:1") == declaration_at("name: p", "") == ""
