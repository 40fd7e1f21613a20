"""The base class of processors."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from headrace.processors.outputs import SideOutput
from headrace.processors.state import Cell
from headrace.processors.timers import Timer
from headrace.processors.times import to_datetime


class Processor:
    """Per-key logic with state, timers and side outputs, for `keyed.process(name, MyProcessor)`.

    Subclasses implement `process` and, for each timer, `on_<timer>`. Both yield rows of `output`. Rows of a
    key arrive in arrival order. A call that raises changes no state and emits nothing; its row goes to
    `.dead_letters`. One instance serves many keys, so plain attributes are not per key; declare state for
    that.

    >>> from headrace import Processor, state, timers
    >>> class Spend(Processor):
    ...     output = "card string, total double"
    ...     total: float = state.value(0.0)
    ...     quiet = timers.event()
    ...
    ...     def process(self, row):
    ...         self.total += row.amount
    ...         self.quiet.set(after="10 minutes")
    ...
    ...     def on_quiet(self, at):
    ...         yield {"card": self.key.card, "total": self.total}
    ...         self.total = 0.0
    >>> from headrace.testing import processor
    >>> spend = processor(Spend, key="card")
    >>> spend.rows([{"card": "a", "amount": 5.0, "ts": 0}, {"card": "a", "amount": 2.5, "ts": 60}], time="ts")
    []
    >>> [(row.card, row.total) for row in spend.watermark(660)]
    [('a', 7.5)]
    """

    output: ClassVar[Any] = None
    """The columns of the rows that `process` and timers yield: DDL text, a dataclass or a pydantic model."""
    cells: ClassVar[dict[str, Cell]] = {}
    """The declared state, by name."""
    declared_timers: ClassVar[dict[str, Timer]] = {}
    side_outputs: ClassVar[dict[str, SideOutput]] = {}
    _visit: Any = None
    _stateful_function: Any = None
    """The user's function, if the class is not the user's."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        members = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("__")}
        cls.cells = {name: item for name, item in members.items() if isinstance(item, Cell)}
        cls.declared_timers = {name: item for name, item in members.items() if isinstance(item, Timer)}
        cls.side_outputs = {name: item for name, item in members.items() if isinstance(item, SideOutput)}
        for name in cls.declared_timers:
            if not callable(members.get(f"on_{name}")):
                raise TypeError(f"{cls.__name__} declares the timer `{name}` and has no method on_{name}(at)")

    def open(self) -> None:
        """Prepare the instance; called once in each worker, before the first row."""

    def close(self) -> None:
        """Release what `open` has acquired; called when the worker opens other code for the step."""

    def process(self, row: Any) -> Iterable[Any] | None:
        """Process one row; yield rows of `output`, or return None."""
        raise NotImplementedError(f"{type(self).__name__} has no method process(row)")

    @property
    def key(self) -> Any:
        """The key columns of the current row or timer: `self.key.card`."""
        return self._visit.key

    @property
    def time(self) -> datetime | None:
        """The event time of the current row, or the time of the timer."""
        return to_datetime(self._visit.time)

    @property
    def watermark(self) -> datetime | None:
        """The watermark of the micro-batch; None before the first."""
        return to_datetime(self._visit.watermark)

    @property
    def now(self) -> datetime:
        """The clock of the micro-batch; the same if the micro-batch is replayed."""
        now = to_datetime(self._visit.clock)
        assert now is not None
        return now
