"""Formats: their options, the schemas they take, and the text of every refusal."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import formats
from headrace.errors import OptionError, SchemaError
from headrace.formats import Schema


def test_each_format_is_found_by_its_name() -> None:
    assert formats.names() == ("avro", "csv", "json", "parquet", "protobuf", "raw", "text")
    assert [formats.get(name).name for name in formats.names()] == list(formats.names())


def test_a_format_is_given_as_a_name_a_mapping_or_itself() -> None:
    semicolons = formats.Csv(delimiter=";")
    assert formats.of("json") == formats.Json()
    assert formats.of({"csv": {"delimiter": ";"}}) == semicolons
    assert formats.of({"csv": None}) == formats.Csv()
    assert formats.of(semicolons) is semicolons


REFUSALS: list[tuple[Any, str]] = [
    (
        "jsn",
        "unknown format `jsn`\n  hint: did you mean `json`? Known: avro, csv, json, parquet, protobuf, raw, text",
    ),
    (42, 'expected a format, got 42\n  hint: write format="json"'),
    ({"csv": 3}, "expected a format, got {'csv': 3}"),
    ({"csv": {"delimeter": ";"}}, "csv: unknown option `delimeter`\n  hint: did you mean `delimiter`?"),
    ({"csv": {"delimiter": ";;"}}, "csv: delimiter: string should have at most 1 character, got ';;'"),
    ({"csv": {"delimiter": '"'}}, "csv: the delimiter must differ from quote and escape"),
    ({"json": {"epoch": "days"}}, "json: epoch: input should be 'seconds', 'milliseconds' or 'microseconds'"),
    ({"json": {"unknown_fields": "drop"}}, "json: unknown_fields: input should be 'ignore' or 'error'"),
    ({"text": {"encoding": "latin1"}}, "text: unknown option `encoding`"),
]


@pytest.mark.parametrize(("value", "message"), REFUSALS)
def test_a_wrong_format_is_refused(value: Any, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        formats.of(value)
    assert str(caught.value).startswith(message)


def test_text_and_raw_have_a_schema_of_their_own_whose_column_can_be_renamed() -> None:
    assert formats.of("text").check_schema(None).ddl == "value string"
    assert formats.of("raw").check_schema(None).ddl == "value binary"
    assert formats.of("text").check_schema(Schema.of("line string")).ddl == "line string"


SCHEMA_REFUSALS = [
    ("json", None, 'source `tx`: the format `json` needs a schema\n  hint: set schema="card string'),
    (
        "json",
        "m array<map<int,string>>",
        "source `tx`: column `m[]`: json cannot hold map<int,string>\n  hint: the keys",
    ),
    (
        "csv",
        "a int, s struct<b:int>",
        "source `tx`: column `s`: csv cannot hold struct<b:int>\n  hint: read it as string",
    ),
    ("csv", "a variant", "source `tx`: column `a`: csv cannot hold variant"),
    ("text", "a int", "source `tx`: the format `text` has one column of type string, got `a int`"),
    ("raw", "a binary, b binary", "source `tx`: the format `raw` has one column of type binary"),
]


@pytest.mark.parametrize(("name", "ddl", "message"), SCHEMA_REFUSALS)
def test_a_schema_that_a_format_cannot_hold_is_refused(name: str, ddl: str | None, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        formats.of(name).check_schema(Schema.of(ddl) if ddl else None, where="source `tx`")
    assert str(caught.value).startswith(message)


def test_a_format_that_can_hold_the_schema_returns_it() -> None:
    schema = Schema.of("m map<string,struct<a:array<decimal(3,1)>>>, v variant")
    assert formats.of("json").check_schema(schema) is schema
