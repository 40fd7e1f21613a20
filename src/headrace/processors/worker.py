"""The loop of a processor in a Python worker: rows with the state of their keys in, rows and state out.

Rows arrive sorted by key. The first row of a key has its state in `__state`; a key that has only a due timer
is one row without data. A key may continue in the next batch. The results of a batch are one Arrow batch per
output, and one with a row per key whose visit has ended: the state to store, and the next due times.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Protocol

import pyarrow

from headrace.functions.batch_note import BatchNote
from headrace.functions.calls import open_callee
from headrace.functions.failures import dead_letter_names, describe_failure, stop_message
from headrace.functions.logs import StepOutput, label_output
from headrace.functions.results import OutputColumns
from headrace.functions.rows import column_values, iterate_rows, row_class
from headrace.functions.totals import CallTotals
from headrace.functions.worker import TIME, add_paths, select_visible
from headrace.processors.codec import Converters
from headrace.processors.runtime import DEAD_LETTERS, Emitted, FailedCall, ProcessorRuntime, StateUpdate
from headrace.processors.times import BatchTime

OUTPUT, VISITED = "__output", "visited"
STATE, VISIT, WATERMARK, CLOCK = "__state", "__visit", "__watermark", "__clock"
NEW_KEY, WITHOUT_ROW = 1, 2


class Visits(NamedTuple):
    """For each row: 1 if it begins the visit of a key, 2 if it does and has no data; then state and times."""

    kinds: list[int]
    states: Sequence[bytes | None]
    watermarks: Sequence[int | None]
    clocks: list[int]


class Runtime(Protocol):
    """Runs code over one key after the other."""

    key: Any
    calls: int
    failed: list[FailedCall]

    def begin(self, key: Any, content: bytes | None, batch_time: BatchTime) -> None: ...

    def row(self, row: Any, time: int | None) -> None: ...

    def end(self) -> StateUpdate: ...

    def take(self) -> tuple[list[Emitted], list[FailedCall]]: ...

    def definition_of(self) -> str: ...


@dataclass(frozen=True)
class ProcessorCall:
    """A processor step as a worker runs it."""

    step: str
    target: Any
    """The class, or an instance."""
    name: str
    token: str
    keys: tuple[tuple[str, str], ...]
    """The name of each key, and the column that holds it."""
    outputs: dict[str, pyarrow.Schema]
    """The declared columns of each output; the main one is `main`."""
    results: pyarrow.Schema
    """All columns of a result."""
    timed: bool
    on_error: str = "divert"
    paths: tuple[str, ...] = ()
    timeout: float | None = None
    converters: Converters | None = None
    """Conversions of annotated state, from the driver."""
    totals: CallTotals | None = None

    def create_runtime(self, target: Any, columns: dict[str, OutputColumns]) -> Any:
        """Return the runtime of the target in this worker, a `Runtime`."""
        return ProcessorRuntime(target, columns, self.name, self.timeout, self.converters)


class ProcessorLoop:
    """Runs a processor over the batches of a task."""

    def __init__(self, call: ProcessorCall) -> None:
        add_paths(call.paths)
        target = open_callee(call.token, call.step, call.target).instance
        self._call = call
        self._columns = {name: OutputColumns(schema) for name, schema in call.outputs.items()}
        self._runtime: Runtime = call.create_runtime(target, self._columns)
        self._key = row_class([name for name, _ in call.keys])
        self._saved: list[StateUpdate] = []
        self._active = False
        self._row: Any = None
        self._visible: pyarrow.Schema | None = None

    def run(
        self, batches: Iterable[pyarrow.RecordBatch], task: int | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Process each batch and yield its results; `task` is for the error if the worker dies."""
        with BatchNote(self._call.step, task) as note:
            for batch in batches:
                note.write(batch)
                with self._measure_calls() as log:
                    self._process(batch, log)
                yield from self._results()
            if self._active:
                with self._measure_calls():
                    self._end_visit()
                yield from self._results()

    @contextlib.contextmanager
    def _measure_calls(self) -> Iterator[StepOutput]:
        """Label the output of the calls in the block, and add them to the totals."""
        began, runtime = time.perf_counter(), self._runtime
        with label_output(self._call.step) as log:
            log.key = runtime.key if self._active else None
            yield log
        if self._call.totals is not None:
            self._call.totals.add(runtime.calls, time.perf_counter() - began, len(runtime.failed))
        runtime.calls = 0

    def _process(self, batch: pyarrow.RecordBatch, log: StepOutput) -> None:
        names = batch.schema.names
        visible = select_visible(batch)
        self._visible = visible.schema
        self._row = self._row or row_class(visible.schema.names)
        times = _times(batch) if TIME in names else [None] * batch.num_rows
        columns = [column_values(batch.column(column)) for _, column in self._call.keys]
        keys = list(zip(*columns, strict=True)) if columns else [()] * batch.num_rows
        kinds, states, marks, clocks = self._visits(batch, keys)
        runtime, fail = self._runtime, self._call.on_error == "fail"
        rows = zip(count(), iterate_rows(visible, self._row), kinds, times)
        for at, row, kind, at_time in rows:
            if kind:
                batch_time = BatchTime(marks[at], clocks[at], self._call.timed)
                self._begin_visit(log, self._key(*keys[at]), states[at], batch_time)
            if kind != WITHOUT_ROW:
                runtime.row(row, at_time)
            if fail and runtime.failed:
                self._stop(runtime.failed[0])

    def _visits(self, batch: pyarrow.RecordBatch, keys: Sequence[tuple[Any, ...]]) -> Visits:
        """Return which rows begin the visit of a key, and its state, watermark and clock."""
        return Visits(*(batch.column(name).to_pylist() for name in (VISIT, STATE, WATERMARK, CLOCK)))

    def _begin_visit(self, log: StepOutput, key: Any, state: bytes | None, batch_time: BatchTime) -> None:
        if self._active:
            self._end_visit()
        log.key, self._active = key, True
        self._runtime.begin(key, state, batch_time)

    def _end_visit(self) -> None:
        self._saved.append(self._end())
        self._active = False
        self._stop_on_failure()

    def _end(self) -> StateUpdate:
        """End the visit; state that cannot be stored ends the run."""
        try:
            return self._runtime.end()
        except TypeError as error:
            failure = describe_failure(error, self._runtime.definition_of())
            raise RuntimeError(stop_message(self._call.step, self._runtime.key, failure)) from error

    def _stop_on_failure(self) -> None:
        if self._call.on_error == "fail" and self._runtime.failed:
            self._stop(self._runtime.failed[0])

    def _stop(self, failed: FailedCall) -> None:
        row = failed.row if failed.row is not None else failed.key
        raise RuntimeError(stop_message(self._call.step, row, failed.failure))

    def _results(self) -> Iterator[pyarrow.RecordBatch]:
        emitted, failed = self._runtime.take()
        for output, columns in self._columns.items():
            rows = emitted if len(self._columns) == 1 else [row for row in emitted if row[0] == output]
            if rows:
                arrays = columns.arrays(columns.transpose([values for _, values, _ in rows]))
                times = [time for _, _, time in rows] if self._call.timed else []
                yield self._batch(output, {f"__{output}": self._struct(output, arrays, times)}, len(rows))
        if failed:
            yield self._batch(DEAD_LETTERS, {f"__{DEAD_LETTERS}": self._dead_letters(failed)}, len(failed))
        if self._saved:
            saved, self._saved = self._saved, []
            yield self._batch(VISITED, _visited_columns(saved), len(saved))

    def _batch(self, tag: str, columns: dict[str, pyarrow.Array], rows: int) -> pyarrow.RecordBatch:
        """Return rows of one output; the columns of the others are null."""
        results = self._call.results
        columns = {OUTPUT: pyarrow.repeat(tag, rows), **columns}
        arrays = [
            columns[field.name] if field.name in columns else pyarrow.nulls(rows, field.type)
            for field in results
        ]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=results)

    def _struct(self, output: str, arrays: list[pyarrow.Array], times: list[int | None]) -> pyarrow.Array:
        kind = self._call.results.field(f"__{output}").type
        fields = [kind.field(at) for at in range(kind.num_fields)]
        if self._call.timed:
            arrays = [*arrays, pyarrow.array(times, type=pyarrow.int64()).cast(fields[-1].type)]
        return pyarrow.StructArray.from_arrays(arrays, fields=fields)

    def _dead_letters(self, failed: Sequence[FailedCall]) -> pyarrow.Array:
        """Return input columns, reason and traceback; a failed timer has only the key columns."""
        assert self._visible is not None
        kind = self._call.results.field(f"__{DEAD_LETTERS}").type
        fields = [kind.field(at) for at in range(kind.num_fields)]
        columns = OutputColumns(pyarrow.schema(fields))
        names = dead_letter_names(self._visible.names)
        rows = []
        for item in failed:
            values = dict(zip(names, item.row, strict=True)) if item.row is not None else item.key.to_dict()
            known = {name: value for name, value in values.items() if name in names}
            rows.append([*(known.get(name) for name in names), item.failure.reason, item.failure.traceback])
        return pyarrow.StructArray.from_arrays(columns.arrays(columns.transpose(rows)), fields=fields)


def _times(batch: pyarrow.RecordBatch) -> list[int | None]:
    times: list[int | None] = batch.column(TIME).cast(pyarrow.int64()).to_pylist()
    return times


def _visited_columns(saved: Sequence[StateUpdate]) -> dict[str, pyarrow.Array]:
    return {
        STATE: pyarrow.array([item.content for item in saved], type=pyarrow.binary()),
        "__changed": pyarrow.array([item.changed for item in saved], type=pyarrow.bool_()),
        "__event_due": pyarrow.array([item.event_due for item in saved], type=pyarrow.int64()),
        "__clock_due": pyarrow.array([item.clock_due for item in saved], type=pyarrow.int64()),
        "__buffered": pyarrow.array([item.buffered for item in saved], type=pyarrow.int64()),
    }
