"""One step with an aggregate in Python over plain columns."""

from __future__ import annotations

from headrace import Aggregate, Pipeline, connect, triggers, windows


class Spread(Aggregate):
    """The highest value less the lowest; of no rows, none."""

    returns = "double"

    def zero(self) -> list[float]:
        return []

    def add(self, state: list[float], value: float | None) -> list[float]:
        return state if value is None else self.merge(state, [value, value])

    def merge(self, a: list[float], b: list[float]) -> list[float]:
        return [min(a[0], b[0]), max(a[1], b[1])] if a and b else a or b

    def result(self, state: list[float]) -> float | None:
        return state[1] - state[0] if state else None


pipeline = Pipeline("alone")
timed = pipeline.read("tx", connect.memory(), schema="k string, v double, ts timestamp").event_time("ts")
early = (
    timed.key_by("k")
    .window(windows.tumbling("10 seconds"))
    .emit(early=triggers.after_count(1), lateness="1 minute")
)
early.aggregate("spreads", n="count(*)", spread=Spread("v")).write("out", connect.memory())
