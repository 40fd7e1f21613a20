"""The guarantee of a pipeline, the reason for it, and the changes that improve it."""

from __future__ import annotations

import pytest

from headrace import Connector, Pipeline, connect
from headrace.errors import PlanError
from headrace.plan.guarantees import require, sink_guarantees


def test_more_than_can_be_had_is_refused_with_the_place_and_what_would_do() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.files(path="in/"), format="json", schema="v int")
    rows.write("shown", connect.console())
    rows.write("kept", connect.files(path="out/", format="json"))
    graph = pipeline._plan()
    with pytest.raises(PlanError) as raised:
        require(graph, "exactly_once")
    [problem] = raised.value.problems
    assert problem.where.startswith("test_guarantees.py:")
    assert "`shown`" in problem.where
    assert problem.what.endswith("(console) delivers at least once")
    assert problem.hint == (
        "write to delta, files, kafka, mysql, postgres, redis or sqlite, which deliver exactly once; or require "
        "at_least_once"
    )
    assert [guarantee.better for guarantee in sink_guarantees(graph)][1] == ""


def test_what_a_server_forgets_is_reported() -> None:
    pipeline = Pipeline("p")
    pipeline.read("lines", connect.socket(port=9), format="text").write(
        "out", connect.sqlite(path="x.db", table="t")
    )
    [guarantee] = sink_guarantees(pipeline._plan())
    assert guarantee.guarantee == "exactly_once"
    assert guarantee.because.endswith(
        "provided that the server sends lines again that were not on disk when a run died"
    )


@pytest.mark.parametrize(
    "source",
    [
        connect.socket(port=9, overflow="drop_newest"),
        connect.http(listen="127.0.0.1:8080", overflow="drop_oldest"),
        connect.mqtt(url="mqtt://host", topics=["a"], qos=1, session="clean"),
        connect.kafka(servers="host:9092", topic="a", on_data_loss="continue"),
    ],
    ids=lambda source: source.kind,
)
def test_source_that_may_drop_messages_delivers_at_most_once(source: Connector) -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("lines", source, format="json", schema="v int")
    rows.write("out", connect.sqlite(path="x.db", table="t"))
    [guarantee] = sink_guarantees(pipeline._plan())
    assert guarantee.guarantee == "at_most_once"


def test_kafka_sink_without_transactions_names_the_option_to_remove() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.files(path="in/"), format="json", schema="v int")
    rows.write("out", connect.kafka(servers="host:9092", topic="a", format="json", guarantee="at_least_once"))
    [guarantee] = sink_guarantees(pipeline._plan())
    assert (guarantee.guarantee, guarantee.better) == (
        "at_least_once",
        "remove `guarantee: at_least_once` from the sink",
    )
