"""The kernel's results equal those of the model.

Generated declarations and streams through both, equal batch by batch.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest
from docs.playground.model.windows import model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from headrace.windows.lower import WindowDriver

SECOND = 1_000_000
CASES = 300  # of each of the kinds below


@pytest.fixture(scope="module")
def driver(spark: SparkSession) -> Any:
    frame = spark.createDataFrame([], "k string, v int, __ts timestamp, __when boolean, __of double")
    return WindowDriver(frame, ["k"], {"values": "sort_array(collect_list(v))"})


@pytest.fixture(scope="module")
def unordered(spark: SparkSession) -> Any:
    """Over an aggregate that takes rows in any order; values are distinct, so a set is as good as a list."""
    frame = spark.createDataFrame([], "k string, v int, __ts timestamp, __when boolean, __of double")
    return WindowDriver(frame, ["k"], {"values": "sort_array(collect_set(v))"})


def triggers(depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    simple = st.one_of(
        st.builds(lambda n: {"after_count": n}, st.integers(1, 4)),
        st.builds(lambda d: {"every": d * SECOND}, st.integers(1, 10)),
        st.just({"after_watermark": {}}),
    )
    if depth == 0:
        return simple
    part = triggers(depth - 1)
    several = st.lists(part, min_size=1, max_size=3)
    return st.one_of(
        simple,
        st.builds(
            lambda value: {"after_watermark": value},
            st.fixed_dictionaries({}, optional={"early": part, "late": part}),
        ),
        st.builds(lambda t: {"repeatedly": t}, part),
        st.builds(lambda ts: {"any_of": ts}, several),
        st.builds(lambda ts: {"all_of": ts}, several),
        st.builds(lambda ts: {"in_sequence": ts}, several),
        st.builds(lambda t, until: {"or_finally": [t, until]}, part, part),
    )


def declarations(
    window: st.SearchStrategy[dict[str, Any]], trigger: st.SearchStrategy[dict[str, Any]] | None = None
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "window": window,
            "trigger": triggers() if trigger is None else trigger,
            "mode": st.sampled_from(["discarding", "accumulating", "retracting"]),
            "lateness": st.sampled_from([0, 3 * SECOND, 20 * SECOND]),
        }
    )


TUMBLING = st.builds(
    lambda size, offset: {"kind": "tumbling", "size": size, "offset": offset % size},
    st.sampled_from([10 * SECOND, 5 * SECOND, 2_500_000, 1_500]),
    st.sampled_from([0, 0, 3 * SECOND]),
)
SLIDING = st.builds(
    lambda size, every: {"kind": "sliding", "size": size * SECOND, "every": every * SECOND},
    st.integers(4, 10),
    st.integers(2, 4),
)
SESSION = st.builds(lambda gap: {"kind": "session", "gap": gap * SECOND}, st.integers(1, 8))
COUNT = st.builds(
    lambda size, every, order: {"kind": "count", "size": size, "every": every, "order": order},
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(["event_time", "arrival"]),
)
MARKED = st.builds(
    lambda kind, order: {"kind": kind, "order": order, "by": 1.5},
    st.sampled_from(["delta", "punctuation", "landmark"]),
    st.sampled_from(["event_time", "arrival"]),
)
RESET = st.builds(
    lambda step, steps: {"kind": "landmark", "reset": step * steps * SECOND, "step": step * SECOND},
    st.integers(2, 6),
    st.integers(1, 3),
)
TRAILING = st.builds(lambda size: {"kind": "trailing", "size": size * SECOND}, st.integers(1, 15))
GLOBAL = st.just({"kind": "global"})

TIMES = st.one_of(
    st.integers(0, 40).map(lambda t: t * SECOND), st.integers(0, 40 * SECOND), st.integers(0, 9_000)
)

MARKS = st.sampled_from([False, False, True, None])
NUMBERS = st.sampled_from([0.0, 1.0, 2.5, 7.0, None])


@st.composite
def scripts(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Batches of rows, a watermark that goes up at times, a clock that goes up, the end now and then."""
    clock, watermark = 0, 0
    events: list[Any] = []
    for _ in range(draw(st.integers(1, 9))):
        event: dict[str, Any] = {}
        times = draw(st.lists(st.one_of(TIMES, TIMES, TIMES, st.sampled_from([None, -SECOND])), max_size=5))
        event["rows"] = [
            {"v": len(events) * 10 + i, "__ts": time, "__when": draw(MARKS), "__of": draw(NUMBERS)}
            for i, time in enumerate(times)
        ]
        if draw(st.booleans()):
            watermark += draw(st.integers(0, 12_000)) * 1_000
            event["watermark"] = watermark or 1_000
        clock += draw(st.sampled_from([0, 0, SECOND, 5 * SECOND]))
        event["clock"] = clock
        events.append(event)
    if draw(st.booleans()):
        events.append({"rows": [], "watermark": 253402214400000000, "clock": clock})
    return events


def run_model(spec: dict[str, Any], script: list[dict[str, Any]]) -> tuple[list[list[dict[str, Any]]], Any]:
    message = model(spec)
    mark = "__of" if spec["window"]["kind"] == "delta" else "__when"
    batches = [
        message.batch(
            [(r["__ts"], r["v"], r[mark]) for r in event["rows"]], event.get("watermark"), event["clock"]
        )
        for event in script
    ]
    return batches, message


def ran(
    driver: Any, spec: dict[str, Any], script: list[dict[str, Any]]
) -> tuple[list[list[dict[str, Any]]], Any]:
    answer = driver.run(json.dumps(spec), script)
    return [[_row(row) for row in event] for event in answer["events"]], answer


def _row(row: dict[str, Any]) -> dict[str, Any]:
    if row["__output"] == "late":
        late = row["__late"]
        window = late["window"] and (late["window"]["start"], late["window"]["end"])
        return {"output": "late", "value": late["v"], "window": window, "reason": late["reason"]}
    main = row["__main"]
    window = main["window"]
    return {
        "output": "main",
        "window": (window["start"], window["end"], window.get("number", 0)),
        "values": main["values"],
        **main["pane"],
        **({"value": main["v"]} if "v" in main else {}),  # a trailing window's row comes along
    }


def _drop_bounds(row: dict[str, Any], kind: str) -> dict[str, Any]:
    """`global_window()` has no bounds to show."""
    if kind == "global" and row["window"]:
        row = row | {"window": (None, None, 0) if row["output"] == "main" else (None, None)}
    return row


def check(driver: Any, spec: dict[str, Any], script: list[dict[str, Any]]) -> dict[str, int]:
    """Run both and compare; the kernel's counts."""
    expected, message = run_model(spec, script)
    got, answer = ran(driver, spec, script)
    kind = spec["window"]["kind"]
    for number, (want, received) in enumerate(zip(expected, got, strict=True)):
        wanted = [_drop_bounds(row, kind) for row in want]
        assert _to_counter(received) == _to_counter(wanted), f"batch {number}"
        assert _by_window(received) == _by_window(wanted), f"batch {number}"
    _check_row_accounting(answer["counts"], answer["open"], script, got, message)
    counts: dict[str, int] = answer["counts"]
    return counts


def _check_row_accounting(
    counts: dict[str, int], open_rows: int, script: Any, got: Any, message: Any
) -> None:
    """Every row is somewhere, once."""
    assert counts["rows"] == sum(len(event["rows"]) for event in script)
    assert counts["rows"] == counts["processed"] + counts["late"] + counts["buffered"]
    assert counts["late"] == sum(row["output"] == "late" for batch in got for row in batch)
    assert counts["dropped"] == message.lost
    assert counts["expired"] == getattr(message, "forgotten", 0)
    assert open_rows == message.held


def _to_counter(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def _by_window(rows: list[dict[str, Any]]) -> dict[Any, list[Any]]:
    actual = defaultdict(list)
    for row in rows:
        if row["output"] == "main":
            actual[row["window"]].append((row["index"], row["retraction"]))
    return actual


THOROUGH = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@THOROUGH
@given(spec=declarations(TUMBLING), script=scripts())
def test_tumbling_windows_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(spec=declarations(SLIDING), script=scripts())
def test_sliding_windows_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(window=SLIDING, mode=st.sampled_from(["discarding", "accumulating", "retracting"]), script=scripts())
def test_sliding_windows_that_share_slices_match_the_model(
    unordered: Any, window: Any, mode: Any, script: Any
) -> None:
    once = {"window": window, "trigger": {"after_watermark": {}}, "mode": mode, "lateness": 0}
    ended = {"rows": [], "watermark": 253402214400000000, "clock": script[-1]["clock"]}

    counts = check(unordered, once, [*script, ended])

    assert counts["open_windows"] == 0


@THOROUGH
@given(spec=declarations(SESSION), script=scripts())
def test_sessions_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(spec=declarations(GLOBAL), script=scripts())
def test_global_windows_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(spec=declarations(COUNT), script=scripts())
def test_count_windows_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(spec=declarations(MARKED), script=scripts())
def test_delta_punctuation_and_landmark_windows_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(spec=declarations(RESET), script=scripts())
def test_landmark_windows_with_a_reset_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(spec=declarations(TRAILING, st.just({"after_watermark": {}})), script=scripts())
def test_trailing_windows_match_the_model(driver: Any, spec: Any, script: Any) -> None:
    check(driver, spec, script)


@THOROUGH
@given(
    spec=declarations(st.one_of(GLOBAL, COUNT, MARKED, RESET)),
    ttl=st.integers(1, 15).map(lambda t: t * SECOND),
    script=scripts(),
)
def test_keys_without_rows_for_the_length_of_their_ttl_are_forgotten_as_in_the_model(
    driver: Any, spec: Any, ttl: Any, script: Any
) -> None:
    check(driver, spec | {"ttl": ttl}, script)
