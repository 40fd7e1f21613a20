"""A wrong value of an argument gives an error of Headrace, at the call or in `check`, never another exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import HeadraceError, Pipeline, Processor, connect, patterns, state, triggers, windows

WRONG: tuple[Any, ...] = (
    *(None, True, 5, -1, 1.5, "", "nope", "1 minute", b"x"),
    *([], ["a"], {}, {"a": 1}, object()),
)


class Total(Processor):
    """Sums amounts."""

    output = "card string, total double"
    total: float = state.value(0.0)

    def process(self, row: Any) -> Any:
        self.total += row.amount
        yield {"card": row.card, "total": self.total}


class Handles:
    """Handles of every stage of one pipeline."""

    def __init__(self) -> None:
        self.pipeline = Pipeline("p")
        self.rows = self.pipeline.read(
            "tx", connect.memory(), schema="card string, amount double, n int, ts timestamp"
        )
        self.timed = self.rows.event_time("ts", out_of_order="1 second")
        self.keyed = self.timed.key_by("card")
        self.windowed = self.keyed.window(windows.tumbling("1 minute"))
        limits = self.pipeline.read(
            "limits", connect.memory(), schema="card string, limit double, at timestamp"
        )
        self.right = limits.event_time("at", out_of_order="1 second")
        self.table = self.right.key_by("card").latest("latest_limits")


class Call:
    """A valid call: a verb of the handles, and its arguments by position or name."""

    def __init__(
        self, verb: Callable[[Handles], Callable[..., Any]], /, *positional: Any, **named: Any
    ) -> None:
        self.verb = verb
        self.arguments: dict[int | str, Any] = dict(enumerate(positional))
        self.arguments.update(named)

    def run(self, changed: dict[Any, Any]) -> None:
        handles = Handles()
        values = {
            key: value(handles) if isinstance(value, FromHandles) else value
            for key, value in {**self.arguments, **changed}.items()
        }
        positional = [value for key, value in values.items() if isinstance(key, int)]
        self.verb(handles)(
            *positional, **{key: value for key, value in values.items() if isinstance(key, str)}
        )
        handles.pipeline.check()


class FromHandles:
    """An argument that is a handle of the same pipeline."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, handles: Handles) -> Any:
        return getattr(handles, self.name)


STEP = patterns.step("a", "n > 1")
RIGHT, TABLE = FromHandles("right"), FromHandles("table")
EACH = triggers.after_count(1)

CALLS = {
    "read": Call(lambda h: h.pipeline.read, "x", connect.memory(), schema="a int"),
    "sql": Call(lambda h: h.pipeline.sql, "x", "select * from tx"),
    "where": Call(lambda h: h.rows.where, "n > 1", step_name="b"),
    "select": Call(lambda h: h.rows.select, "n", step_name="b", m="n + 1"),
    "with_columns": Call(lambda h: h.rows.with_columns, step_name="b", m="n + 1"),
    "drop": Call(lambda h: h.rows.drop, "n", step_name="b"),
    "lookup of a table": Call(
        lambda h: h.rows.lookup, "l", connect.memory(), schema="card string, c int", on="card", how="left"
    ),
    "lookup by key": Call(
        *(lambda h: h.rows.lookup, "l", connect.sqlite(path="x.db", table="t")),
        **{"schema": "card string, c int", "on": ["card"], "load": "key", "cache": 10, "ttl": "1 minute"},
        **{"concurrency": 2, "on_miss": "null"},
    ),
    "write": Call(lambda h: h.rows.write, "out", connect.memory(), mode="append"),
    "event_time": Call(
        lambda h: h.rows.event_time, "ts", out_of_order="1 second", idle="1 minute", max_ahead="1 day"
    ),
    "union": Call(lambda h: h.rows.union, FromHandles("rows"), step_name="u"),
    "route": Call(lambda h: h.rows.route, "r", a="n > 1", b="n < 2"),
    "distinct": Call(lambda h: h.timed.distinct, "d", on="card", within="1 minute"),
    "interval join": Call(lambda h: h.timed.join, "j", RIGHT, on="card", within="1 minute", how="inner"),
    "as-of join": Call(
        *(lambda h: h.timed.join_as_of, "j", RIGHT),
        **{"on": "card", "direction": "backward", "tolerance": "1 minute", "how": "left"},
    ),
    "window join": Call(lambda h: h.windowed.join_window, "j", RIGHT, how="inner", where="left.n > 1"),
    "join with a table": Call(
        lambda h: h.timed.join_table, "j", TABLE, on="card", select={"a": "right.limit"}
    ),
    "native window": Call(lambda h: h.keyed.window, windows.tumbling("1 minute"), engine="native"),
    "to_dataframe": Call(lambda h: h.rows.to_dataframe, how="stream"),
    "filter by a condition": Call(lambda h: h.rows.filter, "n > 1", step_name="b"),
    "table join": Call(lambda h: h.table.join, "j", TABLE, on="card", select={"a": "right.limit"}),
    "key_by": Call(lambda h: h.rows.key_by, "card", z="n + 1"),
    "aggregate": Call(lambda h: h.rows.aggregate, "g", z="count(*)"),
    "keyed aggregate": Call(lambda h: h.keyed.aggregate, "g", z="count(*)"),
    "top_n": Call(lambda h: h.keyed.top_n, "g", n=3, order_by="n desc"),
    "latest": Call(lambda h: h.keyed.latest, "g", delete_when="n > 1", ttl="1 hour"),
    "process": Call(lambda h: h.keyed.process, "g", Total, on_error="divert", timeout="1 second"),
    "stateful_map": Call(lambda h: h.keyed.stateful_map, "g", divmod, initial=0, output="n int"),
    "window": Call(lambda h: h.keyed.window, windows.tumbling("1 minute"), ttl="1 hour"),
    "emit": Call(
        lambda h: h.windowed.emit, trigger=triggers.after_count(2), mode="retracting", lateness="1 minute"
    ),
    "window aggregate": Call(lambda h: h.windowed.aggregate, "g", z="count(*)"),
    "match": Call(
        *(lambda h: h.keyed.match, "m", STEP.followed_by("b", "n > 2")),
        **{"within": "1 minute", "select": {"x": "a.n"}, "skip": "past_last"},
    ),
    "match_rules": Call(lambda h: h.keyed.match_rules, "m", rules="rules.yaml", measures="n int"),
    "map": Call(lambda h: h.rows.map, "m", len, output="n int", on_error="divert", timeout="1 second"),
    "filter": Call(lambda h: h.rows.filter, "m", len, on_error="fail"),
    "map_batches": Call(lambda h: h.rows.map_batches, "m", len, output="n int"),
    "explain": Call(lambda h: h.pipeline.explain, width=80),
    "tumbling": Call(lambda _: windows.tumbling, "1 minute", offset="1 second"),
    "sliding": Call(lambda _: windows.sliding, "1 minute", every="1 second"),
    "session": Call(lambda _: windows.session, "1 minute"),
    "count": Call(lambda _: windows.count, 3, every=2, order="arrival"),
    "delta": Call(lambda _: windows.delta, "n", by=2, order="arrival"),
    "punctuation": Call(lambda _: windows.punctuation, "n > 1", order="arrival"),
    "landmark": Call(lambda _: windows.landmark, when="n > 1", order="arrival"),
    "trailing": Call(lambda _: windows.trailing, "1 minute"),
    "every": Call(lambda _: triggers.every, "1 minute"),
    "after_delay": Call(lambda _: triggers.after_delay, "1 minute"),
    "after_count": Call(lambda _: triggers.after_count, 2),
    "after_watermark": Call(lambda _: triggers.after_watermark, early=EACH, late=EACH),
    "any_of": Call(lambda _: triggers.any_of, EACH, triggers.after_count(2)),
    "repeatedly": Call(lambda _: triggers.repeatedly, EACH),
    "or_finally": Call(lambda _: triggers.or_finally, EACH, triggers.every("1 minute")),
    "step": Call(lambda _: patterns.step, "a", "n > 1"),
    "group": Call(lambda _: patterns.group, STEP),
    "either": Call(lambda _: patterns.either, STEP, patterns.step("b", "n < 1")),
    "followed_by": Call(lambda _: STEP.followed_by, "b", "n > 1"),
    "not_next": Call(lambda _: STEP.not_next, "b", "n > 1"),
    "times": Call(lambda _: STEP.times, 2, 3),
    "until": Call(lambda _: STEP.one_or_more().until, "n > 3"),
    "gap": Call(lambda _: STEP.one_or_more().gap, "1 minute"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_valid_call(call: Call) -> None:
    call.run({})


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_wrong_arguments(call: Call) -> None:
    escaped = []
    for argument in call.arguments:
        for value in WRONG:
            try:
                call.run({argument: value})
            except HeadraceError:
                pass
            except Exception as error:
                escaped.append(f"{argument}={value!r}: {type(error).__name__}: {error}")
    assert escaped == []
