"""Schemas: every spelling that is read, what is printed, and the text of every refusal."""

from __future__ import annotations

import datetime
import enum
import string
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import SchemaError
from headrace.schemas import datatypes as d
from headrace.schemas.ddl import parse_fields
from headrace.schemas.fields import Schema

SCALAR_SPELLINGS = [
    ("string", "string"),
    ("STRING", "string"),
    ("binary", "binary"),
    ("boolean", "boolean"),
    ("byte", "tinyint"),
    ("short", "smallint"),
    ("integer", "int"),
    ("long", "bigint"),
    ("real", "float"),
    ("double", "double"),
    ("decimal", "decimal(10,0)"),
    ("numeric(7)", "decimal(7,0)"),
    ("dec(38, 38)", "decimal(38,38)"),
    ("date", "date"),
    ("timestamp_ltz", "timestamp"),
    ("timestamp_ntz", "timestamp_ntz"),
    ("interval day to second", "interval day to second"),
    ("INTERVAL YEAR TO MONTH", "interval year to month"),
    ("interval hour", "interval hour"),
    ("variant", "variant"),
    ("array<array<int>>", "array<array<int>>"),
    ("map < string , long >", "map<string,bigint>"),
    ("struct<a:int,b decimal(10, 2) NOT NULL>", "struct<a:int,b:decimal(10,2) NOT NULL>"),
    ("struct<>", "struct<>"),
]


@pytest.mark.parametrize(("written", "canonical"), SCALAR_SPELLINGS)
def test_each_type_has_one_canonical_spelling(written: str, canonical: str) -> None:
    assert Schema.of(f"a {written}").ddl == f"a {canonical}"


def test_names_demands_and_comments_are_kept() -> None:
    schema = Schema.of("`card no` string NOT NULL COMMENT 'it\\'s theirs', `tick``ed` int, date date")
    assert schema.names == ("card no", "tick`ed", "date")
    assert schema["card no"] == d.Field("card no", d.Scalar("string"), nullable=False, comment="it's theirs")
    assert schema.ddl == "`card no` string NOT NULL COMMENT 'it\\'s theirs', `tick``ed` int, date date"


def test_columns_may_be_written_with_colons_over_several_lines() -> None:
    assert Schema.of("a: int,\n b: string\n").ddl == "a int, b string"


def test_a_schema_knows_its_columns_in_any_case() -> None:
    schema = Schema.of("Card string")
    assert "card" in schema
    assert "amount" not in schema
    assert schema["CARD"].name == "Card"
    with pytest.raises(SchemaError, match="unknown column `crad`\n  hint: did you mean `card`"):
        Schema.of("card string")["crad"]


REFUSALS = [
    ("", "schema character 1: expected at least one column, got an empty schema"),
    ("   ", "schema character 4: expected at least one column, got an empty schema"),
    ("card strng", "schema character 6: unknown type `strng`\n  hint: did you mean `string`?"),
    ("a int, b varchar(10)", "schema character 10: unknown type `varchar`\n  hint: write `string`"),
    ("a qqq", "schema character 3: unknown type `qqq`\n  hint: Known: array, bigint"),
    ("card", "schema character 5: expected a type, got the end of the text"),
    ("card string amount double", "schema character 13: expected `,` or the end of the schema, got `amount`"),
    ("card string,", "schema character 13: expected a column name, got the end of the text"),
    (
        "12 string",
        "schema character 1: expected a column name, got `12`\n  hint: put an unusual name in backticks",
    ),
    ("`` string", "schema character 1: expected a column name"),
    ("card-no string", "schema character 5: expected a name, a type or a comma, got `-`"),
    ("`card string", "schema character 1: unclosed `"),
    ("a int COMMENT 'x", "schema character 15: unclosed '"),
    ("a int COMMENT x", "schema character 15: expected a comment in quotes, got `x`"),
    ("a int NOT b", "schema character 11: expected `NULL` after `NOT`, got `b`"),
    ("a int, A string", "schema character 8: duplicate name `A`"),
    ("s struct<a:int,a:int>", "schema character 16: duplicate name `a`"),
    ("a array", "schema character 8: expected `<`, as in array<string>, got the end of the text"),
    ("a array<int", "schema character 12: expected `,` or `>`, got the end of the text"),
    ("a map<string>", "schema character 13: expected `,` between the map's key and value types, got `>`"),
    ("a struct<b int", "schema character 15: expected `,` or `>`, got the end of the text"),
    ("a decimal(x)", "schema character 11: expected a number of digits, got `x`"),
    ("a decimal(39,2)", "schema character 11: expected 1 to 38 digits, no more of them after the point"),
    ("a decimal(2,3)", "schema character 11: expected 1 to 38 digits"),
    (
        "a decimal(2,3",
        "schema character 14: expected `)` after the decimal's digits, got the end of the text",
    ),
    ("a interval", "schema character 11: expected a unit of time after `interval`, got the end of the text"),
    ("a interval second to day", "schema character 22: expected a unit finer than `second`, got `day`"),
    ("a interval year to day", "schema character 20: expected a unit finer than `year`, got `day`"),
    ("a int,\n  b strin", "schema line 2, column 5: unknown type `strin`"),
    ("__position string", "the column name `__position` is reserved"),
]


@pytest.mark.parametrize(("text", "message"), REFUSALS)
def test_a_wrong_schema_is_refused_at_its_column(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.of(text)
    assert str(caught.value).startswith(message)


def test_a_refusal_states_whose_schema_it_is() -> None:
    with pytest.raises(SchemaError, match=r"^source `tx`: schema character 3: unknown type"):
        Schema.of("a it", where="source `tx`")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Place:
    lat: float
    lon: float | None = None


@dataclass
class Payment:
    card: str
    amount: Decimal
    at: datetime.datetime
    day: datetime.date
    id: uuid.UUID
    kind: Literal["in", "out"]
    colour: Colour
    level: Level
    ok: bool
    took: datetime.timedelta
    raw: bytes
    tags: list[str]
    scores: Mapping[str, Sequence[int]]
    place: Place
    places: tuple[Place, ...] = ()
    note: Optional[str] = None  # noqa: UP045 (the old spelling is read as well)
    count: int = field(default=0)


def test_a_dataclass_is_a_schema_and_what_it_requires_is_not_null() -> None:
    assert Schema.of(Payment).ddl.split(", ") == [
        "card string NOT NULL",
        "amount decimal(38,18) NOT NULL",
        "at timestamp NOT NULL",
        "day date NOT NULL",
        "id string NOT NULL",
        "kind string NOT NULL",
        "colour string NOT NULL",
        "level bigint NOT NULL",
        "ok boolean NOT NULL",
        "took interval day to second NOT NULL",
        "raw binary NOT NULL",
        "tags array<string> NOT NULL",
        "scores map<string,array<bigint>> NOT NULL",
        "place struct<lat:double NOT NULL,lon:double> NOT NULL",
        "places array<struct<lat:double NOT NULL,lon:double>>",
        "note string",
        "count bigint",
    ]


class Reading(pydantic.BaseModel):
    station: str = pydantic.Field(alias="stationId", description="where it was measured")
    price: Decimal = pydantic.Field(max_digits=10, decimal_places=2)
    rate: Annotated[Decimal, pydantic.Field(max_digits=4)] | None = None
    local: pydantic.NaiveDatetime
    seen: pydantic.AwareDatetime
    place: Place | None
    size: pydantic.PositiveInt = 1


def test_a_pydantic_model_is_a_schema_with_its_aliases_digits_and_descriptions() -> None:
    assert Schema.of(Reading).ddl.split(", ") == [
        "stationId string NOT NULL COMMENT 'where it was measured'",
        "price decimal(10,2) NOT NULL",
        "rate decimal(4,4)",
        "local timestamp_ntz NOT NULL",
        "seen timestamp NOT NULL",
        "place struct<lat:double NOT NULL,lon:double>",
        "size bigint",
    ]


@dataclass
class Node:
    next: Node | None


@dataclass
class Empty:
    pass


@dataclass
class Complex:
    z: complex


@dataclass
class Either:
    z: int | str


@dataclass
class Mixed:
    z: Literal["a", 1]


@dataclass
class Pair:
    z: tuple[int, str]


@dataclass
class Anything:
    z: Any


@dataclass
class Unfound:
    z: Nowhere  # type: ignore[name-defined]  # noqa: F821


CLASS_REFUSALS: list[tuple[Any, str]] = [
    (Node, "Node: Node -> Node is recursive: a column cannot contain its own type"),
    (Empty, "Empty: expected at least one field, got a class without any"),
    (Complex, "Complex.z: no column type for `complex`\n  hint: use str, int"),
    (Either, "Either.z: a column has one type, got `int | str`\n  hint: only `X | None`"),
    (Mixed, "Mixed.z: expected values of one plain type, got"),
    (Pair, "Pair.z: no column type for `tuple[int, str]`"),
    (Anything, "Anything.z: no column type for `Any`"),
    (Unfound, "Unfound: unknown type `Nowhere`\n  hint: define it in the module"),
    (int, "expected a schema, got the class int, which is neither a dataclass nor a pydantic model"),
    (42, 'expected a schema, got 42\n  hint: write "card string'),
    ({}, "expected a schema, got {}"),
    ({"a": 1}, "column `a`: expected a type, got 1"),
    ({"a": "strin"}, "column `a`: schema character 1: unknown type `strin`"),
]


@pytest.mark.parametrize(("given_class", "message"), CLASS_REFUSALS)
def test_a_class_that_is_no_schema_is_refused(given_class: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.of(given_class)
    assert str(caught.value).startswith(message)


def test_a_mapping_is_a_schema() -> None:
    assert Schema.of({"card no": "string", "n": "array<long>"}).ddl == "`card no` string, n array<bigint>"


NAMES = st.text(string.ascii_letters + "_ `-ä1", min_size=1, max_size=5)
SCALARS = st.sampled_from(sorted(set(d.SCALARS.values()))).map(d.Scalar)
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.builds(d.Decimal, st.just(p), st.integers(0, p)))


def _fields(types: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[d.Field, ...]]:
    item = st.builds(d.Field, NAMES, types, st.booleans(), st.text("a'\\\" ", max_size=3))
    return st.lists(item, min_size=1, max_size=4, unique_by=lambda f: f.name.lower()).map(tuple)


TYPES = st.recursive(
    SCALARS | DECIMALS,
    lambda t: st.builds(d.Array, t) | st.builds(d.Map, SCALARS, t) | st.builds(d.Struct, _fields(t)),
    max_leaves=5,
)


@given(_fields(TYPES))
def test_what_is_printed_is_read_back_the_same(fields: tuple[d.Field, ...]) -> None:
    assert parse_fields(Schema(fields).ddl) == fields


def test_reading_a_schema_loads_no_pyspark() -> None:
    code = "import sys, headrace.formats as f; f.Schema.of('a int'); sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
