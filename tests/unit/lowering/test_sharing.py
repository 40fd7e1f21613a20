"""The results of a function are persisted if an epoch would call it again for another output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from headrace import Pipeline, connect
from headrace.lowering.lowering import Lowering
from headrace.steps.base import Ref
from headrace.streams.stream import Stream

Build = Callable[[Stream], Any]


def same(row: Any) -> Any:
    return row


def shared(build: Build) -> set[str]:
    """Return the functions that an epoch with all outputs of a pipeline persists."""
    pipeline = Pipeline("p")
    build(pipeline.read("tx", connect.memory(), schema="a int"))
    graph = pipeline._plan()
    lowering = Lowering(cast(Any, None), graph, cast(Any, None))
    functions = [Ref(name) for name in ("f", "g") if name in graph.nodes]
    lowering.share([sink.input for sink in graph.sinks if sink.input.output != "dead_letters"], functions)
    return lowering._shared


def write(stream: Stream, *names: str) -> None:
    for name in names:
        stream.write(name, connect.console())


def called(stream: Stream, name: str) -> Stream:
    return stream.map(name, same, output="a int")


def chain(tx: Stream) -> Stream:
    return called(called(tx, "f"), "g")


def branches(tx: Stream) -> None:
    rows = called(tx, "f")
    write(rows.where("a > 1", step_name="low").union(rows, step_name="all"), "out")


def unread(tx: Stream) -> None:
    rows = called(tx, "f")
    write(rows, "out")
    called(rows, "g").dead_letters.write("letters", connect.console())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda tx: write(called(tx, "f"), "out"), set()),
        (lambda tx: write(chain(tx), "out"), set()),
        (lambda tx: write(called(tx, "f"), "out", "copy"), {"f"}),
        (lambda tx: write(chain(tx), "out", "copy"), {"g"}),
        (lambda tx: write(called(tx, "f").where("a > 1", step_name="low"), "out", "copy"), {"f"}),
        (branches, {"f"}),
        (unread, {"f"}),
    ],
)
def test_a_function_is_persisted_if_it_is_read_again(build: Build, expected: set[str]) -> None:
    assert shared(build) == expected
