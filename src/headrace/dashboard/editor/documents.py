"""Checks a YAML document as `headrace check` does, for the editor: problems by line, and the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from headrace import yaml
from headrace.access import restrict
from headrace.access.effort import EffortError, limit_effort
from headrace.dashboard.editor.flow.graph import flow_of
from headrace.dashboard.editor.flow.places import with_paths
from headrace.dashboard.editor.yaml_parts import FILE, compose_text
from headrace.dashboard.plan_graph import graph_of
from headrace.errors import HeadraceError, Location, Problem
from headrace.explain.explanation import as_json, explain
from headrace.jobs.security.policy import Policy
from headrace.plan.graph import Graph
from headrace.plan.validation import problems_of
from headrace.plan.warnings import warnings_of
from headrace.testing.sample_run.inputs import SampleInput, inputs_of
from headrace.yaml.load import read_draft

UNRESTRICTED = Policy()


@dataclass(frozen=True)
class CheckedDocument:
    """The problems and warnings of a document, and its graph if it is valid."""

    problems: tuple[dict[str, Any], ...]
    warnings: tuple[dict[str, Any], ...] = ()
    graph: dict[str, Any] | None = None
    name: str = ""
    inputs: tuple[SampleInput, ...] = ()
    """The sources and tables that a test run needs rows for."""
    flow: dict[str, Any] | None = None
    """The nodes and edges of the flow editor; None if the text is not YAML."""


def check_document(text: str, policy: Policy = UNRESTRICTED) -> CheckedDocument:
    r"""Check a document without running it; `policy` may restrict the files and the code that it uses.

    >>> check_document("name: p\nsources:\n  tx: {memories: {}}\n").problems[0]["line"]
    3
    """
    try:
        with restrict(policy.access), limit_effort(f"{FILE}:1:1"):
            return _check_all(text)
    except EffortError as error:
        return CheckedDocument(_locate_all(error.problems))


def _check_all(text: str) -> CheckedDocument:
    try:
        root = compose_text(text)
    except EffortError:
        raise
    except HeadraceError as error:
        return CheckedDocument(with_paths(text, _locate_all(error.problems)))
    draft = read_draft(root, file=FILE) if root is not None else None
    return _with_flow(text, _check(text), draft)


def _check(text: str) -> CheckedDocument:
    try:
        graph = yaml.from_text(text, file=FILE)
    except EffortError:
        raise
    except HeadraceError as error:
        return CheckedDocument(_locate_all(error.problems))
    problems = problems_of(graph)
    if problems:
        return CheckedDocument(_locate_all(problems), name=graph.name)
    warnings, inputs = _locate_all(warnings_of(graph)), tuple(inputs_of(graph))
    return CheckedDocument((), warnings, draw(graph, text), graph.name, inputs)


def _with_flow(text: str, checked: CheckedDocument, draft: Graph | None) -> CheckedDocument:
    problems = with_paths(text, checked.problems)
    flow = flow_of(text, problems, draft, checked.graph)
    return replace(checked, problems=problems, flow=flow)


def draw(graph: Graph, text: str) -> dict[str, Any]:
    """Return the graph of a plan as the pages draw it."""
    return graph_of(as_json(explain(graph)), text)


def _locate_all(problems: Iterable[Problem]) -> tuple[dict[str, Any], ...]:
    return tuple(map(locate, problems))


def locate(problem: Problem) -> dict[str, Any]:
    """Return a problem with its line and column in the document; line 1 if it has none."""
    location = Location.parse(problem.where)
    located = location is not None and location.file == FILE
    if location is None or not located:
        location = Location(FILE, 1, 1, problem.where)
    place = {"line": location.line, "column": location.column, "where": location.label, "located": located}
    return {**place, "what": problem.what, "hint": problem.hint}
