"""The Protobuf format without a JVM: files, messages, columns, and the text of every refusal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.proto_messages import EVERYTHING_COLUMNS, write_files

from headrace import Pipeline, connect, formats
from headrace.errors import OptionError, PlanError, SchemaError
from headrace.formats import Protobuf, Schema
from headrace.formats.protobuf import descriptors
from headrace.steps.endpoints.source import Source

TREE = """
syntax = "proto3";
message Node { string name = 1; Node left = 2; repeated Leaf leaves = 3; Empty nothing = 4; }
message Leaf { map<string, Node> owners = 1; }
message Empty {}
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = write_files(tmp_path_factory.mktemp("proto"))
    (directory / "tree.proto").write_text(TREE)
    return directory


@pytest.fixture(scope="module")
def everything(directory: Path) -> Protobuf:
    return formats.Protobuf(file=str(directory / "everything.proto"), message="shop.Everything")


def compile_set(directory: Path, file: str, *options: str) -> Path:
    target = directory / f"{file}.{len(options)}.desc"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{directory}", f"--descriptor_set_out={target}"]
    subprocess.run([*command, *options, str(directory / f"{file}.proto")], check=True)
    return target


def test_the_columns_are_derived_from_the_message(everything: Protobuf) -> None:
    assert everything.default_schema == Schema.of(EVERYTHING_COLUMNS)
    assert formats.of({"protobuf": everything.model_dump(by_alias=True, exclude_defaults=True)}) == everything


def test_a_descriptor_set_has_the_same_columns(directory: Path, everything: Protobuf) -> None:
    complete = compile_set(directory, "everything", "--include_imports")
    read = formats.Protobuf(file=str(complete), message="shop.Everything")
    assert read.default_schema == everything.default_schema


def test_the_only_message_of_a_file_needs_no_name(directory: Path) -> None:
    legacy = formats.Protobuf(file=str(directory / "legacy.proto"))
    selected = Schema.of("sensor string, levels array<string>")
    assert legacy.check_schema(selected) == selected
    assert formats.Protobuf(file=str(directory / "parts.proto")).default_schema == Schema.of(
        "currency string, units bigint"
    )


def test_a_changed_file_or_import_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "part.proto").write_text('syntax = "proto3"; message Part { int32 a = 1; }')
    whole = tmp_path / "whole.proto"
    whole.write_text('syntax = "proto3"; import "part.proto"; message Whole { Part part = 1; }')
    assert formats.Protobuf(file=str(whole)).default_schema == Schema.of("part struct<a:int>")
    (tmp_path / "part.proto").write_text('syntax = "proto3"; message Part { int32 a = 1; string b = 2; }')
    assert formats.Protobuf(file=str(whole)).default_schema == Schema.of("part struct<a:int,b:string>")


def test_a_file_without_a_usable_message_is_refused(directory: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.proto"
    wrong.write_text('syntax = "proto3"; message A { string x }')
    lonely = tmp_path / "lonely.proto"
    lonely.write_text('syntax = "proto3"; import "nowhere.proto"; message A { string x = 1; }')
    text = tmp_path / "text.desc"
    text.write_bytes(b"\xff\xff")
    none = tmp_path / "none.proto"
    none.write_text('syntax = "proto3"; enum E { A = 0; }')
    partial = compile_set(directory, "everything")
    refusals: list[tuple[dict[str, Any], str]] = [
        ({}, "protobuf: option `file` is missing\n  hint: `file` is a `.proto` file"),
        ({"file": "nowhere.proto"}, f"protobuf: the file {Path('nowhere.proto').absolute()} does not exist"),
        ({"file": str(directory / "everything.proto")}, "has shop.Everything, shop.Order"),
        ({"file": str(none)}, f"protobuf: set `message`: {none} has no message"),
        (
            {"file": str(directory / "everything.proto"), "message": "shop.Everythin"},
            "has no message `shop.Everythin` (did you mean `shop.Everything`?",
        ),
        ({"file": str(wrong)}, f"protobuf: protoc reports {wrong}:1:"),
        ({"file": str(lonely)}, "nowhere.proto: File not found."),
        ({"file": str(text)}, "text.desc is not a descriptor set"),
        ({"file": str(partial), "message": "shop.Everything"}, "(make it with protoc --include_imports)"),
        ({"file": "x.proto", "unknown_fields": "drop"}, "protobuf: unknown_fields: input should be 'ignore'"),
    ]
    for options, message in refusals:
        with pytest.raises(OptionError) as caught:
            formats.of({"protobuf": options})
        assert message in str(caught.value)


def test_without_the_extra_the_error_names_it(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "find_spec", lambda name: None)
    monkeypatch.setattr(descriptors, "_LOADED", {})
    with pytest.raises(
        OptionError, match=r"`protobuf` is not installed \(pip install 'headrace\[protobuf\]'"
    ):
        formats.Protobuf(file=str(directory / "parts.proto"))


SELECTIONS = [
    ("i32 int, order struct<place:struct<city:string>>, counts map<string,int>", ""),
    (
        "i32 bigint",
        "column `i32`: expected int for the field of type int32, got bigint\n  hint: declare it as",
    ),
    ("i3 int", "column `i3`: the message shop.Everything has no such field\n  hint: did you mean `i32`?"),
    ("price int", "column `price`: expected a struct for the field of type message shop.Money, got int"),
    ("price struct<unit:bigint>", "column `price.unit`: the message shop.Money has no such field"),
    ("words string", "column `words`: expected an array for the field of type string, got string"),
    ("prices array<int>", "column `prices[]`: expected a struct for the field of type message shop.Money"),
    ("counts int", "column `counts`: expected a map for the field of type message"),
    ("counts map<int,int>", "column `counts{key}`: expected string for the field of type string, got int"),
    ("at bigint", "column `at`: expected timestamp for the field of type message google.protobuf.Timestamp"),
    ("u64 bigint", "column `u64`: expected decimal(20,0) for the field of type uint64, got bigint"),
]


@pytest.mark.parametrize(("schema", "message"), SELECTIONS)
def test_a_schema_selects_fields_by_name(everything: Protobuf, schema: str, message: str) -> None:
    selected = Schema.of(schema)
    if not message:
        assert everything.check_schema(selected) == selected
        return
    with pytest.raises(SchemaError) as caught:
        everything.check_schema(selected, where="source `tx`")
    assert str(caught.value).startswith(f"source `tx`: {message}")


def test_fields_without_a_column_type_are_refused_unless_the_schema_leaves_them_out(directory: Path) -> None:
    node = formats.Protobuf(file=str(directory / "tree.proto"), message="Node")
    hint = '\n  hint: select other fields with schema="..."'
    assert node.default_schema is None
    with pytest.raises(SchemaError) as caught:
        node.check_schema(None, where="source `tx`")
    assert str(caught.value) == f"source `tx`: field `left`: the message Node is recursive{hint}"
    two_deep = Schema.of("name string, left struct<name:string,left:struct<name:string>>")
    assert node.check_schema(two_deep) == two_deep
    legacy = formats.Protobuf(file=str(directory / "legacy.proto"))
    with pytest.raises(SchemaError, match="field `extra`: groups are not supported"):
        legacy.check_schema(None)
    with pytest.raises(SchemaError, match="column `extra`: groups are not supported"):
        legacy.check_schema(Schema.of("extra struct<n:int>"))
    with pytest.raises(SchemaError, match="the message Empty has no fields"):
        formats.Protobuf(file=str(directory / "tree.proto"), message="Empty").check_schema(None)


def test_a_registry_stores_the_text_of_a_file_without_imports(directory: Path, everything: Protobuf) -> None:
    registry = {"registry": "http://localhost:1"}
    parts = directory / "parts.proto"
    assert formats.Protobuf(file=str(parts), **registry).writer_schema({}) == parts.read_text()
    assert formats.Protobuf(file=str(parts)).writer_schema({}) == ""
    importing = formats.Protobuf(file=everything.file, message="shop.Order", **registry)
    with pytest.raises(SchemaError, match=r"imports parts.proto, which a sink does not register"):
        importing.writer_schema({})
    complete = compile_set(directory, "parts", "--include_imports")
    with pytest.raises(SchemaError, match=r"a registry stores the text of a `.proto` file"):
        formats.Protobuf(file=str(complete), **registry).writer_schema({})


def test_names_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "twins.proto"
    file.write_text('syntax = "proto3"; message Twins { int32 a = 1; int32 A = 2; }')
    with pytest.raises(SchemaError, match="two fields are called `a`"):
        formats.Protobuf(file=str(file)).check_schema(None)


def test_a_source_takes_its_columns_from_the_message(directory: Path) -> None:
    document = f"""
    name: payments
    sources:
      orders:
        memory: {{}}
        format: {{protobuf: {{file: {directory}/everything.proto, message: shop.Order}}}}
    sinks:
      out: {{from: orders, memory: {{}}}}
    """
    pipeline = Pipeline.from_yaml_text(document)
    [source] = pipeline._plan().of(Source)
    assert source.schema is not None
    assert source.schema.names == ("id", "items", "place")
    assert "schema" not in pipeline.to_yaml()


def test_a_sink_reports_columns_that_do_not_fit_before_it_runs(directory: Path) -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("rows", connect.memory(rows=[]), schema="id string, item int, place string, at date")
    order = formats.Protobuf(file=str(directory / "everything.proto"), message="shop.Order")
    rows.write("out", connect.kafka(servers="localhost:9092", topic="orders", headers=["at"], format=order))
    with pytest.raises(PlanError) as caught:
        pipeline.check()
    assert [f"{problem.what}\n  {problem.hint}" for problem in caught.value.problems] == [
        "column `item`: the message shop.Order has no such field\n"
        "  did you mean `items`? Known: id, items, place",
        "column `place`: expected a struct for the field of type message shop.Order.Place, got string\n  ",
    ]
