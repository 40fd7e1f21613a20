"""Stream decode against Spark's own: on what `from_json` reads, the kernel gives the same row.

The rest are dead letters.

Each example is a schema with a batch of records of it, so that a few Spark jobs see thousands of values.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace import formats
from headrace.formats import Schema
from headrace.schemas import datatypes as d

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Texts = st.SearchStrategy[str]


def _int(bits: int) -> Texts:
    most = 2 ** (bits - 1)
    edge = st.sampled_from([most - 1, -most, most, -most - 1, 0]) if bits > 8 else st.just(0)
    return (st.integers(-most, most - 1) | edge).map(str)


STAMPS = st.builds(
    "{}-{:02}-{:02}{}{:02}:{:02}:{:02}{}{}".format,
    st.sampled_from(["0001", "1582", "1969", "1970", "2000", "2024", "9999", "12024"]),
    st.integers(1, 12),
    st.integers(1, 31),
    st.sampled_from(["T", " "]),
    st.integers(0, 24),
    st.integers(0, 59),
    st.integers(0, 60),
    st.text("0123456789", max_size=10).map(lambda s: f".{s}" if s else "") | st.just("."),
    st.sampled_from(
        ["", "Z", "+00:00", "-18:00", "+02:30", "+19:00", " UTC", "+0230", "+2", "z", "x", " +01:00"]
    ),
).map(json.dumps)
DATES = st.builds("{}-{}-{}".format, st.integers(0, 10000), st.integers(0, 13), st.integers(0, 32)).map(
    json.dumps
)
NUMBERS = st.floats(width=64).map(json.dumps) | st.integers(-(10**20), 10**20).map(str)
DECIMALS = st.decimals(-(10**7), 10**7, places=4).map(str)
QUOTED = st.builds(json.dumps, st.text(st.characters(codec="utf-8"), max_size=8), ensure_ascii=st.booleans())
ODD = st.sampled_from(
    [
        "null",
        "true",
        "false",
        "1",
        "-0",
        "1.5",
        "1e3",
        '"1"',
        '""',
        '"a"',
        "[]",
        "{}",
        "[1]",
        '{"a":1}',
        "NaN",
        '"NaN"',
    ]
)
# Where we mean to differ. A number read as text is kept as it is written; from_json makes a double of it and
# writes that. So is NaN, which from_json puts in quotes. A date is a date; from_json takes a number in quotes
# for days since 1970.
UNLIKE = {"string": ("1e3", "-0", "NaN"), "date": ('"1"',)}
GOOD: dict[str, Texts] = {
    "string": QUOTED | st.sampled_from(["1", "true", "null", "[1,[2]]", '{"a":{"b":"c"}}']),
    "boolean": st.sampled_from(["true", "false", "null"]),
    "tinyint": _int(8),
    "smallint": _int(16),
    "int": _int(32),
    "bigint": _int(64),
    "float": st.floats(width=32).map(json.dumps) | st.integers(-(10**9), 10**9).map(str),
    "double": NUMBERS,
    "date": DATES,
    "timestamp": STAMPS | DATES | st.integers(-(10**10), 10**10).map(str),
    "timestamp_ntz": STAMPS | DATES,
    "binary": st.binary(max_size=6).map(lambda b: json.dumps(base64.b64encode(b).decode())),
}
QUICK = ["string", "boolean", "tinyint", "smallint", "int", "bigint", "double", "date", "timestamp"]
"""Types whose plain records go round Jackson; schemas of them alone are half of the examples."""


def types(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The scalars, and arrays, maps and structs of them."""
    return st.recursive(
        scalars,
        lambda inner: (
            st.builds(d.Array, inner)
            | st.builds(d.Map, st.just(d.Scalar("string")), inner)
            | st.lists(inner, min_size=1, max_size=3).map(
                lambda kinds: d.Struct(tuple(d.Field(f"f{i}", kind) for i, kind in enumerate(kinds)))
            )
        ),
        max_leaves=4,
    )


SMALL = st.sampled_from([d.Decimal(10, 2), d.Decimal(5), d.Decimal(18, 18)])
ALL_TYPES = types(st.sampled_from(sorted(GOOD)).map(d.Scalar) | SMALL | st.just(d.Decimal(38, 18)))
QUICK_TYPES = types(st.sampled_from(QUICK).map(d.Scalar) | SMALL)


def value(kind: d.DataType) -> Texts:
    """JSON texts for a type: mostly right, now and then not."""
    if isinstance(kind, d.Array):
        right = st.lists(value(kind.element), max_size=3).map(lambda parts: f"[{','.join(parts)}]")
    elif isinstance(kind, d.Map):
        right = st.dictionaries(QUOTED, value(kind.value), max_size=2).map(_object)
    elif isinstance(kind, d.Struct):
        right = record(kind.fields)
    elif isinstance(kind, d.Decimal):
        right = DECIMALS | DECIMALS.map(lambda s: f'"{s}"') | NUMBERS
    else:
        right = GOOD[kind.name]
    unlike = UNLIKE.get(kind.name, ()) if isinstance(kind, d.Scalar) else ()
    odd = ODD.filter(lambda text: text not in unlike)
    return st.integers(0, 30).flatmap(lambda n: right if n else odd)


def record(fields: tuple[d.Field, ...]) -> Texts:
    """An object with the fields in any order, some missing, some unknown."""
    parts = [st.tuples(st.just(json.dumps(f.name)), value(f.type)) for f in fields]
    chosen = st.tuples(*[part | st.none() for part in parts], (st.tuples(st.just('"zz"'), ODD) | st.none()))
    return chosen.flatmap(lambda actual: st.permutations([p for p in actual if p])).map(
        lambda p: _object(dict(p))
    )


def _object(parts: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {text}" for name, text in parts.items()) + "}"


def batch(kinds: list[d.DataType]) -> st.SearchStrategy[tuple[Schema, list[str]]]:
    schema = Schema(tuple(d.Field(f"c{i}", kind) for i, kind in enumerate(kinds)))
    return st.tuples(st.just(schema), st.lists(record(schema.fields), min_size=100, max_size=100))


BATCHES = st.sampled_from([ALL_TYPES, QUICK_TYPES]).flatmap(
    lambda t: st.lists(t, min_size=4, max_size=8).flatmap(batch)
)


# no shrinking: it would run a Spark job a step, and a difference names its record anyway
@settings(max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(BATCHES)
def test_good_records_are_read_as_from_json_reads_them(
    spark: SparkSession, given_batch: tuple[Schema, list[str]]
) -> None:
    from pyspark.sql import functions as f

    from headrace.lowering.decode import decode_records

    schema, records = given_batch
    rows = [(bytearray(text.encode()), "p", i) for i, text in enumerate(records)]
    frame = spark.createDataFrame(rows, "value binary, partition string, offset bigint")
    ours, dead_letters = decode_records(
        spark, frame, format=formats.Json(), schema=schema, on_error="divert", source="tx"
    )
    struct = f.from_json(
        f.col("value").cast("string"), f"{schema.ddl}, _bad string", {"columnNameOfCorruptRecord": "_bad"}
    )
    # as text, where NaN equals NaN, 0.0 is not -0.0, and years that Python doesn't know are no matter
    shown = f.struct(*schema.names).cast("string").alias("shown")
    theirs = frame.select("offset", struct.alias("d")).select("offset", "d.*").select("offset", "_bad", shown)
    got = {row["offset"]: row["shown"] for row in ours.select("__position.offset", shown).collect()}
    reasons = {row["position"]: row["reason"] for row in dead_letters.take().collect()}
    differences = [_difference(row, got, reasons) for row in theirs.collect()]
    assert [f"{records[i]}: {what}" for i, what in enumerate(differences) if what] == [], schema.ddl


def _difference(theirs: Any, got: dict[int, str], reasons: dict[int, str]) -> str:
    """Return the differences between the results of `from_json` and the kernel; empty if equal."""
    at = theirs["offset"]
    if theirs["_bad"] is not None:
        return "" if at in reasons else f"only from_json fails, we read {got[at]}"
    if at in reasons:
        # what doesn't fit, from_json lets wrap round or become infinite
        return "" if "out of range" in reasons[at] else f"only we fail: {reasons[at]}"
    same = got[at] == theirs["shown"]
    return "" if same else f"from_json reads {theirs['shown']}, we {got[at]}"
