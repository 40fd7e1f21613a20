"""A windowed step or a pattern on its own, without a Spark query: the kernel's per-key logic, driven by a script in milliseconds.

Cases about windows, triggers and patterns mostly have one source and one step. For those the kernel's in-process driver does what
a query would do to each key, batch by batch. What it can't show (recovery, other steps, conditions on rows) goes
through Spark, and so does any case that says `through: spark`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.engine.matching import MatchDriver
from headrace.engine.row_patterns import Expressions
from headrace.engine.watermarks import END_OF_TIME_MS
from headrace.engine.windowing import WindowDriver, declaration
from headrace.formats.datatypes import Array, DataType, Map, Struct
from headrace.patterns.elements import Element, Where
from headrace.plan.facts import plain_column
from headrace.plan.graph import Graph
from headrace.plan.nodes import (
    EventTime,
    Match,
    Named,
    Opaque,
    RowPattern,
    Sink,
    Source,
    WindowAggregate,
)
from headrace.testing.outputs import Output, rows_of
from headrace.testing.script import Restart, decodes, output_of, schema_of
from headrace.testing.transcript import Case
from headrace.testing.values import micros_of_plain
from headrace.windows import Delta, Landmark, Punctuation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POSITION = "__position struct<source: string, partition: string, offset: bigint>"


def drivable(case: Case) -> bool:
    """Whether the in-process driver shows all that the case is about."""
    steps = [node for node in case.graph if not isinstance(node, Sink)]
    if case.through == "spark" or any(isinstance(line, Restart) for line in case.script):
        return False
    match steps:
        case [Source() as source, EventTime() as time, WindowAggregate() as window]:
            return not decodes(source) and _plain_time(time) and _plain_window(window)
        case [Source() as source, EventTime() as time, Match() as pattern]:
            return not decodes(source) and _plain_time(time) and _plain_match(pattern)
        case [Source() as source, EventTime() as time, RowPattern() as query]:
            return not decodes(source) and _plain_time(time) and _all_of_it(query)
    return False


def _plain_time(node: EventTime) -> bool:
    return node.idle is None and node.watermark_when is None


def _plain_window(node: WindowAggregate) -> bool:
    looks_at_rows = isinstance(node.window, Punctuation | Delta | Landmark)
    return node.emission.late_rows == "divert" and _columns(node.keys) and not looks_at_rows


def _plain_match(node: Match) -> bool:
    measures = [item for _, item in node.select or ()]
    return _columns(node.keys) and all(
        isinstance(said, str) for said in (*_said(node.pattern.elements), *measures)
    )


def _all_of_it(node: RowPattern) -> bool:
    """Whether the query gives the matches as they are: only Spark can choose among them."""
    return re.fullmatch(r"\s*select\s+\*\s+from\s+\w+\s*", node.rest, re.IGNORECASE) is not None


def _columns(keys: Named) -> bool:
    return all(plain_column(expression) == name for name, expression in keys)


def _said(elements: tuple[Element, ...]) -> list[Any]:
    own = [element.body.condition for element in elements if isinstance(element.body, Where)]
    said = [*own, *(element.until for element in elements)]
    inner = [condition for element in elements for part in element.parts for condition in _said(part)]
    return [condition for condition in (*said, *inner) if condition is not None]


class DriverStage:
    """One run of one case in the driver; does what `Stage` does."""

    dropped = 0

    def __init__(self, spark: SparkSession, case: Case) -> None:
        source, time = (_only(case.graph, kind) for kind in (Source, EventTime))
        self._graph = case.graph
        self._time: EventTime = time
        self._schema = schema_of(source)
        frame = spark.createDataFrame([], f"{self._schema.ddl}, __ts timestamp, {POSITION}")
        self._run = _runner(case.graph, frame)
        self._fixed = bool(case.fed)
        self._batches: list[dict[str, Any]] = []
        self._clock = 0
        self._highest: int | None = None
        self._count = 0
        self._seen: dict[str, int] = {}

    def rows(self, rows: Mapping[str, Any], *, dying: bool = False) -> None:
        """One micro-batch of these rows; if they move the watermark, one more under the new one."""
        content = [self._row(row) for given in rows.values() for row in given]
        self._batch(content)
        times = [row["__ts"] for row in content if row["__ts"] is not None]
        if times and not self._fixed:
            self._highest = max([*times, self._highest or times[0]])
            self._batch([], self._highest - self._time.out_of_order)

    def watermark(self, marks: Mapping[str, int]) -> None:
        """The watermark is now exactly this."""
        self._batch([], next(iter(marks.values())))

    def advance(self, microseconds: int) -> None:
        """The clock jumps."""
        self._clock += microseconds
        self._batch([])

    def restart(self) -> None:
        """Not here: state in memory has nothing to recover from."""
        raise NotImplementedError

    def end(self) -> None:
        """The input ends for good."""
        self._batch([], END_OF_TIME_MS * 1000)

    def take(self, output: str) -> list[Output]:
        """What an output gave since it was last looked at."""
        rows = self.came(output)
        before, self._seen[output] = self._seen.get(output, 0), len(rows)
        return rows[before:]

    def came(self, output: str) -> list[Output]:
        """All that an output ever gave; the script so far is run from its start, which takes no time to speak of."""
        ref = output_of(self._graph, output)
        tag = (ref.output if ref is not None else "") or "main"
        answer = self._run(self._batches)
        schema = next(f["type"] for f in answer["schema"]["fields"] if f["name"] == f"__{tag}")
        rows = [row[f"__{tag}"] for event in answer["events"] for row in event if row["__output"] == tag]
        return [_shown(row) for row in rows_of(schema, rows)]

    def holds_whole(self, output: str) -> bool:
        """Panes never come again as a whole."""
        return False

    def close(self) -> None:
        """Nothing is left behind."""

    def _batch(self, rows: Sequence[Mapping[str, Any]], watermark: int | None = None) -> None:
        batch: dict[str, Any] = {"rows": rows, "clock": self._clock}
        if watermark is not None and watermark >= 1000:  # whole milliseconds; 0 is none yet
            batch["watermark"] = watermark // 1000 * 1000
        self._batches.append(batch)

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        place = {"source": "", "partition": "0", "offset": self._count}
        self._count += 1
        values = {field.name: _inner(row.get(field.name), field.type) for field in self._schema.fields}
        return {**values, "__ts": values[self._time.column], "__position": place}


def _runner(graph: Graph, frame: DataFrame) -> Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]:
    """What runs a script of batches through the case's one step."""
    if graph.of(Match):
        node = _only(graph, Match)
        return MatchDriver(frame, [name for name, _ in node.keys], node).run
    if graph.of(RowPattern):
        query = _only(graph, RowPattern)
        expressions = Expressions(frame, query)
        return lambda batches: expressions.run(query.clause, batches)
    window = _only(graph, WindowAggregate)
    aggregates = {
        name: given.column if isinstance(given, Opaque) else given for name, given in window.aggregates
    }
    driver = WindowDriver(frame, [name for name, _ in window.keys], aggregates)
    declared = declaration(window.window, window.emission)
    return lambda batches: driver.run(declared, batches)


def _only(graph: Graph, kind: type[Any]) -> Any:
    [node] = graph.of(kind)
    return node


def _shown(row: Output) -> Output:
    return {name: value for name, value in row.items() if not name.startswith("__")}


def _inner(value: Any, kind: DataType) -> Any:
    """A JSON value with its times as Spark keeps them: microseconds."""
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_inner(item, kind.element) for item in value]
    if isinstance(kind, Map):
        return {key: _inner(item, kind.value) for key, item in value.items()}
    if isinstance(kind, Struct):
        return {field.name: _inner(value.get(field.name), field.type) for field in kind.fields}
    return micros_of_plain(value) if str(kind) in ("timestamp", "timestamp_ntz") else value
