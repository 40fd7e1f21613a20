"""Run a single windowed step, pattern or detector without a Spark query, through the kernel's own driver.

Most cases about windows, triggers, patterns and detectors have one source and one step. The driver runs the
per-key logic of the kernel micro-batch by micro-batch, in milliseconds. Cases with other steps or with
recovery run through Spark, and so does any case with `through: spark`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from headrace.analytics.declare import InOrderNode
from headrace.analytics.lower import annotation_driver
from headrace.errors import TranscriptError
from headrace.lowering.code.aggregates import error_label, fold_rows
from headrace.lowering.expressions import column
from headrace.lowering.patterns.match_recognize import Expressions
from headrace.lowering.patterns.matches import match_driver
from headrace.plan.graph import Graph
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import Opaque, PythonFold
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.results.outputs import Output, rows_of
from headrace.testing.transcripts.runs.batches import Batches
from headrace.testing.transcripts.runs.inputs import Input
from headrace.testing.transcripts.script import Rows, only, output_of, schema_of
from headrace.windows import Delta, Landmark, Punctuation, Window
from headrace.windows.declare import WindowAggregate
from headrace.windows.lower import WindowDriver, declaration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.runtime.virtual_time import Feed

POSITION = "__position struct<source: string, partition: string, offset: bigint>"

Run = Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]


class KernelRun(Batches):
    """A run of a case in the in-process driver of the kernel, with the interface of `SparkRun`.

    The kernel runs the whole script once; each line then advances to its end in the results.
    """

    dropped_rows = 0

    def __init__(self, spark: SparkSession, case: Case) -> None:
        super().__init__(case)
        self.session = spark
        self._case = case
        self._graph = case.graph
        self._run = _runner(spark, case.graph)
        self._whole = Batches.of(case)
        self._result: dict[str, Any] | None = None
        self._input: Input | None = None
        self._seen: dict[str, int] = {}

    def take(self, output: str) -> list[Output]:
        """Return the rows of an output since the last call."""
        before, self._seen[output] = self._seen.get(output, 0), len(self.content)
        return self._rows(output, before)

    def all_rows(self, output: str) -> list[Output]:
        """Return all rows of an output."""
        return self._rows(output, 0)

    @property
    def missed_windows(self) -> int:
        """The number of sliding windows missed by rows that other windows accepted."""
        return int(self._run_kernel()["counts"].get("missed", 0))

    def is_complete(self, output: str) -> bool:
        """Return false: the steps of the driver have no complete mode."""
        return False

    @property
    def feeds(self) -> dict[str, Feed]:
        """Return the rows of the script by source, for a batch."""
        source = only(self._graph, Source)
        if self._input is None:
            self._input = Input(self.session, source)
            for line in self._case.script:
                if isinstance(line, Rows):
                    self._input.add(line.rows[source.name])
        return {source.name: self._input.feed}

    def close(self) -> None:
        """Release the rows of the batch."""
        if self._input is not None:
            self._input.close()

    def _rows(self, output: str, since: int) -> list[Output]:
        ref = output_of(self._graph, output)
        tag = (ref.output if ref is not None else "") or "main"
        result = self._run_kernel()
        schema = next(f["type"] for f in result["schema"]["fields"] if f["name"] == f"__{tag}")
        events = result["events"][since : len(self.content)]
        rows = [row[f"__{tag}"] for event in events for row in event if row["__output"] == tag]
        formatted = [_format_row(row) for row in rows_of(schema, rows)]
        windows = self._graph.of(WindowAggregate)
        return (
            [_fold_results(windows[0], row) for row in formatted] if windows and tag == "main" else formatted
        )

    def _run_kernel(self) -> dict[str, Any]:
        """Return the results of the kernel for the script, and for an added `end`."""
        if self._result is None or len(self._result["events"]) < len(self.content):
            whole = max(self._whole.content, self.content, key=len)
            self._result = self._run(whole)
            check_replays(self._result)
        return self._result


def _fold_results(node: WindowAggregate, row: Output) -> Output:
    """Return a pane with the argument lists replaced by results."""
    results = {
        name: fold_rows(
            error_label(node.name, name, item.aggregate),
            item.aggregate,
            (tuple(arguments.values()) for arguments in row[name]),
        )
        for name, item in node.aggregates
        if isinstance(item, PythonFold)
    }
    return {**row, **results}


def check_replays(result: Mapping[str, Any]) -> None:
    """Check that each replayed micro-batch produced the same rows, in any order.

    Raises:
        TranscriptError: the replay differs, so results depend on more than state and rows.
    """
    for number, (first, again) in enumerate(zip(result.get("doomed", ()), result["events"], strict=False)):
        if first is not None and sorted(map(str, first)) != sorted(map(str, again)):
            raise TranscriptError(
                f"micro-batch {number} emitted {first} before the run was killed, and {again} in the replay",
                hint="results must depend only on the rows and the state",
            )


def _runner(spark: SparkSession, graph: Graph) -> Run:
    """Return a function that runs micro-batches through the step of the case, the last one of its plan."""
    schema = schema_of(only(graph, Source)).ddl
    *_, step = (node for node in graph if not isinstance(node, Sink))
    if isinstance(step, WindowAggregate):
        return _window_runner(spark, schema, step)
    columns = _columns_of(spark, schema)
    if isinstance(step, InOrderNode):
        return annotation_driver(columns, step.key_names, step).run
    if isinstance(step, RowPattern):
        return Expressions(columns, step).driver(step.clause).run
    return match_driver(columns, step.key_names, cast("Any", step)).run


def _window_runner(spark: SparkSession, schema: str, window: WindowAggregate) -> Run:
    keys = tuple(name for name, _ in window.keys)
    aggregates = tuple(
        (name, expression if isinstance(expression, str) else column(expression))
        for name, expression in window.aggregates
    )
    opaque = any(isinstance(expression, Opaque | PythonFold) for _, expression in window.aggregates)
    reads_columns = isinstance(window.window, Delta | Punctuation | Landmark)
    new_driver = _new_driver if opaque else _shared_driver
    driver = new_driver(spark, schema, keys, aggregates, window.window if reads_columns else None)
    declared = declaration(window.window, window.emission, ttl=window.ttl)
    return lambda batches: driver.run(declared, batches)


def _new_driver(
    spark: SparkSession,
    schema: str,
    keys: tuple[str, ...],
    aggregates: tuple[tuple[str, Any], ...],
    window: Window | None,
) -> WindowDriver:
    return WindowDriver(_columns_of(spark, schema), keys, dict(aggregates), window=window)


_shared_driver = lru_cache(maxsize=32)(_new_driver)
"""Steps with equal columns, aggregates and conditions share a driver, because each one compiles code."""


def _columns_of(spark: SparkSession, schema: str) -> DataFrame:
    return spark.createDataFrame([], f"{schema}, __ts timestamp, {POSITION}")


def _format_row(row: Output) -> Output:
    return {name: value for name, value in row.items() if not name.startswith("__")}
