"""From a plan to DataFrames.

`Lowering` walks the plan from wherever its frames are already known (sources, exchanges, or a micro-batch)
and memoises; `nodes.py` has a function per kind of node, `outputs.py` divides those with several outputs.
Streams and batches are lowered alike: `Inputs` decides which of them a source is read as.

Columns that start with `__` are Headrace's own. They stay with the rows through every `select`, and
are taken off before a sink or a SQL text sees the rows: `__ts` (event time), `__position` (arrival order),
`__route`, and for steps with several outputs `__output` with one struct for each (`__main`, `__late`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import PlanError, Problem
from headrace.lowering.code.functions import keep_succeeded, select_failed
from headrace.lowering.counts import Counts
from headrace.lowering.nodes import lower
from headrace.lowering.outputs import output_of
from headrace.lowering.patterns.rules import RuleStep
from headrace.lowering.tables.changes import as_changes
from headrace.spark.errors import describe_error
from headrace.steps.base import Node, Ref
from headrace.steps.code.functions import FunctionStep
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.lookup import Lookup

if TYPE_CHECKING:
    from headrace.lowering.decode import DeadLetters
    from headrace.lowering.lookups.steps import LookupSteps
    from headrace.lowering.lookups.worker import LookupTask
    from headrace.plan.graph import Graph
    from headrace.rules.tables import RuleTable


class Inputs(Protocol):
    """The sources and tables outside the plan."""

    def source(self, node: Source) -> DataFrame:
        """Return the decoded rows of a source."""
        ...

    def frame(self, node: FrameSource) -> DataFrame:
        """Return the rows of a DataFrame source."""
        ...

    lookups: LookupSteps

    def table(self, node: Lookup) -> DataFrame:
        """Return the table of a lookup."""
        ...

    def lookup_task(self, node: Lookup) -> LookupTask | None:
        """Return the task of a lookup that runs in Python workers; None for a broadcast join."""
        ...

    def rules(self, node: MatchRules) -> RuleTable:
        """Return the table of a step's rules."""
        ...

    def failures(self, node: FunctionStep, rows: DataFrame) -> DeadLetters | None:
        """Return the collector of the rows that a function diverts, given its input."""
        ...

    def add_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, sources: Sequence[Source]
    ) -> DataFrame:
        """Put a watermark on the node's column; `sources` are those of the rows."""
        ...


class Lowering:
    """The frames of one plan, built on demand."""

    def __init__(
        self,
        spark: SparkSession,
        graph: Graph,
        inputs: Inputs,
        *,
        raw: Mapping[str, DataFrame] | None = None,
        frames: Mapping[Ref, DataFrame] | None = None,
        mark: Callable[[Ref, DataFrame], DataFrame] = lambda ref, frame: frame,
    ) -> None:
        """Lower a plan; `mark` is applied to the frame of every output."""
        self.spark = spark
        self.graph = graph
        self.inputs = inputs
        self.counts: dict[str, Counts] = {}
        """Where the rows of each stateful step of the kernel are counted."""
        self.rules: dict[str, RuleStep] = {}
        """The steps that take their patterns from a table."""
        self.in_epoch = False
        """True if several sinks read the rows of a micro-batch."""
        self.persisted: list[DataFrame] = []
        self._raw = dict(raw or {})
        self._frames = dict(frames or {})
        self._mark = mark

    def with_frames(self, frames: Mapping[Ref, DataFrame]) -> Lowering:
        """Return the same with more outputs known."""
        known = {**self._frames, **{ref: self._mark(ref, frame) for ref, frame in frames.items()}}
        other = Lowering(self.spark, self.graph, self.inputs, raw=self._raw, frames=known, mark=self._mark)
        other.in_epoch, other.persisted = self.in_epoch, self.persisted
        return other

    def frame(self, ref: Ref) -> DataFrame:
        """Return the rows of one output, hidden columns included."""
        if ref not in self._frames:
            frame = self._named(ref.step, lambda: self._output(self.graph[ref.step], ref))
            self._frames[ref] = self._mark(ref, frame)
        return self._frames[ref]

    def _output(self, node: Node, ref: Ref) -> DataFrame:
        raw = self.raw(ref.step)
        if not isinstance(node, FunctionStep):
            return output_of(node, ref, raw)
        rows = self.frame(node.input)
        return (
            select_failed(raw, rows) if ref.output else keep_succeeded(raw, self.inputs.failures(node, rows))
        )

    def count(self, node: Node) -> Counts:
        """Return the counters of a stateful step's rows."""
        self.counts[node.name] = counts = Counts(self.spark)
        return counts

    def changes(self, ref: Ref) -> DataFrame:
        """Return the rows of one output as a stateful step reads them: panes may retract earlier ones."""
        return as_changes(self.frame(ref))

    def is_lowered(self, ref: Ref) -> bool:
        """Return True if the frame of an output exists."""
        return ref in self._frames

    def raw(self, step: str) -> DataFrame:
        """Return all outputs of a step in one frame, as its query computes them."""
        if step not in self._raw:
            frame = self._named(step, lambda: lower(self.graph[step], self))
            reused = self.in_epoch and isinstance(self.graph[step], FunctionStep)
            self._raw[step] = self._persist(frame) if reused else frame
        return self._raw[step]

    def _persist(self, frame: DataFrame) -> DataFrame:
        """Keep the rows of an epoch.

        User code is called once per row, though several sinks read the result.
        """
        self.persisted.append(frame.persist())
        return frame

    def release(self) -> None:
        """Drop what was kept for an epoch."""
        for frame in self.persisted:
            frame.unpersist()

    def _named(self, step: str, build: Callable[[], DataFrame]) -> DataFrame:
        """Build a frame; raise errors of Spark's analysis with the name and place of the step."""
        where = self.graph.where(self.graph[step])
        try:
            return build()
        except PlanError as error:
            if not any(problem.where == f"`{step}`" for problem in error.problems):
                raise
            # What looks at the step alone knows its name, and no place.
            raise PlanError([Problem(where, fault.what, fault.hint) for fault in error.problems]) from None
        except (AnalysisException, ParseException) as error:
            what, hint = describe_error(error)
            raise PlanError([Problem(where, what, hint)]) from None
