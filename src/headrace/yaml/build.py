"""Build a plan from the entries of a document, and resolve their references."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from headrace.errors import DocumentError, did_you_mean
from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref, generate_name
from headrace.steps.endpoints.sink import SinkModel
from headrace.steps.endpoints.source import SourceModel
from headrace.steps.grammar.step import Inputs, StepKeys
from headrace.steps.rows.sql import SqlModel
from headrace.yaml.entries import Entry, read_step
from headrace.yaml.errors import ErrorCollector, locate_errors, raise_problem
from headrace.yaml.positions import Scalar, Value


class PlanBuilder:
    """Adds entries to a plan, and maps each name of the document to the last node of its entry."""

    def __init__(self, names: Collection[str], errors: ErrorCollector, known: Graph | None = None) -> None:
        nodes = {} if known is None else known.nodes
        self._names = names
        self._errors = errors
        self._nodes: dict[str, Node] = dict(nodes)
        self._places: dict[str, str] = {}
        self._last: dict[str, Ref] = {name: Ref(name) for name, node in nodes.items() if node.outputs}

    def graph(self, name: str) -> Graph:
        """Return the plan."""
        return Graph(name, self._nodes, self._places)

    def add_sources(self, entries: Mapping[str, Entry]) -> None:
        """Add the sources, each with its time."""
        for name, entry in entries.items():
            self._errors.attempt(self._add_source, name, entry)

    def add_steps(self, entries: Mapping[str, Entry]) -> None:
        """Add the steps, each after those that it reads."""
        order, cycles = sort_by_inputs({name: list(_references(entry)) for name, entry in entries.items()})
        for cycle in cycles:
            what = f"the steps form a cycle: {' -> '.join(cycle)}"
            self._errors.add(entries[cycle[0]].where, what, "let one of them read another stream")
        in_cycles = {name for cycle in cycles for name in cycle}
        for name in order:
            if name not in in_cycles:
                self._errors.attempt(self._add_step, name, entries[name])

    def add_sinks(self, entries: Mapping[str, Entry]) -> None:
        """Add the sinks."""
        for name, entry in entries.items():
            ref = self._errors.attempt(self._resolve, entry.inputs[0])
            if ref is not None and isinstance(entry.endpoint, SinkModel):
                self._add(entry.endpoint.build(name, ref), entry.where, entry.places)

    def _add_source(self, name: str, entry: Entry) -> None:
        assert isinstance(entry.endpoint, SourceModel)
        with locate_errors(entry.where):
            ref = self._add(entry.endpoint.build(name), entry.where)
        for time in entry.steps:
            node = time.build(self._generate_name(ref, time.key), Inputs((ref,)))
            ref = self._add(node, entry.places[time.key])
        self._last[name] = ref

    def _add_step(self, name: str, entry: Entry) -> None:
        inputs = [self._resolve(reference) for reference in entry.inputs]
        refs = tuple(ref for ref in inputs if ref is not None)
        other = self._resolve(entry.other) if entry.other is not None else None
        if entry.other is not None and other is None:
            return  # its errors are reported
        tables = set(entry.sql.tables) & set(self._names) if entry.sql is not None else ()
        if len(refs) < len(inputs) or any(t not in self._last for t in tables):
            return  # the errors of an input are reported
        for step in entry.steps:
            is_main = step is entry.main_step
            step_name = name if is_main else self._generate_name(refs[0], step.key)
            step_inputs = (*refs, other) if step.other_key and other is not None else refs
            node = self._build(step_name, step, step_inputs, entry.places[step.key])
            at_key = isinstance(step, SqlModel) or not is_main
            place = entry.places[step.key] if at_key else entry.where
            refs = (self._add(node, place, entry.places if is_main else None),)
        self._last[name] = refs[0]

    def _build(self, name: str, step: StepKeys, refs: tuple[Ref, ...], place: str) -> Node:
        tables = {name: ref for name, ref in self._last.items() if MAIN in self._nodes[name].outputs}
        if refs:
            tables["this"] = refs[0]
        if not isinstance(step, SqlModel):
            with locate_errors(place):
                return step.build(name, Inputs(refs, tables))
        for table in () if step.is_foreign else step.tables:
            if table not in tables:
                what = f"the query reads an unknown source or step `{table}`"
                raise_problem(place, what, did_you_mean(table, self._names))
        return self._build_query(name, step, tables, place)

    def _build_query(self, name: str, step: SqlModel, tables: Mapping[str, Ref], place: str) -> Node:
        """Add the steps of a query, and return the last one."""
        from headrace.statements.query_steps import step_nodes

        graph = Graph(name, self._nodes)
        try:
            *first, last = step_nodes(graph, name, step.query, tables, where="query", read=read_steps)
        except DocumentError as error:
            problem = error.problems[0]
            _, line, column = problem.where.split(":")
            raise_problem(place, f"{problem.what}, at line {line}, column {column}", problem.hint)
        for inner in first:
            self._add(inner, place)
        return last

    def _resolve(self, reference: Scalar) -> Ref | None:
        """Return the output that a text refers to; None if the step was omitted because of errors."""
        text = reference.text.strip()
        step, _, output = text.partition(".")
        if step not in self._names:
            raise_problem(
                reference.where, f"unknown source or step `{step}`", did_you_mean(step, self._names)
            )
        if step not in self._last:
            return None
        outputs = self._nodes[step].outputs
        if output not in outputs:
            known = [str(Ref(step, name)) for name in outputs]
            raise_problem(reference.where, f"unknown output `{text}`", did_you_mean(text, known))
        return self._last[step] if output == MAIN else Ref(step, output)

    def _add(self, node: Node, place: str, places: Mapping[str, str] | None = None) -> Ref:
        self._nodes[node.name] = node
        self._places[node.name] = place
        self._places |= {f"{node.name}/{key}": where for key, where in (places or {}).items()}
        return Ref(node.name, node.outputs[0] if node.outputs else MAIN)

    def _generate_name(self, after: Ref, key: str) -> str:
        return generate_name(after, key, {*self._names, *self._nodes})


def read_steps(graph: Graph, steps: Mapping[str, tuple[str, Value]], *, checked: bool = True) -> list[Node]:
    """Return the nodes of entries that read the outputs of a plan, in the order of the data flow.

    Args:
        graph: the plan.
        steps: the entries by name, each with its place.
        checked: False to leave out invalid entries.

    Raises:
        DocumentError: an entry is invalid.
    """
    errors = ErrorCollector()
    entries = {name: errors.attempt(read_step, name, where, value) for name, (where, value) in steps.items()}
    builder = PlanBuilder({*graph.nodes, *steps}, errors, graph)
    builder.add_steps({name: entry for name, entry in entries.items() if entry is not None})
    if checked:
        errors.raise_any()
    return [node for node in builder.graph(graph.name) if node.name not in graph.nodes]


def _references(entry: Entry) -> Iterator[str]:
    others = () if entry.other is None else (entry.other,)
    yield from (reference.text.strip().partition(".")[0] for reference in (*entry.inputs, *others))
    yield from entry.sql.tables if entry.sql is not None else ()  # those that are no entries are ignored


def sort_by_inputs(reads: Mapping[str, list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the names, each after those that it reads, and the cycles.

    A cycle begins and ends with the same name. Names that are not among the keys are ignored.

    >>> sort_by_inputs({"totals": ["big"], "big": ["tx"]})
    (['big', 'totals'], [])
    >>> sort_by_inputs({"a": ["b"], "b": ["a"]})[1]
    [['a', 'b', 'a']]
    """
    order: list[str] = []
    cycles: list[list[str]] = []

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            cycles.append([*path[path.index(name) :], name])
        elif name in reads and name not in order:
            for other in reads[name]:
                visit(other, [*path, name])
            if name not in order:
                order.append(name)

    for name in reads:
        visit(name, [])
    return order, cycles
