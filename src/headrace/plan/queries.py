"""Division of a plan into Spark queries.

A stateful step runs in exactly one query, regardless of the number of its sinks, and a query has at most one: two copies
of a step would have separate state, and Spark has one watermark per query. A query therefore has a streaming part, from
sources through stateless steps to at most one stateful step (its `output`), and the stateless steps after it, which run
on each micro-batch and feed every sink of the query in one epoch.

Where a query needs the rows of another query's stateful step, or a source can't be read twice, the first query writes an
*exchange* and the second reads it. Results do not depend on the division.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.plan.graph import Graph
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.patterns.match_rules import FAULTS
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns

DEAD_LETTERS = "dead_letters"


@dataclass(frozen=True)
class Query:
    """One Spark query of a pipeline."""

    name: str
    """The name of its stateful step, source or sink, and of its checkpoint."""
    output: Ref
    """The last output of the streaming part; if its step is stateful, all outputs of that step are available."""
    sinks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    reads: tuple[Ref, ...] = ()
    """Outputs of other queries, read from exchanges."""
    writes: tuple[Ref, ...] = ()
    """Outputs of this query, written to exchanges."""
    dead_letters_of: tuple[str, ...] = ()
    """Sources whose dead letters this query delivers; other queries that read them skip what doesn't decode."""
    primary_reader_of: tuple[str, ...] = ()
    """Sources for which this query, and no other reader, counts dead letters and reports offsets to the server."""


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
    """The queries of a plan, each after those whose logs it reads."""
    cutter = _Cutter(graph)
    for node in graph:
        if node.stateful and cutter.wanted(node):
            cutter.stateful(node)
    for sink in graph.sinks:
        cutter.sink(sink)
    cutter.read_once()
    cutter.assign_dead_letters()
    cutter.assign_logs()
    return [_finished(graph, draft) for draft in cutter.in_order()]


def made_of_dead_letters(graph: Graph, ref: Ref) -> bool:
    """Whether rows are records that didn't decode, or faults of rules, whatever stateless steps they went through since.

    These come beside the rows of an epoch, not out of them.
    """
    return all(root.output in (DEAD_LETTERS, FAULTS) for root in _Cutter(graph).roots(ref))


class _Cutter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.drafts: dict[str, _Draft] = {}
        self.needed = {node.name for sink in graph.sinks for node in graph.upstream(sink)}
        self.dead_letter_sinks: dict[str, list[str]] = {}

    def wanted(self, node: Node) -> bool:
        """Whether a sink depends on the step; what nobody reads isn't run."""
        return node.name in self.needed

    def stateful(self, node: Node) -> None:
        roots = [root for ref in node.inputs for root in self.roots(ref)]
        self.drafts[node.name] = _Draft(node.name, Ref(node.name), roots=_unique(roots))

    def sink(self, sink: Sink) -> None:
        roots = _unique(self.roots(sink.input))
        if len(roots) == 1 and roots[0].output == DEAD_LETTERS:
            self.dead_letter_sinks.setdefault(roots[0].step, []).append(sink.name)
        else:
            self._home(sink, roots).sinks.append(sink.name)

    def roots(self, ref: Ref) -> list[Ref]:
        """The outputs at which the stateless steps before `ref` begin."""
        node = self.graph[ref.step]
        if node.stateful or isinstance(node, Source | FrameSource):
            return [ref]
        return [root for before in node.inputs for root in self.roots(before)]

    def _home(self, sink: Sink, roots: list[Ref]) -> _Draft:
        """The query that feeds the sink: its stateful step's, its source's, or one of its own."""
        steps = {root.step for root in roots}
        if len(steps) == 1 and not any(root.output == DEAD_LETTERS for root in roots):
            step = steps.pop()
            return self.drafts[step] if self.graph[step].stateful else self._of_source(step)
        return self.drafts.setdefault(sink.name, _Draft(sink.name, sink.input, roots=roots))

    def _of_source(self, name: str) -> _Draft:
        return self.drafts.setdefault(name, _Draft(name, Ref(name), roots=[Ref(name)]))

    def read_once(self) -> None:
        """A source that takes one reader is read by one query only, into a log the others read."""
        for source in self.graph.of(Source):
            root = Ref(source.name)
            readers = [draft for draft in self.drafts.values() if root in draft.roots]
            if not source.connector.concurrent_readers and len(readers) > 1:
                self._of_source(source.name)

    def assign_dead_letters(self) -> None:
        """The first query that reads a source is its primary reader, delivers its dead letters, and gets the sinks of them."""
        for source in self.graph.of(Source):
            dead_letters, main = Ref(source.name, DEAD_LETTERS), Ref(source.name)
            diverts = DEAD_LETTERS in source.outputs and source.on_error == "divert"
            readers = [d for d in self.drafts.values() if main in d.roots and dead_letters not in d.roots]
            asked = source.name in self.dead_letter_sinks or any(
                dead_letters in d.roots for d in self.drafts.values()
            )
            if readers or (diverts and asked):
                owner = self.drafts.get(source.name) or (
                    readers[0] if readers else self._of_source(source.name)
                )
                owner.primary_reader_of.append(source.name)
                owner.dead_letters_of += [source.name] if diverts else []
                owner.sinks += self.dead_letter_sinks.get(source.name, [])

    def assign_logs(self) -> None:
        for draft in self.drafts.values():
            for root in draft.roots:
                giver = self.giver(draft, root)
                if giver is not None and root not in giver.writes:
                    giver.writes.append(root)

    def giver(self, reader: _Draft, root: Ref) -> _Draft | None:
        """The query whose log the reader takes this output from, or None if it reads the source itself."""
        node = self.graph[root.step]
        if root.output == DEAD_LETTERS:
            owner = next(draft for draft in self.drafts.values() if root.step in draft.dead_letters_of)
            return None if owner is reader else owner
        if node.stateful:
            return self.drafts[node.name]
        source_query = self.drafts.get(node.name)
        alone = isinstance(node, Source) and not node.connector.concurrent_readers
        return source_query if alone and source_query is not reader else None

    def in_order(self) -> list[tuple[_Draft, list[Ref]]]:
        """The drafts, each after those it reads from, with the outputs it reads through logs."""
        ordered: list[tuple[_Draft, list[Ref]]] = []
        todo = dict(self.drafts)
        while todo:
            for name, draft in list(todo.items()):
                givers = {root: self.giver(draft, root) for root in draft.roots}
                if not any(giver is not None and giver.name in todo for giver in givers.values()):
                    ordered.append((draft, [root for root, giver in givers.items() if giver is not None]))
                    del todo[name]
        return ordered


def _finished(graph: Graph, item: tuple[_Draft, list[Ref]]) -> Query:
    draft, logs = item
    output = draft.output
    if not graph[output.step].stateful and not draft.writes:
        output = _common(graph, draft) or output
    return Query(
        draft.name,
        output,
        tuple(draft.sinks),
        tuple(root.step for root in draft.roots if root not in logs),
        tuple(logs),
        tuple(draft.writes),
        tuple(draft.dead_letters_of),
        tuple(draft.primary_reader_of),
    )


def _common(graph: Graph, draft: _Draft) -> Ref | None:
    """Return the output that all sinks of rows share, if no other sink needs the rows before it."""
    inputs = {sink.input for name in draft.sinks if isinstance(sink := graph[name], Sink)}
    of_rows = [ref for ref in inputs if not made_of_dead_letters(graph, ref)]
    alone = len(draft.sinks) == 1 and not draft.dead_letters_of
    return of_rows[0] if len(of_rows) == 1 and (alone or _row_by_row(graph, of_rows[0])) else None


def _row_by_row(graph: Graph, ref: Ref) -> bool:
    """Whether all steps since the source look at one row at a time, so that a stream of them is as good as batches."""
    node = graph[ref.step]
    return isinstance(node, Source) or (
        isinstance(node, Where | Select | WithColumns | Drop) and _row_by_row(graph, node.input)
    )


def _unique(refs: list[Ref]) -> list[Ref]:
    return list(dict.fromkeys(refs))
