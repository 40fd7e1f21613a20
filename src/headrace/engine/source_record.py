"""What the positions in a query's checkpoint are positions in: written beside it, compared before they are used again.

Spark keeps positions by the number of a source and asks no further. Those of one topic or table, taken for another's, lose
rows or repeat them; and where Spark does find out, it has written the next epoch down by then, so that the checkpoint
fits neither the old source nor the new one. So it is asked before Spark starts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.engine.checkpoints import begun, checkpoint_of
from headrace.errors import PlanError, Problem
from headrace.plan.nodes import Source
from headrace.plan.queries import Query, queries_of

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

NAME = "sources.json"
_ANEW = "start anew with another --checkpoint DIR"

Record = dict[str, list[str]]
"""The sources of a query in Spark's order, and what each counts in."""


def record_of(graph: Graph, query: Query) -> Record:
    """The sources of a query as they are declared now."""
    logs = {str(ref): ["rows of another query"] for ref in query.reads}
    return {name: _counted_in(graph, name) for name in query.sources} | logs


def refuse_moved(graph: Graph, directory: Path) -> None:
    """Compare the sources of every query with those that its checkpoint was made with, and note them.

    Raises:
        PlanError: with each source whose position means nothing now.
    """
    problems: list[Problem] = []
    for query in queries_of(graph):
        checkpoint, now = checkpoint_of(directory, query), record_of(graph, query)
        was = _kept(checkpoint)
        problems += [] if was is None else _changes(graph, query, was, now)
    if problems:
        raise PlanError(problems)
    for query in queries_of(graph):
        _keep(checkpoint_of(directory, query), record_of(graph, query))


def _changes(graph: Graph, query: Query, was: Record, now: Record) -> list[Problem]:
    where = graph.where(graph[query.tip.step])
    if list(was) != list(now):
        what = f"its checkpoint was made with the sources {_listed(was)}, and now they are {_listed(now)}"
        return [Problem(where, what, f"put them back, in that order, to go on from it, or {_ANEW}")]
    return [
        Problem(
            graph.where(graph[name]),
            f"its checkpoint holds a position in {', '.join(lost)}, and now it reads {', '.join(now[name])}",
            f"put that back to go on from it, or {_ANEW}",
        )
        for name in was
        if (lost := _lost(graph, name, was[name]))
    ]


def _lost(graph: Graph, name: str, was: list[str]) -> list[str]:
    node = graph.nodes.get(name)
    return node.connector.lost(was) if isinstance(node, Source) else []


def _counted_in(graph: Graph, name: str) -> list[str]:
    node = graph[name]
    return list(node.connector.counted_in) if isinstance(node, Source) else ["a DataFrame"]


def _kept(checkpoint: Path) -> Record | None:
    file = checkpoint / NAME
    if not file.exists() or not begun(checkpoint):
        return None
    record: Record = json.loads(file.read_text())
    return record


def _keep(checkpoint: Path, record: Record) -> None:
    checkpoint.mkdir(parents=True, exist_ok=True)
    whole = (checkpoint / NAME).with_suffix(".new")
    whole.write_text(json.dumps(record, indent=2) + "\n")
    whole.replace(checkpoint / NAME)  # a crash must not leave half of it


def _listed(names: Record) -> str:
    return ", ".join(f"`{name}`" for name in names)
