"""Run a plan on sample rows in virtual time and collect the rows of every sink and side output."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import DocumentError, HeadraceError, Problem
from headrace.plan.graph import Graph
from headrace.runtime.failures import translate_error
from headrace.runtime.unrouted import is_unrouted, side_output_of, with_unrouted_sinks
from headrace.steps.endpoints.source import Source
from headrace.testing.sample_run.inputs import Line, check_names, feed_of, split_batches
from headrace.testing.sample_run.memory_plan import with_memory
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.results.outputs import Instant, Length, Pairs
from headrace.testing.transcripts.runs.spark import SparkRun
from headrace.testing.transcripts.values import iso
from headrace.yaml.errors import ErrorCollector

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_ROWS = 200
"""Rows of an output that are returned; all are counted."""
_LOG_HINT = "Spark's log"
_EXPRESSION = re.compile(r"^== SQL.*==\n(?P<text>.+)\n\s*\^+", re.MULTILINE)
"""The expression that Spark quotes in an error."""

_ZEROS = re.compile(r"(\.\d*?)0+Z$")
"""Zeros at the end of a fraction of a second."""

Batch = Mapping[str, list[Any]]


@dataclass(frozen=True)
class SampleOutput:
    """The rows of a sink, or of a side output without one, as JSON values."""

    name: str
    kind: str
    """`sink`, or the kind of side output: `late`, `dead_letters`, `timeouts`."""
    count: int
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class SampleResult:
    """The outputs of a test run: sinks first, then side outputs that have rows."""

    outputs: list[SampleOutput]
    dropped: int
    """Late rows that Spark's own operators dropped."""


class PreparedRun:
    """A plan in memory and its sample rows, checked; needs no Spark yet."""

    def __init__(self, graph: Graph, rows: Mapping[str, str], directory: Path) -> None:
        """Check the rows of each input against the plan.

        Args:
            graph: a validated plan.
            rows: JSON lines by input.
            directory: for temporary files.

        Raises:
            HeadraceError: with the line of every row that does not fit.
        """
        check_names(graph, list(rows))
        batches = {name: split_batches(name, text) for name, text in rows.items()}
        lines = {name: [line for batch in own for line in batch] for name, own in batches.items()}
        self.graph = with_memory(with_unrouted_sinks(graph, directory), lines, directory)
        self._batches = _feeds(self.graph, batches)

    def run(self, spark: SparkSession) -> SampleResult:
        """Feed the rows, end the input as a drain does, and return the rows of all outputs.

        Raises:
            HeadraceError: the run failed.
        """
        sinks = [sink.name for sink in self.graph.sinks]
        run = None
        try:
            run = SparkRun(spark, Case("test", "test", self.graph, (), "spark"), also=tuple(sinks))
            run.advance(int(time.time() * 1000) * 1000)
            for batch in self._batches:
                run.rows(batch)
            run.end()
            outputs = [_output(name, run.all_rows(name)) for name in sinks]
            shown = [output for output in outputs if output.kind == "sink" or output.rows]
            return SampleResult(sorted(shown, key=lambda output: output.kind != "sink"), run.dropped_rows)
        except Exception as error:
            raise locate_failure(self.graph, error) from error
        finally:
            if run is not None:
                run.close()


def _feeds(graph: Graph, batches: Mapping[str, list[list[Line]]]) -> list[Batch]:
    """Return the micro-batches of all sources; every input starts with the first one."""
    errors = ErrorCollector()
    sources = [source for source in graph.of(Source) if source.name in batches]
    columns = [
        [[feed_of(source, line, errors) for line in batch] for batch in batches[source.name]]
        for source in sources
    ]
    errors.raise_any()
    feeds: list[Batch] = [
        {source.name: rows for source, rows in zip(sources, batch, strict=True) if rows}
        for batch in zip_longest(*columns, fillvalue=[])
    ]
    if not feeds:
        raise DocumentError([Problem("rows", "there are no sample rows", "add a row for a source")])
    return feeds


def _output(name: str, rows: Iterable[Mapping[str, Any]]) -> SampleOutput:
    plain = [{key: to_json(value) for key, value in row.items()} for row in rows]
    label = side_output_of(name) if is_unrouted(name) else name
    kind = label.rpartition(".")[2] if is_unrouted(name) else "sink"
    return SampleOutput(label, kind, len(plain), plain[:MAX_ROWS])


def to_json(value: Any) -> Any:
    """Return a value of a row as JSON: times as ISO text, durations as seconds, bytes as text.

    >>> to_json({"at": Instant(1_500_000), "late_by": Length(2_000_000), "n": Decimal("1.50")})
    {'at': '1970-01-01T00:00:01.5Z', 'late_by': 2.0, 'n': '1.50'}
    """
    if isinstance(value, Pairs):
        return to_json(value.content)
    if isinstance(value, Mapping):
        return {str(key): to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return next((convert(value) for kind, convert in _SCALARS.items() if isinstance(value, kind)), value)


_SCALARS: dict[type, Callable[[Any], Any]] = {
    Instant: lambda value: _ZEROS.sub(r"\1Z", iso(value.micros)),
    Length: lambda value: value.micros / 1_000_000,
    bytes: lambda value: value.decode(errors="replace"),
    Decimal: str,
    date: str,
}


def locate_failure(graph: Graph, error: Exception) -> HeadraceError:
    """Return the error of a run with the place of its step in the document, as far as it can be found."""
    known = error if isinstance(error, HeadraceError) else translate_error(graph, error)
    problems = [_locate(graph, problem, str(error)) for problem in known.problems]
    return DocumentError(problems)


def _locate(graph: Graph, problem: Problem, text: str) -> Problem:
    hint = "" if problem.hint.endswith(_LOG_HINT) else problem.hint
    step = problem.where.strip("`").partition("`")[0].partition(":")[0]
    where = graph.where(graph.nodes[step]) if step in graph.nodes else problem.where
    if not where and (quoted := _EXPRESSION.search(text)) is not None:
        where = f"`{quoted['text'].strip()}`"
    return Problem(where, problem.what, hint)


def place_expression(problem: Problem, document: str, file: str) -> Problem:
    r"""Return a problem of an expression with the first line of the document that contains it.

    >>> place_expression(Problem("`1 div n`", "division by zero"), "a:\n  b: 1 div n\n", "p.yaml").where
    'p.yaml:2:6: `1 div n`'
    """
    expression = problem.where.strip("`")
    for number, line in enumerate(document.split("\n"), 1):
        if problem.where.startswith("`") and expression in line:
            where = f"{file}:{number}:{line.index(expression) + 1}: {problem.where}"
            return replace(problem, where=where)
    return problem
