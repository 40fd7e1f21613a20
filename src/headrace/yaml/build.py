"""From entries that hold references as text to the nodes of a pipeline."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.errors import did_you_mean
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.rows.sql import sql_node
from headrace.steps.rows.union import Union
from headrace.streams.pipeline import Pipeline
from headrace.yaml.faults import Faults, at, fault
from headrace.yaml.order import ordered
from headrace.yaml.parts import Part
from headrace.yaml.sections import Query, SinkEntry, SourceEntry, StepEntry
from headrace.yaml.tree import Scalar


class Builder:
    """Adds entries to a pipeline and remembers what each name of the document stands for.

    A name stands for the last node of its entry: a source's timed stream, the rows after a step's `select`.
    """

    def __init__(self, pipeline: Pipeline, names: Collection[str], faults: Faults) -> None:
        self._pipeline = pipeline
        self._names = names
        self._faults = faults
        self._named: dict[str, Node] = {}
        self._last: dict[str, Ref] = {}

    def sources(self, entries: Mapping[str, SourceEntry]) -> None:
        for name, entry in entries.items():
            ref = self._add(entry.node, entry.where)
            self._named[name] = entry.node
            self._last[name] = self._then(entry.time, ref) if entry.time else ref

    def steps(self, entries: Mapping[str, StepEntry]) -> None:
        order, cycles = ordered({name: _reads(entry) for name, entry in entries.items()})
        for cycle in cycles:
            self._faults.add(
                entries[cycle[0]].where,
                f"these steps read each other in a circle: {' -> '.join(cycle)}",
                "let one of them read something else",
            )
        circular = {name for cycle in cycles for name in cycle}
        for name in order:
            if name not in circular:
                self._faults.attempt(self._step, name, entries[name])

    def sinks(self, entries: Mapping[str, SinkEntry]) -> None:
        for name, entry in entries.items():
            ref = self._faults.attempt(self._resolved, entry.input)
            if ref is not None:
                self._add(Sink(name, ref, entry.connector, entry.mode), entry.where, entry.places)

    def _step(self, name: str, entry: StepEntry) -> None:
        found = [self._resolved(text) for text in entry.inputs]
        inputs = [ref for ref in found if ref is not None]
        if len(inputs) < len(found) or self._waits(entry):
            return  # what it reads has faults of its own, which are told
        chain: list[Part | Query] = [*entry.before, *([entry.middle] if entry.middle else []), *entry.after]
        given = entry.middle or (chain[-1] if chain else None)
        ref = inputs[0] if inputs else Ref("")
        if entry.union:
            ref = self._union(name if given is None else "", inputs, entry)
        for part in chain:
            if isinstance(part, Query):
                ref = self._query(name, part, ref)
            else:
                ref = self._named_part(name, part, ref, entry) if part is given else self._then(part, ref)
        self._last[name] = ref

    def _waits(self, entry: StepEntry) -> bool:
        tables = entry.middle.tables if isinstance(entry.middle, Query) else ()
        return any(table in self._names and table not in self._last for table in tables)

    def _union(self, name: str, inputs: list[Ref], entry: StepEntry) -> Ref:
        made = name or self._unnamed(inputs[0], "union")
        node = Union(made, tuple(inputs))
        self._named[made] = node
        return self._add(node, entry.where if name else entry.union)

    def _named_part(self, name: str, part: Part, ref: Ref, entry: StepEntry) -> Ref:
        """Add the node that has the step's name, at the step's place."""
        self._named[name] = part.make(name, ref)
        return self._add(self._named[name], entry.where, entry.places)

    def _then(self, part: Part, ref: Ref) -> Ref:
        """Add a node without a name, at its own place."""
        made = self._unnamed(ref, part.verb)
        self._named[made] = part.make(made, ref)
        return self._add(self._named[made], part.where)

    def _query(self, name: str, query: Query, ref: Ref) -> Ref:
        for table in query.tables:
            if table not in self._names and not (table == "this" and ref.step):
                what = f"the query reads `{table}`, which is no source or step"
                fault(query.where, what, did_you_mean(table, self._names))
        known = {name: last for name, last in self._last.items() if MAIN in self._named[name].outputs}
        if ref.step:
            known["this"] = ref
        with at(Scalar(query.where, query.text, query.text)):
            node = sql_node(name, query.text, known, where=f"`{name}`")
        self._named[name] = node
        return self._add(node, query.where)

    def _resolved(self, given: Scalar) -> Ref | None:
        """The output that a text refers to; None where that step was left out for its own faults."""
        step, _, output = given.text.strip().partition(".")
        if step not in self._names:
            fault(given.where, f"there is no source or step `{step}`", did_you_mean(step, self._names))
        if step not in self._last:
            return None
        node = self._named[step]
        if output == MAIN and MAIN in node.outputs:
            return self._last[step]
        if output in node.outputs:
            return Ref(step, output)
        outputs = [str(Ref(step, out)) for out in node.outputs]
        renamed = f"`rejects` was renamed: `{step}.dead_letters`" if output == "rejects" else ""
        return fault(
            given.where,
            f"there is no output `{given.text.strip()}`",
            renamed or did_you_mean(given.text.strip(), outputs),
        )

    def _add(self, node: Node, where: str, parts: Mapping[str, str] | None = None) -> Ref:
        return self._pipeline.add(node, place=where, parts=parts)

    def _unnamed(self, after: Ref, verb: str) -> str:
        base, number = self._pipeline.unnamed(after, verb), 1
        name = base
        while name in self._names or name in self._named:  # a document may give such a name itself
            number += 1
            name = f"{base}:{number}"
        return name


def _reads(entry: StepEntry) -> list[str]:
    tables = entry.middle.tables if isinstance(entry.middle, Query) else ()
    return [*(given.text.strip().partition(".")[0] for given in entry.inputs), *tables]
