"""Processors without a JVM: undone calls, timers at the end, stored state, and the note of a worker's rows."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import pyarrow
import pytest

from headrace import Pipeline, Processor, connect, state, timers
from headrace.errors import OptionError
from headrace.functions.batch_note import BatchNote
from headrace.functions.rows import row_class
from headrace.processors.codec import dump, load
from headrace.processors.runtime import ProcessorRuntime
from headrace.processors.stateful_map import StatefulMap
from headrace.processors.times import BatchTime
from headrace.processors.visit import describe_state
from headrace.testing import processor
from headrace.testing.harness import ProcessorHarness


class Counting(Processor):
    """Counts rows from a start; both timers report."""

    output = "name string, n int"
    n: int = state.value(0)
    held: list[int] = state.list()
    later = timers.event()
    alarm = timers.clock()

    def __init__(self, start: int = 0) -> None:
        self._start = start

    def process(self, row: Any) -> Iterator[tuple[str, int]]:
        self.n += 1
        self.held.append(row.v)
        self.later.set(after="1 hour")
        self.alarm.set(after="1 hour")
        if row.v < 0:
            raise ValueError("negative")
        yield "row", self._start + self.n

    def on_later(self, at: Any) -> Iterator[tuple[str, int]]:
        yield "later", self.n

    def on_alarm(self, at: Any) -> Iterator[tuple[str, int]]:
        yield "alarm", len(self.held)


class WrongRows(Processor):
    output = "n int"
    soon = timers.event()

    def process(self, row: Any) -> Any:
        self.soon.set(after="1 minute")
        return {"n": row.v}

    def on_soon(self, at: Any) -> Any:
        return "seven"


def test_a_wrong_row_names_the_line_of_the_method() -> None:
    harness = processor(WrongRows, key="k")
    harness.rows([{"k": "a", "v": 1, "ts": 0}, {"k": "a", "v": "one", "ts": 0}], time="ts")
    harness.end()
    for letter, method in zip(harness.dead_letters, (WrongRows.process, WrongRows.on_soon), strict=True):
        assert letter.failure.reason.endswith(f" ({__file__}:{method.__code__.co_firstlineno} in WrongRows)")


def test_a_wrong_result_of_stateful_map_names_the_line_of_the_function() -> None:
    def add(total: Any, row: Any) -> Any:
        return total

    harness = processor(StatefulMap(add, 0, "n int"), key="k")
    harness.rows([{"k": "a"}])
    [letter] = harness.dead_letters
    assert letter.failure.reason.startswith("TypeError: expected the new state and a row, got 0 (")
    assert f"{__file__}:{add.__code__.co_firstlineno} in " in letter.failure.reason


def test_a_call_that_raises_is_undone_with_its_lists_and_timers() -> None:
    harness = processor(Counting(10), key="k")
    rows = [{"k": "a", "v": v, "ts": 0} for v in (1, -1, 2)]
    assert [row.n for row in harness.rows(rows, time="ts")] == [11, 12]
    assert harness.state("a") == {"n": 2, "held": [1, 2]}
    [failed] = harness.dead_letters
    assert failed.failure.reason.startswith("ValueError: negative (")


def test_every_pending_timer_fires_once_at_the_end_also_by_the_clock() -> None:
    harness = processor(Counting, key="k")
    harness.rows([{"k": "a", "v": 1, "ts": 0}], time="ts")
    assert sorted(row.name for row in harness.end()) == ["alarm", "later"]


def test_a_pipeline_takes_an_instance_and_a_timeout() -> None:
    tx = Pipeline("p").read("tx", connect.memory(), schema="k string, v int")
    node = tx.key_by("k").process("n", Faultless(), timeout="2 seconds")._pipeline._graph["n"]
    assert "each call within 2 seconds" in node.description()


class Faultless(Processor):
    output = "n int"

    def process(self, row: Any) -> None: ...


class Slow(Processor):
    output = "n int"

    def process(self, row: Any) -> None:
        time.sleep(60)


def test_a_call_past_its_timeout_fails() -> None:
    runtime = ProcessorRuntime(Slow(), {}, "Slow", timeout=0.05)
    runtime.outputs["main"] = processor(Slow, key="k")._columns["main"]
    runtime.begin(("a",), None, BatchTime())
    runtime.row(None, None)
    [failed] = runtime.failed
    assert failed.failure.reason.startswith("TimeoutError: no result after 0.05 seconds (")
    assert runtime.calls == 1


def test_stored_state_is_shown_as_json() -> None:
    content = dump(({"n": 3, "seen": {"FI": 1}}, {}, {"later": 5_000_000}))
    shown = json.loads(describe_state(content))
    assert shown == {"n": 3, "seen": {"FI": 1}, "timers": {"later": "1970-01-01 00:00:05+00:00"}}


def test_a_worker_notes_the_first_and_last_row_of_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    with BatchNote("a b", 7) as note:
        note.write(pyarrow.RecordBatch.from_pylist([{"v": 1}, {"v": 2}, {"v": 3}]))
        [file] = tmp_path.iterdir()
        assert (file.name, file.read_text()) == ("headrace-7-612062", "rows 1 to 3 of its task")
        note.write(pyarrow.RecordBatch.from_pylist([{"v": 1}, {"v": 2}]))
        assert file.read_text() == "rows 4 to 5 of its task"
    assert list(tmp_path.iterdir()) == []


def test_state_holds_times_with_zones_and_rows() -> None:
    row = row_class(["card", "at"])("a", datetime(2026, 3, 2, tzinfo=ZoneInfo("UTC")))
    plain = {"row": row, "local": datetime(2026, 3, 2, 9, tzinfo=ZoneInfo("Europe/Helsinki"))}
    restored = load(dump(plain))
    assert restored == plain
    assert (restored["row"].card, restored["row"].at.tzinfo) == ("a", UTC)
    assert restored["local"].tzinfo == ZoneInfo("Europe/Helsinki")


def test_state_holds_what_the_standard_library_has_for_values() -> None:
    counts = defaultdict(list, {"a": [1]})
    values = [
        {1, 2},
        counts,
        deque([1, 2], maxlen=2),
        Counter("aab"),
        UUID(int=7),
        Decimal("1.50"),
        1j,
        range(3),
    ]
    restored = load(dump(values))
    assert restored == values
    assert [type(value) for value in restored] == [type(value) for value in values]


class Nowhere(tzinfo):
    """A zone without a name."""

    def utcoffset(self, batch_time: datetime | None, /) -> timedelta:
        return timedelta(0)

    dst = utcoffset

    def tzname(self, batch_time: datetime | None, /) -> str:
        return "nowhere"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "state cannot hold a object; use plain values"),
        (print, "state cannot hold a builtin_function_or_method"),
        (SimpleNamespace(a=1), "state cannot hold a SimpleNamespace; use plain values"),
        (datetime(2026, 3, 2, tzinfo=cast(Any, Nowhere)()), "state cannot hold the time zone"),
    ],
)
def test_state_rejects_what_cannot_be_read_back(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        dump(value)


class Echo(Processor):
    output = "k string"

    def process(self, row: Any) -> Iterator[dict[str, Any]]:
        yield {"k": row.k}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda it: it.rows([{"kk": "a"}]), "processor: unknown column `k`\n  hint: did you mean `kk`?"),
        (lambda it: it.rows([{"k": "a", "t": 1}], time="ts"), "processor: unknown column `ts`\n  hint: "),
        (lambda it: it.side_output("large"), "processor: unknown side output `large`"),
    ],
)
def test_harness_names_what_is_unknown(call: Callable[[ProcessorHarness], object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        call(processor(Echo, key="k"))
    assert str(caught.value).startswith(message)


def test_row_that_does_not_fit_the_output_is_a_dead_letter_of_the_harness() -> None:
    class Wrong(Processor):
        output = "k string"

        def process(self, row: Any) -> Iterator[dict[str, Any]]:
            yield {"x": row.k}

    wrong = processor(Wrong, key="k")
    assert wrong.rows([{"k": "a"}]) == []
    [letter] = wrong.dead_letters
    assert "x" in str(letter.failure)


def test_harness_accepts_a_batch_without_rows() -> None:
    assert processor(Echo, key="k").rows([], time="ts") == []
