"""Types of columns along a plan, as far as sqlglot derives them, and warnings about text used as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.joins.declare import TwoInputs
from headrace.plan.graph import Graph
from headrace.sql.types import Types, check_query_types, check_types, family_of, type_of
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import Expression, Named
from headrace.steps.facts import output_name
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.traits import Finding
from headrace.windows.declare import WindowAggregate

_KEEPS_TYPES = (Where, Drop, Route, EventTime, ClockTime)


def type_warnings(graph: Graph) -> Iterator[tuple[Node, Finding]]:
    """Yield the places where text is used as a number, with their step.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="kind string, amount int")
    >>> long = tx.with_columns(tail="upper(kind)").where("tail > 5", step_name="long")
    >>> [(node.name, finding.what) for node, finding in type_warnings(tx._pipeline._plan())]
    [('long', '`tail` is text and is compared with a number')]
    """
    types = ColumnTypes(graph)
    for node in graph:
        for key, item, expression in _expressions(node):
            for fault in check_types(expression, types.of(node.inputs[0])):
                place = fault.find(expression)
                yield node, Finding(fault.problem, fault.hint, (key,), item, place)
        if isinstance(node, Sql):
            tables = {table: types.of(ref) for table, ref in node.tables}
            for fault in check_query_types(node.query, tables):
                yield node, Finding(fault.problem, fault.hint, ("sql",), "", fault.find(node.query))
        if isinstance(node, TwoInputs):
            yield from ((node, finding) for finding in _check_keys(node, types))


class ColumnTypes:
    """The types of the columns of each output; a column whose type is unknown is left out."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[Ref, Types] = {}

    def of(self, ref: Ref) -> Types:
        """Return the types of the columns of an output, by name in lower case."""
        if ref not in self._known:
            self._known[ref] = self._derive(self._graph.nodes[ref.step], ref)
        return self._known[ref]

    def _derive(self, node: Node, ref: Ref) -> Types:
        if isinstance(node, Source):
            fields = node.schema.fields if node.schema is not None and not ref.output else ()
            return {field.name.lower(): str(field.type) for field in fields}
        if isinstance(node, Select):
            return _computed(node.columns, self.of(node.input))
        if isinstance(node, WithColumns):
            return _computed(node.columns, self.of(node.input), adds=True)
        if isinstance(node, Aggregate | WindowAggregate) and not ref.output:
            inputs = self.of(node.input)
            return {**_computed(node.keys, inputs), **_computed(node.aggregates, inputs)}
        return self.of(node.inputs[0]) if isinstance(node, _KEEPS_TYPES) else {}


def _computed(columns: Named, inputs: Types, *, adds: bool = False) -> Types:
    """Return the types of computed columns, which replace those of the same names if they are added."""
    types = dict(inputs)
    names = set[str]()
    for name, item in columns:
        column = (name or output_name(item) or "").lower()
        kind = type_of(item, types) if isinstance(item, str) else None
        names.add(column)
        types.pop(column, None)
        if kind is not None:
            types[column] = kind
    return types if adds else {name: kind for name, kind in types.items() if name in names}


def _expressions(node: Node) -> Iterator[tuple[str, str, str]]:
    """Yield the expressions of a step whose columns are those of its input: key, item and text."""
    for key, item, expression in _items(node):
        if isinstance(expression, str):
            yield key, item, expression


def _items(node: Node) -> Iterable[tuple[str, str, Expression]]:
    match node:
        case Where():
            return [("where", "", node.condition)]
        case Select() | WithColumns():
            return [(node.verb, name or str(item), item) for name, item in node.columns]
        case Route():
            return [("route", name, item) for name, item in node.branches]
        case Aggregate() | WindowAggregate():
            return [("aggregate", name, item) for name, item in node.aggregates]
    return []


def _check_keys(node: TwoInputs, types: ColumnTypes) -> Iterator[Finding]:
    left_types, right_types = types.of(node.input), types.of(node.other)
    for left, right in node.key_pairs:
        kinds = (left_types.get(left.lower()), right_types.get(right.lower()))
        if {family_of(kind) for kind in kinds} == {"text", "number"}:
            what = f"the key `{left}` is {kinds[0]} on the left, and `{right}` is {kinds[1]} on the right"
            hint = "give both the same type, such as with_columns of one side"
            yield Finding(what, hint, ("on", "join", "join_as_of", "key_by"), left)
