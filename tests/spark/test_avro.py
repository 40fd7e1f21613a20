"""Avro records: fastavro writes what Headrace reads, and reads what Headrace writes."""

from __future__ import annotations

import datetime as dt
import io
import json
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.test_decode import decode, frame_of

from headrace.connectors.row_encoding import encode_value, fields_of
from headrace.errors import DeliveryError
from headrace.formats import Avro

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UTC = dt.UTC
Record = dict[str, Any]


def record(*fields: tuple[str, Any], name: str = "Event") -> Record:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


def logical(kind: str, logical_type: str, /, **more: Any) -> Record:
    return {"type": kind, "logicalType": logical_type, **more}


EVERY = record(
    ("flag", "boolean"),
    ("i", "int"),
    ("l", "long"),
    ("f", "float"),
    ("d", "double"),
    ("s", "string"),
    ("b", "bytes"),
    ("maybe", ["null", "string"]),
    ("last_null", ["long", "null"]),
    ("wide", ["null", "int", "long"]),
    ("kind", {"type": "enum", "name": "Kind", "symbols": ["PAY", "REFUND"]}),
    ("same", "Kind"),
    ("four", {"type": "fixed", "name": "Four", "size": 4}),
    ("day", logical("int", "date")),
    ("ms", logical("long", "timestamp-millis")),
    ("us", logical("long", "timestamp-micros")),
    ("local", logical("long", "local-timestamp-micros")),
    ("money", logical("bytes", "decimal", precision=12, scale=3)),
    ("fixed_money", logical("fixed", "decimal", name="Money", size=8, precision=12, scale=3)),
    ("id", logical("string", "uuid")),
    ("time", logical("int", "time-millis")),
    ("list", {"type": "array", "items": ["null", "long"]}),
    ("map", {"type": "map", "values": {"type": "array", "items": "string"}}),
    ("inner", ["null", record(("a", "int"), ("b", ["null", "double"]), name="Inner")]),
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
MONEY = st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-3))
MOMENT = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
RECORDS = st.fixed_dictionaries(
    {
        "flag": st.booleans(),
        "i": INT,
        "l": LONG,
        "f": st.floats(width=32, allow_nan=False),
        "d": st.floats(allow_nan=False),
        "s": TEXT,
        "b": st.binary(max_size=12),
        "maybe": st.none() | TEXT,
        "last_null": st.none() | LONG,
        "wide": st.none() | INT | LONG,
        "kind": st.sampled_from(["PAY", "REFUND"]),
        "same": st.sampled_from(["PAY", "REFUND"]),
        "four": st.binary(min_size=4, max_size=4),
        "day": st.dates(),
        "ms": MOMENT.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000, tzinfo=UTC)),
        "us": MOMENT.map(lambda t: t.replace(tzinfo=UTC)),
        "local": MOMENT,
        "money": MONEY,
        "fixed_money": MONEY,
        "id": st.uuids(),
        "time": st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
        "list": st.lists(st.none() | LONG, max_size=4),
        "map": st.dictionaries(TEXT, st.lists(TEXT, max_size=2), max_size=3),
        "inner": st.none() | st.fixed_dictionaries({"a": INT, "b": st.none() | st.floats(allow_nan=False)}),
    }
)
CASES = settings(max_examples=3)


def write(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def read(schema: Any, content: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(content), fastavro.parse_schema(schema), None)


def plain(value: Any) -> Any:
    """A value that compares equal, whichever library made it."""
    match value:
        case dt.datetime():
            return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
        case dt.time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
        case uuid.UUID() | bytearray():
            return str(value) if isinstance(value, uuid.UUID) else bytes(value)
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
    return value


def rows_of(rows: list[Any]) -> list[Record]:
    """Rows without their position; timestamps are aware, as pyspark returns local times."""
    return [{k: v for k, v in row.asDict(recursive=True).items() if k != "__position"} for row in rows]


def as_plain(row: Record) -> Any:
    aware = {name: row[name].astimezone(UTC) for name in ("ms", "us") if name in row}
    return plain(row | aware)


@CASES
@given(st.lists(RECORDS, min_size=1, max_size=30))
def test_every_type_is_read_as_fastavro_wrote_it(spark: SparkSession, values: list[Record]) -> None:
    good, bad = decode(spark, [write(EVERY, value) for value in values], None, Avro(schema=EVERY))
    assert [as_plain(row) for row in rows_of(good)] == [plain(value) for value in values]
    assert bad == []


def encode(rows: DataFrame, chosen: Avro) -> list[bytes]:
    expression = encode_value(chosen, fields_of(rows.schema.jsonValue()), "out", topic="t")
    return [bytes(row[0]) for row in rows.selectExpr(expression).collect()]


@CASES
@given(st.lists(RECORDS, min_size=1, max_size=30))
def test_fastavro_reads_every_type_as_it_was_written(spark: SparkSession, values: list[Record]) -> None:

    from headrace.lowering.decode import decode_records

    written = [write(EVERY, value) for value in values]
    chosen = Avro(schema=EVERY)
    rows, _ = decode_records(
        spark, frame_of(spark, [*written]), format=chosen, schema=None, on_error="fail", source="tx"
    )
    rows = rows.drop("__position")
    assert [plain(read(EVERY, content)) for content in encode(rows, chosen)] == [plain(v) for v in values]
    derived = json.loads(Avro().writer_schema(_types(rows)))
    read_back = [plain(read(derived, content)) for content in encode(rows, Avro())]
    assert read_back == [plain(value) | {"id": str(value["id"])} for value in values]


def _types(rows: DataFrame) -> dict[str, Any]:
    from headrace.schemas.fields import type_of_json

    return {name: type_of_json(f.kind) for name, f in fields_of(rows.schema.jsonValue()).items()}


SMALL = record(
    ("n", "long"),
    ("s", "string"),
    ("at", logical("long", "timestamp-millis")),
    ("in", record(("x", "int"), name="In")),
)


def small(**values: Any) -> bytes:
    """A record of `SMALL`; the time is a number, because Python has no years after 9999."""
    schema = record(("n", "long"), ("s", "string"), ("at", "long"), ("in", record(("x", "int"), name="In")))
    return write(schema, {"n": 7, "s": "é", "at": 1000, "in": {"x": 1}} | values)


WHOLE = small()
MAX_MILLIS = 253402300799999
BAD: list[tuple[bytes | None, str, str | None]] = [
    (None, "expected a record, got null", None),
    (b"", "field `n`: the record ends too early, at byte 0", "n"),
    (WHOLE[:2], "field `s`: expected a length of at most 0, got 2 at byte 1", "s"),
    (WHOLE[:-1], "field `in.x`: the record ends too early, at byte 6", "in.x"),
    (WHOLE + b"\x00\x00", "expected the end of the record, got 2 more bytes at byte 7", None),
    (
        b"\x0e\xfe\xff\xff\xff\x0fa",
        "field `s`: expected a length of at most 1, got 2147483647 at byte 1",
        "s",
    ),
    (b"\x0e\x04\xff\xfe\x00\x02", "field `s`: expected UTF-8 text, got other bytes", "s"),
    (b"\xff" * 11, "field `n`: expected a number of at most ten bytes at byte 0", "n"),
    (
        small(at=MAX_MILLIS + 1),
        f"field `at`: expected a timestamp in the years 1 to 9999, got {MAX_MILLIS + 1}",
        "at",
    ),
    (small(at=-(2**63)), f"field `at`: expected a timestamp in the years 1 to 9999, got {-(2**63)}", "at"),
]


def test_a_record_that_cannot_be_read_is_a_dead_letter_with_reason_and_field(spark: SparkSession) -> None:
    good, bad = decode(spark, [*(r for r, *_ in BAD), small(at=MAX_MILLIS), WHOLE], None, Avro(schema=SMALL))
    assert [(row["reason"], row["field"]) for row in bad] == [(reason, field) for _, reason, field in BAD]
    assert [row["n"] for row in good] == [7, 7]


FULL: Record = {
    "flag": True, "i": 1, "l": 2, "f": 0.5, "d": 0.25, "s": "ab", "b": b"cd", "maybe": "e", "last_null": 3,
    "wide": 2**40, "kind": "PAY", "same": "REFUND", "four": b"1234", "day": dt.date(2026, 1, 1),
    "ms": dt.datetime(2026, 1, 1, tzinfo=UTC), "us": dt.datetime(2026, 1, 1, tzinfo=UTC),
    "local": dt.datetime(2026, 1, 1), "money": Decimal("1.500"), "fixed_money": Decimal("-1.500"),
    "id": uuid.UUID(int=7), "time": dt.time(1), "list": [1, None], "map": {"k": ["v"]},
    "inner": {"a": 1, "b": 2.0},
}  # fmt: skip


def test_no_truncated_record_is_a_row(spark: SparkSession) -> None:
    whole = write(EVERY, FULL)
    good, bad = decode(spark, [whole[:end] for end in range(len(whole))], None, Avro(schema=EVERY))
    assert good == []
    assert len(bad) == len(whole)
    assert all(row["reason"] for row in bad)


def test_columns_of_a_schema_take_the_fields_of_their_names(spark: SparkSession) -> None:
    ddl = "s string, missing double, n int, `in` struct<x:bigint,y:string>"
    good, bad = decode(spark, [WHOLE, small(n=2**40)], ddl, Avro(schema=SMALL))
    assert rows_of(good) == [{"s": "é", "missing": None, "n": 7, "in": {"x": 1, "y": None}}]
    assert [row["reason"] for row in bad] == ["field `n`: expected int, got 1099511627776"]


WRONG_TYPES = [
    ("s int", "field `s`: expected int, got the Avro type string"),
    ("n timestamp", "field `n`: expected timestamp, got the Avro type long"),
    ("at timestamp_ntz", "field `at`: expected timestamp_ntz, got the Avro type timestamp-millis"),
    ("`in` string", "field `in`: expected string, got the Avro type record"),
    ("gone int NOT NULL", "field `gone`: expected int, got null or nothing"),
]


@pytest.mark.parametrize(("ddl", "reason"), WRONG_TYPES)
def test_a_column_of_another_type_makes_dead_letters(spark: SparkSession, ddl: str, reason: str) -> None:
    good, bad = decode(spark, [WHOLE], ddl, Avro(schema=SMALL))
    assert good == []
    assert [row["reason"] for row in bad] == [reason]


def test_values_of_a_union_fit_the_column_or_are_dead_letters(spark: SparkSession) -> None:
    schema = record(("v", ["null", "string", "long"]))
    good, bad = decode(
        spark, [write(schema, {"v": v}) for v in ("a", None, 5)], "v string", Avro(schema=schema)
    )
    assert [row["v"] for row in good] == ["a", None]
    assert [row["reason"] for row in bad] == ["field `v`: expected string, got the Avro type long"]


def test_a_value_that_is_no_record_is_one_column(spark: SparkSession) -> None:
    good, _ = decode(spark, [write("string", "a"), write("string", "")], None, Avro(schema='"string"'))
    assert [row["value"] for row in good] == ["a", ""]


def test_a_recursive_type_can_be_skipped(spark: SparkSession) -> None:
    schema = record(("n", "int"), ("next", ["null", "Event"]), ("m", "int"))
    content = write(schema, {"n": 1, "next": {"n": 2, "next": None, "m": 3}, "m": 4})
    good, _ = decode(spark, [content], "n int, m int", Avro(schema=schema))
    assert rows_of(good) == [{"n": 1, "m": 4}]


@pytest.mark.parametrize(
    ("schema", "select", "message"),
    [
        (record(("v", "string")), "cast(null as string) as v", "column `v`: expected string, got null"),
        (
            record(("v", {"type": "enum", "name": "K", "symbols": ["A"]})),
            "'B' as v",
            'column `v`: expected a symbol of the enum K, got "B"',
        ),
        (
            record(("v", {"type": "fixed", "name": "F", "size": 2})),
            "cast('abc' as binary) as v",
            "column `v`: expected 2 bytes for the fixed F, got 3",
        ),
    ],
)
def test_a_value_that_the_schema_does_not_allow_fails(
    spark: SparkSession, schema: Record, select: str, message: str
) -> None:
    with pytest.raises(Exception, match="EncodeFailure") as caught:
        encode(spark.range(1).selectExpr(select), Avro(schema=schema))
    assert message in str(caught.value)


def test_fields_without_a_column_are_written_with_their_default(spark: SparkSession) -> None:
    schema = record(("n", "long"))
    schema["fields"].append(
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["new"]}
    )
    [content] = encode(spark.range(1).selectExpr("id as n"), Avro(schema=schema))
    assert read(schema, content) == {"n": 0, "tags": ["new"]}


def test_columns_that_do_not_fit_are_refused_before_any_row(spark: SparkSession) -> None:
    with pytest.raises(DeliveryError) as caught:
        encode(spark.range(1).selectExpr("id as crad"), Avro(schema=record(("card", "long"))))
    message = "out: avro: column `crad`: the Avro schema has no such field\n  hint: did you mean `card`?"
    assert str(caught.value).startswith(message)
