"""The names of the edges that can be sampled."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect, windows
from headrace.errors import OptionError
from headrace.plan.graph import Graph
from headrace.runtime.samples import TRUNCATED, find_edge, read_row


@pytest.fixture
def graph() -> Graph:
    pipeline = Pipeline("named")
    rows = pipeline.read("tx", connect.memory(), schema="k string, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("counts", n="count(*)")
    counts.write("out", connect.memory())
    counts.late.write("late_rows", connect.memory())
    return pipeline._plan()


@pytest.mark.parametrize(
    ("name", "edge"),
    [
        ("tx", "tx"),
        ("counts", "counts"),
        ("counts.late", "counts.late"),
        ("out", "counts"),
        ("late_rows", "counts.late"),
    ],
)
def test_an_edge_is_named_by_a_step_an_output_or_a_sink(graph: Graph, name: str, edge: str) -> None:
    assert str(find_edge(graph, name)) == edge


def test_an_unknown_name_is_rejected_with_the_nearest_one(graph: Graph) -> None:
    with pytest.raises(OptionError, match="unknown step or output `count`") as error:
        find_edge(graph, "count")
    assert "did you mean `counts`" in error.value.problem.hint


def test_passwords_are_hidden_in_nested_values_and_in_cut_rows() -> None:
    secret = "amqp://ada:hush@host"
    assert read_row(f'{{"a": [{{"url": "{secret}"}}], "n": 1}}') == {
        "a": [{"url": "amqp://ada:***@host"}],
        "n": 1,
    }
    assert read_row(f'{{"url": "{secret}…')[TRUNCATED] == '{"url": "amqp://ada:***@host…'
