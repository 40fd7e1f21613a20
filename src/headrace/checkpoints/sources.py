"""What the positions in a query's checkpoint are positions in: written beside it, compared before they are used again.

Spark keeps positions by the number of a source and asks no further. Those of one topic or table, taken for another's, lose
rows or repeat them; and where Spark does find out, it has written the next epoch down by then, so that the checkpoint
fits neither the old source nor the new one. So it is asked before Spark starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.layout import checkpoint_of, read_record, write_record
from headrace.errors import PlanError, Problem
from headrace.plan.queries import Query, queries_of
from headrace.steps.endpoints.source import Source
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

NAME = "sources.json"
_ANEW = "start anew with another --checkpoint DIR"

_PACE = "(pace)"

Record = dict[str, list[str]]
"""The sources of a query in Spark's order, what each counts in, and how its rows are taken."""


def record_of(graph: Graph, query: Query, *, real_time: bool = False) -> Record:
    """The sources of a query as they are declared now."""
    logs = {str(ref): ["rows of another query"] for ref in query.reads}
    sources = {name: _counted_in(graph, name) for name in query.sources} | logs
    # Where there is time, micro-batches have heartbeats beside the rows, and state that knows of them.
    timed = any(isinstance(node, EventTime | ClockTime) for node in graph.upstream(graph[query.output.step]))
    return {_PACE: ["real time" if real_time else "micro-batches"] if timed else [], **sources}


def refuse_moved(graph: Graph, directory: Path, *, real_time: bool = False) -> None:
    """Compare the sources of every query with those that its checkpoint was made with, and note them.

    Raises:
        PlanError: with each source whose position means nothing now.
    """
    records = {query: record_of(graph, query, real_time=real_time) for query in queries_of(graph)}
    problems: list[Problem] = []
    for query, now in records.items():
        was = read_record(checkpoint_of(directory, query), NAME)
        problems += [] if was is None else _changes(graph, query, was, now)
    if problems:
        raise PlanError(problems)
    for query, now in records.items():
        write_record(checkpoint_of(directory, query), NAME, now)


def _changes(graph: Graph, query: Query, was: Record, now: Record) -> list[Problem]:
    where = graph.where(graph[query.output.step])
    was, now = dict(was), dict(now)
    pace = was.pop(_PACE, []), now.pop(_PACE)
    if all(pace) and pace[0] != pace[1]:
        what = (
            f"its checkpoint was made by a run in {pace[0][0]}, and one in {pace[1][0]} can't go on from it"
        )
        return [Problem(where, what, f"run it as before, or {_ANEW}")]
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
    return node.connector.missing_identity(was) if isinstance(node, Source) else []


def _counted_in(graph: Graph, name: str) -> list[str]:
    node = graph[name]
    return list(node.connector.offset_identity) if isinstance(node, Source) else ["a DataFrame"]


def _listed(names: Record) -> str:
    return ", ".join(f"`{name}`" for name in names)
