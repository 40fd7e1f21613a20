"""Compute the final results of an output: its rows without replaced, retracted and merged ones.

A stream can emit a result several times, a batch emits it once. The final results are the last pane of each
key and window, the last row of each key of a running aggregate, the rows of a table after its changes, and
all rows of other outputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from headrace.joins.declare import TableJoin
from headrace.plan.graph import Graph
from headrace.steps.base import Ref
from headrace.steps.facts import CHANGE
from headrace.steps.rows.event_time import ClockTime
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.tables.latest import Latest
from headrace.steps.tables.retractions import has_retractions
from headrace.testing.transcripts.results.outputs import Output, show
from headrace.triggers import AfterCount, AfterWatermark, Emission, InSequence, Repeatedly
from headrace.windows import Session, Trailing
from headrace.windows.declare import WindowAggregate

PANE = "pane"
_REMOVES = ("update_before", "delete")
_EACH = Repeatedly(AfterCount(1))


def obstacle(graph: Graph, ref: Ref) -> str:
    """Return the reason why an output cannot be compared with a batch; empty if it can."""
    node = graph[ref.step]
    before = graph.upstream(node)
    windows = [step for step in before if isinstance(step, WindowAggregate)]
    reasons = {
        f"a batch has no `{ref.output}`": ref.output in ("late", "dead_letters", "timeouts", "faults"),
        "time by the clock differs from run to run": any(isinstance(step, ClockTime) for step in before),
        "discarding panes are parts of a result": any(step.emission.mode == "discarding" for step in windows),
        "the trigger may lose rows": any(step.emission.allow_loss for step in windows),
        "keys expire": any(
            step.ttl is not None for step in before if isinstance(step, WindowAggregate | Latest)
        ),
        "a row is joined with the table at its arrival": any(
            isinstance(step, TableJoin) and step.moment(graph.facts(step.input)) == "arrival"
            for step in before
        ),
        "the input of an aggregate has retractions": any(
            isinstance(step, Aggregate | WindowAggregate) and has_retractions(graph.facts(step.input))
            for step in before
        ),
        "the trigger may not emit the last rows of a window": not all(
            emits_all(step.emission) for step in windows
        ),
        "another step has processed rows that are replaced later": (
            graph.facts(ref).keyed or graph.facts(ref).change == "refinements"
        )
        and not isinstance(node, Aggregate | WindowAggregate),
        "`pane` depends on the number of firings": node not in windows
        and any(not step.emission.fires_once for step in windows),
        "the column `change` of a table is missing": graph.facts(ref).change == "table"
        and not graph.facts(ref).keyed
        and CHANGE not in (graph.facts(ref).columns or ()),
        "a trailing window with lateness emits rows again": isinstance(node, WindowAggregate)
        and isinstance(node.window, Trailing)
        and not node.emission.fires_once,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def emits_all(emission: Emission) -> bool:
    """Return true if the trigger emits every row of a window.

    >>> from headrace.triggers import after_count, repeatedly
    >>> tens = after_count(10)
    >>> emits_all(Emission.create(early=tens)), emits_all(Emission.create(trigger=repeatedly(tens)))
    (True, False)
    """
    trigger = emission.firing
    if isinstance(trigger, InSequence):
        *before, last = trigger.triggers
        complete = (part == AfterCount(1) or isinstance(part, AfterWatermark) for part in before)
        return last == _EACH and all(complete)
    if isinstance(trigger, AfterWatermark):
        return emission.lateness == 0 or not emission.may_lose
    return trigger == _EACH


def final_rows(graph: Graph, ref: Ref, rows: Iterable[Output]) -> list[Output]:
    """Return the rows of an output in order, without those that later rows replaced."""
    node = graph[ref.step]
    if isinstance(node, Aggregate):
        return list({_identity(row, _names(node.keys)): row for row in rows}.values())
    if isinstance(node, WindowAggregate):
        panes = list(rows) if node.emission.fires_once else _last_panes(node, rows)
        return [{name: value for name, value in row.items() if name != PANE} for row in panes]
    facts = graph.facts(ref)
    return _table_rows(rows) if facts.change == "table" and not facts.keyed else list(rows)


def _table_rows(changes: Iterable[Output]) -> list[Output]:
    """Return the rows of a table after its changes."""
    rows: list[Output] = []
    for change in changes:
        row = {name: value for name, value in change.items() if name != CHANGE}
        same = next((old for old in rows if show(old) == show(row)), None)
        if change[CHANGE] not in _REMOVES:
            rows.append(row)
        elif same is not None:
            rows.remove(same)
    return rows


def _last_panes(node: WindowAggregate, rows: Iterable[Output]) -> list[Output]:
    keys = _names(node.keys)
    is_merged = _contains if isinstance(node.window, Session) else _never
    last: dict[str, Output] = {}
    for row in rows:
        key = _identity(row, keys)
        merged = [
            name
            for name, old in last.items()
            if _identity(old, keys) == key and is_merged(old["window"], row["window"])
        ]
        own = f"{key}\0{_window_identity(row['window'])}"
        for name in [*merged, own]:
            last.pop(name, None)
        if not row[PANE]["retraction"]:
            last[own] = row
    return list(last.values())


def _window_identity(window: Any) -> str:
    """Return the identity of a window: its bounds, or its number if the bounds grow with its rows."""
    return show(window.get("number") if "number" in window else window)


def split_sessions(graph: Graph, ref: Ref, final: Iterable[Output]) -> bool:
    """Return true if two sessions of a key overlap in the final results.

    The first session had expired when a row arrived that is not late for its own session, so that the stream
    could not merge them; a batch merges them.
    """
    node = graph[ref.step]
    if not isinstance(node, WindowAggregate) or not isinstance(node.window, Session):
        return False
    keys = _names(node.keys)
    pairs = combinations(final, 2)
    return any(
        _identity(session, keys) == _identity(other, keys) and _overlap(session["window"], other["window"])
        for session, other in pairs
    )


def _overlap(window: Any, other: Any) -> bool:
    return bool(window["start"] < other["end"] and other["start"] < window["end"])


def _contains(old: Any, new: Any) -> bool:
    """Return true if a session was merged into another."""
    return bool(new["start"] <= old["start"] and old["end"] <= new["end"])


def _never(old: Any, new: Any) -> bool:
    return False


def _names(named: tuple[tuple[str, Any], ...]) -> tuple[str, ...]:
    return tuple(name for name, _ in named)


def _identity(row: Output, names: tuple[str, ...]) -> str:
    return "\0".join(f"{type(row[name]).__name__} {show(row[name])}" for name in names)
