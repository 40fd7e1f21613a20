"""Support of real-time mode by kind of step."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from headrace import Pipeline, triggers, windows
from headrace.connectors.base import Connector, Role
from headrace.explain.explanation import as_json, explain
from headrace.explain.text import drawing, text_of


class Topic(Connector):
    """Stands for a Kafka topic: only the word counts here."""

    kind: ClassVar[str] = "kafka"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink"})
    topic: str = "t"

    @property
    def replayable(self) -> bool:
        return True


def read(pipeline: Pipeline, **options: Any) -> Any:
    return pipeline.read(
        "tx", Topic(), format="json", schema="k string, ts timestamp", on_error="skip", **options
    )


def list_obstacles(pipeline: Pipeline) -> dict[str, tuple[str, ...]]:
    steps = explain(pipeline._plan()).steps
    return {name: step.real_time.blocked for name, step in steps.items() if step.real_time.blocked}


def test_a_chain_from_kafka_to_kafka_could_run_there_and_is_reported_with_what_differs() -> None:
    pipeline = Pipeline("p")
    timed = read(pipeline).event_time("ts")
    counts = timed.key_by("k").window(windows.count(3, order="arrival")).aggregate("threes", n="count(*)")
    counts.write("out", Topic())
    counts.late.write("late", Topic())
    explanation = explain(pipeline._plan())
    assert list_obstacles(pipeline) == {}
    text = text_of(drawing(explanation, width=110))
    assert text[text.index("Real time") :].splitlines() == [
        "Real time   nothing blocks it; what would be different",
        "  tx          at the end of a batch, rows wait some tenths of a second for the next batch",
        "  event_time  the watermark moves once per real-time batch, so long batches delay on-time panes",
        "              the watermark follows the highest event time over all partitions, not the slowest one",
        "  threes      triggers are evaluated after each row, not after each batch",
        "              a replay after a failure may deliver rows in another order of arrival",
        "  out         at least once; readers must remove duplicates",
        "  late        at least once; readers must remove duplicates",
    ]
    data = next(step for step in as_json(explanation)["steps"] if step["name"] == "threes")
    assert data["real_time"]["able"]


def test_running_aggregates_and_distinct_could_run_there() -> None:
    pipeline = Pipeline("p")
    read(pipeline).distinct("unique", on="k").write("once", Topic())
    other = Pipeline("q")
    read(other).key_by("k").aggregate("counts", n="count(*)").write("out", Topic())
    assert list_obstacles(pipeline) == list_obstacles(other) == {}


@pytest.mark.parametrize(
    ("build", "step", "reason"),
    [
        (
            lambda tx: tx.event_time("ts", idle="5 seconds").write("out", Topic()),
            "tx:event_time",
            "idle needs heartbeats, which real-time mode does not have",
        ),
        (
            lambda tx: tx.processing_time().write("out", Topic()),
            "tx:processing_time",
            "the watermark of a clock needs heartbeats, which real-time mode does not have",
        ),
        (
            lambda tx: (
                tx.event_time("ts")
                .window(windows.tumbling("1 minute"), engine="native")
                .aggregate("w", n="count(*)")
                .write("out", Topic())
            ),
            "w",
            "Spark's own windows give final results in append mode; real-time mode has update only",
        ),
        (
            lambda tx: (
                tx.event_time("ts")
                .window(windows.tumbling("1 minute"))
                .aggregate("w", n="count(*)")
                .write("out", Topic())
            ),
            "w",
            "late rows without a sink are stored in files; write .late to a Kafka topic",
        ),
        (
            lambda tx: tx.key_by("k").aggregate("n", n="count(*)").where("n > 1").write("out", Topic()),
            "out",
            "there is a step between the stateful step `n` and its sink (write `n`,",
        ),
        (
            lambda tx: tx.key_by("k").aggregate("n", n="count(*)").write("out", Topic(), mode="complete"),
            "out",
            "real-time mode has update mode only, but this sink requires complete",
        ),
        (
            lambda tx: [tx.where("k = 'a'").write("a", Topic()), tx.where("k = 'b'").write("b", Topic())],
            "tx",
            "its rows go to several sinks (a, b); real-time mode runs a chain without branches",
        ),
    ],
)
def test_what_blocks_a_step(build: Any, step: str, reason: str) -> None:
    pipeline = Pipeline("p")
    build(read(pipeline))
    assert any(text.startswith(reason) for text in list_obstacles(pipeline)[step])


def test_a_log_between_two_queries_blocks_both() -> None:
    pipeline = Pipeline("p")
    tens = read(pipeline).event_time("ts").window(windows.count(10)).aggregate("tens", n="count(*)")
    tens.window(windows.tumbling("1 hour")).aggregate("hours", n="sum(n)").write("out", Topic())
    actual = list_obstacles(pipeline)
    assert "another query reads its rows through an exchange" in " ".join(actual["tens"])
    assert "it reads the exchange of tens, which is stored in files" in actual["hours"]


def test_a_clock_in_a_trigger_is_reported() -> None:
    pipeline = Pipeline("p")
    windowed = read(pipeline).event_time("ts").window(windows.tumbling("1 minute"))
    windowed.emit(early=triggers.every("1 second")).aggregate("w", n="count(*)").write("out", Topic())
    differs = explain(pipeline._plan()).steps["w"].real_time.differs
    assert "timers fire on the next row of their task, or at the batch's end" in differs
