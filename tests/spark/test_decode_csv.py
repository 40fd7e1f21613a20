"""CSV records: the same values as Python's own csv module reads, each reason for a dead letter, and headers."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace import formats
from headrace.formats import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

RECORD = "value binary, partition string, offset bigint"
TYPED = (
    "s string, b boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f4 float, f8 double, m decimal(6,2), d "
    "date, t timestamp, n timestamp_ntz, raw binary, iv interval day to second"
)


def decode(spark: SparkSession, records: list[bytes], schema: str, **options: Any) -> list[Any]:
    """For each record its row as a tuple, the reason for its dead letter, or None if it is neither."""
    from headrace.lowering.decode import decode_records

    frame = spark.createDataFrame([(bytearray(r), "p", i) for i, r in enumerate(records)], RECORD)
    # one piece, so that a header comes first
    rows, dead_letters = decode_records(
        spark,
        frame.coalesce(1),
        format=formats.Csv(**options),
        schema=Schema.of(schema),
        on_error="divert",
        source="tx",
    )
    actual: dict[int, Any] = {row["__position"]["offset"]: tuple(row)[:-1] for row in rows.collect()}
    actual |= {
        dead_letter["position"]: dead_letter["reason"] for dead_letter in dead_letters.take().collect()
    }
    return [actual.get(i) for i in range(len(records))]


def test_each_type_is_read_and_blanks_around_numbers_are_nothing(spark: SparkSession) -> None:
    record = (
        b' a ,TRUE, -1,300, 70000,9223372036854775807,1.5,-1e3,"1,234.5",2024-02-29,'
        b"2024-02-29T12:00:00Z,2024-02-29 12:00:00,aGVq,1 00:00:00\r\n"
    )
    [row, empty] = decode(spark, [record, b"," * 13], TYPED)
    # PySpark returns a `timestamp` as a naive local time
    assert row == (
        *(" a ", True, -1, 300, 70000, 9223372036854775807, 1.5, -1000.0, Decimal("1234.50")),
        dt.date(2024, 2, 29),
        dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC).astimezone().replace(tzinfo=None),
        dt.datetime(2024, 2, 29, 12),
        *(bytearray(b"hej"), dt.timedelta(days=1)),
    )
    assert empty == (None,) * 14


def test_numbers_that_are_none_and_a_text_for_null(spark: SparkSession) -> None:
    records = [b"NaN,Infinity,x", b"-Inf,NULL,NULL", b'1,2,"NULL"']
    got = decode(spark, records, "f8 double, f4 float, s string", null_text="NULL")
    assert math.isnan(got[0][0])
    assert got[0][1:] == (math.inf, "x")
    assert got[1:] == [(-math.inf, None, None), (1.0, 2.0, "NULL")]


def test_quotes_escapes_and_delimiters_can_be_chosen(spark: SparkSession) -> None:
    records = [b"'a;\\'b\\\\';c'd", b"x;'y'"]
    got = decode(spark, records, "a string, b string", delimiter=";", quote="'", escape="\\")
    assert got == [("a;'b\\", "c'd"), ("x", "y")]


CSV_DEAD_LETTERS = {
    b"": "expected 2 values, got an empty record",
    b"1": "expected 2 values, got 1",
    b"1,2,3": "expected 2 values, got 3",
    b"x,1": 'field `i4`: expected int, got string "x" at byte 0',
    b'1,"y"': 'field `f8`: expected double, got string "y" at byte 2',
    "ä,1".encode(): 'field `i4`: expected int, got string "ä" at byte 0',
    b"1.0,1": 'field `i4`: expected int, got string "1.0" at byte 0',
    b"99999999999,1": 'field `i4`: expected int, got string "99999999999" at byte 0',
    b"1,1d": 'field `f8`: expected double, got string "1d" at byte 2',
    b"1,1e999": 'field `f8`: expected double, got string "1e999" at byte 2',
    b'"",1': 'field `i4`: expected int, got string "" at byte 0',
    b"i4,f8": 'field `i4`: expected int, got string "i4" at byte 0; if the first line names the columns, set header: true',
    b'"1,2': "not CSV: the quote that opens at byte 0 is never closed",
    b'"1"x,2': "not CSV: expected `,` after the closing quote, got `x` at byte 3",
    b"\xff,1": "expected UTF-8 text, got the byte 0xff at byte 0",
}


def test_each_csv_dead_letter_states_what_was_expected_what_came_and_where(spark: SparkSession) -> None:
    got = decode(spark, list(CSV_DEAD_LETTERS), "i4 int, f8 double")
    assert dict(zip(CSV_DEAD_LETTERS, got, strict=True)) == CSV_DEAD_LETTERS


def test_not_null_is_a_demand(spark: SparkSession) -> None:
    assert decode(spark, [b"1,"], "a int, b int NOT NULL") == ["field `b`: expected int, got null or nothing"]


def test_a_header_states_which_value_is_which(spark: SparkSession) -> None:
    records = [b"\xef\xbb\xbfmore, B ,a", b"x,2,1", b"y,4,3", b"5,6"]
    got = decode(spark, records, "a int, b int, c int", header=True)
    assert got == [None, (1, 2, None), (3, 4, None), "expected 3 values, got 2"]


def test_timestamp_outside_the_years_1_to_9999_is_a_dead_letter(spark: SparkSession) -> None:
    assert decode(spark, [b"+99999-01-01T00:00:00Z"], "t timestamp") == [
        'field `t`: expected timestamp, got string "+99999-01-01T00:00:00Z" at byte 0'
    ]


def test_a_header_without_a_known_name_diverts_its_file(spark: SparkSession) -> None:
    got = decode(spark, [b"x,y", b"1,2"], "a int, b int", header=True)
    assert got == [
        'expected a header with columns of the schema, got "x,y"',
        "the file's header names no column of the schema",
    ]


def test_each_file_has_its_own_header_and_a_piece_without_one_is_diverted(
    spark: SparkSession, tmp_path: Path
) -> None:
    from headrace.connectors.files.source import lines
    from headrace.lowering.decode import decode_records

    (tmp_path / "one.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "two.csv").write_text("b,a\n6,5\n")

    def read() -> tuple[list[tuple[int, int]], set[str]]:
        frame = lines(spark, spark.read, str(tmp_path))
        rows, dead_letters = decode_records(
            spark,
            frame,
            format=formats.Csv(header=True),
            schema=Schema.of("a int, b int"),
            on_error="divert",
            source="tx",
        )
        good = sorted((row["a"], row["b"]) for row in rows.collect())
        return good, {dead_letter["reason"] for dead_letter in dead_letters.take().collect()}

    assert read() == ([(1, 2), (3, 4), (5, 6)], set())
    spark.conf.set("spark.sql.files.maxPartitionBytes", "5")
    try:
        good, reasons = read()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert set(good) <= {(1, 2), (3, 4), (5, 6)}
    assert reasons == {
        "the file is read in pieces, and this one is without its header: "
        "raise spark.sql.files.maxPartitionBytes above the file's size"
    }


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=6) | st.text(
    ",\"' a", max_size=5
)
TABLES = st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=20, max_size=60)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(TABLES)
def test_what_pythons_csv_writes_is_read_as_it_was(spark: SparkSession, table: list[tuple[str, ...]]) -> None:
    records = []
    for row in table:
        out = io.StringIO()
        csv.writer(out, quoting=csv.QUOTE_ALL if len(row[0]) % 2 else csv.QUOTE_MINIMAL).writerow(row)
        records.append(out.getvalue().encode())
    got = decode(spark, records, "a string, b string, c string", null_text="\0")
    assert got == table
