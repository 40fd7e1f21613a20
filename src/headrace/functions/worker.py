"""The loop of a function step in a Python worker: Arrow batches in, Arrow batches out.

An output batch has the declared columns and the internal columns of the rows (`__ts`, `__position`). For rows
that failed it also has `__failed`, the dead letter, and `__row`, the number of the row in the task.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import pyarrow

from headrace.functions.batch_note import BatchNote
from headrace.functions.calls import call_each, open_callee, pass_values, time_limit
from headrace.functions.dead_letters import FAILED, ROW, encode_dead_letter
from headrace.functions.failures import (
    RAISED,
    Failure,
    WrongResult,
    describe_definition,
    describe_failure,
    stop_message,
)
from headrace.functions.frames import to_columns, to_frame
from headrace.functions.logs import label_output
from headrace.functions.results import OutputColumns, PartialResult, Values
from headrace.functions.rows import iterate_rows, row_class
from headrace.functions.totals import CallTotals

INTERNAL = "__"
"""The prefix of columns that user code does not see."""
TIME = "__ts"


@dataclass(frozen=True)
class FunctionCall:
    """A function step as a worker runs it."""

    step: str
    kind: str
    """`map`, `flat_map`, `filter` or `map_batches`."""
    target: Any
    name: str
    """The function's name in messages."""
    output: pyarrow.Schema
    """The declared columns; for `filter`, those of the input; with `arguments`, those that are added."""
    token: str
    """Identifies the run, so that a worker opens the function once in it."""
    on_error: str = "divert"
    library: str = "pyarrow"
    """For `map_batches`: the library of the frame that the function takes."""
    time_column: str | None = None
    """The column of event time, from which rows get their time if their number changes."""
    concurrency: int = 1
    timeout: float | None = None
    paths: tuple[str, ...] = ()
    """Directories of the user's modules, for imports inside the function."""
    totals: CallTotals | None = None
    """Counts the calls; None in tests."""
    arguments: tuple[str, ...] = ()
    """For `map`: the columns whose values the function gets; its result is added to the row."""


class FunctionLoop:
    """Applies a function to batches; the rows of a batch that fail are appended to its output."""

    def __init__(self, call: FunctionCall) -> None:
        add_paths(call.paths)
        self._call = call
        self._columns = OutputColumns(call.output)
        self._definition = describe_definition(call.target, call.name)
        self._callee = open_callee(call.token, call.step, call.target)
        if call.arguments:
            self._callee = pass_values(self._callee, call.arguments, wraps=len(call.output) == 1)
        self._rows: Any = None
        self._apply: Callable[[pyarrow.RecordBatch], BatchResult] = {
            "map": self._add_columns if call.arguments else self._map,
            "flat_map": self._flat_map,
            "filter": self._filter,
            "map_batches": self._map_batch,
        }[call.kind]

    def run(
        self, batches: Iterable[pyarrow.RecordBatch], task: int | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Apply the function to each batch; `task` identifies the task, for the error if the worker dies."""
        before = 0
        with BatchNote(self._call.step, task) as note:
            for batch in batches:
                note.write(batch)
                yield self._run_batch(batch, before)
                before += batch.num_rows

    def _run_batch(self, batch: pyarrow.RecordBatch, before: int) -> pyarrow.RecordBatch:
        internal = batch.select([name for name in batch.schema.names if name.startswith(INTERNAL)])
        visible = select_visible(batch)
        began = time.perf_counter()
        with label_output(self._call.step):
            result = self._apply(batch)
        if self._call.totals is not None:
            calls = 1 if self._call.kind == "map_batches" else batch.num_rows
            self._call.totals.add(calls, time.perf_counter() - began, len(result.failures))
        if result.failures and self._call.on_error == "fail":
            at, failure = next(iter(result.failures.items()))
            row = self._row_of(visible.slice(at, 1))
            raise RuntimeError(stop_message(self._call.step, row, failure))
        return self._assemble(internal, visible, result, before)

    def _assemble(
        self, internal: pyarrow.RecordBatch, visible: pyarrow.RecordBatch, result: BatchResult, before: int
    ) -> pyarrow.RecordBatch:
        """Return the resulting rows, then one row per failure; the task has read `before` other rows."""
        failed = list(result.failures)
        letters = [encode_dead_letter(visible.slice(at, 1), result.failures[at]) for at in failed]
        columns = [_with_nulls(column, len(failed)) for column in result.columns]
        carried = dict(zip(internal.schema.names, internal.columns, strict=True))
        if result.origin != range(internal.num_rows):
            origin = pyarrow.array([*result.origin, *failed], type=pyarrow.int64())
            carried = {name: column.take(origin) for name, column in carried.items()}
        if result.times is not None and TIME in carried:
            times = result.times.cast(carried[TIME].type)
            carried[TIME] = pyarrow.concat_arrays([times, carried[TIME].slice(len(times))])
        good = len(result.origin)
        payload = _after_nulls(good, pyarrow.array(letters, type=pyarrow.binary()))
        numbers = _after_nulls(good, pyarrow.array([before + at for at in failed], type=pyarrow.int64()))
        kept = visible.schema.names if self._call.arguments else ()
        names = [*kept, *self._call.output.names, *carried, FAILED, ROW]
        return pyarrow.RecordBatch.from_arrays([*columns, *carried.values(), payload, numbers], names=names)

    def _call_rows(
        self, batch: pyarrow.RecordBatch, collect: Callable[[Any], Any] | None = None
    ) -> list[Any]:
        visible, call = select_visible(batch), self._call
        rows = iterate_rows(visible, self._row_type(visible))
        limits: Any = {"concurrency": call.concurrency, "timeout": call.timeout}
        return call_each(self._callee, rows, self._definition, **limits, collect=collect)

    def _map(self, batch: pyarrow.RecordBatch) -> BatchResult:
        results = self._call_rows(batch)
        return self._convert(results, range(len(results)))

    def _add_columns(self, batch: pyarrow.RecordBatch) -> BatchResult:
        result = self._map(batch)
        origin = pyarrow.array(result.origin, type=pyarrow.int64())
        columns = [column.take(origin) for column in select_visible(batch).columns]
        return replace(result, columns=[*columns, *result.columns])

    def _flat_map(self, batch: pyarrow.RecordBatch) -> BatchResult:
        """Collect the rows of each call; they may come from a generator, which may raise or take long."""
        results: list[Any] = []
        origin: list[int] = []
        for at, result in enumerate(self._call_rows(batch, _collect_rows)):
            rows = [result] if isinstance(result, Failure) else result
            results += rows
            origin += [at] * len(rows)
        return self._convert(results, origin)

    def _convert(self, results: Sequence[Any], origin: Sequence[int]) -> BatchResult:
        """Return the rows of results; `origin` has their input rows. A wrong result fails its input row."""
        failures: dict[int, Failure] = {}
        if Failure in set(map(type, results)):
            failures = {
                at: item for at, item in zip(origin, results, strict=True) if isinstance(item, Failure)
            }
            origin, results = _drop_failed(failures, origin, results)
        columns = self._columns.columns_of(results)
        if columns is None:
            rows = self._convert_each(self._columns.values, results, origin, failures)
            origin, rows = _drop_failed(failures, origin, rows)
            columns = self._columns.transpose(rows)
        try:
            return BatchResult(self._columns.arrays(columns), origin, failures)
        except WrongResult:
            rows = self._convert_each(self._columns.checked, [*zip(*columns, strict=True)], origin, failures)
            origin, rows = _drop_failed(failures, origin, rows)
            return BatchResult(self._columns.arrays(self._columns.transpose(rows)), origin, failures)

    def _convert_each(
        self,
        convert: Callable[[Any], Values],
        results: Sequence[Any],
        origin: Sequence[int],
        failures: dict[int, Failure],
    ) -> list[Values]:
        """Return the values of each result; one that is wrong is added to the failures."""
        rows: list[Values] = []
        for at, result in zip(origin, results, strict=True):
            try:
                rows.append(convert(result))
            except Exception as error:
                rows.append(())
                failures.setdefault(at, describe_failure(error, self._definition))
        return rows

    def _filter(self, batch: pyarrow.RecordBatch) -> BatchResult:
        kept, failures = [], {}
        for at, result in enumerate(self._call_rows(batch)):
            if isinstance(result, Failure):
                failures[at] = result
            elif not isinstance(result, bool) and type(result).__name__ not in ("bool_", "bool"):
                wrong = WrongResult(f"returned {type(result).__name__} {result!r}, expected True or False")
                failures[at] = describe_failure(wrong, self._definition)
            elif result:
                kept.append(at)
        origin = pyarrow.array(kept, type=pyarrow.int64())
        columns = [batch.column(name).take(origin) for name in self._call.output.names]
        return BatchResult(columns, kept, failures)

    def _map_batch(self, batch: pyarrow.RecordBatch) -> BatchResult:
        """Apply the function to the whole batch; if the function raises, all rows of the batch fail."""
        try:
            limit = self._call.timeout
            with time_limit(limit) if limit else contextlib.nullcontext():
                result = self._callee.function(to_frame(select_visible(batch), self._call.library))
            if isinstance(result, PartialResult):
                return BatchResult(to_columns(result.rows, self._call.output), result.origin, result.failures)
            columns = to_columns(result, self._call.output)
            return self._with_times(batch, columns)
        except RAISED as error:
            failure = describe_failure(error, self._definition)
            columns = [pyarrow.nulls(0, field.type) for field in self._call.output]
            return BatchResult(columns, [], dict.fromkeys(range(batch.num_rows), failure))

    def _with_times(self, batch: pyarrow.RecordBatch, columns: list[pyarrow.Array]) -> BatchResult:
        """Keep the time of each row; if the number of rows has changed, take it from the time column."""
        rows = len(columns[0]) if columns else batch.num_rows
        if rows == batch.num_rows:
            return BatchResult(columns, range(rows), {})
        origin = [batch.num_rows - 1] * rows
        if TIME not in batch.schema.names:
            return BatchResult(columns, origin, {})
        column, names = self._call.time_column, self._call.output.names
        if column not in names:
            hint = f"return the column `{column}`" if column else "return one row per row"
            raise WrongResult(f"returned {rows} rows for {batch.num_rows}, so their time is unknown; {hint}")
        return BatchResult(columns, origin, {}, columns[names.index(column)])

    def _row_type(self, visible: pyarrow.RecordBatch) -> Any:
        self._rows = self._rows or row_class(visible.schema.names)
        return self._rows

    def _row_of(self, visible: pyarrow.RecordBatch) -> Any:
        return next(iterate_rows(visible, self._row_type(visible)))


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch: columns, the input row of each output row, and the input rows that failed."""

    columns: list[pyarrow.Array]
    origin: Sequence[int]
    failures: dict[int, Failure]
    times: pyarrow.Array | None = None


def _collect_rows(results: Any) -> list[Any]:
    if not isinstance(results, Iterable) or isinstance(results, str | bytes | dict):
        raise WrongResult(
            f"returned {type(results).__name__} {str(results)[:80]}, expected an iterable of rows"
        )
    return [*results]


def _drop_failed(
    failed: Mapping[int, Any], origin: Sequence[int], rows: Sequence[Any]
) -> tuple[list[int], list[Any]]:
    """Return origins and rows without those whose input row failed."""
    good = [at not in failed for at in origin]
    return [*compress(origin, good)], [*compress(rows, good)]


def _after_nulls(rows: int, column: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.concat_arrays([pyarrow.nulls(rows, column.type), column])


def _with_nulls(column: pyarrow.Array, rows: int) -> pyarrow.Array:
    return pyarrow.concat_arrays([column, pyarrow.nulls(rows, column.type)]) if rows else column


def select_visible(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """Return the columns that user code reads."""
    return batch.select([name for name in batch.schema.names if not name.startswith(INTERNAL)])


def add_paths(paths: Iterable[str]) -> None:
    """Add directories that exist on the worker's machine to the import path."""
    for path in paths:
        if path not in sys.path and Path(path).is_dir():
            sys.path.append(path)
