"""Offset identities of sources, stored beside a checkpoint and compared before its offsets are reused.

Spark stores offsets by the ordinal of a source and does not check which topic or table they belong to.
Offsets that are applied to another one lose or repeat rows. If Spark detects it, the next epoch is already
logged, and the checkpoint fits neither source. The comparison therefore runs before Spark starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.layout import checkpoint_of, read_record, write_record
from headrace.errors import PlanError, Problem, without_passwords
from headrace.plan.queries import Query, queries_of
from headrace.steps.endpoints.source import Source
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

NAME = "sources.json"
_START_OVER = "start over with --fresh"

MODE = "(modes)"

Record = dict[str, list[str]]
"""The sources of a query in Spark's order with their offset identities, and the execution mode."""


def record_of(graph: Graph, query: Query, *, real_time: bool = False) -> Record:
    """Return the sources of a query of the plan."""
    exchanges = {str(ref): ["rows of another query"] for ref in query.reads}
    sources = {name: _offset_identity(graph, name) for name in query.sources} | exchanges
    # With event time, a query in micro-batches has heartbeat sources, which real-time mode does not have.
    timed = any(isinstance(node, EventTime | ClockTime) for node in graph.upstream(graph[query.output.step]))
    return {MODE: ["real time" if real_time else "micro-batches"] if timed else [], **sources}


def check_sources(graph: Graph, directory: Path, *, real_time: bool = False) -> None:
    """Compare the sources of every query with those of its checkpoint, and store them.

    Raises:
        PlanError: lists each source whose offsets are no longer valid.
    """
    records = {query: record_of(graph, query, real_time=real_time) for query in queries_of(graph)}
    problems: list[Problem] = []
    for query, now in records.items():
        was = read_record(checkpoint_of(directory, query), NAME)
        problems += [] if was is None else source_problems(graph, query, was, now)
    if problems:
        raise PlanError(problems)
    for query, now in records.items():
        write_record(checkpoint_of(directory, query), NAME, now)


def source_problems(graph: Graph, query: Query, was: Record, now: Record) -> list[Problem]:
    """Return the reasons why a query cannot use the offsets stored for its previous sources."""
    where = graph.where(graph[query.output.step])
    was, now = dict(was), dict(now)
    modes = was.pop(MODE, []), now.pop(MODE)
    if all(modes) and modes[0] != modes[1]:
        before, after = modes[0][0], modes[1][0]
        what = f"its checkpoint was written by a run in {before}; a run in {after} cannot resume from it"
        return [Problem(where, what, f"run it as before, or {_START_OVER}")]
    if list(was) != list(now):
        what = f"its checkpoint has the sources {_quote_names(was)}, the plan has {_quote_names(now)}"
        return [Problem(where, what, f"restore the sources and their order to resume, or {_START_OVER}")]
    return [
        Problem(
            graph.where(graph[name]),
            f"its checkpoint has offsets of {_list_parts(lost)}, but it reads {_list_parts(now[name])}",
            f"restore the source to resume, or {_START_OVER}",
        )
        for name in was
        if was[name] != now[name] and (lost := _missing_identity(graph, name, was[name]))
    ]


def _missing_identity(graph: Graph, name: str, was: list[str]) -> list[str]:
    node = graph.nodes.get(name)
    return node.connector.missing_identity(was) if isinstance(node, Source) else []


def _offset_identity(graph: Graph, name: str) -> list[str]:
    node = graph[name]
    return list(node.connector.offset_identity) if isinstance(node, Source) else ["a DataFrame"]


def _list_parts(identity: list[str]) -> str:
    return ", ".join(map(without_passwords, identity))


def _quote_names(names: Record) -> str:
    return ", ".join(f"`{name}`" for name in names)
