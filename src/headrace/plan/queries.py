"""Divide a plan into Spark queries.

A stateful step runs in exactly one query, because copies of it would have separate state, and a query has at
most one, because Spark has one watermark per query. A query has a streaming part, from sources through
stateless steps to at most one stateful step (its `output`), and stateless steps after it, which run on each
micro-batch and feed all sinks of the query in one epoch.

If a query needs the output of another query's stateful step, or of a source that supports one reader, the
first query writes an *exchange* and the second reads it. Results do not depend on the division.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from headrace.plan.graph import Graph
from headrace.steps.base import DEAD_LETTERS, Node, Ref
from headrace.steps.code.functions import WorkerStep
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.patterns.match_rules import FAULTS


@dataclass(frozen=True)
class Query:
    """One Spark query of a pipeline."""

    name: str
    """The name of its stateful step, source or sink, and of its checkpoint."""
    output: Ref
    """The last output of the streaming part; if its step is stateful, all outputs of that step are
    available.
    """
    sinks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    reads: tuple[Ref, ...] = ()
    """Outputs of other queries, read from exchanges."""
    writes: tuple[Ref, ...] = ()
    """Outputs of this query, written to exchanges."""
    dead_letters_of: tuple[str, ...] = ()
    """Sources and functions whose dead letters this query delivers; other queries skip these rows."""
    primary_reader_of: tuple[str, ...] = ()
    """Sources whose dead letters this query counts, and whose offsets it reports to the server."""


@dataclass
class _Draft:
    name: str
    output: Ref
    sinks: list[str] = field(default_factory=list)
    roots: list[Ref] = field(default_factory=list)
    """Outputs at which the streaming part begins: main outputs of sources, and exchanges."""
    writes: list[Ref] = field(default_factory=list)
    dead_letters_of: list[str] = field(default_factory=list)
    primary_reader_of: list[str] = field(default_factory=list)


def queries_of(graph: Graph) -> list[Query]:
    """Return the queries of a plan, each after those whose exchanges it reads."""
    planner = _Planner(graph)
    for node in graph:
        if node.runs_once(graph) and node.name in planner.needed:
            planner.add_stateful(node)
    for sink in graph.sinks:
        planner.add_sink(sink)
    planner.share_single_readers()
    planner.assign_dead_letters()
    planner.assign_exchanges()
    return [_query(graph, draft) for draft in planner.in_order()]


def is_dead_letters(graph: Graph, ref: Ref, reads: Collection[Ref] = ()) -> bool:
    """Return True if rows are dead letters or faults of rules, directly or through stateless steps.

    They are collected on the driver and delivered with the rows of an epoch; those of another query, which
    are read from an exchange (`reads`), are rows like any other.
    """
    return all(
        root not in reads and (root.output == FAULTS or is_collected(graph, root))
        for root in _roots(graph, ref)
    )


def is_collected(graph: Graph, ref: Ref) -> bool:
    """Return True if an output consists of dead letters that are collected on the driver."""
    return ref.output == DEAD_LETTERS and graph[ref.step].collects_dead_letters


class _Planner:
    """Drafts the queries of a plan."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.drafts: dict[str, _Draft] = {}
        self.needed = {node.name for sink in graph.sinks for node in graph.upstream(sink)}
        """The steps that a sink depends on; others do not run."""
        self.dead_letter_sinks: dict[str, list[str]] = {}

    def add_stateful(self, node: Node) -> None:
        roots = [root for ref in node.inputs for root in _roots(self.graph, ref)]
        self.drafts[node.name] = _Draft(node.name, Ref(node.name), roots=_unique(roots))

    def add_sink(self, sink: Sink) -> None:
        roots = _unique(_roots(self.graph, sink.input))
        if len(roots) == 1 and is_collected(self.graph, roots[0]):
            self.dead_letter_sinks.setdefault(roots[0].step, []).append(sink.name)
        else:
            self._draft_for(sink, roots).sinks.append(sink.name)

    def _draft_for(self, sink: Sink, roots: list[Ref]) -> _Draft:
        """Return the query that feeds the sink: that of its stateful step or source, or a separate one."""
        steps = {root.step for root in roots}
        if len(steps) == 1 and not any(is_collected(self.graph, root) for root in roots):
            step = steps.pop()
            return self.drafts[step] if step in self.drafts else self._draft_of_source(step)
        return self.drafts.setdefault(sink.name, _Draft(sink.name, sink.input, roots=roots))

    def _draft_of_source(self, name: str) -> _Draft:
        return self.drafts.setdefault(name, _Draft(name, Ref(name), roots=[Ref(name)]))

    def share_single_readers(self) -> None:
        """Read a source that supports one reader in one query, which writes an exchange for the others."""
        for source in self.graph.of(Source):
            root = Ref(source.name)
            readers = [draft for draft in self.drafts.values() if root in draft.roots]
            if not source.connector.concurrent_readers and len(readers) > 1:
                self._draft_of_source(source.name)

    def assign_dead_letters(self) -> None:
        """Make the first query that reads a source its primary reader, which delivers its dead letters."""
        for node in self.graph:
            if isinstance(node, Source | WorkerStep):
                self._assign_dead_letters_of(node)

    def _assign_dead_letters_of(self, node: Source | WorkerStep) -> None:
        dead_letters = Ref(node.name, DEAD_LETTERS)
        diverts = node.collects_dead_letters and node.on_error == "divert"
        readers = [d for d in self.drafts.values() if self._computes(d, node) and dead_letters not in d.roots]
        routed = node.name in self.dead_letter_sinks or any(
            dead_letters in d.roots for d in self.drafts.values()
        )
        if readers or (diverts and routed):
            owner = self.drafts.get(node.name) or (readers[0] if readers else self._draft_of(node))
            owner.primary_reader_of.append(node.name)
            owner.dead_letters_of += [node.name] if diverts else []
            owner.sinks += self.dead_letter_sinks.get(node.name, [])

    def _computes(self, draft: _Draft, node: Source | WorkerStep) -> bool:
        """Return True if a query reads a source, or calls a function."""
        if isinstance(node, Source):
            return Ref(node.name) in draft.roots
        start = self.graph[draft.output.step]
        todo = [*(start.inputs if start.runs_once(self.graph) else [draft.output])]
        todo += [ref for name in draft.sinks for ref in self.graph[name].inputs]
        while todo:
            ref = todo.pop()
            if ref == Ref(node.name):
                return True
            todo += [] if ref in _roots(self.graph, ref) else self.graph[ref.step].inputs
        return False

    def _draft_of(self, node: Source | WorkerStep) -> _Draft:
        """Return a query for the dead letters of a step whose rows no sink reads."""
        if isinstance(node, Source):
            return self._draft_of_source(node.name)
        roots = _unique(_roots(self.graph, Ref(node.name)))
        if len(roots) == 1 and self.graph[roots[0].step].runs_once(self.graph):
            return self.drafts[roots[0].step]
        return self.drafts.setdefault(node.name, _Draft(node.name, Ref(node.name), roots=roots))

    def assign_exchanges(self) -> None:
        for draft in self.drafts.values():
            for root in draft.roots:
                writer = self.writer(draft, root)
                if writer is not None and root not in writer.writes:
                    writer.writes.append(root)

    def writer(self, reader: _Draft, root: Ref) -> _Draft | None:
        """Return the query whose exchange the reader reads for this output; None if it reads the source."""
        node = self.graph[root.step]
        if is_collected(self.graph, root):
            owner = next(draft for draft in self.drafts.values() if root.step in draft.dead_letters_of)
            return None if owner is reader else owner
        if node.runs_once(self.graph):
            return self.drafts[node.name]
        source_query = self.drafts.get(node.name)
        single_reader = isinstance(node, Source) and not node.connector.concurrent_readers
        return source_query if single_reader and source_query is not reader else None

    def in_order(self) -> list[tuple[_Draft, list[Ref]]]:
        """Return the drafts, each after those it reads from, with the outputs it reads from exchanges."""
        ordered: list[tuple[_Draft, list[Ref]]] = []
        todo = dict(self.drafts)
        while todo:
            for name, draft in list(todo.items()):
                writers = {root: self.writer(draft, root) for root in draft.roots}
                if not any(writer is not None and writer.name in todo for writer in writers.values()):
                    ordered.append((draft, [root for root, writer in writers.items() if writer is not None]))
                    del todo[name]
        return ordered


def _query(graph: Graph, item: tuple[_Draft, list[Ref]]) -> Query:
    draft, reads = item
    output = draft.output
    if not graph[output.step].runs_once(graph) and not draft.writes:
        output = _common_output(graph, draft) or output
    return Query(
        draft.name,
        output,
        tuple(draft.sinks),
        tuple(root.step for root in draft.roots if root not in reads),
        tuple(reads),
        tuple(draft.writes),
        tuple(draft.dead_letters_of),
        tuple(draft.primary_reader_of),
    )


def _common_output(graph: Graph, draft: _Draft) -> Ref | None:
    """Return the output that all sinks of rows read, if it can be part of the stream."""
    inputs = {sink.input for name in draft.sinks if isinstance(sink := graph[name], Sink)}
    of_rows = [ref for ref in inputs if not is_dead_letters(graph, ref)]
    alone = len(draft.sinks) == 1 and not draft.dead_letters_of
    return of_rows[0] if len(of_rows) == 1 and (alone or _row_by_row(graph, of_rows[0])) else None


def _row_by_row(graph: Graph, ref: Ref) -> bool:
    """Return True if all steps since the source process single rows and can be part of the stream."""
    node = graph[ref.step]
    return isinstance(node, Source) or (
        node.row_by_row and all(_row_by_row(graph, before) for before in node.inputs)
    )


def _roots(graph: Graph, ref: Ref) -> list[Ref]:
    """Return the outputs at which the stateless steps before `ref` begin."""
    node = graph[ref.step]
    if node.runs_once(graph) or isinstance(node, Source | FrameSource) or is_collected(graph, ref):
        return [ref]
    return [root for before in node.inputs for root in _roots(graph, before)]


def _unique(refs: list[Ref]) -> list[Ref]:
    return list(dict.fromkeys(refs))
