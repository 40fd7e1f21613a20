"""Aggregates in Python, as far as they can be judged without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Aggregate, Pipeline, connect, windows
from headrace.errors import HeadraceError
from headrace.explain.explanation import explain
from headrace.explain.text import drawing, text_of


class Sum(Aggregate):
    """The simplest one."""

    returns = "double"

    def zero(self) -> float:
        return 0.0

    def add(self, state: float, value: float) -> float:
        return state + value

    def merge(self, a: float, b: float) -> float:
        return a + b

    def result(self, state: float) -> float:
        return state


class Forgetful(Sum):
    """An aggregate that does not call the constructor of its base class."""

    def __init__(self, column: str) -> None:
        self.column = column


def test_many_rows_are_folded_in_parts_and_merged() -> None:
    assert Sum("v").fold(float(n) for n in range(10_000)) == sum(range(10_000))
    assert Sum("v").fold([]) == 0


def build_sums(**aggregates: Any) -> Pipeline:
    pipeline = Pipeline("p")
    timed = pipeline.read("tx", connect.memory(), schema="k string, v double, ts timestamp").event_time("ts")
    keyed = timed.key_by("k").window(windows.tumbling("1 minute"))
    keyed.aggregate("sums", **aggregates).write("out", connect.memory())
    return pipeline


def running() -> None:
    pipeline = Pipeline("p")
    tx = pipeline.read("tx", connect.memory(), schema="k string, v double")
    tx.key_by("k").aggregate("sums", total=Sum("v"))  # type: ignore[arg-type]
    pipeline.check()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Sum, 'Sum: expected the columns to aggregate\n  hint: such as Sum("amount")'),
        (lambda: Sum("v", returns="dubble"), "Sum: returns: "),
        (lambda: type("Bare", (Sum,), {"returns": ""})("v"), "Bare: the type of the result is missing"),
        (
            lambda: build_sums(total=Sum),
            '`sums`: `total`: expected an aggregate, got the class Sum\n  hint: create an instance: Sum("amount")',
        ),
        (
            lambda: build_sums(total=Forgetful("v")),
            "`sums`: `total`: Forgetful has no columns\n  hint: begin its __init__ with "
            "super().__init__(column",
        ),
        (
            running,
            "`total` is an aggregate in Python, which stores the values of all rows; a running "
            "aggregate never ends",
        ),
        (
            lambda: build_sums(total=Sum("v")).to_yaml(),
            "an aggregate in Python, Sum(v), cannot be written in a document",
        ),
    ],
)
def test_what_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        make()
    assert message in str(raised.value)


def test_explain_states_that_it_goes_through_arrow_and_what_it_keeps() -> None:
    explanation = explain(build_sums(total=Sum("v * 2"), n="count(*)")._plan())
    step = explanation.steps["sums"]
    assert (step.tier.name, step.tier.python) == ("arrow", "Sum(v * 2)")
    assert step.state is not None
    assert step.state.kept.endswith("; Sum(v * 2) keeps its arguments of every row in it")
    assert "Sum(v * 2) runs in Python; real-time mode supports none" in step.real_time.blocked
    text = text_of(drawing(explanation, width=110))
    assert (
        "arrow   windows in the kernel; Sum(v * 2) folds in Python, through Arrow, when a pane fires" in text
    )
    assert "total = Sum(v * 2), n = count(*)" in text
