"""Comparing rows: equality, and the report of a difference."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from headrace.testing.transcripts.results.compare import compare
from headrace.testing.transcripts.results.outputs import Instant, Length, Pairs, matches, rows_of, show


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, None),
        (1, 1),
        (1.0, 1),
        (1, 1.0),
        (0.3, 0.1 + 0.2),
        (math.nan, math.nan),
        (1.5, Decimal("1.50")),
        ("1.5", Decimal("1.50")),
        ("a", "a"),
        (1, "1"),
        (True, "true"),
        (True, True),
        (1.5, Instant(1_500_000)),
        ("1970-01-01T00:00:01.5Z", Instant(1_500_000)),
        ("1970-01-01T01:00:00+01:00", Instant(0)),
        (90, Length(90_000_000)),
        ("90 seconds", Length(90_000_000)),
        ("2026-11-15", date(2026, 11, 15)),
        ("raw", b"raw"),
        ([1, None], [1, None]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([{"a": 1}], [{"a": 1, "b": 2}]),
        ({"a": 1}, Pairs({"a": 1})),
        ({1: "x"}, Pairs({"1": "x"})),
    ],
)
def test_is_what_was_expected(expected: Any, actual: Any) -> None:
    assert matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, 0),
        (0, None),
        (1, 2),
        (1, True),
        (True, 1),
        ("1", 1),
        (0.3, 0.3001),
        ("x", Decimal(1)),
        ("soon", Instant(0)),
        ("soon", Length(0)),
        ([1], [1, 2]),
        ([2, 1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, None),
        ({"a": 1}, Pairs({"a": 1, "b": 2})),
    ],
)
def test_is_not_what_was_expected(expected: Any, actual: Any) -> None:
    assert not matches(expected, actual)


def test_order_does_not_matter_and_multiplicity_does() -> None:
    assert compare("out", [{"k": 1}, {"k": 2}], [{"k": 2}, {"k": 1}]) is None
    assert compare("out", [{"k": 1}], [{"k": 1}, {"k": 1}]) is not None
    assert compare("out", [{"k": 1}, {"k": 1}], [{"k": 1}]) is not None


def test_a_loose_row_does_not_take_the_partner_of_a_strict_one() -> None:
    expected: list[dict[str, Any]] = [{"k": "a"}, {"k": "a", "n": 1}, {"k": "a", "m": 1}]
    received = [{"k": "a", "n": 1, "m": 0}, {"k": "a", "n": 0, "m": 1}, {"k": "a", "n": 0, "m": 0}]
    assert compare("out", expected, received) is None


def test_a_difference_names_the_nearest_row_and_its_columns() -> None:
    expected = [{"k": "a", "window": {"start": 0, "end": 10}, "n": 2}, {"k": "b", "n": 1}]
    received: list[dict[str, Any]] = [
        {"k": "b", "window": {"start": Instant(0), "end": Instant(10_000_000)}, "n": 1},
        {"k": "a", "window": {"start": Instant(0), "end": Instant(10_500_000)}, "n": 3},
        {"k": "c", "window": None, "n": None},
    ]
    assert str(compare("totals", expected, received)) == (
        "totals: expected 2 rows, 3 rows came\n"
        "  missing     {k: a, window: {start: 0, end: 10}, n: 2}\n"
        "  came        {k: a, window: {start: 0, end: 10.5}, n: 3}\n"
        "              ^ window.end: expected 10, got 10.5\n"
        "              ^ n: expected 2, got 3\n"
        "  unexpected  {k: c, window: null, n: null}"
    )


def test_a_difference_shows_a_column_that_is_not_there() -> None:
    message = str(compare("totals", [{"totl": 1}], [{"total": 1}]))
    assert "^ unknown column `totl`: did you mean `total`? Known: total" in message


def test_a_difference_shows_types_that_look_alike() -> None:
    assert "^ n: expected 1, got 1 (int, not str)" in str(compare("out", [{"n": "1"}], [{"n": 1}]))


def test_nothing_came() -> None:
    assert str(compare("out", [{"n": 1}], [])) == "out: expected 1 row, no rows came\n  missing     {n: 1}"


def test_rows_are_read_by_their_schema() -> None:
    kinds = {
        "b": "boolean",
        "d": "double",
        "n": "decimal(4,2)",
        "y": "binary",
        "day": "date",
        "far": "date",
        "at": "timestamp",
        "by": "interval day to second",
        "a": {"type": "array", "elementType": "timestamp"},
        "m": {"type": "map", "keyType": "integer", "valueType": "float"},
        "r": {"type": "struct", "fields": [{"name": "x", "type": "string"}]},
        "u": {"type": "udt", "sqlType": "double"},
    }
    schema = {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}
    values = [
        True,
        "0.5",
        "1.20",
        "AP8=",
        "1970-01-02",
        "+10000-01-01",
        5,
        7,
        [9],
        [[1, "0.5"]],
        ["t"],
        "1.0",
    ]
    [row, empty] = rows_of(schema, [values, [None] * len(kinds)])
    assert row == {
        "b": True,
        "d": 0.5,
        "n": Decimal("1.20"),
        "y": b"\x00\xff",
        "day": date(1970, 1, 2),
        "far": "+10000-01-01",
        "at": Instant(5),
        "by": Length(7),
        "a": [Instant(9)],
        "m": Pairs({"1": 0.5}),
        "r": {"x": "t"},
        "u": 1.0,
    }
    assert set(empty.values()) == {None}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Instant(1_500_000), "1.5"),
        (Instant(1_763_200_800_000_000), "2025-11-15T10:00:00Z"),
        (Instant(10**18), "1000000000000 s"),
        (Length(90_000_000), "90"),
        (b"\xff", "'\ufffd'"),
        (Pairs({"a": True}), "{a: true}"),
        ([1, None], "[1, null]"),
    ],
)
def test_values_are_shown_as_a_script_writes_them(value: Any, text: str) -> None:
    assert show(value) == text
