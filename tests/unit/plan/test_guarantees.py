"""The guarantee of a pipeline, the reason for it, and the changes that improve it."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect
from headrace.errors import PlanError
from headrace.plan.guarantees import require, sink_guarantees


def test_more_than_can_be_had_is_refused_with_the_place_and_what_would_do() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.files(path="in/"), format="json", schema="v int")
    rows.write("shown", connect.console())
    rows.write("kept", connect.files(path="out/", format="json"))
    graph = pipeline.check()
    with pytest.raises(PlanError) as raised:
        require(graph, "exactly_once")
    [problem] = raised.value.problems
    assert problem.where.startswith("test_guarantees.py:")
    assert "`shown`" in problem.where
    assert problem.what.endswith("(console) delivers at least once")
    assert problem.hint == (
        "write to files, kafka, mysql, postgres, redis or sqlite, which deliver exactly once; or require "
        "at_least_once"
    )
    assert [guarantee.better for guarantee in sink_guarantees(graph)][1] == ""


def test_what_a_server_forgets_is_reported() -> None:
    pipeline = Pipeline("p")
    pipeline.read("lines", connect.socket(port=9), format="text").write(
        "out", connect.sqlite(path="x.db", table="t")
    )
    [guarantee] = sink_guarantees(pipeline.check())
    assert guarantee.guarantee == "exactly_once"
    assert guarantee.because.endswith(
        "provided that the server sends lines again that were not on disk when a run died"
    )
