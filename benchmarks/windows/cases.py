"""The cases with both sides and their targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from benchmarks.windows.jobs import Format, Job, by_headrace, by_pandas, by_window_function
from headrace import triggers, windows

PANDAS = "transformWithStateInPandas"
NATIVE = "Spark's window"


@dataclass(frozen=True)
class Case:
    """One job in PySpark and in Headrace."""

    name: str
    title: str
    against: str
    by_pyspark: Job
    headrace: Job
    target: float | None
    """Target for the ratio of Headrace's rows per second to the other side's; None: no target."""
    rows: int = 1_000_000
    rows_per_key: int = 200
    kind: Format = "parquet"
    same: bool = True
    """True if both sides have equal results; with early panes Headrace has more."""


def _order_dependent_cases(
    name: str, processor: str, declared: Callable[..., windows.Window], *setting: Any
) -> list[Case]:
    def by_pyspark(*, in_event_time: bool) -> Job:
        def make_processor() -> Any:
            from benchmarks.windows import processors

            return getattr(processors, processor)(in_event_time=in_event_time)

        return by_pandas(make_processor, watermark=in_event_time)

    arrival = by_headrace(declared(*setting, order="arrival"))
    in_order = by_headrace(declared(*setting))
    return [
        Case(
            f"{name}-arrival",
            f"{name} windows, arrival order",
            PANDAS,
            by_pyspark(in_event_time=False),
            arrival,
            6,
        ),
        Case(
            f"{name}-event-time",
            f"{name} windows, event-time order",
            PANDAS,
            by_pyspark(in_event_time=True),
            in_order,
            3,
        ),
    ]


def _by_time(processor: str) -> Job:
    def make_processor() -> Any:
        from benchmarks.windows import processors

        return getattr(processors, processor)()

    return by_pandas(make_processor, watermark=True)


def _tumbling(name: str, size: str, target: float | None, early: triggers.Trigger) -> Case:
    rows = {"20 seconds": "about 1.6 rows", "1 hour": "many rows"}[size]
    shown = "counted" if isinstance(early, triggers.AfterCount) else "timed"
    emit = {"early": early, "late": triggers.after_count(1), "lateness": "1 minute"}
    return Case(
        name,
        f"tumbling windows with {shown} early and late panes, {rows} each, JSON",
        NATIVE,
        by_window_function(lambda: F.window("ts", size), kind="json"),
        by_headrace(windows.tumbling(size), kind="json", **emit),
        target,
        kind="json",
        same=False,
    )


CASES: tuple[Case, ...] = (
    *_order_dependent_cases("count", "Count", windows.count, 100),
    *_order_dependent_cases("delta", "Delta", lambda **order: windows.delta("value", by=20, **order)),
    *_order_dependent_cases(
        "punctuation", "Punctuation", lambda **order: windows.punctuation("kind = 'end'", **order)
    ),
    Case(
        "sessions-early",
        "sessions with early panes",
        PANDAS,
        _by_time("Sessions"),
        by_headrace(windows.session("54 seconds"), early=triggers.after_count(10)),
        6,
    ),
    Case(
        "trailing",
        "trailing windows, 10 minutes",
        PANDAS,
        _by_time("Trailing"),
        by_headrace(windows.trailing("10 minutes")),
        None,
    ),
    _tumbling("tumbling-fine", "20 seconds", 0.8, triggers.after_count(2)),
    _tumbling("tumbling-fine-timed", "20 seconds", 0.8, triggers.every("10 seconds")),
    _tumbling("tumbling-coarse", "1 hour", None, triggers.after_count(100)),
    Case(
        "sliding",
        "sliding windows, 1 hour every minute",
        NATIVE,
        by_window_function(lambda: F.window("ts", "1 hour", "1 minute")),
        by_headrace(windows.sliding("1 hour", every="1 minute")),
        3,
        rows=200_000,
    ),
)
