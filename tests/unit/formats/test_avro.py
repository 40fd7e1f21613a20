"""Avro without a JVM: options, columns of schemas, schemas of columns, and the text of every refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace import Pipeline, connect, formats
from headrace.connectors.network.writer_schemas import writer_schema
from headrace.errors import DeliveryError, OptionError, PlanError, SchemaError
from headrace.formats import Avro, Schema
from headrace.schemas.fields import Schema as Columns


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


def doubled(levels: int) -> dict[str, Any]:
    """A schema in which each record has the next one twice."""
    schema: dict[str, Any] = record(("v", "int"), name=f"R{levels}")
    for level in reversed(range(levels)):
        schema = record(("a", schema), ("b", f"R{level + 1}"), name=f"R{level}")
    return schema


def types(ddl: str) -> dict[str, Any]:
    return {field.name: field.type for field in Columns.of(ddl).fields}


COLUMNS = [
    ("boolean", "v boolean NOT NULL"),
    ("int", "v int NOT NULL"),
    ("long", "v bigint NOT NULL"),
    ("float", "v float NOT NULL"),
    ("double", "v double NOT NULL"),
    ("bytes", "v binary NOT NULL"),
    ("string", "v string NOT NULL"),
    (["null", "string"], "v string"),
    (["string", "null"], "v string"),
    (["string"], "v string NOT NULL"),
    (["null", "int", "long"], "v bigint"),
    (["float", "double"], "v double NOT NULL"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, "v string NOT NULL"),
    ({"type": "fixed", "name": "F", "size": 3}, "v binary NOT NULL"),
    ({"type": "array", "items": ["null", "int"]}, "v array<int> NOT NULL"),
    ({"type": "map", "values": "long"}, "v map<string,bigint> NOT NULL"),
    (["null", record(("x", "int"), name="X")], "v struct<x:int NOT NULL>"),
    ({"type": "int", "logicalType": "date"}, "v date NOT NULL"),
    ({"type": "long", "logicalType": "timestamp-millis"}, "v timestamp NOT NULL"),
    ({"type": "long", "logicalType": "timestamp-micros"}, "v timestamp NOT NULL"),
    ({"type": "long", "logicalType": "timestamp-nanos"}, "v timestamp NOT NULL"),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, "v timestamp_ntz NOT NULL"),
    ({"type": "int", "logicalType": "time-millis"}, "v int NOT NULL"),
    ({"type": "long", "logicalType": "time-micros"}, "v bigint NOT NULL"),
    ({"type": "string", "logicalType": "uuid"}, "v string NOT NULL"),
    ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, "v string NOT NULL"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "v decimal(9,2) NOT NULL"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 50}, "v binary NOT NULL"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 5}, "v binary NOT NULL"),
    ({"type": "string", "logicalType": "no such type"}, "v string NOT NULL"),
]


@pytest.mark.parametrize(("kind", "ddl"), COLUMNS)
def test_an_avro_type_has_a_column_type(kind: Any, ddl: str) -> None:
    columns = Avro(schema=record(("v", kind))).columns
    assert columns is not None
    assert columns.ddl == ddl


def test_names_are_found_in_their_namespace() -> None:
    inner = {"type": "enum", "name": "Kind", "namespace": "b", "symbols": ["A"]}
    schema = record(("k", inner), ("same", "b.Kind"), name="a.R") | {
        "fields": [
            {"name": "k", "type": inner},
            {"name": "same", "type": "b.Kind"},
            {"name": "nested", "type": record(("again", "a.Other"), name="Nested")},
        ]
    }
    schema["fields"].insert(0, {"name": "o", "type": record(("x", "int"), name="Other")})
    columns = Avro(schema=schema).columns
    assert columns is not None
    assert columns.names == ("o", "k", "same", "nested")


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"schema": "{"}, "avro: schema: not JSON: "),
    ({"schema": 5}, "avro: schema: expected an Avro schema, as a mapping or JSON text, got 5"),
    ({"schema": {"name": "R"}}, 'avro: schema: expected an Avro type, got {"name": "R"}'),
    ({"schema": {"type": "record"}}, "avro: schema: a type of kind record has no name"),
    (
        {"schema": record(("v", "strng"))},
        "avro: schema: field `v`: unknown type `strng` (did you mean `string`?",
    ),
    (
        {"schema": {"type": "record", "name": "R", "fields": [{"type": "int"}]}},
        'avro: schema: expected a field, got {"type": "int"}',
    ),
    (
        {"schema": {"type": "record", "name": "R", "fields": 5}},
        "avro: schema: expected a list as `fields`, got 5",
    ),
    (
        {"schema": {"type": "enum", "name": "E", "symbols": {}}},
        "avro: schema: expected a list as `symbols`, got {}",
    ),
    (
        {"schema": {"type": "fixed", "name": "F", "size": []}},
        "avro: schema: expected a whole number as `size`, got []",
    ),
    ({"schema": record(("v", [["int"], "null"]))}, "avro: schema: field `v`: a union inside a union"),
    (
        {"schema": doubled(40)},
        "avro: schema: expected at most 20,000 types, the schema has 3,298,534,883,327",
    ),
    ({"schema_file": "no/such.avsc"}, "avro: the Avro schema cannot be read from no/such.avsc: No such file"),
    ({"schema": '"int"', "schema_file": "a.avsc"}, "avro: expected `schema` or `schema_file`, got both"),
    ({"subject": "s"}, "avro: `subject` applies only with `registry`"),
    ({"register": False}, "avro: `register` applies only with `registry`"),
    ({"registry": "localhost:8081"}, "avro: registry.url: expected an address such as http://localhost:8081"),
    (
        {"registry": "http://ada:hush@host"},
        "avro: registry.url: expected an address without a login: set `user` and `password`, got "
        "'http://ada:***@host'",
    ),
    (
        {"registry": {"url": "http://h", "password": 7}},
        "avro: registry.password: input should be a valid string",
    ),
    ({"registry": {"url": "http://h", "usr": "a"}}, "avro: unknown option `registry.usr`"),
    (
        {"registry": {"url": "http://h", "timeout": "soon"}},
        "avro: registry.timeout: expected a duration such as `30 seconds`",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSALS)
def test_a_wrong_option_is_refused_without_its_secrets(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        formats.of({"avro": options})
    assert str(caught.value).startswith(message)
    assert "hush" not in str(caught.value)


NO_COLUMN = [
    (
        ["string", "long"],
        "avro: field `v`: a union of string and long has no column type\n  hint: set the `schema` of",
    ),
    ("null", "avro: field `v`: a value that is always null has no column type"),
    (
        {"type": "array", "items": ["null", "R"]},
        "avro: field `v[]`: the record R contains itself, which columns cannot",
    ),
]


@pytest.mark.parametrize(("kind", "message"), NO_COLUMN)
def test_a_type_without_a_column_type_is_refused_unless_columns_are_set(kind: Any, message: str) -> None:
    chosen = Avro(schema=record(("v", kind), ("n", "int")))
    with pytest.raises(SchemaError) as caught:
        chosen.check_schema(None)
    assert str(caught.value).startswith(message)
    assert chosen.check_schema(Schema.of("n int")).ddl == "n int"


UNSUPPORTED = [
    ("m map<int,string>", "column `m`: avro cannot hold map<int,string>\n  hint: the keys of an Avro map"),
    ("v variant", "column `v`: avro cannot hold variant\n  hint: Avro has no such type"),
    ("i interval day to second", "column `i`: avro cannot hold interval day to second"),
]


@pytest.mark.parametrize(("ddl", "message"), UNSUPPORTED)
def test_columns_that_avro_cannot_hold_are_refused(ddl: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Avro(registry="http://h").check_schema(Schema.of(ddl))
    assert str(caught.value).startswith(message)


def test_a_source_needs_a_registry_or_an_avro_schema_and_building_it_needs_no_network(tmp_path: Path) -> None:
    kafka = connect.kafka(servers="localhost:9", topic="t")
    missing = Pipeline("p")
    missing.read("tx", kafka, format="avro", schema="n int").write("out", connect.console())
    with pytest.raises(PlanError, match="avro needs the schema of the records"):
        missing.check()
    file = tmp_path / "r.avsc"
    file.write_text(json.dumps(record(("n", ["null", "long"]))))
    complete = Pipeline("p")
    chosen = formats.Avro(registry="http://localhost:9", schema_file=file)
    complete.read("tx", kafka, format=chosen).write("out", connect.console())
    source = complete._plan().nodes["tx"]
    assert str(getattr(source, "schema", None)) == "n bigint"


def test_a_document_has_the_options_of_python() -> None:
    kafka = connect.kafka(
        servers="h:1",
        topic="t",
        format={
            "avro": {"registry": {"url": "http://h", "user": "u", "password": "hush"}, "register": False}
        },
    )
    pipeline = Pipeline("p")
    pipeline.read("tx", connect.memory(), schema="n int").write("out", kafka)
    text = pipeline.to_yaml()
    assert "register: false" in text
    assert Pipeline.from_yaml_text(text)._graph.nodes["out"] == pipeline._graph.nodes["out"]
    assert "hush" in text
    assert "hush" not in repr(kafka) + str(pipeline.explain())


WRITTEN = (
    "s string, b binary, f boolean, i1 tinyint, i2 smallint, i int, l bigint, r float, d double, day date, "
    "t timestamp, n timestamp_ntz, m decimal(9,2), a array<int>, k map<string,double>, o struct<x:int>"
)


def test_the_schema_of_columns_has_the_same_columns_all_nullable() -> None:
    columns = Avro(schema=Avro().writer_schema(types(WRITTEN))).columns
    assert columns is not None
    assert columns.ddl == WRITTEN.replace("tinyint", "int").replace("smallint", "int")


WRITE_REFUSALS = [
    (None, "`a-b` int", "out: avro: column `a-b`: `a-b` is not a name in Avro"),
    (None, "v struct<`x y`:int>", "out: avro: column `v.x y`: `x y` is not a name in Avro"),
    (
        None,
        "v map<int,int>",
        "out: avro: column `v`: avro cannot hold map<int,int>\n  hint: cast it to string",
    ),
    ('"int"', "v int", "out: avro: a sink writes a record, got the Avro schema of a int"),
    (
        record(("v", "int")),
        "v string",
        "out: avro: column `v`: string cannot be written as int\n  hint: cast",
    ),
    (record(("v", "int")), "v bigint", "out: avro: column `v`: bigint cannot be written as int"),
    (record(("v", ["null", "int"])), "v date", "out: avro: column `v`: date cannot be written as int"),
    (record(("v", "null")), "v int", "out: avro: column `v`: int cannot be written as null"),
    (
        record(("v", {"type": "array", "items": "int"})),
        "v array<string>",
        "out: avro: column `v[]`: string cannot be written as int",
    ),
    (
        record(("v", {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2})),
        "v decimal(9,2)",
        "out: avro: column `v`: decimal(9,2) cannot be written as decimal",
    ),
    (
        record(("v", {"type": "long", "logicalType": "timestamp-millis"})),
        "v bigint",
        "out: avro: column `v`: bigint cannot be written as timestamp-millis",
    ),
    (
        record(("v", "int"), ("w", "int")),
        "v int",
        "out: avro: column `w`: the Avro schema requires this column",
    ),
    (record(("v", "int")), "v int, w int", "out: avro: column `w`: the Avro schema has no such field"),
]


@pytest.mark.parametrize(("schema", "ddl", "message"), WRITE_REFUSALS)
def test_columns_that_do_not_fit_the_schema_of_a_sink_are_refused(
    schema: Any, ddl: str, message: str
) -> None:
    with pytest.raises(DeliveryError) as caught:
        writer_schema(Avro(schema=schema), types(ddl), topic="t", where="out")
    assert str(caught.value).startswith(message)


def test_a_sink_without_a_topic_needs_a_subject() -> None:
    with pytest.raises(DeliveryError, match="out: avro needs the `subject` of its schema\n  hint: such as"):
        writer_schema(Avro(registry="http://localhost:9"), types("n int"), topic=None, where="out")
