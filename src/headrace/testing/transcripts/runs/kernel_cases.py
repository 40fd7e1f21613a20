"""Decide whether the in-process driver of the kernel can run a case."""

from __future__ import annotations

import re
from typing import Any

from headrace.analytics.declare import InOrderNode
from headrace.patterns.elements import Element, Where
from headrace.schemas.fields import Schema
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import Named, PythonFold
from headrace.steps.facts import plain_column
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.event_time import EventTime
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.script import Restart, decodes, schema_of
from headrace.windows import Attached
from headrace.windows.declare import WindowAggregate

PLAIN = frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "double", "string"})
"""Types with the same values in scripts, Python and results; other types need Spark and Arrow."""


def runs_in_kernel(case: Case) -> bool:
    """Return true if the in-process driver can run the case.

    A case with a `restart` tests recovery, in which Spark takes part; it needs `through: kernel`.
    """
    steps = [node for node in case.graph if not isinstance(node, Sink)]
    restarts = any(isinstance(line, Restart) for line in case.script)
    if case.through == "spark" or (restarts and case.through != "kernel"):
        return False
    match steps:
        case [Source() as source, EventTime() as time, WindowAggregate() as window]:
            plain = _plain_time(time) and _plain_window(window)
            return not decodes(source) and plain and _folds_here(window, schema_of(source))
        case [Source() as source, EventTime() as time, Match() as pattern]:
            return not restarts and not decodes(source) and _plain_time(time) and _plain_match(pattern)
        case [Source() as source, EventTime() as time, InOrderNode() as step]:
            return not decodes(source) and _plain_time(time) and _columns(step.keys)
        case [Source() as source, EventTime() as time, RowPattern() as query]:
            return not restarts and not decodes(source) and _plain_time(time) and _selects_all(query)
    return False


def _plain_time(node: EventTime) -> bool:
    return node.idle is None and node.watermark_when is None and node.max_ahead is None


def _plain_window(node: WindowAggregate) -> bool:
    return not node.native and _columns(node.keys) and not isinstance(node.window, Attached)


def _plain_match(node: Match) -> bool:
    measures = [item for _, item in node.select or ()]
    return _columns(node.keys) and all(
        isinstance(condition, str) for condition in (*_conditions(node.pattern.elements), *measures)
    )


def _selects_all(node: RowPattern) -> bool:
    """Return true if the query selects the matches unchanged; other queries need Spark."""
    plain = re.fullmatch(r"\s*select\s+\*\s+from\s+\w+\s*", node.rest, re.IGNORECASE)
    return plain is not None and node.input_query is None


def _columns(keys: Named) -> bool:
    return all(plain_column(expression) == name for name, expression in keys)


def _conditions(elements: tuple[Element, ...]) -> list[Any]:
    own = [element.body.condition for element in elements if isinstance(element.body, Where)]
    conditions = [*own, *(element.until for element in elements)]
    inner = [condition for element in elements for part in element.parts for condition in _conditions(part)]
    return [condition for condition in (*conditions, *inner) if condition is not None]


def _folds_here(node: WindowAggregate, schema: Schema) -> bool:
    """Return true if all Python aggregates of a step can be evaluated without Spark."""
    return all(_folds_plainly(item, schema) for _, item in node.aggregates if isinstance(item, PythonFold))


def _folds_plainly(item: PythonFold, schema: Schema) -> bool:
    columns = [plain_column(argument) for argument in item.aggregate.of]
    known = [str(schema[name].type) for name in columns if name is not None and name in schema]
    return len(known) == len(columns) and {*known, item.aggregate.returns} <= PLAIN
