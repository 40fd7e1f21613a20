"""Plans that cannot run in real-time mode are rejected before anything starts, by step and reason."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline, connect, windows
from headrace.errors import OptionError, PlanError
from headrace.explain.explanation import explain
from headrace.runtime.real_time.records import producer_options
from headrace.steps.base import Ref
from headrace.steps.endpoints.sink import Sink

HINT = "run it without --real-time"


def kafka(topic: str = "t") -> connect.kafka:
    return connect.kafka(servers="127.0.0.1:1", topic=topic)


def stream(source: Any, **options: Any) -> tuple[Pipeline, Any]:
    pipeline = Pipeline("p")
    return pipeline, pipeline.read("tx", source, format="json", schema="k string, ts timestamp", **options)


def refusals(pipeline: Pipeline, **options: Any) -> str:
    with pytest.raises(PlanError) as caught:
        pipeline.start(mode="real_time", **options)
    return str(caught.value)


def test_sources_and_sinks_other_than_kafka_are_rejected_by_step() -> None:
    pipeline, rows = stream(connect.files(path="in/"))
    rows.write("out", connect.memory())
    text = refusals(pipeline)
    assert (
        "`tx`: cannot run in real-time mode: files is read in micro-batches; real-time mode reads Kafka only"
        in text
    )
    assert "`out`: cannot run in real-time mode: memory is written with foreachBatch" in text
    assert HINT in text


def test_dead_letters_and_late_rows_need_a_kafka_sink() -> None:
    pipeline, rows = stream(kafka())
    totals = (
        rows.event_time("ts")
        .key_by("k")
        .window(windows.tumbling("1 minute"))
        .aggregate("totals", n="count(*)")
    )
    totals.write("out", kafka("out"))
    text = refusals(pipeline)
    assert "its dead letters are written at the end of a micro-batch" in text
    assert "late rows without a sink are stored in files; write .late to a Kafka topic" in text


def test_late_rows_of_distinct_need_a_kafka_sink() -> None:
    pipeline, rows = stream(kafka(), on_error="skip")
    once = rows.event_time("ts").distinct("once", on=["k"], within="1 minute")
    once.write("out", kafka("out"))
    assert "`once`: cannot run in real-time mode: late rows without a sink are stored in files" in refusals(
        pipeline
    )


def test_unmatched_rows_of_a_lookup_need_a_kafka_sink() -> None:
    pipeline, rows = stream(kafka(), on_error="skip")
    homes = connect.files(path="homes.csv", format="csv", schema="k string, home string")
    with_homes = rows.lookup("homes", homes, on="k", on_miss="dead_letter")
    with_homes.write("out", kafka("out"))
    reason = "dead letters without a sink are stored in files; write .dead_letters to a Kafka topic"
    assert explain(pipeline._plan()).steps["homes"].real_time.blocked == (reason,)
    assert f"`homes`: cannot run in real-time mode: {reason}" in refusals(pipeline)
    with_homes.dead_letters.write("unmatched", kafka("unmatched"))
    assert explain(pipeline._plan()).steps["homes"].real_time.able


def test_step_after_a_stateful_one_and_exactly_once_are_rejected() -> None:
    pipeline, rows = stream(kafka(), on_error="skip")
    totals = (
        rows.event_time("ts")
        .key_by("k")
        .window(windows.tumbling("1 minute"))
        .aggregate("totals", n="count(*)")
    )
    totals.where("n > 1").write("out", kafka("out"))
    totals.late.write("late", kafka("late"))
    text = refusals(pipeline, guarantee="exactly_once")
    between = "there is a step between the stateful step `totals` and its sink"
    assert f"`out`: cannot run in real-time mode: {between} (write `totals`," in text
    assert "guarantee: exactly_once is required, but real-time mode writes to Kafka at least once" in text


def test_bounded_runs_and_short_batches_are_rejected() -> None:
    pipeline, rows = stream(kafka(), on_error="skip")
    rows.write("out", kafka("out"))
    with pytest.raises(
        OptionError, match="mode: real-time mode does not end by itself and cannot run until caught_up"
    ):
        pipeline.start(mode="real_time", until="caught_up")
    with pytest.raises(
        OptionError, match="every: expected real-time batches of at least 5 seconds, got 1 second"
    ):
        pipeline.start(mode="real_time", every="1 second")


def test_outputs_of_one_step_go_to_one_kafka_cluster() -> None:
    sinks = [Sink(name, Ref("totals"), connect.kafka(servers=f"{name}:1", topic="t")) for name in ("a", "b")]
    problem = (
        "a, b: in real-time mode all outputs of a step must be written to one Kafka cluster\n  hint: use "
    )
    with pytest.raises(PlanError, match=problem):
        producer_options(sinks)
    assert producer_options(sinks[:1])["kafka.linger.ms"] == "0"
