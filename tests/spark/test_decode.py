"""Decoding: what each format makes of good records, and every reason for which it rejects a bad one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace import formats
from headrace.formats import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORD = "value binary, partition string, offset bigint"


def frame_of(spark: SparkSession, *records: bytes | None) -> DataFrame:
    """The records as a source would give them, at the offsets 0, 1, ... of one partition."""
    rows = [(None if r is None else bytearray(r), "p", i) for i, r in enumerate(records)]
    return spark.createDataFrame(rows, RECORD)


def decode(
    spark: SparkSession, records: list[bytes | None], schema: str | None, kind: Any = "json"
) -> tuple[list[Any], list[Any]]:
    """The rows and the rejects, each in the order of the records."""
    from headrace.engine.decode import decoded

    rows, rejects = decoded(
        spark,
        frame_of(spark, *records),
        format=formats.of(kind),
        schema=Schema.of(schema) if schema else None,
        on_error="divert",
        source="tx",
    )
    good = sorted(rows.collect(), key=lambda row: row["__position"]["offset"])
    return good, sorted(rejects.take().collect(), key=lambda row: row["position"])


def test_a_json_object_becomes_a_row_with_its_position(spark: SparkSession) -> None:
    [row], rejects = decode(
        spark, [b'{"card": "a", "amount": 1.5, "more": [1]}'], "amount double, card string, n int"
    )
    assert row.asDict(recursive=True) == {
        "amount": 1.5,
        "card": "a",
        "n": None,
        "__position": {"source": "tx", "partition": "p", "offset": 0},
    }
    assert rejects == []


def test_a_bad_record_is_a_reject_beside_the_good_rows(spark: SparkSession) -> None:
    bad = b'{"card": "a", "amount": "abc"}'
    rows, [reject] = decode(spark, [b'{"amount": 1}', bad, b'{"amount": 2}'], "card string, amount double")
    assert [row["amount"] for row in rows] == [1.0, 2.0]
    known = reject.asDict()
    assert known.pop("read_at").year >= 2024
    assert known == {
        "raw": bytearray(bad),
        "reason": 'field `amount`: expected double, got string "abc" at byte 24',
        "field": "amount",
        "source": "tx",
        "partition": "p",
        "position": 1,
    }
