"""Columns whose names have spaces, dots and letters beyond ASCII, as keys, in expressions and in functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.step_results import results_of

from headrace import Processor, patterns, state, windows

SCHEMA = "`card no` string, `amount.eur` decimal(10, 2), `gr\u00f6\u00dfe` int, ts timestamp"
ROWS = [
    {"card no": card, "amount.eur": "1.50", "gr\u00f6\u00dfe": n, "ts": f"2026-01-01T00:00:0{n}Z"}
    for n, card in enumerate(["a", "b", "a", None])
]
RISING = patterns.step("one").next("two", "`gr\u00f6\u00dfe` > one.`gr\u00f6\u00dfe`")
OUTPUT = "`card no` string, `n.o` decimal(10, 2)"


class Total(Processor):
    """The running total of a card."""

    output = OUTPUT
    total: float = state.value(0)

    def process(self, row: Any) -> dict[str, Any]:
        self.total += row["amount.eur"]
        return {"card no": row["card no"], "n.o": self.total}


def window(rows: Any) -> Any:
    return (
        rows.key_by("card no")
        .window(windows.tumbling("1 minute"))
        .aggregate("s", **{"n.o": "sum(`amount.eur`)"})
    )


def match(rows: Any) -> Any:
    select = {"n.o": "two.`amount.eur`"}
    return rows.key_by("card no").match("s", RISING, within="1 minute", select=select)


def match_by_capitals(rows: Any) -> Any:
    select = {"n.o": "two.`AMOUNT.EUR`"}
    return rows.key_by("CARD NO").match("s", RISING, within="1 minute", select=select)


def join(rows: Any) -> Any:
    select = {"card no": "left.`card no`", "n.o": "right.`amount.eur`"}
    return rows.join("s", rows, on="card no", within="0 seconds", select=select)


def top(rows: Any) -> Any:
    ranked = rows.key_by("card no").top_n("s", n=1, order_by="`gr\u00f6\u00dfe` desc")
    return ranked.select("`card no`", "`amount.eur` as `n.o`")


def distinct(rows: Any) -> Any:
    return rows.distinct("s", on="card no").select("`card no`", "`amount.eur` as `n.o`")


def map_rows(rows: Any) -> Any:
    def amounts(row: Any) -> tuple[Any, Any]:
        return row["card no"], row["amount.eur"]

    return rows.map("s", amounts, output=OUTPUT)


def process(rows: Any) -> Any:
    return rows.key_by("card no").process("s", Total)


ONE, TWO = 1.5, 3.0


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (window, [("None", ONE), ("a", TWO), ("b", ONE)]),
        (match, [("a", ONE)]),
        (match_by_capitals, [("a", ONE)]),
        (join, [("a", ONE), ("a", ONE), ("b", ONE)]),
        (top, [("None", ONE), ("a", ONE), ("b", ONE)]),
        (distinct, [("None", ONE), ("a", ONE), ("b", ONE)]),
        (map_rows, [("None", ONE), ("a", ONE), ("a", ONE), ("b", ONE)]),
        (process, [("None", ONE), ("a", ONE), ("a", TWO), ("b", ONE)]),
    ],
)
def test_step_takes_columns_with_unusual_names(
    spark: SparkSession, tmp_path: Path, step: Callable[[Any], Any], expected: list[tuple[str, float]]
) -> None:
    results = results_of(step, ROWS, SCHEMA, tmp_path)
    assert sorted((str(row["card no"]), row["n.o"]) for row in results) == expected
