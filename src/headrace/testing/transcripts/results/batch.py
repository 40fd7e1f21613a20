"""Compare the final results of a stream with a Spark batch over the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.connectors.memory import Memory
from headrace.lowering.dispatch import lower
from headrace.lowering.expressions import drop_hidden, hidden_columns
from headrace.lowering.lowering import Lowering
from headrace.lowering.sources import BatchInputs
from headrace.plan.graph import Graph
from headrace.runtime.virtual_time import NUMBER, Feed, collect, number_rows
from headrace.steps.base import Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.facts import LATE_COLUMNS
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.results.compare import compare
from headrace.testing.transcripts.results.final import final_rows, obstacle, split_sessions
from headrace.testing.transcripts.results.outputs import Output, rows_of
from headrace.testing.transcripts.runs.kernel import KernelRun
from headrace.testing.transcripts.runs.spark import SparkRun
from headrace.testing.transcripts.script import output_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.streams.pipeline import Pipeline

LATE = "late"
HEADING = "the rows of the batch (expected) differ from those of the stream (came)"


class _FedBatch(BatchInputs):
    """Batch sources with all rows that a script has fed."""

    feeds: Mapping[str, Feed] = {}

    def _read(self, node: Source) -> DataFrame:
        return self.feeds[node.name].batch(self.spark)


def late_outputs(case: Case) -> tuple[str, ...]:
    """Return the `.late` outputs of the steps upstream of the expected outputs."""
    refs = [ref for name in case.outputs if (ref := output_of(case.graph, name)) is not None]
    upstream = {step.name for ref in refs for step in case.graph.upstream(case.graph[ref.step])}
    steps = [step for step in case.graph if step.name in upstream and LATE in step.outputs]
    return tuple(str(Ref(step.name, LATE)) for step in steps)


def batch_failures(run: SparkRun | KernelRun, case: Case, late: Sequence[str]) -> list[str]:
    """Return the difference to a batch over all rows of the script except the late ones."""
    if case.rule_steps:  # a batch has only the last rules
        return []
    graph, spark = case.graph, run.session
    inputs = _FedBatch(spark, graph.name)
    inputs.feeds = run.feeds
    rows = {name.rpartition(".")[0]: run.all_rows(name) for name in late}
    lowering = _without_late(Lowering(spark, graph, inputs), rows)
    failures = []
    for name in case.outputs:
        ref = output_of(graph, name)
        if ref is not None and not obstacle(graph, ref):
            stream = final_rows(graph, ref, run.all_rows(name))
            if split_sessions(graph, ref, stream):
                continue
            difference = compare(name, final_rows(graph, ref, _collect(lowering.frame(ref))), stream)
            failures += [f"{HEADING}\n{difference}"] if difference else []
    inputs.close()
    return failures


def stream_equals_batch(pipeline: Pipeline, *, spark: SparkSession | None = None) -> list[str]:
    """Run a pipeline over the present content of its sources as a drained stream and as a batch, and compare.

    The sources must return the same rows when they are read again (files, a seeded generator that ends), in
    an order in which no row is late. Nothing is written to the sinks of the pipeline.

    Returns:
        The difference for each sink, as text; empty if all are equal. Sinks whose results cannot be compared
        (see `headrace.testing.transcripts.results.final.obstacle`) are skipped.

    >>> from headrace import Pipeline, connect
    >>> pipeline = Pipeline("sums")
    >>> rows = [{"card": "a", "amount": 1}] * 3
    >>> tx = pipeline.read("tx", connect.memory(rows=rows), schema="card string, amount int")
    >>> totals = tx.key_by("card").aggregate("totals", total="sum(amount)")
    >>> totals.write("out", connect.memory())
    >>> stream_equals_batch(pipeline)
    []
    """
    from headrace.runtime.options import RunOptions
    from headrace.runtime.run import start
    from headrace.spark.jars import jars_for
    from headrace.spark.session import open_session

    graph = pipeline._plan()
    session = spark or open_session(graph.name, jars=jars_for(graph.connectors))
    memories = {sink.name: Memory() for sink in graph.sinks}
    nodes = {
        node.name: replace(node, connector=memories[node.name], mode=None) if isinstance(node, Sink) else node
        for node in graph
    }
    collecting = Graph(graph.name, nodes, graph.places)
    with tempfile.TemporaryDirectory(prefix="headrace-") as directory:
        start(collecting, RunOptions(until="drained", checkpoint=directory)).wait()
    lowering = Lowering(session, graph, BatchInputs(session, graph.name))
    failures = []
    for sink in graph.sinks:
        if not obstacle(graph, sink.input):
            batch = lowering.frame(sink.input)
            stream = session.createDataFrame(memories[sink.name].contents(), drop_hidden(batch).schema)
            difference = compare(
                sink.name,
                final_rows(graph, sink.input, _collect(batch)),
                final_rows(graph, sink.input, _collect(stream)),
            )
            failures += [str(difference)] if difference else []
    return failures


def _without_late(lowering: Lowering, late: Mapping[str, Sequence[Output]]) -> Lowering:
    """Lower the plan so that each step is computed without its late rows."""
    graph, inputs = lowering.graph, lowering.inputs
    raw: dict[str, DataFrame] = {}
    for node in graph:
        rows = late.get(node.name, ())
        if "late" in node.outputs and rows:
            known = Lowering(lowering.spark, graph, inputs, raw=raw)
            frames = {ref: _subtract(known.frame(ref), rows) for ref in node.inputs}
            raw[node.name] = lower(node, Lowering(lowering.spark, graph, inputs, raw=raw, frames=frames))
    return Lowering(lowering.spark, graph, inputs, raw=raw)


def _subtract(frame: DataFrame, late: Sequence[Output]) -> DataFrame:
    """Return the input of a step without its late rows; each of those removes one row."""
    to_remove = list(late)
    removed: list[str] = []
    numbered = number_rows(frame)
    collected = collect(numbered.drop(*hidden_columns(frame)))
    for row in rows_of(collected.schema, collected.rows):
        match = next((late_row for late_row in to_remove if _is_same(late_row, row)), None)
        if match is not None:
            to_remove.remove(match)
            removed.append(str(row[NUMBER]))
    return numbered.where(f"{NUMBER} not in ({', '.join(removed)})" if removed else "true").drop(NUMBER)


def _is_same(late: Output, row: Output) -> bool:
    """Return true if a late row is this row; its columns of the other input of the step are null."""
    others = (value for name, value in late.items() if name not in row and name not in LATE_COLUMNS)
    own = (name in late and late[name] == value for name, value in row.items() if name != NUMBER)
    return all(own) and not any(value is not None for value in others)


def _collect(frame: DataFrame) -> list[Output]:
    result = collect(drop_hidden(frame))
    return rows_of(result.schema, result.rows)
