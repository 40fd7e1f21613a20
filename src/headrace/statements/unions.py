"""Unions of rows with event time and rows without: the former pass a query, whose rows have no time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.plan.graph import Graph
from headrace.statements.draft import Draft
from headrace.steps.base import MAIN, Ref
from headrace.steps.rows.event_time import ClockTime, EventTime

_ALL = "select * from this"


def drop_times(draft: Draft, read: Callable[[], Graph]) -> None:
    """Change the unions of a document in which only some inputs have time.

    Args:
        draft: the document.
        read: returns the plan of the document, as far as it is valid.
    """
    steps = draft.sections["steps"]
    unions = {name: (where, entry) for name, (where, entry) in steps.items() if "union" in entry}
    if not unions:
        return
    graph = read()
    for name, (where, entry) in unions.items():
        timed = {ref: _is_timed(graph, ref) for ref in entry["union"]}
        if len(set(timed.values())) < 2:
            continue
        inputs = []
        for number, ref in enumerate(entry["union"]):
            inputs.append(draft.new_name(name, "sql") if timed[ref] else ref)
            if timed[ref]:
                draft.add("steps", inputs[number], where, {"from": ref, "sql": _ALL})
        draft.add("steps", name, where, {**entry, "union": inputs})


def _is_timed(graph: Graph, name: Any) -> bool:
    step, _, output = str(name).partition(".")
    if step not in graph.nodes:
        return False
    # The time of a source is a node of its own.
    times = [node.name for node in graph.of(EventTime) + graph.of(ClockTime) if node.input == Ref(step)]
    own = any(time.startswith(f"{step}:") for time in times)
    return own or graph.facts(Ref(step, output or MAIN)).timed
