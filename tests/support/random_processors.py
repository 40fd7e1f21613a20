"""Processors and streams made from a seed, and their expected rows from the harness without a JVM.

A row's `op` selects what a processor does with it; two seeds differ in the actions, the times to live and the
timers. `case_of(seed)` is a transcript: micro-batches out of order, watermarks, the clock, kills, and after each
the rows that a pure-Python run of the same class emits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from headrace import Processor, side_output, state, timers
from headrace.testing import processor

SEEDS = range(40)
OPS = 12
KEYS = ("a", "b", "c", None)
SCHEMA = "k string, op int, v int, ts timestamp"
Action = Callable[[Any, Any], Iterator[Any]]


def add(self: Any, row: Any) -> Iterator[Any]:
    self.total += row.v
    yield row.k, "total", self.total


def append(self: Any, row: Any) -> Iterator[Any]:
    self.recent.append(row.v)
    if len(self.recent) > 3:
        del self.recent[0]
    yield row.k, "recent", sum(self.recent)


def count(self: Any, row: Any) -> Iterator[Any]:
    name = str(row.v % 3)
    self.seen[name] = self.seen.get(name, 0) + 1
    for each in sorted(self.seen):
        yield {"k": row.k, "kind": each, "n": self.seen[each]}


def expect_later(self: Any, row: Any) -> Iterator[Any]:
    self.later.set(after=f"{row.v} seconds")
    yield row.k, "late", int(self.watermark is not None and self.time < self.watermark)


def remind(self: Any, row: Any) -> Iterator[Any]:
    self.alarm.set(after=f"{row.v} seconds")
    return iter(())


def cancel(self: Any, row: Any) -> Iterator[Any]:
    yield row.k, "pending", int(self.later.at is not None)
    self.later.cancel()
    self.alarm.cancel()


def divert(self: Any, row: Any) -> Iterator[Any]:
    self.total -= 1
    self.side.emit({"k": row.k, "total": self.total})
    return iter(())


def fail(self: Any, row: Any) -> Iterator[Any]:
    yield row.k, "never", 0
    self.total += 1000
    self.recent.clear()
    self.seen["x"] = 1
    self.later.set(after="1 second")
    self.side.emit({"k": row.k, "total": -1})
    raise ValueError(f"row {row.v}")


def fail_by_type(self: Any, row: Any) -> Iterator[Any]:
    self.total += 1000
    yield row.k, "never", "many"


def clear(self: Any, row: Any) -> Iterator[Any]:
    self.total, self.recent, self.seen = 0, [], {}
    return iter(())


ACTIONS: tuple[Action, ...] = (
    add,
    add,
    append,
    append,
    count,
    expect_later,
    expect_later,
    remind,
    cancel,
    divert,
    fail,
    fail_by_type,
    clear,
)


def _on_later(self: Any, at: datetime) -> Iterator[Any]:
    if self.total % 5 == 4:
        self.total += 1
        raise ValueError("timer")
    yield self.key.k, "later", self.total
    self.total += 1
    if self.total % 3 == 0:
        self.later.set(after="4 seconds")


def _on_alarm(self: Any, at: datetime) -> Iterator[Any]:
    yield self.key.k, "alarm", len(self.recent)
    self.recent.append(1)
    self.later.set(after="2 seconds") if self.time is not None and self.total % 2 else None


def make(seed: int) -> type[Processor]:
    """Return the processor of a seed."""
    chance = random.Random(seed)
    actions = [chance.choice(ACTIONS) for _ in range(OPS)]

    def ttl() -> str | None:
        return chance.choice([None, "5 seconds", "20 seconds"])

    def process(self: Any, row: Any) -> Iterator[Any]:
        rows: Iterator[Any] = actions[row.op](self, row)
        return rows

    members: dict[str, Any] = {
        "output": "k string, kind string, n int",
        "side": side_output("k string, total int"),
        "total": state.value(0, ttl=ttl()),
        "recent": state.list(ttl=ttl()),
        "seen": state.map(ttl=ttl()),
        "later": timers.event(),
        "process": process,
        "on_later": _on_later,
        "alarm": timers.clock(),
        "on_alarm": _on_alarm,
        "__module__": __name__,
    }
    return type(f"P{seed}", (Processor,), members)


globals().update({f"P{seed}": make(seed) for seed in SEEDS})


def case_of(seed: int, lines: int = 9) -> dict[str, Any]:
    """Return a transcript whose expected rows come from the harness."""
    chance = random.Random(-seed - 1)
    script: list[dict[str, Any]] = []
    harness = processor(globals()[f"P{seed}"], key="k")
    watermark = 0
    harness.watermark(0)
    script.append({"watermark": {"tx": 0}})
    for _ in range(lines):
        kind = chance.choices(["rows", "watermark", "advance", "kill"], [6, 3, 2, 2])[0]
        if kind == "rows":
            rows = [_row(chance, watermark) for _ in range(chance.randint(1, 8))]
            made = harness.rows([{**row} for row in rows], time="ts")
            script.append({"rows": {"tx": rows}})
        elif kind == "watermark":
            watermark += chance.randint(1, 12)
            made = harness.watermark(watermark)
            script.append({"watermark": {"tx": watermark}})
        elif kind == "advance":
            seconds = chance.randint(1, 10)
            made = harness.advance(f"{seconds} seconds")
            script.append({"advance": f"{seconds} seconds"})
        else:
            script.append({"restart": "kill"})
            continue
        if kind == "rows" and chance.random() < 0.5:
            script.append({"restart": {"kill": "before_commit"}})
        script.append({"expect": _collect_outputs(harness, made)})
    script += [{"end": True}, {"expect": _collect_outputs(harness, harness.end())}]
    return {"name": f"random processor {seed}", "pipeline": _pipeline(seed), "script": script}


def _row(chance: random.Random, watermark: int) -> dict[str, Any]:
    time = max(0, watermark + chance.randint(-6, 10))
    return {"k": chance.choice(KEYS), "op": chance.randrange(OPS), "v": chance.randint(1, 9), "ts": time}


def _pipeline(seed: int) -> dict[str, Any]:
    source = {"memory": {}, "schema": SCHEMA, "event_time": {"column": "ts"}}
    step = {"from": "tx", "key_by": "k", "process": {"python": f"tests.support.random_processors:P{seed}"}}
    return {"sources": {"tx": source}, "steps": {"p": step}}


def _collect_outputs(harness: Any, made: list[Any]) -> dict[str, Any]:
    failed, harness.dead_letters = harness.dead_letters, []
    dead = [{"k": item.key.k, "op": item.row.op if item.row is not None else None} for item in failed]
    return {
        "p": [row.to_dict() for row in made],
        "p.side": [row.to_dict() for row in harness.side_output("side")],
        "p.dead_letters": dead,
    }
