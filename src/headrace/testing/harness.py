"""Run a processor without a JVM, over micro-batches of rows, with a watermark and a clock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean
from headrace.functions.arrow import arrow_schema
from headrace.functions.results import OutputColumns
from headrace.functions.rows import row_class
from headrace.processors.declaration import declaration_of
from headrace.processors.processor import Processor
from headrace.processors.runtime import MAIN, FailedCall, ProcessorRuntime
from headrace.processors.times import END, BatchTime, to_datetime, to_micros

Row = Any
When = datetime | float | int


def processor(kind: type[Processor] | Processor, /, *, key: str | Sequence[str]) -> ProcessorHarness:
    """Return a harness that runs a processor; `key` names its key columns.

    >>> from headrace import Processor, state
    >>> class Total(Processor):
    ...     output = "card string, total int"
    ...     total: int = state.value(0)
    ...
    ...     def process(self, row):
    ...         self.total += row.amount
    ...         yield {"card": row.card, "total": self.total}
    >>> totals = processor(Total, key="card")
    >>> [row.total for row in totals.rows([{"card": "a", "amount": 2}, {"card": "a", "amount": 3}])]
    [2, 5]
    >>> totals.state("a")
    {'total': 5}
    """
    return ProcessorHarness(kind, (key,) if isinstance(key, str) else tuple(key))


class ProcessorHarness:
    """A processor with its state, a watermark and a clock. Times are datetimes or seconds since 1970.

    >>> from headrace import Processor, timers
    >>> class Alarm(Processor):
    ...     output = "name string"
    ...     ring = timers.clock()
    ...
    ...     def process(self, row):
    ...         self.ring.set(after="1 minute")
    ...
    ...     def on_ring(self, at):
    ...         yield {"name": self.key.name}
    >>> alarms = processor(Alarm, key="name")
    >>> alarms.rows([{"name": "tea"}]), [row.name for row in alarms.advance("1 minute")]
    ([], ['tea'])
    """

    def __init__(self, kind: type[Processor] | Processor, keys: tuple[str, ...]) -> None:
        declared = declaration_of(kind, name="processor")
        schemas = {MAIN: declared.output, **dict(declared.side_outputs)}
        self._columns = {name: OutputColumns(arrow_schema(schema)) for name, schema in schemas.items()}
        self._rows = {name: row_class(schema.names) for name, schema in schemas.items()}
        self._keys = keys
        self._key = row_class(keys)
        self.processor = kind() if isinstance(kind, type) else kind
        self.processor.open()
        self._runtime = ProcessorRuntime(self.processor, self._columns, type(self.processor).__name__)
        self._batch_time = BatchTime(timed=False)
        self._stored: dict[Any, bytes] = {}
        self._due: dict[Any, tuple[int | None, int | None]] = {}
        self._side: dict[str, list[Row]] = {name: [] for name in schemas if name != MAIN}
        self.dead_letters: list[FailedCall] = []
        """The rows whose call raised or returned an invalid row, each with `row`, `key` and `failure`."""

    def rows(self, rows: Sequence[Mapping[str, Any]], *, time: str | None = None) -> list[Row]:
        """Process one micro-batch and return the rows that it emits.

        Args:
            rows: the rows in arrival order, as dicts.
            time: the column of event time, if they have one.

        Raises:
            OptionError: no row has the column `time` or a key column.
        """
        self._batch_time.timed = self._batch_time.timed or time is not None
        names = list(dict.fromkeys(name for row in rows for name in row))
        if rows:
            _check_names("column", (*self._keys, *([] if time is None else [time])), names)
        make = row_class(names)
        groups: dict[Any, list[tuple[Row, int | None]]] = {key: [] for key in self._list_due()}
        for row in rows:
            values = {name: row.get(name) for name in names}
            micros = None if time is None else _micros(values[time])
            if time is not None:
                values[time] = to_datetime(micros)
            groups.setdefault(self._key(*(values[name] for name in self._keys)), []).append(
                (make(*values.values()), micros)
            )
        return self._visit(groups)

    def watermark(self, at: When) -> list[Row]:
        """Set the watermark, and run a micro-batch without rows."""
        self._batch_time.timed, self._batch_time.watermark = True, _micros(at)
        return self._visit({key: [] for key in self._list_due()})

    def advance(self, duration: Duration) -> list[Row]:
        """Advance the clock, which starts at 1970, and run a micro-batch without rows."""
        self._batch_time.clock += microseconds(duration, where="advance")
        return self._visit({key: [] for key in self._list_due()})

    def end(self) -> list[Row]:
        """End the input: every pending timer fires once. Then close the processor."""
        self._batch_time.watermark = self._batch_time.clock = END
        rows = self._visit({key: [] for key in self._list_due()})
        self.processor.close()
        return rows

    def side_output(self, name: str) -> list[Row]:
        """Return the rows of a side output since the last call.

        Raises:
            OptionError: the processor declares no such side output.
        """
        _check_names("side output", [name], self._side)
        rows, self._side[name] = self._side[name], []
        return rows

    def state(self, *key: Any) -> dict[str, Any]:
        """Return the state of a key by name, without attributes that have their defaults."""
        content = self._stored.get(self._key(*key))
        self._runtime.begin(self._key(*key), content, BatchTime(None, -(2**62)))
        return dict(self._runtime.values)

    def _list_due(self) -> list[Any]:
        return [key for key, times in self._due.items() if self._is_due(*times)]

    def _is_due(self, event: int | None, clock: int | None) -> bool:
        watermark = self._batch_time.watermark
        by_event = event is not None and watermark is not None and event <= watermark
        return by_event or (clock is not None and clock <= self._batch_time.clock)

    def _visit(self, groups: Mapping[Any, Sequence[tuple[Row, int | None]]]) -> list[Row]:
        for key, rows in groups.items():
            self._runtime.begin(key, self._stored.get(key), self._batch_time)
            for row, time in rows:
                self._runtime.row(row, time)
            saved = self._runtime.end()
            self._due[key] = (saved.event_due, saved.clock_due)
            if saved.content is None:
                self._stored.pop(key, None)
            else:
                self._stored[key] = saved.content
        return self._take()

    def _take(self) -> list[Row]:
        emitted, failed = self._runtime.take()
        self.dead_letters += failed
        main: list[Row] = []
        for output, values, _ in emitted:
            row = self._rows[output](*values)
            (main if output == MAIN else self._side[output]).append(row)
        return main


def _check_names(noun: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise an error for the first name that is not known."""
    for name in names:
        if name not in known:
            raise OptionError(f"unknown {noun} `{name}`", where="processor", hint=did_you_mean(name, known))


def _micros(at: Any) -> int | None:
    if at is None or isinstance(at, datetime):
        return None if at is None else to_micros(at)
    seconds: float = at
    return round(seconds * 1_000_000)
