"""The option models of the embedded connectors, without Spark: accepted values and errors."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from headrace import connect, formats
from headrace.connectors.base import Connector
from headrace.connectors.registry import connector, kinds
from headrace.errors import OptionError
from headrace.steps.endpoints.describe import describe_connector


@dataclasses.dataclass
class Payment:
    card: str
    amount: float


def test_each_word_of_the_registry_is_a_constructor_in_connect() -> None:
    for kind in kinds():
        model = connector(kind)
        assert model is getattr(connect, kind)
        assert model.kind == kind
        assert model.__module__.startswith("headrace.connectors.")


def test_connect_offers_the_registry_and_nothing_else() -> None:
    assert tuple(connect.__all__) == kinds()


def test_every_option_is_described() -> None:
    for kind in kinds():
        for name, field in connector(kind).model_fields.items():
            assert field.description, f"{kind}.{name}"
        assert connector(kind).model_json_schema()["additionalProperties"] is False


def test_defaults_are_named_so_that_type_checkers_see_them() -> None:
    """`Field(None)` looks like a required argument to checkers without pydantic's plugin.

    `Field(default=None)` does not.
    """
    texts = {file: file.read_text() for file in Path(connect.__file__).parent.glob("*/**/*.py")}
    for file in (file for file, text in texts.items() if "description=" in text):
        for call in ast.walk(ast.parse(texts[file])):
            if isinstance(call, ast.Call) and any(word.arg == "description" for word in call.keywords):
                assert not call.args, f"{file.name}:{call.lineno}"


def test_connectors_load_without_spark() -> None:
    code = "import sys; from headrace import connect; connect.files(path='x'); assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_take_paths_schemas_and_formats_in_any_spelling() -> None:
    plain = connect.files(path="in", format="csv", schema="card string NOT NULL, amount double NOT NULL")
    assert plain == connect.files(path=Path("in"), format={"csv": {}}, schema=Payment)
    assert hash(plain) == hash(connect.files(path=Path("in"), format={"csv": {}}, schema=Payment))
    assert plain.model_dump(by_alias=True, exclude_defaults=True) == {
        "path": "in",
        "format": "csv",
        "schema": "card string NOT NULL, amount double NOT NULL",
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("in/*.jsonl", "json"),
        ("homes.csv", "csv"),
        ("a/words.txt.gz", "text"),
        ("x.parquet/", "parquet"),
        ("in/", None),
    ],
)
def test_files_tell_the_format_from_the_path(path: str, name: str | None) -> None:
    encoding = connect.files(path=path).encoding
    assert (encoding.name if encoding else None) == name


def test_parquet_files_carry_rows_and_others_bytes() -> None:
    assert connect.files(path="x.parquet").carries == "rows"
    assert connect.files(path="x.csv").carries == "bytes"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"path": "x", "formt": "json"},
            "files: unknown option `formt`\n  hint: did you mean `format`? Known: format, ",
        ),
        ({}, "files: option `path` is missing\n  hint: `path` is a directory"),
        ({"paht": "x"}, "files: unknown option `paht`\n  hint: did you mean `path`?"),
        ({"path": 3}, "files: path: expected a path, got 3"),
        ({"path": ""}, "files: path: expected a path, got ''"),
        ({"path": "x", "format": "jsn"}, "files: format: unknown format `jsn` (did you mean `json`?"),
        ({"path": "x", "format": "raw"}, "files: format: files consist of lines: use `text`"),
        (
            {"path": "x", "schema": "a strin"},
            "files: schema: schema character 3: unknown type `strin` (did you mean `string`?",
        ),
        (
            {"path": "x", "max_files_per_batch": 0},
            "files: max_files_per_batch: expected a number of at least 1",
        ),
        ({"path": "x", "partition_by": [1]}, "files: partition_by: expected a list of column names, got [1]"),
    ],
)
def test_wrong_options_of_files_are_reported(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        connect.files(**options)
    assert message in str(caught.value)


def test_complete_mode_refuses_partitions() -> None:
    assert (
        connect.files(path="x", partition_by="k")
        .mode_problem("complete")
        .startswith("`complete` replaces one file")
    )
    assert connect.files(path="x", partition_by="k").mode_problem("append") == ""


def test_files_sink_refuses_a_glob() -> None:
    reason = connect.files(path="out/*.json").mode_problem("append")
    assert reason == "a sink writes into one directory, not into the glob `out/*.json`"


def test_memory_is_equal_by_what_was_declared() -> None:
    first, second = connect.memory(rows=[{"a": 1}]), connect.memory(rows=({"a": 1},))
    first.add({"a": 2})
    assert first == second
    assert hash(first) == hash(second)
    assert first != connect.memory(name="x", rows=[{"a": 1}])
    assert second.contents() == [{"a": 1}]


def test_memory_with_a_name_is_shared_and_can_be_cleared() -> None:
    connect.memory(name="shared").add({"a": 1})
    assert connect.memory(name="shared").contents() == [{"a": 1}]
    connect.memory(name="shared").clear()
    assert connect.memory(name="shared").contents() == []


def test_rows_of_memory_must_be_mappings() -> None:
    with pytest.raises(OptionError, match=r"memory: rows.*mapping"):
        connect.memory(rows=[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "x.db"}, "sqlite: option `table` is missing\n  hint: `table` is the table's name"),
        (
            {"path": "x.db", "table": "_headrace_runs"},
            "sqlite: table: names that start with `sqlite_` or `_headrace`",
        ),
        (
            {"path": "x.db", "table": "t", "keys": "a"},
            "sqlite: unknown option `keys`\n  hint: did you mean `key`?",
        ),
        ({"path": "x.db", "table": "t", "key": {"a": 1}}, "sqlite: key: expected a list of column names"),
    ],
)
def test_wrong_options_of_sqlite_are_reported(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        connect.sqlite(**options)
    assert message in str(caught.value)


def test_sqlite_refuses_update_without_a_key() -> None:
    assert "needs `key`" in connect.sqlite(path="x.db", table="t").mode_problem("update")
    assert connect.sqlite(path="x.db", table="t", key=["a"]).mode_problem("update") == ""


def test_generator_shows_its_schema_from_its_recipes() -> None:
    columns = {
        "id": {"sequence": {"prefix": "p"}},
        "n": {"choice": {1: 9, 2: 1}},
        "card": {"integer": {"prefix": "card-"}},
        "at": "timestamp",
    }
    made = connect.generator(rows=1, columns=columns)
    assert made.schema_known is not None
    assert made.schema_known.ddl == "id string, n bigint, card string, at timestamp"
    assert connect.generator(rows=1).schema_known is None
    assert connect.generator(replay="x.jsonl", speed="max").carries == "bytes"
    assert made == connect.generator(rows=1, columns=dict(columns))


def test_generator_can_be_written_down_and_read_again() -> None:
    made = connect.generator(
        rows=1, columns={"a": "normal", "b": {"choice": [1, 2]}, "c": {"integer": {"nulls": 0.5}}}
    )
    written = made.model_dump(by_alias=True, exclude_defaults=True)
    assert written["columns"] == {
        "a": "normal",
        "b": {"choice": {"of": [1, 2]}},
        "c": {"integer": {"nulls": 0.5}},
    }
    assert connect.generator(**written) == made


def test_parquet_set_by_the_source_makes_files_carry_rows() -> None:
    parquet, text = formats.of("parquet"), formats.of("text")
    assert connect.files(path="in").with_format(parquet).carries == "rows"
    assert connect.files(path="in").with_format(text).carries == "bytes"
    assert connect.memory().with_format(parquet) == connect.memory()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "generator: expected `rows`, `rate` or both: rows without end and rate"),
        ({"rows": -1}, "generator: rows: expected a number of at least 0, got -1"),
        (
            {"replay": "x"},
            "generator: expected `time`, the column with the time at which a line is due, or speed `max`",
        ),
        ({"rows": 1, "speed": 0}, "generator: expected `speed` to be above 0, or `max`"),
        (
            {"replay": "x", "speed": "max", "planted": {1: {"a": 1}}},
            "generator: a recording has its own columns",
        ),
        ({"rows": 1, "planted": [1]}, "generator: planted: expected a mapping from row number to columns"),
        ({"rows": 1, "columns": ["a"]}, "generator: columns: expected a mapping from column to recipe"),
        (
            {"rows": 1, "columns": {"a": "intger"}},
            "column `a`: unknown recipe `intger` (did you mean `integer`?",
        ),
        ({"rows": 1, "columns": {"a": 3}}, "column `a`: expected a recipe such as `lognormal`"),
        ({"rows": 1, "columns": {"a": {"normal": 3}}}, "column `a`: expected the options of `normal`, got 3"),
        ({"rows": 1, "columns": {"a": {"choice": []}}}, "column `a`: choice: of: expected a list of values"),
        (
            {"rows": 1, "columns": {"a": {"choice": {"x": 0}}}},
            "column `a`: choice: of: expected weights of 0 or more",
        ),
        (
            {"rows": 1, "columns": {"a": {"integer": {"low": 2, "high": 1}}}},
            "expected low to be at most high, got 2 and 1",
        ),
        (
            {"rows": 1, "columns": {"a": {"timestamp": {"start": "soon"}}}},
            "timestamp: start: expected a time such as",
        ),
        ({"rows": 1, "columns": {"a": {"timestamp": {"every": "1 lightyear"}}}}, "expected a duration"),
        ({"rows": 1, "columns": {"a": {"normal": {"men": 1}}}}, "column `a`: normal: unknown option `men`"),
    ],
)
def test_wrong_options_of_the_generator_are_reported(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        connect.generator(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("socket", {}, "socket: option `port` is missing\n  hint: `port` is the server's port"),
        ("socket", {"port": 70000}, "socket: port: expected a number of at most 65535, got 70000"),
        (
            "socket",
            {"port": 1, "reconnect": "long"},
            "socket: reconnect: expected a duration such as `30 seconds`",
        ),
        ("console", {"limit": 0}, "console: limit: expected a number of at least 1, got 0"),
        ("console", {"style": "xml"}, "console: style: input should be 'auto', 'table' or 'json', got 'xml'"),
    ],
)
def test_wrong_options_of_socket_and_console_are_reported(
    kind: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(OptionError) as caught:
        connector(kind)(**options)
    assert message in str(caught.value)


def test_sinks_and_sources_refuse_the_other_half() -> None:
    with pytest.raises(OptionError, match="console: console cannot be read from"):
        connect.console().reader()
    with pytest.raises(OptionError, match="socket: socket cannot be written to"):
        connect.socket(port=1).writer()


def test_an_address_is_reported_without_its_password() -> None:
    with pytest.raises(OptionError, match=r"url: expected postgresql://.*, got 'mysql://ada:\*\*\*@db/shop'"):
        connect.postgres(url="mysql://ada:secret@db/shop", table="t")
    with pytest.raises(OptionError, match=r"url: expected postgresql://"):
        connect.postgres(url="postgres//db/shop", table="t")
    other = connect.postgres(url="host=db password=secret dbname=shop", table="t")
    assert describe_connector(other) == "postgres url=host=db password=*** dbname=shop table=t"


@pytest.mark.parametrize(
    ("sink", "target"),
    [
        (connect.files(path="/data/out"), "the directory /data/out"),
        (connect.sqlite(path="/data/x.db", table="t"), "the table `t` in /data/x.db"),
        (
            connect.postgres(url="postgresql://ada:secret@db:99/shop", table="t"),
            "the table `t` at db:99/shop",
        ),
        (connect.postgres(url="host=db password=secret", table="t"), "the table `t` at host=db password=***"),
        (connect.memory(), None),
    ],
)
def test_target_identifies_what_a_sink_writes_to(sink: Connector, target: str | None) -> None:
    assert sink.target() == target
