"""Protobuf records: rows and bytes agree with Google's library, and bad records are dead letters."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.spark.test_decode import frame_of
from tests.support.proto_messages import message_class, write_files

from headrace import formats
from headrace.connectors.row_encoding import as_encoding_error, encode_value, fields_of
from headrace.errors import DeliveryError
from headrace.formats import Protobuf, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EPOCH = dt.datetime(1970, 1, 1)
INT32 = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, -(2**31), 2**31 - 1])
INT64 = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -(2**63), 2**63 - 1])
UINT32 = st.integers(0, 2**32 - 1)
UINT64 = st.integers(0, 2**64 - 1) | st.sampled_from([2**63, 2**64 - 1])
FLOAT32, FLOAT64 = st.floats(width=32), st.floats()
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
COLOR = st.sampled_from([0, 1, -5, 9, -1])
MONEY = st.fixed_dictionaries({}, optional={"currency": TEXT, "units": INT64})
MICROS = st.integers(-62100000000 * 10**6, 253402200000 * 10**6)  # within the years that Python reads
TIME = MICROS.map(lambda micros: {"seconds": micros // 10**6, "nanos": micros % 10**6 * 1000})
SPANS = st.integers(-(10**15), 10**15)
SPAN = SPANS.map(
    lambda micros: {
        "seconds": abs(micros) // 10**6 * (1 if micros > 0 else -1),
        "nanos": abs(micros) % 10**6 * 1000 * (1 if micros > 0 else -1),
    }
)
PLACE = st.fixed_dictionaries({}, optional={"city": TEXT, "height": FLOAT64})
ORDER = st.fixed_dictionaries({}, optional={"id": TEXT, "items": st.lists(MONEY, max_size=3), "place": PLACE})


def _box(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"value": value})


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "f64": FLOAT64,
    "f32": FLOAT32,
    "i32": INT32,
    "i64": INT64,
    "u32": UINT32,
    "u64": UINT64,
    "s32": INT32,
    "s64": INT64,
    "x32": UINT32,
    "x64": UINT64,
    "y32": INT32,
    "y64": INT64,
    "flag": st.booleans(),
    "text": TEXT,
    "blob": st.binary(max_size=8),
    "color": COLOR,
    "price": MONEY,
    "maybe": INT32,
    "maybe_text": TEXT,
    "at": TIME,
    "took": SPAN,
    "boxed": _box(INT64),
    "boxed_text": _box(TEXT),
    "boxed_u64": _box(UINT64),
    "boxed_flag": _box(st.booleans()),
    "card": TEXT,
    "cash": MONEY,
    "voucher": INT32,
    "numbers": st.lists(INT32, max_size=4),
    "unpacked": st.lists(INT64, max_size=4),
    "measures": st.lists(FLOAT64, max_size=4),
    "flags": st.lists(st.booleans(), max_size=4),
    "words": st.lists(TEXT, max_size=4),
    "colors": st.lists(COLOR, max_size=4),
    "prices": st.lists(MONEY, max_size=3),
    "times": st.lists(TIME, max_size=3),
    "fixed": st.lists(UINT32, max_size=4),
    "counts": st.dictionaries(TEXT, INT32, max_size=3),
    "by_id": st.dictionaries(INT64, MONEY, max_size=3),
    "by_flag": st.dictionaries(st.booleans(), COLOR, max_size=2),
    "by_u64": st.dictionaries(UINT64, TEXT, max_size=3),
    "order": ORDER,
}
ONEOF = ("card", "cash", "voucher")
MESSAGES = st.fixed_dictionaries({}, optional=FIELDS).map(
    lambda row: {k: v for k, v in row.items() if k not in ONEOF or k == next(n for n in row if n in ONEOF)}
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("proto"))


@pytest.fixture(scope="module")
def everything(directory: Path) -> Protobuf:
    return formats.Protobuf(file=str(directory / "everything.proto"), message="shop.Everything")


@pytest.fixture(scope="module")
def legacy(directory: Path) -> Protobuf:
    return formats.Protobuf(file=str(directory / "legacy.proto"))


def decode(
    spark: SparkSession, records: list[bytes], chosen: Protobuf, schema: str | None = None
) -> tuple[DataFrame, list[Any], list[Any]]:
    """The decoded frame, its rows and the dead letters, in the order of the records."""
    from headrace.lowering.decode import decode_records

    frame, dead_letters = decode_records(
        spark,
        frame_of(spark, list(records)),
        format=chosen,
        schema=Schema.of(schema) if schema else None,
        on_error="divert",
        source="tx",
    )
    rows = sorted(frame.collect(), key=lambda row: row["__position"]["offset"])
    return frame, rows, sorted(dead_letters.take().collect(), key=lambda row: row["position"])


def encode(frame: DataFrame, chosen: Protobuf) -> list[bytes]:
    """The records of a frame in the order of `__position`."""
    visible = frame.drop("__position")
    value = encode_value(chosen, fields_of(visible.schema.jsonValue()), "out")
    order = "__position.offset" if "__position" in frame.columns else "0"
    rows = frame.selectExpr(f"{value} as value", f"{order} as n").collect()
    return [bytes(row["value"]) for row in sorted(rows, key=lambda row: row["n"])]


def message(directory: Path, content: dict[str, Any]) -> Any:
    return message_class(directory / "everything.proto", "shop.Everything")(**content)


def expected_of(message: Any, columns: Any) -> dict[str, Any]:
    """The row of a message, according to the descriptors and accessors of Google's library."""
    row: dict[str, Any] = {}
    for name in columns:
        field = message.DESCRIPTOR.fields_by_name[name]
        value = getattr(message, name)
        if field.has_presence and not message.HasField(name):
            row[name] = None
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, item = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
            row[name] = {_value(key, k): _value(item, v) for k, v in value.items()}
        elif field.is_repeated:
            row[name] = [_value(field, item) for item in value]
        else:
            row[name] = _value(field, value)
    return row


def _value(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        # Google's map by number has the last of two aliases.
        return str(value) if known is None else {"CRIMSON": "RED"}.get(known.name, known.name)
    if field.message_type is None:
        return Decimal(value) if field.type in (4, 6) else value
    name = field.message_type.full_name
    if name == "google.protobuf.Timestamp":
        return EPOCH + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    if name == "google.protobuf.Duration":
        return dt.timedelta(seconds=value.seconds, microseconds=int(value.nanos / 1000))
    if name.endswith("Value"):
        return _value(field.message_type.fields[0], value.value)
    return expected_of(value, [each.name for each in field.message_type.fields])


def plain(value: Any) -> Any:
    """A value of a row in a form in which NaN and -0.0 are compared exactly, and rows as mappings."""
    if hasattr(value, "asDict"):
        return {name: plain(item) for name, item in value.asDict(recursive=False).items()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return "nan" if value != value else struct.pack(">d", value)
    return bytes(value) if isinstance(value, bytearray) else value


def check_rows(rows: list[Any], messages: list[Any], names: tuple[str, ...]) -> None:
    for row, expected in zip(rows, messages, strict=True):
        values = {name: plain(row[name]) for name in names}
        assert values == plain(expected_of(expected, names))


@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(contents=st.lists(MESSAGES, min_size=4, max_size=12))
def test_rows_are_the_messages_of_google_and_encode_to_the_same_bytes(
    spark: SparkSession, directory: Path, everything: Protobuf, contents: list[dict[str, Any]]
) -> None:
    messages = [message(directory, content) for content in contents]
    names = (everything.default_schema or Schema(())).names
    frame, rows, dead = decode(spark, [each.SerializeToString() for each in messages], everything)
    assert dead == []
    check_rows(rows, messages, names)
    for sent, expected in zip(encode(frame, everything), messages, strict=True):
        assert type(expected).FromString(sent).SerializeToString(
            deterministic=True
        ) == expected.SerializeToString(deterministic=True)


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(data=st.data())
def test_damaged_records_are_dead_letters_exactly_if_google_rejects_them(
    spark: SparkSession, directory: Path, everything: Protobuf, data: st.DataObject
) -> None:
    from google.protobuf.message import DecodeError

    records = []
    for content in data.draw(st.lists(MESSAGES, min_size=6, max_size=16)):
        whole = bytearray(message(directory, content).SerializeToString())
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(0, len(whole)))
            edit = data.draw(st.sampled_from(["cut", "insert", "replace", "join"]))
            if edit == "cut":
                del whole[at:]
            elif edit == "insert":
                whole[at:at] = data.draw(st.binary(min_size=1, max_size=6))
            elif edit == "join":  # parts of a message are merged
                whole += message(directory, data.draw(MESSAGES)).SerializeToString()
            elif whole:
                whole[at % len(whole)] = data.draw(st.integers(0, 255))
        records.append(bytes(whole))
    _, rows, dead = decode(spark, records, everything)
    reasons = {row["position"]: row["reason"] for row in dead}
    good = {row["__position"]["offset"]: row for row in rows}
    assert sorted([*reasons, *good]) == list(range(len(records)))
    names = (everything.default_schema or Schema(())).names
    for number, record in enumerate(records):
        try:
            parsed = message_class(directory / "everything.proto", "shop.Everything").FromString(record)
        except DecodeError:
            assert number in reasons, record
            continue
        # Google's library treats a field of another wire type as unknown, and does not check times.
        stricter = ("wire type", "timestamp from year 1", "duration of at most")
        assert number in good or any(word in reasons[number] for word in stricter), (record, reasons[number])
        if number in good:
            check_rows([good[number]], [parsed], names)


def test_packed_and_unpacked_elements_are_both_read(spark: SparkSession, everything: Protobuf) -> None:
    packed = b"\xc2\x02\x03\x01\x02\x03" + b"\xca\x02\x02\x01\x02"  # numbers, and unpacked = [-1, 1]
    single = b"\xc0\x02\x01\xc0\x02\x02\xc0\x02\x03" + b"\xc8\x02\x01\xc8\x02\x02"
    schema = "numbers array<int>, unpacked array<bigint>"
    _, rows, _ = decode(spark, [packed, single, packed + single], everything, schema)
    assert [row["numbers"] for row in rows] == [[1, 2, 3], [1, 2, 3], [1, 2, 3, 1, 2, 3]]
    assert [row["unpacked"] for row in rows] == [[-1, 1], [-1, 1], [-1, 1, -1, 1]]


def test_the_last_value_wins_and_embedded_messages_are_merged(
    spark: SparkSession, directory: Path, everything: Protobuf
) -> None:
    parts = [
        {"i32": 1, "price": {"currency": "EUR", "units": 1}, "cash": {"currency": "EUR"}, "counts": {"a": 1}},
        {"i32": 2, "price": {"units": 2}, "cash": {"units": 5}, "counts": {"a": 2, "b": 3}},
    ]
    record = b"".join(message(directory, part).SerializeToString() for part in parts)
    between = message(directory, {"card": "x"}).SerializeToString()
    replaced = message(directory, parts[0]).SerializeToString() + between
    replaced += message(directory, parts[1]).SerializeToString()
    schema = (
        "i32 int, price struct<currency:string,units:bigint>, cash struct<currency:string,units:bigint>, "
        "counts map<string,int>"
    )
    _, rows, _ = decode(spark, [record, replaced, record + between], everything, schema)
    assert plain(rows[0]["price"]) == {"currency": "EUR", "units": 2}
    assert plain(rows[0]["cash"]) == {"currency": "EUR", "units": 5}
    assert (rows[0]["i32"], rows[0]["counts"]) == (2, {"a": 2, "b": 3})
    assert plain(rows[1]["cash"]) == {"currency": "", "units": 5}
    # `card`, which the schema does not select, is another member of the oneof.
    assert rows[2]["cash"] is None


REASONS = [
    (b"\x72\x05ab", "not Protobuf: the record ends too early at byte 4", None),
    (b"\x72", "not Protobuf: the record ends too early at byte 1", None),
    (
        b"\x8a\x01\x02\x0a\x05\x18\x05",
        "not Protobuf: a message inside the record ends too early at byte 5",
        None,
    ),
    (b"\x09\x00\x00", "not Protobuf: the record ends too early at byte 3", None),
    (b"\x18" + b"\xff" * 10, "not Protobuf: a varint has more than 10 bytes at byte 1", None),
    (b"\x18" + b"\xff" * 9 + b"\x02", "not Protobuf: a varint has more than 64 bits at byte 1", None),
    (b"\x00\x01", "not Protobuf: expected a field, got the tag 0 at byte 0", None),
    (b"\xff" * 5 + b"\x7f", "not Protobuf: expected a field, got the tag 4398046511103 at byte 0", None),
    (b"\xa7\x1f", "not Protobuf: unknown wire type 7 at byte 2", None),
    (b"\xa4\x1f", "not Protobuf: the group 500 ends but did not start at byte 2", None),
    (b"\xa3\x1f\x08\x01\xac\x1f", "not Protobuf: the group 500 ends as 501 at byte 6", None),
    (b"\xa3\x1f" * 101, "not Protobuf: groups are nested too deeply at byte 202", None),
    (b"\x72" + b"\xff" * 9 + b"\x01", "not Protobuf: a value has 18446744073709551615 bytes at byte 1", None),
    (b"\x72\x02\xc3\x28", "field `text`: expected UTF-8 text, got other bytes at byte 0", "text"),
    (b"\x70\x01", "field `text`: expected string (wire type 2), got wire type 0 at byte 0", "text"),
    (
        b"\x8a\x01\x02\x0d\x00",
        "field `price.currency`: expected string (wire type 2), got wire type 5 at byte 3",
        "price.currency",
    ),
    (
        b"\xf2\x02\x03\x0a\x01\xff",
        "field `prices[].currency`: expected UTF-8 text, got other bytes at byte 3",
        "prices[].currency",
    ),
    (
        b"\xa2\x01\x07\x08\x80\x83\xd1\xff\xaf\x07",
        "field `at`: expected a timestamp from year 1 to 9999, got 253402300800 seconds and 0 nanoseconds",
        "at",
    ),
    (
        b"\xa2\x01\x06\x10\x80\x94\xeb\xdc\x03",
        "field `at`: expected a timestamp from year 1 to 9999, got 0 seconds and 1000000000 nanoseconds",
        "at",
    ),
    (
        b"\xaa\x01\x0d\x08\x01\x10" + b"\xff" * 9 + b"\x01",
        "field `took`: expected a duration of at most 10000 years, got 1 seconds and -1 nanoseconds",
        "took",
    ),
]


def test_a_record_that_is_not_a_message_is_a_dead_letter_with_the_reason(
    spark: SparkSession, everything: Protobuf
) -> None:
    _, rows, dead = decode(spark, [record for record, _, _ in REASONS], everything)
    assert rows == []
    assert [(row["reason"], row["field"]) for row in dead] == [
        (reason, field) for _, reason, field in REASONS
    ]
    assert bytes(dead[0]["raw"]) == REASONS[0][0]


def test_unknown_fields_and_groups_are_skipped_or_are_errors(
    spark: SparkSession, directory: Path, everything: Protobuf
) -> None:
    group = b"\xa3\x1f\x08\x01\x13\x72\x00\x14\xa4\x1f"  # with a group inside
    unknown = [b"\xa0\x1f\x07", b"\xa1\x1f" + b"\0" * 8, b"\xa2\x1f\x01a", group, b"\xa5\x1f" + b"\0" * 4]
    records = [record + b"\x18\x05" for record in unknown]
    _, rows, dead = decode(spark, records, everything, "i32 int")
    assert ([row["i32"] for row in rows], dead) == ([5] * 5, [])
    strict = everything.model_copy(update={"unknown_fields": "error"})
    inside = b"\x8a\x01\x02\x28\x01"
    _, rows, dead = decode(spark, [*records, inside, b"\x18\x05"], strict)
    assert [row["i32"] for row in rows] == [5]
    assert dead[0]["reason"] == "the message shop.Everything has no field 500, at byte 0"
    assert dead[5]["reason"] == "field `price`: the message shop.Money has no field 5, at byte 3"


def test_proto2_has_presence_required_fields_and_closed_enums(
    spark: SparkSession, directory: Path, legacy: Protobuf
) -> None:
    schema = (
        "sensor string NOT NULL, value int, level string, levels array<string>, by_name map<string,string>, "
        "kind string, name string"
    )
    reading = message_class(directory / "legacy.proto", "old.Reading")
    known = reading(sensor="a", level=2, levels=[1, 2], by_name={"x": 1}, kind=1).SerializeToString()
    # level = 9, levels = [1, 9], by_name = {y: 9}, name = "n" and then kind = 9
    unknown = b"\x0a\x01a\x18\x09\x20\x01\x20\x09\x2a\x05\x0a\x01y\x10\x09\x3a\x01n\x30\x09"
    _, rows, dead = decode(spark, [known, unknown, b"", b"\x0a\x00"], legacy, schema)
    assert [tuple(row)[:-1] for row in rows] == [
        ("a", None, "HIGH", ["LOW", "HIGH"], {"x": "LOW"}, "LOW", None),
        ("a", None, None, ["LOW"], {}, None, "n"),
        ("", None, None, [], {}, None, None),
    ]
    assert [row["reason"] for row in dead] == ["field `sensor`: a value is required, but the record has none"]
    strict = legacy.model_copy(update={"unknown_fields": "error"})
    _, _, dead = decode(spark, [unknown], strict, schema)
    assert dead[0]["reason"] == "field `level`: expected a value of the enum, got 9 at byte 3"


def test_a_null_value_of_a_not_null_column_is_a_dead_letter(
    spark: SparkSession, everything: Protobuf
) -> None:
    _, rows, dead = decode(spark, [b"\x90\x01\x00", b""], everything, "maybe int NOT NULL")
    assert [row["maybe"] for row in rows] == [0]
    assert dead[0]["reason"] == "field `maybe`: a value is required, but the record has none"


def test_records_of_a_registry_have_the_index_of_their_message(
    spark: SparkSession, directory: Path, everything: Protobuf
) -> None:
    registered = everything.model_copy(update={"registry": formats.SchemaRegistry(url="http://localhost:1")})
    records = [
        b"\x00\x00\x00\x00\x07\x00\x18\x05",  # the short form of the index 0
        b"\x00\x00\x00\x00\x07\x02\x00\x18\x05",
        b"\x00\x00\x00\x00\x07\x04\x02\x00\x18\x05",
        b"\x18\x05\x18\x05\x18\x05",
        b"\x00\x00\x00",
        b"\x00\x00\x00\x00\x07\x01",
    ]
    _, rows, dead = decode(spark, records, registered, "i32 int")
    assert [row["i32"] for row in rows] == [5, 5]
    assert [row["reason"] for row in dead] == [
        "expected the message shop.Everything, which has the index 0 in its file, got the index 1.0",
        "expected a zero byte before the schema id, got 0x18 at byte 0",
        "not Protobuf: the record ends too early at byte 3",
        "expected the index of a message, got -1 parts at byte 5",
    ]
    place = formats.Protobuf(
        file=str(directory / "everything.proto"), message="shop.Order.Place", registry="http://localhost:1"
    )
    _, rows, _ = decode(spark, records[2:3], place, "city string")
    assert [row["city"] for row in rows] == [""]


def test_columns_of_other_types_are_encoded_if_their_values_fit(
    spark: SparkSession, directory: Path, everything: Protobuf
) -> None:
    frame = spark.sql(
        "select cast(7 as bigint) i32, cast(8 as tinyint) i64, cast(4294967295 as decimal(20,0)) u32, "
        "9 u64, cast(0.5 as float) f64, 'BLUE' color, '9' as dummy, interval 3 minutes took, "
        "array('RED', '12') colors, cast(null as string) text, named_struct('units', 3) price"
    ).drop("dummy")
    [record] = encode(frame, everything)
    read = message_class(directory / "everything.proto", "shop.Everything").FromString(record)
    assert (read.i32, read.i64, read.u32, read.u64, read.f64) == (7, 8, 2**32 - 1, 9, 0.5)
    assert (read.color, list(read.colors), read.text, read.price.units) == (-5, [1, 12], "", 3)
    assert read.took.seconds == 180


FAULTS = [
    ("cast(2147483648 as bigint) i32", "column `i32`: 2147483648 is out of the range of int32"),
    ("-1 u32", "column `u32`: -1 is out of the range of uint32"),
    ("-1 u64", "column `u64`: -1 is out of the range of uint64"),
    ("cast('18446744073709551616' as decimal(20,0)) x64", "column `x64`: 18446744073709551616 is out of"),
    ("cast('9223372036854775808' as decimal(20,0)) s64", "column `s64`: 9223372036854775808 is out of"),
    ("'GREEN' color", "column `color`: the enum has no value `GREEN`"),
    ("array(1, null) numbers", "column `numbers`: a repeated field cannot hold null"),
    ("map('a', cast(null as int)) counts", "column `counts`: a map cannot hold null"),
    ("'c' card, 7 voucher", "column `method`: expected one value in the oneof, got `card` and `voucher`"),
    ("named_struct('items', array(named_struct('units', cast(1e19 as decimal(20,0))))) order",
     "column `order.items[].units`: 10000000000000000000 is out of the range of int64"),
]  # fmt: skip


def test_a_row_that_does_not_fit_the_message_is_a_clear_error(
    spark: SparkSession, everything: Protobuf
) -> None:
    for select, reason in FAULTS:
        with pytest.raises(Exception, match="EncodeFailure") as caught:
            encode(spark.sql(f"select {select}"), everything)
        error = as_encoding_error(caught.value, "out")
        assert error is not None
        assert error.what.startswith(reason), error.what
        assert (error.where, error.hint) == ("out", "convert or filter such rows before the sink")


def test_a_required_field_needs_a_column_and_a_value(spark: SparkSession, legacy: Protobuf) -> None:
    with pytest.raises(DeliveryError, match="out: field `sensor`: the field is required, but there is no"):
        encode(spark.sql("select 1 value"), legacy)
    with pytest.raises(Exception, match="column `sensor`: the field is required, got null"):
        encode(spark.sql("select cast(null as string) sensor"), legacy)
