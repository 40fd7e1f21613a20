"""A windowed step or a pattern on its own, without a Spark query: the kernel's per-key logic, driven by a script in milliseconds.

Cases about windows, triggers and patterns mostly have one source and one step. For those the kernel's in-process driver does
what a query would do to each key, batch by batch. What it can't show (other steps, Spark's part in recovery) goes
through Spark, and so does any case that says `through: spark`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from headrace.errors import TranscriptError
from headrace.lowering.expressions import column
from headrace.lowering.match_recognize import Expressions
from headrace.lowering.patterns import MatchDriver
from headrace.lowering.windows import WindowDriver, declaration
from headrace.patterns.elements import Element, Where
from headrace.plan.facts import plain_column
from headrace.plan.graph import Graph
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import Named, Opaque, PythonFold
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.event_time import EventTime
from headrace.steps.stateful.window import WindowAggregate
from headrace.testing.transcripts.batches import Batches
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.feeding import Input
from headrace.testing.transcripts.folds import folds_here, with_results
from headrace.testing.transcripts.outputs import Output, rows_of
from headrace.testing.transcripts.script import Restart, Rows, decodes, only, output_of, schema_of
from headrace.windows import Delta, Landmark, Punctuation, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.runtime.virtual_time import Feed

POSITION = "__position struct<source: string, partition: string, offset: bigint>"

Run = Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]


def drivable(case: Case) -> bool:
    """Whether the in-process driver shows all that the case is about.

    A case with a `restart` is about recovery, which Spark has its part in; it is driven only where `through` says kernel.
    """
    steps = [node for node in case.graph if not isinstance(node, Sink)]
    dies = any(isinstance(line, Restart) for line in case.script)
    if case.through == "spark" or (dies and case.through != "kernel"):
        return False
    match steps:
        case [Source() as source, EventTime() as time, WindowAggregate() as window]:
            plain = _plain_time(time) and _plain_window(window)
            return not decodes(source) and plain and folds_here(window, schema_of(source))
        case [Source() as source, EventTime() as time, Match() as pattern]:
            return not dies and not decodes(source) and _plain_time(time) and _plain_match(pattern)
        case [Source() as source, EventTime() as time, RowPattern() as query]:
            return not dies and not decodes(source) and _plain_time(time) and _all_of_it(query)
    return False


def _plain_time(node: EventTime) -> bool:
    return node.idle is None and node.watermark_when is None


def _plain_window(node: WindowAggregate) -> bool:
    return node.emission.late_rows == "divert" and _columns(node.keys)


def _plain_match(node: Match) -> bool:
    measures = [item for _, item in node.select or ()]
    return _columns(node.keys) and all(
        isinstance(said, str) for said in (*_said(node.pattern.elements), *measures)
    )


def _all_of_it(node: RowPattern) -> bool:
    """Whether the query gives the matches as they are: only Spark can choose among them."""
    plain = re.fullmatch(r"\s*select\s+\*\s+from\s+\w+\s*", node.rest, re.IGNORECASE)
    return plain is not None and node.input_query is None


def _columns(keys: Named) -> bool:
    return all(plain_column(expression) == name for name, expression in keys)


def _said(elements: tuple[Element, ...]) -> list[Any]:
    own = [element.body.condition for element in elements if isinstance(element.body, Where)]
    said = [*own, *(element.until for element in elements)]
    inner = [condition for element in elements for part in element.parts for condition in _said(part)]
    return [condition for condition in (*said, *inner) if condition is not None]


class DriverStage:
    """One run of one case in the driver; does what `Stage` does.

    What the whole script gives is asked of the kernel once. A line of the script then only moves on to where it ends.
    """

    dropped = 0

    def __init__(self, spark: SparkSession, case: Case) -> None:
        self.session = spark
        self._case = case
        self._graph = case.graph
        self._run = _runner(spark, case.graph)
        self._batches = Batches(case)
        self._whole = Batches.of(case)
        self._answer: dict[str, Any] | None = None
        self._input: Input | None = None
        self._seen: dict[str, int] = {}

    def rows(self, rows: Mapping[str, Any], *, dying: bool = False) -> None:
        """One micro-batch of these rows; if they move the watermark, one more under the new one."""
        self._batches.rows(rows, dying=dying)

    def watermark(self, marks: Mapping[str, int]) -> None:
        """The watermark is now exactly this."""
        self._batches.watermark(marks)

    def advance(self, microseconds: int) -> None:
        """The clock jumps."""
        self._batches.advance(microseconds)

    def restart(self) -> None:
        """The run dies: what it goes on with are the bytes of its state. A batch it died in is done again."""
        self._batches.restart()

    def end(self) -> None:
        """The input ends for good."""
        self._batches.end()

    def take(self, output: str) -> list[Output]:
        """What an output gave since it was last looked at."""
        before, self._seen[output] = self._seen.get(output, 0), len(self._batches.content)
        return self._rows(output, before)

    def came(self, output: str) -> list[Output]:
        """All that an output ever gave."""
        return self._rows(output, 0)

    @property
    def missed(self) -> int:
        """How many places in sliding windows rows were too late for, while others took them."""
        return int(self._asked()["counts"].get("missed", 0))

    def holds_whole(self, output: str) -> bool:
        """Panes never come again as a whole."""
        return False

    @property
    def feeds(self) -> dict[str, Feed]:
        """What the script gives, by source, for a batch over it."""
        source = only(self._graph, Source)
        if self._input is None:
            self._input = Input(self.session, source)
            for line in self._case.script:
                if isinstance(line, Rows):
                    self._input.add(line.rows[source.name])
        return {source.name: self._input.feed}

    def close(self) -> None:
        """Forget the rows of a batch; nothing else is left behind."""
        if self._input is not None:
            self._input.close()

    def _rows(self, output: str, since: int) -> list[Output]:
        ref = output_of(self._graph, output)
        tag = (ref.output if ref is not None else "") or "main"
        answer = self._asked()
        schema = next(f["type"] for f in answer["schema"]["fields"] if f["name"] == f"__{tag}")
        events = answer["events"][since : len(self._batches.content)]
        rows = [row[f"__{tag}"] for event in events for row in event if row["__output"] == tag]
        found = [_shown(row) for row in rows_of(schema, rows)]
        windows = self._graph.of(WindowAggregate)
        return [with_results(windows[0], row) for row in found] if windows and tag == "main" else found

    def _asked(self) -> dict[str, Any]:
        """What the kernel says to the whole script, or to more than that where the input was ended after it."""
        if self._answer is None or len(self._answer["events"]) < len(self._batches.content):
            whole = max(self._whole.content, self._batches.content, key=len)
            self._answer = self._run(whole)
            check_replays(self._answer)
        return self._answer


def check_replays(answer: Mapping[str, Any]) -> None:
    """See that each batch a run died in gave the same rows when it was done again, in whatever order.

    Raises:
        TranscriptError: one did not: its results depend on more than state and rows, and a sink would have lost some.
    """
    for number, (first, again) in enumerate(zip(answer.get("doomed", ()), answer["events"], strict=False)):
        if first is not None and sorted(map(str, first)) != sorted(map(str, again)):
            raise TranscriptError(
                f"micro-batch {number} gave {first} before the run died in it, and {again} when it was done again",
                hint="results may depend only on the rows and the state",
            )


def _runner(spark: SparkSession, graph: Graph) -> Run:
    """What runs a script of batches through the case's one step."""
    schema = schema_of(only(graph, Source)).ddl
    if graph.of(Match):
        node = only(graph, Match)
        return MatchDriver(_columns_of(spark, schema), [name for name, _ in node.keys], node).run
    if graph.of(RowPattern):
        query = only(graph, RowPattern)
        expressions = Expressions(_columns_of(spark, schema), query)
        return lambda batches: expressions.run(query.clause, batches)
    window: WindowAggregate = only(graph, WindowAggregate)
    keys = tuple(name for name, _ in window.keys)
    aggregates = tuple(
        (name, given if isinstance(given, str) else column(given)) for name, given in window.aggregates
    )
    opaque = any(isinstance(given, Opaque | PythonFold) for _, given in window.aggregates)
    looks_at = window.window if isinstance(window.window, Delta | Punctuation | Landmark) else None
    driver = (_new_driver if opaque else _shared_driver)(spark, schema, keys, aggregates, looks_at)
    declared = declaration(window.window, window.emission, ttl=window.ttl)
    return lambda batches: driver.run(declared, batches)


def _new_driver(
    spark: SparkSession,
    schema: str,
    keys: tuple[str, ...],
    aggregates: tuple[tuple[str, Any], ...],
    looks_at: Window | None,
) -> WindowDriver:
    return WindowDriver(_columns_of(spark, schema), keys, dict(aggregates), window=looks_at)


_shared_driver = lru_cache(maxsize=32)(_new_driver)
"""Steps with the same columns, aggregates and conditions share a driver, as a new one costs a compilation."""


def _columns_of(spark: SparkSession, schema: str) -> DataFrame:
    return spark.createDataFrame([], f"{schema}, __ts timestamp, {POSITION}")


def _shown(row: Output) -> Output:
    return {name: value for name, value in row.items() if not name.startswith("__")}
