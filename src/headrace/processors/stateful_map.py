"""A function of state and row as a processor."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from headrace.processors.processor import Processor
from headrace.processors.state import value


class StatefulMap(Processor):
    """Calls `f(state, row)`, which returns the new state and a row; None instead of a row emits nothing."""

    current: Any = value(None)

    def __init__(self, f: Callable[[Any, Any], tuple[Any, Any]], initial: Any, output: Any) -> None:
        self._stateful_function = f
        self._initial = initial
        self.output = output  # type: ignore[misc]

    def process(self, row: Any) -> Iterator[Any]:
        before = self.current if self.current is not None else copy.deepcopy(self._initial)
        result = self._stateful_function(before, row)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"expected the new state and a row, got {result!r:.80}")
        self.current, emitted = result
        if emitted is not None:
            yield emitted
