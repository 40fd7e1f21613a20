"""The options of Delta tables, and the checks of columns and messages, without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.connectors.delta.columns import check_table, find_problem, key_paths, new_columns, table_schema
from headrace.connectors.delta.location import Location
from headrace.connectors.delta.log import commit_files
from headrace.errors import DeliveryError, OptionError, PlanError, SourceError
from headrace.schemas.fields import Schema


@pytest.mark.parametrize(
    ("start", "parsed"),
    [
        ("latest", "latest"),
        ({"version": 3}, {"version": 3}),
        ({"time": "2026-11-01T02:00:00+02:00"}, {"time": "2026-11-01T00:00:00Z"}),
        ({"time": datetime(2026, 11, 1, tzinfo=UTC)}, {"time": "2026-11-01T00:00:00Z"}),
    ],
)
def test_start_is_a_word_a_version_or_a_time(start: Any, parsed: Any) -> None:
    assert connect.delta(path="t", start=start).start == parsed


@pytest.mark.parametrize("start", ["first", {"version": -1}, {"version": True}, {"time": "soon"}, {}, 3])
def test_other_starts_are_errors(start: Any) -> None:
    with pytest.raises(OptionError, match=r"expected (earliest, latest|a time such as)"):
        connect.delta(path="t", start=start)


def test_path_is_absolute_and_addresses_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert connect.delta(path="lake/t/").location.uri == str(tmp_path / "lake" / "t")
    assert connect.delta(path="s3://lake/t").location.uri == "s3://lake/t"
    assert connect.delta(path="lake/t").target() == f"the Delta table {tmp_path}/lake/t"


def plan(schema: str, **options: Any) -> Pipeline:
    pipeline = Pipeline("lake")
    rows = pipeline.read("rows", connect.files(path=".", format="json"), schema=schema)
    rows.write("out", connect.delta(path="t", **options))
    return pipeline


@pytest.mark.parametrize(
    ("schema", "options", "problem"),
    [
        ("v variant", {}, "column `v` has the type variant, which a Delta table cannot hold"),
        ("a array<interval month>", {}, r"column `a\[\]` has the type interval month"),
        ("`a b` int", {}, "the column name `a b` contains a character"),
        ("k string, x double", {"partition_by": "x"}, "the partition column `x` has the type double"),
        ("k string", {"partition_by": "k"}, "`partition_by` names all columns"),
        ("k string, v int", {"partition_by": "kk"}, "partition_by"),
        ("k string, v int", {"key": "kk"}, "kk"),
    ],
)
def test_columns_that_a_table_cannot_hold_are_plan_errors(
    schema: str, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PlanError, match=problem):
        plan(schema, **options).check()


def test_plain_columns_are_no_problem() -> None:
    plan("k string, at timestamp, m map<string, array<int>>, i interval day to second").check()


def test_source_needs_a_schema() -> None:
    pipeline = Pipeline("lake")
    pipeline.read("rows", connect.delta(path="t")).write("out", connect.console())
    with pytest.raises(PlanError, match="schema is missing"):
        pipeline.check()


def test_running_aggregate_needs_a_key_or_complete() -> None:
    pipeline = Pipeline("lake")
    rows = pipeline.read("rows", connect.files(path=".", format="json"), schema="k string, v int")
    rows.key_by("k").aggregate("n", n="count(*)").write("out", connect.delta(path="t"))
    with pytest.raises(PlanError, match="the sink needs `key`"):
        pipeline.check()


def struct(*fields: tuple[str, Any]) -> Any:
    parts = [{"name": name, "type": kind, "nullable": False, "metadata": {}} for name, kind in fields]
    return {"type": "struct", "fields": parts}


def test_new_columns_are_those_that_the_table_lacks() -> None:
    stream = table_schema(struct(("a", "long"), ("b", struct(("x", "long")))))
    assert [
        field["name"] for field in new_columns(stream, table_schema(struct(("a", "long"))), where="out")
    ] == ["b"]
    with pytest.raises(DeliveryError, match="column `b` is struct in the table and long in the stream"):
        new_columns(table_schema(struct(("b", "long"))), stream, where="out")


def test_tables_with_rules_are_rejected() -> None:
    with pytest.raises(DeliveryError, match=r"delta\.columnMapping\.mode"):
        check_table({"delta.columnMapping.mode": "name"}, struct(), where="out")
    generated = struct(("a", "long"))
    generated["fields"][0]["metadata"] = {"delta.generationExpression": "b + 1"}
    with pytest.raises(DeliveryError, match=r"delta\.generationExpression"):
        check_table({}, generated, where="out")


def test_window_in_a_key_stands_for_its_number_or_bounds() -> None:
    bounds = struct(("card", "string"), ("window", struct(("start", "timestamp"), ("end", "timestamp"))))
    assert key_paths(["card", "window"], bounds, where="out") == (
        ("card",),
        ("window", "start"),
        ("window", "end"),
    )
    numbered = struct(("window", struct(("start", "timestamp"), ("number", "long"))))
    assert key_paths(["window"], numbered, where="out") == (("window", "number"),)


def test_messages_of_delta_rs_are_one_line_without_colours() -> None:
    error = OSError("Generic error\n   \x1b[31m↳\x1b[0m No space left on device\n   0: <unknown>\n")
    translation = Location("/t").translate_error(error)
    assert translation == ("Generic error: No space left on device", "free space on the disk, then run again")
    assert Location("/t").translate_error(ValueError("x")) is None


def write_version(path: Path, text: str) -> None:
    (path / "_delta_log").mkdir(parents=True)
    (path / "_delta_log" / f"{0:020d}.json").write_text(text)


def test_deletion_vectors_and_damaged_versions_are_errors(tmp_path: Path) -> None:
    added = {"add": {"path": "a.parquet", "dataChange": True, "deletionVector": {"cardinality": 1}}}
    write_version(tmp_path / "vectors", json.dumps(added))
    with pytest.raises(SourceError, match="the table uses deletion vectors"):
        commit_files(Location(str(tmp_path / "vectors")).connect(), 0, skip_changes=False)
    write_version(tmp_path / "damaged", "{broken")
    with pytest.raises(SourceError, match="version 0 in the log of the table is damaged") as error:
        commit_files(Location(str(tmp_path / "damaged")).connect(), 0, skip_changes=False)
    assert "_delta_log" in error.value.hint


def test_added_paths_are_decoded(tmp_path: Path) -> None:
    write_version(tmp_path, json.dumps({"add": {"path": "c=a%2520b/x.parquet", "dataChange": True}}))
    [file] = commit_files(Location(str(tmp_path)).connect(), 0, skip_changes=False)
    assert file.path == "c=a%20b/x.parquet"


def test_schema_of_intervals_is_no_problem_at_the_top_only() -> None:
    assert find_problem(Schema.of("i interval day to second"), ()) is None
    assert find_problem(Schema.of("s struct<i: interval day to second>"), ()) is not None
