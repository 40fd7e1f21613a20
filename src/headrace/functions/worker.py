"""The loop of a function step in a Python worker: Arrow batches in, Arrow batches out.

A batch that comes out has the declared columns, the internal columns of the rows (`__ts`, `__position`),
and `__failed`, which holds the dead letter of a row that failed.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow

from headrace.functions.batch_note import BatchNote
from headrace.functions.calls import Callee, call_each, open_callee, time_limit
from headrace.functions.dead_letters import FAILED, encode_dead_letter
from headrace.functions.failures import Failure, WrongResult, describe_failure, stop_message
from headrace.functions.frames import to_columns, to_frame
from headrace.functions.logs import label_output
from headrace.functions.results import OutputColumns
from headrace.functions.rows import iterate_rows, row_class
from headrace.functions.totals import CallTotals

INTERNAL = "__"
TIME, POSITION = "__ts", "__position"


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
    """The declared columns; for `filter`, those of the input."""
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
    totals: CallTotals = field(default_factory=CallTotals)


class FunctionLoop:
    """Applies a function to batches; the rows of a batch that fail are appended to its output."""

    def __init__(self, call: FunctionCall) -> None:
        add_paths(call.paths)
        self._call = call
        self._columns = OutputColumns(call.output)
        self._callee: Callee = open_callee(call.token, call.step, lambda: Callee(call.target))
        self._rows: Any = None
        self._apply: Callable[[pyarrow.RecordBatch], Made] = {
            "map": self._map,
            "flat_map": self._flat_map,
            "filter": self._filter,
            "map_batches": self._map_batch,
        }[call.kind]

    def run(
        self, batches: Iterable[pyarrow.RecordBatch], task: int | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Apply the function to each batch; `task` identifies the task, for the error if the worker dies."""
        with BatchNote(self._call.step, task) as note:
            for batch in batches:
                note.write(batch)
                yield self._run_batch(batch)

    def _run_batch(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        internal = [name for name in batch.schema.names if name.startswith(INTERNAL)]
        shown = batch.select([name for name in batch.schema.names if name not in internal])
        began = time.perf_counter()
        with label_output(self._call.step):
            made = self._apply(batch)
        calls = 1 if self._call.kind == "map_batches" else batch.num_rows
        self._call.totals.add(calls, time.perf_counter() - began, len(made.failures))
        if made.failures and self._call.on_error == "fail":
            at, failure = next(iter(made.failures.items()))
            row = self._row_of(shown.slice(at, 1))
            raise RuntimeError(stop_message(self._call.step, row, failure))
        return self._assemble(batch.select(internal), shown, made)

    def _assemble(
        self, internal: pyarrow.RecordBatch, shown: pyarrow.RecordBatch, made: Made
    ) -> pyarrow.RecordBatch:
        """Return the rows that were made, then one row per failure."""
        failed = list(made.failures)
        letters = [encode_dead_letter(shown.slice(at, 1), made.failures[at]) for at in failed]
        origin = pyarrow.array([*made.origin, *failed], type=pyarrow.int64())
        columns = [_with_nulls(column, len(failed)) for column in made.columns]
        carried = {name: internal.column(name).take(origin) for name in internal.schema.names}
        if made.times is not None and TIME in carried:
            times = made.times.cast(carried[TIME].type)
            carried[TIME] = pyarrow.concat_arrays([times, carried[TIME].slice(len(times))])
        payload = pyarrow.array([None] * len(made.origin) + letters, type=pyarrow.binary())
        names = [*self._call.output.names, *carried, FAILED]
        return pyarrow.RecordBatch.from_arrays([*columns, *carried.values(), payload], names=names)

    def _calls(self, batch: pyarrow.RecordBatch) -> Iterator[Any]:
        shown = batch.select([name for name in batch.schema.names if not name.startswith(INTERNAL)])
        call = self._call
        rows = iterate_rows(shown, self._row_type(shown))
        return call_each(self._callee, rows, call.name, concurrency=call.concurrency, timeout=call.timeout)

    def _map(self, batch: pyarrow.RecordBatch) -> Made:
        made = _Collected(self._columns, self._call.name)
        for at, result in enumerate(self._calls(batch)):
            made.add(at, (result,) if not isinstance(result, Failure) else result)
        return made.end()

    def _flat_map(self, batch: pyarrow.RecordBatch) -> Made:
        made = _Collected(self._columns, self._call.name)
        for at, result in enumerate(self._calls(batch)):
            made.add(at, result)
        return made.end()

    def _filter(self, batch: pyarrow.RecordBatch) -> Made:
        kept, failures = [], {}
        for at, result in enumerate(self._calls(batch)):
            if isinstance(result, Failure):
                failures[at] = result
            elif not isinstance(result, bool) and type(result).__name__ not in ("bool_", "bool"):
                wrong = WrongResult(f"returned {type(result).__name__} {result!r}, expected True or False")
                failures[at] = describe_failure(wrong, self._call.name)
            elif result:
                kept.append(at)
        origin = pyarrow.array(kept, type=pyarrow.int64())
        columns = [batch.column(name).take(origin) for name in self._call.output.names]
        return Made(columns, kept, failures)

    def _map_batch(self, batch: pyarrow.RecordBatch) -> Made:
        """Apply the function to the whole batch; if it fails, so do all of its rows."""
        try:
            shown = batch.select([name for name in batch.schema.names if not name.startswith(INTERNAL)])
            limit = self._call.timeout
            with time_limit(limit) if limit else contextlib.nullcontext():
                result = self._callee.function(to_frame(shown, self._call.library))
            columns = to_columns(result, self._call.output)
            return self._carry_times(batch, columns)
        except Exception as error:
            failure = describe_failure(error, self._call.name)
            columns = [pyarrow.nulls(0, field.type) for field in self._call.output]
            return Made(columns, [], dict.fromkeys(range(batch.num_rows), failure))

    def _carry_times(self, batch: pyarrow.RecordBatch, columns: list[pyarrow.Array]) -> Made:
        """Carry the time of each row; if the number of rows has changed, it is in the time column."""
        rows = len(columns[0]) if columns else batch.num_rows
        if rows == batch.num_rows:
            return Made(columns, list(range(rows)), {})
        origin = [batch.num_rows - 1] * rows
        if TIME not in batch.schema.names:
            return Made(columns, origin, {})
        column, names = self._call.time_column, self._call.output.names
        if column not in names:
            hint = f"return the column `{column}`" if column else "return one row per row"
            raise WrongResult(f"returned {rows} rows for {batch.num_rows}, so their time is unknown; {hint}")
        return Made(columns, origin, {}, columns[names.index(column)])

    def _row_type(self, shown: pyarrow.RecordBatch) -> Any:
        self._rows = self._rows or row_class(shown.schema.names)
        return self._rows

    def _row_of(self, shown: pyarrow.RecordBatch) -> Any:
        return next(iterate_rows(shown, self._row_type(shown)))


@dataclass(frozen=True)
class Made:
    """The rows made of a batch: their columns, the input row of each, and the input rows that failed."""

    columns: list[pyarrow.Array]
    origin: list[int]
    failures: dict[int, Failure]
    times: pyarrow.Array | None = None


class _Collected:
    """Collects the results of calls; a wrong result fails its input row."""

    def __init__(self, columns: OutputColumns, name: str) -> None:
        self._columns = columns
        self._name = name
        self._rows: list[Any] = []
        self._origin: list[int] = []
        self._failures: dict[int, Failure] = {}

    def add(self, at: int, results: Any) -> None:
        """Add the results of one input row; they may come from a generator, which may raise."""
        if isinstance(results, Failure):
            self._failures[at] = results
            return
        try:
            values = [self._columns.values(result) for result in _require_rows(results)]
        except Exception as error:
            self._failures[at] = describe_failure(error, self._name)
            return
        self._rows += values
        self._origin += [at] * len(values)

    def end(self) -> Made:
        """Return what was made; if a value does not fit its column, find its row."""
        try:
            return Made(self._columns.arrays(self._rows), self._origin, self._failures)
        except WrongResult:
            self._fail_wrong_rows()
            return Made(self._columns.arrays(self._rows), self._origin, self._failures)

    def _fail_wrong_rows(self) -> None:
        for at, values in zip(self._origin, self._rows, strict=True):
            try:
                self._columns.check(values)
            except WrongResult as error:
                self._failures.setdefault(at, describe_failure(error, self._name))
        good = [place for place, at in zip(count(), self._origin) if at not in self._failures]
        self._rows = [self._rows[place] for place in good]
        self._origin = [self._origin[place] for place in good]


def _require_rows(results: Any) -> Iterable[Any]:
    if results is None or isinstance(results, str | bytes | dict):
        raise WrongResult(
            f"returned {type(results).__name__} {str(results)[:80]}, expected an iterable of rows"
        )
    return results  # type: ignore[no-any-return]


def _with_nulls(column: pyarrow.Array, rows: int) -> pyarrow.Array:
    return pyarrow.concat_arrays([column, pyarrow.nulls(rows, column.type)]) if rows else column


def add_paths(paths: Iterable[str]) -> None:
    """Let the worker import modules from directories that exist on its machine."""
    for path in paths:
        if path not in sys.path and Path(path).is_dir():
            sys.path.append(path)
