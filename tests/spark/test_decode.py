"""Decoding: what each format makes of good records, and every reason for which it diverts a bad one.

Records of one schema go through Spark together, a table a job, because a job costs more than a record.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pytest

from headrace import formats
from headrace.formats import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORD = "value binary, partition string, offset bigint"
WIDE = (
    "s string, b boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f4 float, f8 double, m decimal(6,2), d "
    "date, t timestamp, n timestamp_ntz, raw binary, iv interval day to second, ym interval year to month, "
    "xs array<int>, kv map<string,double>, o struct<a:int,b:array<struct<c:string,e:double>>>, v variant"
)

READABLE = WIDE.replace(", ym interval year to month", "").replace(", v variant", "")
"""All that Python has values for."""
QUICK = (
    "s string, b boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f8 double, m decimal(6,2), d date, t "
    "timestamp, xs array<int>, kv map<string,double>, o struct<a:int,b:array<struct<c:string,e:double>>>"
)
"""Only types whose plain records go round Jackson."""


def frame_of(spark: SparkSession, records: list[bytes | None]) -> DataFrame:
    """The records as a source would give them, at the offsets 0, 1, ... of one partition."""
    rows = [(None if r is None else bytearray(r), "p", i) for i, r in enumerate(records)]
    return spark.createDataFrame(rows, RECORD)


def decode(
    spark: SparkSession, records: list[bytes | None], schema: str | None, kind: Any = "json"
) -> tuple[list[Any], list[Any]]:
    """The rows and the dead letters, each in the order of the records."""
    from headrace.lowering.decode import decode_records

    rows, dead_letters = decode_records(
        spark,
        frame_of(spark, records),
        format=formats.of(kind),
        schema=Schema.of(schema) if schema else None,
        on_error="divert",
        source="tx",
    )
    good = sorted(rows.collect(), key=lambda row: row["__position"]["offset"])
    return good, sorted(dead_letters.take().collect(), key=lambda row: row["position"])


def in_utc(moment: dt.datetime) -> dt.datetime:
    """Convert a `timestamp`, which PySpark returns as a naive local time."""
    return moment.astimezone(dt.UTC).replace(tzinfo=None)


def reasons(
    spark: SparkSession, records: list[bytes], schema: str | None, kind: Any = "json"
) -> dict[bytes, Any]:
    """Each record with the reason for its dead letter, or the row it became."""
    good, bad = decode(spark, list(records), schema, kind)
    actual: dict[int, Any] = {row["__position"]["offset"]: row for row in good}
    actual |= {dead_letter["position"]: dead_letter["reason"] for dead_letter in bad}
    return {record: actual.get(i) for i, record in enumerate(records)}


def test_a_json_object_becomes_a_row_with_its_position(spark: SparkSession) -> None:
    [row], dead_letters = decode(
        spark, [b'{"card": "a", "amount": 1.5, "x": [1]}'], "amount double, card string, n int"
    )
    assert row.asDict(recursive=True) == {
        "amount": 1.5,
        "card": "a",
        "n": None,
        "__position": {"source": "tx", "partition": "p", "offset": 0},
    }
    assert dead_letters == []


def test_a_bad_record_is_a_dead_letter_beside_the_good_rows(spark: SparkSession) -> None:
    bad = b'{"card": "a", "amount": "abc"}'
    rows, [dead_letter] = decode(
        spark, [b'{"amount": 1}', bad, b'{"amount": 2}'], "card string, amount double"
    )
    assert [row["amount"] for row in rows] == [1.0, 2.0]
    known = dead_letter.asDict()
    assert known.pop("read_at").year >= 2024
    assert known == {
        "raw": bytearray(bad),
        "reason": 'field `amount`: expected double, got string "abc" at byte 24',
        "field": "amount",
        "source": "tx",
        "partition": "p",
        "position": 1,
    }


JSON_VALUES: list[tuple[str, str, Any]] = [
    ("s", '"a\\u00e4\\n\\"\u20ac\U0001f600"', 'aä\n"€😀'),
    ("s", "'single'", "single"),
    ("s", "1.10", "1.10"),
    ("s", "true", "true"),
    ("s", '{ "as": [ "written" ] }', '{ "as": [ "written" ] }'),
    ("b", "false", False),
    ("i1", "-128", -128),
    ("i2", "32767", 32767),
    ("i4", "-2147483648", -2147483648),
    ("i8", "9223372036854775807", 9223372036854775807),
    ("f4", "1.5", 1.5),
    ("f8", "1e-3", 0.001),
    ("f8", "12345678901234567890", 12345678901234567890.0),
    ("f8", '"NaN"', math.nan),
    ("f8", "NaN", math.nan),
    ("f8", "-Infinity", -math.inf),
    ("f8", '"+INF"', math.inf),
    ("m", "1.005", Decimal("1.01")),
    ("m", '"1,234.5"', Decimal("1234.50")),
    ("m", "1e-999999999", Decimal("0.00")),
    ("m", "1e3", Decimal("1000.00")),
    ("d", '"2024-02-29"', dt.date(2024, 2, 29)),
    ("d", '"2024-02"', dt.date(2024, 2, 1)),
    ("t", '"2024-02-29T12:34:56Z"', dt.datetime(2024, 2, 29, 12, 34, 56)),
    ("t", '"2024-02-29 12:34:56.123456789"', dt.datetime(2024, 2, 29, 12, 34, 56, 123456)),
    ("t", '"2024-02-29T12:34:56.5+02:30"', dt.datetime(2024, 2, 29, 10, 4, 56, 500000)),
    ("t", '"2024-02-29"', dt.datetime(2024, 2, 29)),
    ("t", '"2024-2-9 1:02:03 Europe/Helsinki"', dt.datetime(2024, 2, 8, 23, 2, 3)),
    ("t", "1700000000", dt.datetime(2023, 11, 14, 22, 13, 20)),
    ("t", "-1", dt.datetime(1969, 12, 31, 23, 59, 59)),
    ("n", '"2024-02-29T12:34:56.25"', dt.datetime(2024, 2, 29, 12, 34, 56, 250000)),
    ("raw", '"aGVq"', bytearray(b"hej")),
    ("iv", '"1 02:03:04"', dt.timedelta(days=1, hours=2, minutes=3, seconds=4)),
    ("xs", "[1, null, -3]", [1, None, -3]),
    ("xs", "[]", []),
    ("kv", '{"a": 1, "b": null, "a": 2}', {"a": 2.0, "b": None}),
    ("o", '{"x": [{}], "b": [{"c": "z"}, null]}', (None, [("z", None), None])),
    ("o", "null", None),
]


@pytest.mark.parametrize("schema", [READABLE, QUICK])
def test_each_type_is_read_in_its_usual_spellings(spark: SparkSession, schema: str) -> None:
    table = [entry for entry in JSON_VALUES if entry[0] in Schema.of(schema)]
    rows, dead_letters = decode(spark, [f'{{"{name}": {text}}}'.encode() for name, text, _ in table], schema)
    assert dead_letters == []
    for (name, text, wanted), row in zip(table, rows, strict=True):
        value = in_utc(row[name]) if name == "t" else row[name]
        same = (
            math.isnan(cast(float, value))
            if isinstance(wanted, float) and math.isnan(wanted)
            else value == wanted
        )
        assert same, f"{name} of {text}: {value!r}"


def test_intervals_of_months_and_variants_are_read(spark: SparkSession) -> None:
    from headrace.lowering.decode import decode_records

    frame = frame_of(spark, [b'{"ym": "1-2", "v": {"a": [1, null]}}', b'{"v": null}', b"{}"])
    rows, _ = decode_records(
        spark, frame, format=formats.Json(), schema=Schema.of(WIDE), on_error="fail", source="tx"
    )
    got = rows.selectExpr("cast(ym as string) ym", "to_json(v) v", "v is null none").collect()
    assert [tuple(row) for row in got] == [
        ("INTERVAL '1-2' YEAR TO MONTH", '{"a":[1,null]}', False),
        (None, "null", False),
        (None, None, True),
    ]


def test_a_byte_order_mark_is_skipped_and_of_a_repeated_field_the_last_counts(spark: SparkSession) -> None:
    records: list[bytes | None] = [b'\xef\xbb\xbf{"a": {"x": 1}}', b'{"a": 1, "a": 2}', b' \r\n\t{"a": 3} \n']
    rows, dead_letters = decode(spark, records, "a string")
    assert [row["a"] for row in rows] == ['{"x": 1}', "2", "3"]
    assert dead_letters == []


JSON_DEAD_LETTERS = {
    b"": "expected an object, got an empty record",
    b"  ": "expected an object, got an empty record",
    b"[1]": "expected an object, got an array at byte 0",
    b' "a"': 'expected an object, got string "a" at byte 1',
    b"null": "expected an object, got null at byte 0",
    b"nope": "not JSON: unrecognized token 'nope' at byte 0",
    b'{"s": "a"': "not JSON: the record ends too early, at byte 9",
    b'{"s": "a': "not JSON: the record ends too early, at byte 8",
    b'{"s": "a"} {"s": "b"}': "expected the end of the record after the object, got an object at byte 11",
    b'{"s": "a"} x': "not JSON: unrecognized token 'x' at byte 11",
    b"{s: 1}": "not JSON: unexpected character ('s' (code 115)) at byte 1",
    b'{"i4": 01}': "not JSON: invalid numeric value: Leading zeroes not allowed at byte 8",
    b'{"s": "\xff"}': "expected UTF-8 text, got the byte 0xff at byte 7",
    b'{"s": "\xc3\xa4\xe2\x82"}': "expected UTF-8 text, got the byte 0xe2 at byte 9",
    b'{"b": 1}': "field `b`: expected boolean, got number 1 at byte 6",
    b'{"b": "true"}': 'field `b`: expected boolean, got string "true" at byte 6',
    b'{"i1": 128}': "field `i1`: expected tinyint, got number 128, which is out of range, at byte 7",
    b'{"i2": 40000}': "field `i2`: expected smallint, got number 40000, which is out of range, at byte 7",
    b'{"i4": 99999999999}': "field `i4`: expected int, got number 99999999999, which is out of range, at "
    "byte 7",
    b'{"i8": 9223372036854775808}': (
        "field `i8`: expected bigint, got number 9223372036854775808, which is out of range, at byte 7"
    ),
    b'{"i4": 1.0}': "field `i4`: expected int, got number 1.0 at byte 7",
    b'{"i4": "1"}': 'field `i4`: expected int, got string "1" at byte 7',
    b'{"f4": 1e39}': "field `f4`: expected float, got number 1e39, which is out of range, at byte 7",
    b'{"f8": 1e400}': "field `f8`: expected double, got number 1e400, which is out of range, at byte 7",
    b'{"f8": ""}': 'field `f8`: expected double, got string "" at byte 7',
    b'{"f8": true}': "field `f8`: expected double, got boolean true at byte 7",
    b'{"m": 12345.6}': "field `m`: expected decimal(6,2), got number 12345.6 at byte 6",
    b'{"m": 9999.995}': "field `m`: expected decimal(6,2), got number 9999.995 at byte 6",
    b'{"m": 1e999999999}': "field `m`: expected decimal(6,2), got number 1e999999999 at byte 6",
    b'{"m": "x"}': 'field `m`: expected decimal(6,2), got string "x" at byte 6',
    b'{"m": NaN}': "field `m`: expected decimal(6,2), got number NaN at byte 6",
    b'{"d": "2023-02-29"}': 'field `d`: expected date, got string "2023-02-29" at byte 6',
    b'{"d": 19000}': "field `d`: expected date, got number 19000 at byte 6",
    b'{"t": "yesterday"}': 'field `t`: expected timestamp, got string "yesterday" at byte 6',
    b'{"t": "2024-02-30T00:00:00Z"}': 'field `t`: expected timestamp, got string "2024-02-30T00:00:00Z" at byte 6',
    b'{"t": 1.5}': "field `t`: expected timestamp, got number 1.5 at byte 6",
    b'{"t": 99999999999999}': (
        "field `t`: expected timestamp, got number 99999999999999, which is out of range, at byte 6"
    ),
    b'{"t": 253402300800}': (
        "field `t`: expected timestamp, got number 253402300800, which is out of range, at byte 6"
    ),
    b'{"t": "+99999-01-01T00:00:00Z"}': (
        'field `t`: expected timestamp, got string "+99999-01-01T00:00:00Z", which is out of range, at byte 6'
    ),
    b'{"t": "9999-12-31T23:59:59-01:00"}': (
        'field `t`: expected timestamp, got string "9999-12-31T23:59:59-01:00", which is out of range, at byte 6'
    ),
    b'{"t": "0000-12-31T23:59:59Z"}': (
        'field `t`: expected timestamp, got string "0000-12-31T23:59:59Z", which is out of range, at byte 6'
    ),
    b'{"n": "+10000-01-01T00:00:00"}': (
        'field `n`: expected timestamp_ntz, got string "+10000-01-01T00:00:00", which is out of range, at byte 6'
    ),
    b'{"n": "2024-02-29T00:00:00Z"}': 'field `n`: expected timestamp_ntz, got string "2024-02-29T00:00:00Z" at byte 6',
    b'{"raw": "*"}': 'field `raw`: expected binary in base64, got string "*" at byte 8',
    b'{"raw": 1}': "field `raw`: expected binary in base64, got number 1 at byte 8",
    b'{"iv": "x"}': 'field `iv`: expected interval day to second, got string "x" at byte 7',
    b'{"ym": "x"}': 'field `ym`: expected interval year to month, got string "x" at byte 7',
    b'{"xs": 1}': "field `xs`: expected an array, got number 1 at byte 7",
    b'{"xs": [1, "a"]}': 'field `xs[1]`: expected int, got string "a" at byte 11',
    b'{"kv": []}': "field `kv`: expected an object, got an array at byte 7",
    b'{"kv": {"k": {}}}': "field `kv.k`: expected double, got an object at byte 13",
    b'{"o": "x"}': 'field `o`: expected an object, got string "x" at byte 6',
    b'{"o": {"b": [null, {"e": "q"}]}}': 'field `o.b[1].e`: expected double, got string "q" at byte 25',
    b'{"v": [1, }': "not JSON: unexpected character ('}' (code 125)): expected a value at byte 10",
    b'{"f8": "' + b"x\\n" * 40 + b'"}': 'field `f8`: expected double, got string "'
    + "x\\n" * 30
    + '..." at byte 7',
}


def test_each_json_dead_letter_states_what_was_expected_what_came_and_where(spark: SparkSession) -> None:
    assert reasons(spark, list(JSON_DEAD_LETTERS), WIDE) == JSON_DEAD_LETTERS


SLIPS = {
    b'{"i4": 1,}': "not JSON: unexpected character ('}' (code 125)) at byte 9",
    b'{"i4" 1}': "not JSON: unexpected character ('1' (code 49)) at byte 6",
    b'{,"i4": 1}': "not JSON: unexpected character (',' (code 44)) at byte 1",
    b'{"i4": 1 "s": "a"}': "not JSON: unexpected character ('\"' (code 34)) at byte 9",
    b'{"i4": nullx}': "not JSON: unrecognized token 'nullx' at byte 7",
    b'{"b": truefalse}': "not JSON: unrecognized token 'truefalse' at byte 6",
    b'{"xs": [1,, 2]}': "not JSON: unexpected character (',' (code 44)): expected a value at byte 10",
    b'{"x": [1, {"y": }]}': "not JSON: unexpected character ('}' (code 125)): expected a value at byte 16",
    b'{"x": "a\x01"}': "not JSON: illegal unquoted character ((CTRL-CHAR, code 1)): "
    "has to be escaped using backslash to be included in string value at byte 8",
    b'{"i4": 1}}': "not JSON: unexpected close marker '}': no open Object to close at byte 9",
}


def test_the_quick_way_through_plain_records_diverts_nothing_else_and_nothing_less(
    spark: SparkSession,
) -> None:
    unknown = [f'{{"{name}"'.encode() for name in Schema.of(WIDE).names if name not in Schema.of(QUICK)]
    table = {r: why for r, why in JSON_DEAD_LETTERS.items() if not r.startswith(tuple(unknown))} | SLIPS
    assert reasons(spark, list(table), QUICK) == table


def test_records_that_are_all_unusual_are_read_as_well(spark: SparkSession) -> None:
    unusual = [f'{{"s": "a\\n{i}", "f8": -0.0}}'.encode() for i in range(400)]
    rows, dead_letters = decode(spark, [*unusual, b'{"s": "plain"}'], "s string, f8 double")
    assert dead_letters == []
    assert [row["s"] for row in rows] == [*(f"a\n{i}" for i in range(400)), "plain"]
    assert math.copysign(1, rows[0]["f8"]) == -1


def test_a_record_too_deep_or_null_is_a_dead_letter(spark: SparkSession) -> None:
    deep = b'{"x": ' + b"[" * 2000 + b"]" * 2000 + b"}"
    _, dead_letters = decode(spark, [deep, None], "s string")
    assert dead_letters[0]["reason"].startswith(
        "not JSON: document nesting depth (1001) exceeds the maximum allowed"
    )
    assert dead_letters[1]["reason"] == "expected a record, got null"
    assert dead_letters[1]["raw"] == b""


def test_not_null_is_a_demand(spark: SparkSession) -> None:
    schema = "a int NOT NULL, o struct<b:int NOT NULL>, xs array<struct<c:int NOT NULL>>"
    table = {
        b"{}": "field `a`: expected int, got null or nothing",
        b'{"a": null}': "field `a`: expected int, got null or nothing",
        b'{"a": 1, "o": {}}': "field `o.b`: expected int, got null or nothing",
        b'{"a": 1, "xs": [{"c": 1}, {}]}': "field `xs[1].c`: expected int, got null or nothing",
    }
    assert reasons(spark, list(table), schema) == table
    assert decode(spark, [b'{"a": 1, "o": null, "xs": [null]}'], schema)[1] == []


def test_unknown_fields_can_be_errors(spark: SparkSession) -> None:
    table = {
        b'{"a": 1, "b": 2}': "field `b`: the schema has no such field, at byte 14",
        b'{"o": {"p": 1}}': "field `o.p`: the schema has no such field, at byte 12",
    }
    assert (
        reasons(spark, list(table), "a int, o struct<q:int>", {"json": {"unknown_fields": "error"}}) == table
    )


def test_numbers_can_count_milliseconds_and_texts_follow_a_pattern(spark: SparkSession) -> None:
    options = {
        "json": {"epoch": "milliseconds", "timestamp_format": "dd.MM.yyyy HH:mm", "date_format": "dd/MM/yy"}
    }
    records: list[bytes | None] = [
        b'{"t": 1700000000123, "d": "29/02/24", "n": "29.02.2024 12:30"}',
        b'{"t": "29.02.2024 12:30"}',
        b'{"t": "2024-02-29"}',
        b'{"d": "2024-02-29"}',
    ]
    rows, dead_letters = decode(spark, records, "t timestamp, d date, n timestamp_ntz", options)
    assert in_utc(rows[0]["t"]) == dt.datetime(2023, 11, 14, 22, 13, 20, 123000)
    assert rows[0]["d"] == dt.date(2024, 2, 29)
    assert rows[0]["n"] == in_utc(rows[1]["t"]) == dt.datetime(2024, 2, 29, 12, 30)
    assert [r["field"] for r in dead_letters] == ["t", "d"]


def test_text_is_validated_and_raw_is_not(spark: SparkSession) -> None:
    records: list[bytes | None] = ["hyvää".encode(), b"\xff", b""]
    rows, [dead_letter] = decode(spark, records, None, "text")
    assert [row["value"] for row in rows] == ["hyvää", ""]
    assert dead_letter["reason"] == "expected UTF-8 text, got the byte 0xff at byte 0"
    rows, dead_letters = decode(spark, records, "body binary", "raw")
    assert [row["body"] for row in rows] == records
    assert dead_letters == []


def test_the_quick_way_reads_eight_bytes_at_once_wherever_a_text_or_a_number_ends(
    spark: SparkSession,
) -> None:
    # a task that meets too many records which aren't plain gives the quick way up: they come last
    odd = ["", "ä", "€", "😀", "\x7f", '"', "\\", "\n", "\x1f"]
    texts = ["b" * before + item + "c" * after for item in odd for before in range(10) for after in (0, 1, 9)]
    numbers = [int("123456789012345678"[:digits]) * sign for digits in range(1, 19) for sign in (1, -1)]
    wanted = [{"text_of_a_record": "", "n": number} for number in numbers]
    wanted += [{"text_of_a_record": text, "n": n} for text in texts for n in (0, 12_345_678)]
    records = [json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() for row in wanted]
    raw = [b'{"text_of_a_record":"1234567' + bytes([byte]) + b'"}' for byte in (*range(0x20), 0x80, 0xFF)]
    good, bad = decode(spark, [*raw, *records], "text_of_a_record string, n bigint")
    assert [{"text_of_a_record": row["text_of_a_record"], "n": row["n"]} for row in good] == wanted
    assert [dead_letter["position"] for dead_letter in bad] == list(range(len(raw)))
