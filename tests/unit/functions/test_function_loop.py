"""The loop of a function in a worker, without a JVM: results of every form, and rows that fail among them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow
import pydantic
import pytest

from headrace.functions.dead_letters import FAILED, ROW, decode_dead_letter
from headrace.functions.rows import row_class
from headrace.functions.worker import FunctionCall, FunctionLoop

OUTPUT = pyarrow.schema([("name", pyarrow.string()), ("n", pyarrow.int64())])


@dataclasses.dataclass
class Record:
    n: int
    name: str


class Model(pydantic.BaseModel):
    name: str
    n: int


class Pair(NamedTuple):
    name: str
    n: int


class Swapped(NamedTuple):
    n: int
    name: str


RowOfOutput = row_class(["name", "n"])
FORMS: dict[str, Callable[[str, int], Any]] = {
    "tuple": lambda name, n: (name, n),
    "list": lambda name, n: [name, n],
    "dict": lambda name, n: {"n": n, "name": name},
    "dataclass": lambda name, n: Record(n, name),
    "pydantic": lambda name, n: Model(name=name, n=n),
    "named tuple": Pair,
    "named tuple in another order": lambda name, n: Swapped(n, name),
    "row": RowOfOutput,
    "mixed": lambda name, n: (name, n) if n % 2 else {"name": name, "n": n},
}


def run(
    kind: str, function: Callable[[Any], Any], rows: int, output: pyarrow.Schema = OUTPUT, **options: Any
) -> Any:
    """Return the rows that came out, and the dead letters by the number of the row."""
    made = {"n": list(range(rows)), "__ts": [n * 10 for n in range(rows)]}
    batches = pyarrow.RecordBatch.from_pydict(made), pyarrow.RecordBatch.from_pydict(made)
    loop = FunctionLoop(
        FunctionCall("step", kind, function, "f", output, f"{kind} {id(function)}", **options)
    )
    out = pyarrow.Table.from_batches(loop.run(batches)).to_pylist()
    good = [{name: row[name] for name in (*output.names, "__ts")} for row in out if row[FAILED] is None]
    failed = {row[ROW]: decode_dead_letter(row[FAILED]).to_pylist()[0] for row in out if row[FAILED]}
    return good, failed


@pytest.mark.parametrize("form", FORMS)
def test_results_of_every_form_are_rows_of_the_output(form: str) -> None:
    make = FORMS[form]
    good, failed = run("map", lambda row: make(f"r{row.n}", row.n), 3)
    assert good == [{"name": f"r{n}", "n": n, "__ts": n * 10} for n in range(3)] * 2
    assert failed == {}


@pytest.mark.parametrize("form", FORMS)
def test_a_row_that_raises_and_a_value_that_does_not_fit_are_dead_letters(form: str) -> None:
    make = FORMS[form]

    def f(row: Any) -> Any:
        if row.n == 1:
            raise ValueError("no")
        return make("x", row.n) if row.n != 3 else (7, 2**70)

    good, failed = run("map", f, 5)
    assert [(row["n"], row["__ts"]) for row in good] == [(0, 0), (2, 20), (4, 40)] * 2
    assert sorted(failed) == [1, 3, 6, 8]  # numbers in the task, of two batches
    assert failed[6]["n"] == 1
    assert failed[6]["reason"].startswith("ValueError: no (")
    assert "returned " in failed[8]["reason"]


@pytest.mark.parametrize("kind", ["map", "flat_map"])
def test_exit_in_a_function_fails_its_row(kind: str) -> None:
    good, failed = run(kind, lambda row: sys.exit("no licence"), 1)
    assert good == []
    assert [letter["reason"].split(" (")[0] for letter in failed.values()] == ["SystemExit: no licence"] * 2


def test_a_function_is_called_once_per_row_also_if_it_raises_stop_iteration() -> None:
    calls: list[int] = []

    def f(row: Any) -> Any:
        calls.append(row.n)
        return ("x", next(iter([row.n] if row.n % 2 else [])))

    good, failed = run("map", f, 4)
    assert calls == [0, 1, 2, 3] * 2
    assert [row["n"] for row in good] == [1, 3] * 2
    assert sorted(failed) == [0, 2, 4, 6]


def test_a_wrong_row_fails_all_rows_of_its_call() -> None:
    def f(row: Any) -> Iterator[Any]:
        yield "a", row.n
        yield ("b", row.n) if row.n else ("b",)

    good, failed = run("flat_map", f, 2)
    assert [(row["name"], row["n"]) for row in good] == [("a", 1), ("b", 1)] * 2
    assert [letter["reason"].partition(" (")[0] for letter in failed.values()] == [
        "returned 1 values, expected 2: name, n"
    ] * 2


def test_the_timeout_of_a_call_includes_the_rows_of_its_generator() -> None:
    def f(row: Any) -> Iterator[Any]:
        yield "a", row.n
        while row.n == 1:
            signal.pause()

    good, failed = run("flat_map", f, 3, timeout=0.05)
    assert [row["n"] for row in good] == [0, 2] * 2
    assert sorted(failed) == [1, 4]
    assert failed[1]["reason"].startswith("TimeoutError: no result after 0.05 seconds (")


class Lookup:
    def __call__(self, row: Any) -> Any:
        return 7


async def wait(row: Any) -> Any:
    return 7


@pytest.mark.parametrize("kind", ["map", "flat_map", "filter", "map_batches"])
@pytest.mark.parametrize("target", [lambda row: 7, functools.partial(lambda n, row: n, 7), Lookup, Lookup()])
def test_a_wrong_result_names_the_line_of_the_function(kind: str, target: Any) -> None:
    output = pyarrow.schema([("n", pyarrow.int64() if kind == "filter" else pyarrow.string())])
    _, failed = run(kind, target, 1, output)
    code = getattr(target, "func", target)
    code = code if inspect.isfunction(code) else Lookup.__call__
    assert failed[0]["reason"].startswith("returned int")
    assert failed[0]["reason"].endswith(f" ({__file__}:{code.__code__.co_firstlineno} in f)")


def test_a_wrong_result_of_an_async_function_names_its_line() -> None:
    _, failed = run("map", wait, 1)
    assert failed[0]["reason"].endswith(f" ({__file__}:{wait.__code__.co_firstlineno} in f)")


def test_one_column_takes_plain_values() -> None:
    good, failed = run("map", lambda row: row.n / 2, 3, pyarrow.schema([("half", pyarrow.float64())]))
    assert [row["half"] for row in good] == [0.0, 0.5, 1.0] * 2
    assert failed == {}
