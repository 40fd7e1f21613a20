"""Lower a plan to DataFrames.

`Lowering` builds frames recursively from given ones (sources, exchanges, or a micro-batch) and caches them;
`nodes` has a function per kind of node, and `outputs` selects one of several outputs. Streams and
batches are lowered in the same way: `StreamInputs` and `BatchInputs` determine how a source is read.

Columns that start with `__` are hidden: every `select` keeps them, and they are removed before a sink or a
SQL query reads the rows. They are `__ts` (event time), `__position` (arrival order), `__route`, and for steps
with several outputs `__output` with one struct for each (`__main`, `__late`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import PlanError, Problem
from headrace.lowering.code.functions import keep_succeeded, select_failed
from headrace.lowering.counts import Counts
from headrace.lowering.dispatch import load_lowering, lower, select_output
from headrace.lowering.patterns.rules import RuleStep
from headrace.lowering.tables.changes import as_changes
from headrace.spark.errors import describe_error
from headrace.steps.base import Node, Ref
from headrace.steps.code.functions import WorkerStep

if TYPE_CHECKING:
    from headrace.lowering.sources import StreamInputs
    from headrace.plan.graph import Graph

OnOutput = Callable[[Ref, DataFrame], DataFrame]
"""Called with every output and its frame; returns the frame that is used in its place."""


def keep_frame(ref: Ref, frame: DataFrame) -> DataFrame:
    """Return the frame of an output unchanged."""
    return frame


class Lowering:
    """The DataFrames of one plan, built on demand."""

    def __init__(
        self,
        spark: SparkSession,
        graph: Graph,
        inputs: StreamInputs,
        *,
        raw: Mapping[str, DataFrame] | None = None,
        frames: Mapping[Ref, DataFrame] | None = None,
        on_output: OnOutput = keep_frame,
    ) -> None:
        """Lower a plan.

        Args:
            spark: the session.
            graph: the plan.
            inputs: reads the sources and tables.
            raw: known frames by step, each with all outputs of the step.
            frames: known frames by output, such as exchanges and the rows of a micro-batch.
            on_output: called with the frame of every other output.
        """
        self.spark = spark
        self.graph = graph
        self.inputs = inputs
        self.counts: dict[str, Counts] = {}
        """The row counters of each stateful step of the kernel."""
        self.rules: dict[str, RuleStep] = {}
        """The steps that read their patterns from a table."""
        self._shared: set[str] = set()
        """The functions whose results are persisted, because an epoch reads them several times."""
        self._persisted: list[DataFrame] = []
        self.sets_event_time = True
        """False below a step that sets the time of a clock: Spark accepts one watermark in a query."""
        self._raw = dict(raw or {})
        self._frames = dict(frames or {})
        self._known = (dict(self._raw), dict(self._frames))
        self._on_output = on_output

    def with_frames(self, frames: Mapping[Ref, DataFrame]) -> Lowering:
        """Return a copy with the frames of more outputs."""
        known = {**self._frames, **{ref: self._on_output(ref, frame) for ref, frame in frames.items()}}
        other = Lowering(
            self.spark, self.graph, self.inputs, raw=self._raw, frames=known, on_output=self._on_output
        )
        other._shared, other._persisted = self._shared, self._persisted
        return other

    def without_event_time(self) -> Lowering:
        """Return a copy whose rows have event time as an ordinary column."""
        raw, frames = self._known
        other = Lowering(
            self.spark, self.graph, self.inputs, raw=raw, frames=frames, on_output=self._on_output
        )
        other._shared, other._persisted = self._shared, self._persisted
        other.sets_event_time = False
        return other

    def frame(self, ref: Ref) -> DataFrame:
        """Return the rows of one output, hidden columns included."""
        if ref not in self._frames:
            frame = self._named(ref.step, lambda: self._output(self.graph[ref.step], ref))
            self._frames[ref] = self._on_output(ref, frame)
        return self._frames[ref]

    def _output(self, node: Node, ref: Ref) -> DataFrame:
        raw = self.raw(ref.step)
        if not isinstance(node, WorkerStep):
            load_lowering(type(node))
            return select_output(node, ref, raw)
        rows = self.frame(node.input)
        if ref.output:
            return select_failed(raw, rows)
        return keep_succeeded(raw, self.inputs.failures(node, rows))

    def count(self, node: Node) -> Counts:
        """Create the row counters of a stateful step."""
        self.counts[node.name] = counts = Counts(self.spark)
        return counts

    def changes(self, ref: Ref) -> DataFrame:
        """Return the rows of one output as a changelog, if its panes can retract earlier ones."""
        return as_changes(self.frame(ref))

    def is_lowered(self, ref: Ref) -> bool:
        """Return True if the frame of an output exists."""
        return ref in self._frames

    def raw(self, step: str) -> DataFrame:
        """Return the frame of a step with all its outputs."""
        if step not in self._raw:
            load_lowering(type(self.graph[step]))
            frame = self._named(step, lambda: lower(self.graph[step], self))
            self._raw[step] = self._persist(frame) if step in self._shared else frame
        return self._raw[step]

    def share(self, outputs: Iterable[Ref], functions: Collection[Ref]) -> None:
        """Persist the functions that an epoch would call again for another of its outputs.

        Functions that no output reads are read once, for their dead letters.
        """
        readers = Counter(ref.step for ref in outputs)
        for node in reversed(list(self.graph)):  # after the steps that read it
            if not readers[node.name] and Ref(node.name) in functions:
                readers[node.name] = 1
            if readers[node.name] > 1 and isinstance(node, WorkerStep):
                self._shared.add(node.name)
            times = 1 if node.name in self._shared else readers[node.name]
            for ref in node.inputs:
                readers[ref.step] += times

    def _persist(self, frame: DataFrame) -> DataFrame:
        """Persist the rows of an epoch, so that user code is called once per row even with several sinks."""
        self._persisted.append(frame.persist())
        return frame

    def release(self) -> None:
        """Unpersist the rows of an epoch."""
        for frame in self._persisted:
            frame.unpersist()

    def _named(self, step: str, build: Callable[[], DataFrame]) -> DataFrame:
        """Build a frame; raise errors of Spark's analyzer with the location of the step."""
        where = self.graph.where(self.graph[step])
        try:
            return build()
        except PlanError as error:
            if not any(problem.where == f"`{step}`" for problem in error.problems):
                raise
            # A problem raised without the graph has only the name of the step; add its location.
            raise PlanError([Problem(where, each.what, each.hint) for each in error.problems]) from None
        except (AnalysisException, ParseException) as error:
            what, hint = describe_error(error)
            raise PlanError([Problem(where, what, hint)]) from None
