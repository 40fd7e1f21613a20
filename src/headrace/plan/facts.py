"""What is known of an output before Spark is asked: its columns, whether it has time, whether rows are ever replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from headrace.plan.graph import Graph
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.expressions import Named
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import FAULTS, MatchRules
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.lookup import Lookup
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.triggers import asks_clock
from headrace.windows import Trailing

Columns = tuple[str, ...] | None
Change = Literal["none", "updates", "refinements"]

FAULT_COLUMNS = ("rule", "version", "reason", "hint", "place", "read_at")
RULE_COLUMNS = ("rule", "version", "start", "end")
LATE_COLUMNS = ("late_by", "window", "watermark", "reason")
DEAD_LETTER_COLUMNS = ("raw", "reason", "field", "source", "partition", "position", "read_at")
_SAME_ORDER = re.compile(
    r"\s*(?:timestamp_(?:seconds|millis|micros)|timestamp)\(\s*(\w+)\s*\)\s*"
    r"|\s*cast\(\s*(\w+)\s+as\s+timestamp\s*\)\s*",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"`([^`]+)`|([A-Za-z_]\w*)")
_ALIASED = re.compile(r".*\sas\s+(?:`([^`]+)`|([A-Za-z_]\w*))\s*", re.IGNORECASE | re.DOTALL)


def columns_of(graph: Graph, ref: Ref) -> Columns:
    """The names of an output's columns, or None where only Spark can tell."""
    node = graph[ref.step]
    if ref.output == "dead_letters":
        return DEAD_LETTER_COLUMNS
    if ref.output == FAULTS:
        return FAULT_COLUMNS
    if ref.output == "late":
        before = (
            searched_columns(graph, node)
            if isinstance(node, RowPattern)
            else columns_of(graph, node.inputs[0])
        )
        return None if before is None else late_columns(before)
    if ref.output == "timeouts" and isinstance(node, Match):
        return (*_names(node.keys), *node.pattern.names)
    if ref.output == "timeouts" and isinstance(node, MatchRules):
        return (*_names(node.keys), *RULE_COLUMNS, "matched")
    return _COLUMNS[type(node)](graph, node) if type(node) in _COLUMNS else None


def late_columns(before: Sequence[str]) -> tuple[str, ...]:
    """The columns of `late`: the input's, then what is said of a late row. An input's column of such a name gives way.

    >>> late_columns(["card", "window"])
    ('card', 'input_window', 'late_by', 'window', 'watermark', 'reason')
    """
    taken = {*before, *LATE_COLUMNS}
    kept = []
    for name in before:
        free = name
        while name in LATE_COLUMNS and free in taken:
            free = f"input_{free}"
        taken.add(free)
        kept.append(free)
    return (*kept, *LATE_COLUMNS)


def is_timed(graph: Graph, ref: Ref) -> bool:
    """Whether rows of this output have a time: event, ingestion or processing."""
    node = graph[ref.step]
    if ref.output in ("dead_letters", "late", FAULTS) or isinstance(
        node, Source | FrameSource | Aggregate | Sql | RowPattern
    ):
        return False
    if isinstance(node, EventTime | ClockTime | WindowAggregate | Match | MatchRules):
        return True
    return all(is_timed(graph, before) for before in node.inputs)


def by_clock(graph: Graph, ref: Ref) -> bool:
    """Whether the time of these rows is a clock's, so that the clock is their watermark."""
    node = graph[ref.step]
    if isinstance(node, EventTime | WindowAggregate | Match | MatchRules | RowPattern):
        return False
    return isinstance(node, ClockTime) or any(by_clock(graph, before) for before in node.inputs)


def lives_by_clock(graph: Graph, node: Node) -> bool:
    """Whether a step fires by processing time: its rows' time is a clock's, or a trigger of it is."""
    if isinstance(node, Match | MatchRules | RowPattern):
        return by_clock(graph, node.input)
    if not isinstance(node, WindowAggregate) or node.emission.late_rows == "count":
        return False
    return by_clock(graph, node.input) or asks_clock(node.emission.trigger)


def delay_of(graph: Graph, ref: Ref) -> int:
    """How far the watermark stays behind the time of these rows, in microseconds. Panes come when it has passed."""
    node = graph[ref.step]
    if isinstance(node, EventTime):
        return node.out_of_order
    if isinstance(node, WindowAggregate | ClockTime | Match | MatchRules):
        return 0
    return max((delay_of(graph, before) for before in node.inputs), default=0)


def hold_of(graph: Graph, ref: Ref) -> int:
    """How long after its own time a row of this output may come, in microseconds.

    An absence is known when its time is up, and with a skip a match waits for those that began before it.
    """
    node = graph[ref.step]
    if isinstance(node, Match) and not ref.output:
        waits = node.skip.kind != "none" or node.pattern.elements[-1].negated
        return (node.within.whole or node.within.between or 0) if waits else 0
    if isinstance(node, MatchRules) and not ref.output:
        return node.longest or 0
    return max((hold_of(graph, before) for before in node.inputs), default=0) if not node.stateful else 0


def time_column(graph: Graph, ref: Ref) -> str | None:
    """The column that holds the time of these rows under their present names, or None if none does."""
    node = graph[ref.step]
    if isinstance(node, EventTime | ClockTime):
        return node.column
    if ref.output in ("late", "dead_letters", FAULTS) or isinstance(node, WindowAggregate) or not node.inputs:
        return None
    before = {time_column(graph, given) for given in node.inputs}
    column = before.pop() if len(before) == 1 else None
    if isinstance(node, Select) and column is not None:
        return next((name or _named(item) for name, item in node.columns if _source_of(item) == column), None)
    return column


def time_columns(graph: Graph, ref: Ref) -> tuple[str, ...]:
    """The columns in whose order rows are when they are in the order of their time.

    That of time first; then one that it was made of without a change of order, as in `timestamp_seconds(id)`.
    """
    column = time_column(graph, ref)
    if column is None:
        return ()
    made = [
        found.group(1) or found.group(2)
        for node in graph.upstream(graph[ref.step])
        if isinstance(node, WithColumns)
        for name, item in node.columns
        if name.lower() == column.lower() and isinstance(item, str) and (found := _SAME_ORDER.fullmatch(item))
    ]
    return (column, *made)


def searched_columns(graph: Graph, node: RowPattern) -> tuple[str, ...] | None:
    """The columns of the rows that a row pattern is over, or None if they are not known."""
    columns = columns_of(graph, node.input)
    if columns is None or node.input_query is None:
        return columns
    return tuple(name for name, _ in node.input_query.outputs(columns))


def searched_order(graph: Graph, node: RowPattern) -> tuple[str, ...]:
    """The columns in whose order the rows are that a row pattern is over."""
    known = time_columns(graph, node.input)
    if node.input_query is None:
        return known
    same = {name.lower() for name in known}
    chosen = node.input_query.outputs(columns_of(graph, node.input) or known)
    return tuple(name for name, source in chosen if source is not None and source.lower() in same)


def _source_of(item: object) -> str | None:
    """The column that an item of a select takes over, whatever it calls it."""
    text = item if isinstance(item, str) else ""
    return plain_column(re.sub(r"\sas\s+\S+\s*$", "", text, flags=re.IGNORECASE))


def change_of(graph: Graph, ref: Ref) -> Change:
    """Whether a later row of this output can replace an earlier one, and how.

    `updates` come from running aggregates (the same key again), `refinements` from windows that fire more than once.
    """
    node = graph[ref.step]
    if ref.output in ("dead_letters", "late", FAULTS):
        return "none"
    if isinstance(node, Aggregate) or (isinstance(node, Sql) and node.groups):
        return "updates"
    if isinstance(node, Match | MatchRules):
        return "none"
    if isinstance(node, WindowAggregate):
        return "none" if node.emission.fires_once else "refinements"
    found = {change_of(graph, before) for before in node.inputs}
    return next((kind for kind in ("updates", "refinements") if kind in found), "none")


def plain_column(expression: object) -> str | None:
    """The column that an expression names, if it is nothing but a name.

    >>> plain_column("card"), plain_column("lower(card)")
    ('card', None)
    """
    found = _PLAIN.fullmatch(expression.strip()) if isinstance(expression, str) else None
    return (found.group(1) or found.group(2)) if found else None


def _select(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, Select)
    names = [name or _named(item) for name, item in node.columns]
    return None if None in names else tuple(name for name in names if name is not None)


def _named(item: object) -> str | None:
    aliased = _ALIASED.fullmatch(item) if isinstance(item, str) else None
    return (aliased.group(1) or aliased.group(2)) if aliased else plain_column(item)


def _extended(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, WithColumns | ClockTime)
    before = columns_of(graph, node.input)
    added = [node.column] if isinstance(node, ClockTime) else [name for name, _ in node.columns]
    return None if before is None else (*before, *(name for name in added if name not in before))


def _dropped(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, Drop)
    before = columns_of(graph, node.input)
    return None if before is None else tuple(name for name in before if name not in node.columns)


def _looked_up(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, Lookup)
    before = columns_of(graph, node.input)
    if before is None or node.schema is None:
        return None
    return (*before, *(name for name in node.schema.names if name not in node.on))


def _source(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, Source)
    return None if node.schema is None else (*node.schema.names, *node.connector.metadata_columns)


def _grouped(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, Aggregate | WindowAggregate)
    keys, values = _names(node.keys), _names(node.aggregates)
    if isinstance(node, Aggregate):
        return (*keys, *values)
    results = ("window", *values, "pane")
    if not isinstance(node.window, Trailing):
        return (*keys, *results)
    before = columns_of(graph, node.input)  # a trailing window gives each row back, with its results
    if before is None:
        return None
    carried = (*(name for name in keys if name not in before), *before)
    return (*(name for name in carried if name not in results), *results)


def _matched(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, Match)
    values = node.pattern.names if node.select is None else _names(node.select)
    return (*_names(node.keys), *values)


def _by_rules(graph: Graph, node: Node) -> Columns:
    assert isinstance(node, MatchRules)
    values = ("matched",) if node.measures is None else node.measures.names
    return (*_names(node.keys), *RULE_COLUMNS, *values)


def _same(graph: Graph, node: Node) -> Columns:
    return columns_of(graph, node.inputs[0])


def _united(graph: Graph, node: Node) -> Columns:
    parts = [columns_of(graph, ref) for ref in node.inputs]
    return None if None in parts else tuple(dict.fromkeys(name for part in parts for name in part or ()))


def _names(named: Named) -> tuple[str, ...]:
    return tuple(name for name, _ in named)


_COLUMNS: dict[type[Node], Callable[[Graph, Node], Columns]] = {
    Source: _source,
    EventTime: _same,
    ClockTime: _extended,
    Where: _same,
    Route: _same,
    Distinct: _same,
    Select: _select,
    WithColumns: _extended,
    Drop: _dropped,
    Union: _united,
    Lookup: _looked_up,
    Aggregate: _grouped,
    WindowAggregate: _grouped,
    Match: _matched,
    MatchRules: _by_rules,
}
