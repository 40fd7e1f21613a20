"""Rows from Python against a schema."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from headrace.connectors.memory.checks import check_rows
from headrace.errors import SourceError
from headrace.schemas.fields import Schema

FITTING: list[tuple[str, Any]] = [
    ("string", "a"),
    ("string", 1),
    ("int", 2**31 - 1),
    ("bigint", -(2**63)),
    ("double", 1),
    ("double", "NaN"),
    ("boolean", False),
    ("decimal(10,2)", Decimal("1.5")),
    ("decimal(10,2)", "1.5"),
    ("binary", b"\x00"),
    ("date", "2026-01-31"),
    ("date", date(2026, 1, 31)),
    ("timestamp", "2026-01-31T12:00:00Z"),
    ("timestamp", "2026-1-3 4:05"),
    ("timestamp", 1_770_000_000),
    ("timestamp", datetime(2026, 1, 31, tzinfo=UTC)),
    ("timestamp_ntz", "2026-01-31T12:00:00"),
    ("array<int>", [1, None, 2]),
    ("map<string,double>", {"a": 1.5}),
    ("struct<a:int,b:string>", {"a": 1}),
    ("interval day to second", "INTERVAL '1' DAY"),
    ("int", None),
]
WRONG: list[tuple[str, Any, str]] = [
    ("int", "1", "expected int, got str '1'"),
    ("int", 2**31, "expected int, got int 2147483648"),
    ("int", True, "expected int, got bool True"),
    ("int", 1.5, "expected int, got float 1.5"),
    ("double", "many", "expected double, got str 'many'"),
    ("boolean", "true", "expected boolean, got str 'true'"),
    ("decimal(10,2)", "x", "expected decimal(10,2), got str 'x'"),
    ("timestamp", "yesterday", "expected timestamp, got str 'yesterday'"),
    ("timestamp", "+99999-01-01T00:00:00Z", "expected timestamp, got str '+99999-01-01T00:00:00Z'"),
    ("date", 20260131, "expected date, got int 20260131"),
    ("array<int>", [1, "2"], "expected array<int>, got list [1, '2']"),
    ("struct<a:int>", {"a": "x"}, "expected struct<a:int>, got dict {'a': 'x'}"),
]


@pytest.mark.parametrize(("kind", "value"), FITTING)
def test_value_that_spark_reads_fits(kind: str, value: Any) -> None:
    check_rows([{"v": value}], Schema.of(f"v {kind}"), where="tx")


@pytest.mark.parametrize(("kind", "value", "error"), WRONG)
def test_other_value_is_an_error_with_row_column_and_type(kind: str, value: Any, error: str) -> None:
    with pytest.raises(SourceError) as caught:
        check_rows([{}, {"v": value}], Schema.of(f"v {kind}"), where="tx", first=4)
    assert (caught.value.where, caught.value.what) == ("tx: row 5: column `v`", error)
