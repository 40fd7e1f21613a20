"""Pipelines with an aggregate in Python, for the cases beside this file."""

from __future__ import annotations

from typing import Any

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


class Joined(Aggregate):
    """Two columns as text, in the order of rows."""

    returns = "array<struct<k: string, v: double>>"

    def zero(self) -> list[dict[str, Any]]:
        return []

    def add(self, state: list[dict[str, Any]], k: str, v: float) -> list[dict[str, Any]]:
        return [*state, {"k": k, "v": v}]

    def merge(self, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return a + b

    def result(self, state: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return state


pipeline = Pipeline("spreads")
timed = pipeline.read("tx", connect.memory(), schema="k string, v double, ts timestamp").event_time("ts")
keyed = timed.key_by("k")
(
    keyed.window(windows.session("10 seconds"))
    .emit(early=triggers.after_count(1), lateness="1 minute", mode="retracting")
    .aggregate("sessions", n="count(*)", spread=Spread("v * 2"), all=Joined("k", "v"), total="sum(v)")
    .write("sessions_out", connect.memory())
)
(
    keyed.window(windows.tumbling("10 seconds"))
    .emit(early=triggers.after_count(2), mode="discarding")
    .aggregate("parts", spread=Spread("v"))
    .write("parts_out", connect.memory())
)
