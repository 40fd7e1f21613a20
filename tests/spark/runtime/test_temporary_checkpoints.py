"""Pipelines with rows in memory alone: their checkpoint cannot be resumed, so that a program can run twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Pipeline, connect
from headrace.connectors.memory import Memory

ROWS = [{"n": 1}, {"n": 2}]


@pytest.fixture(autouse=True)
def _in_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def build(source: Memory, sink: Memory) -> Pipeline:
    pipeline = Pipeline("twice")
    pipeline.read("rows", source, schema="n int").where("n > 0").write("out", sink)
    return pipeline


@pytest.mark.usefixtures("spark")
def test_a_second_pipeline_starts_over_and_the_same_one_resumes() -> None:
    sink = connect.memory()
    for _ in range(2):  # a cell, or a script, that is run again
        pipeline = build(connect.memory(rows=ROWS), sink)
        pipeline.run(until="drained", progress=False)
        assert sink.contents() == ROWS
    pipeline.run(until="drained", progress=False)  # drained: nothing could be resumed
    assert sink.contents() == ROWS
    source, sink = connect.memory(rows=ROWS), connect.memory()
    pipeline = build(source, sink)
    pipeline.run(until="caught_up", progress=False)
    source.add({"n": 3})
    pipeline.run(until="caught_up", progress=False)
    assert sink.contents() == [*ROWS, {"n": 3}]


@pytest.mark.usefixtures("spark")
def test_a_checkpoint_of_other_connectors_is_not_removed() -> None:
    Path("in").mkdir()
    Path("in/1.json").write_text('{"n": 1}\n')
    kept = Pipeline("twice")
    files = connect.files(path="in")
    kept.read("rows", files, format="json", schema="n int").write("out", connect.memory())
    kept.run(until="caught_up", progress=False)
    sink = connect.memory()
    with pytest.raises(Exception, match="rows"):
        build(connect.memory(rows=ROWS), sink).run(until="caught_up", progress=False)
    assert list(Path(".headrace/twice/queries").iterdir())
    kept.run(until="caught_up", progress=False)


@pytest.mark.usefixtures("spark")
def test_a_given_checkpoint_is_kept(tmp_path: Path) -> None:
    sink = connect.memory()
    for _ in range(2):
        build(connect.memory(rows=ROWS), sink).run(
            until="caught_up", checkpoint=tmp_path / "kept", progress=False
        )
    assert sink.contents() == ROWS


def test_a_stream_has_its_columns_without_spark_and_its_types_with_it(
    spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = Pipeline("columns").read("rows", connect.memory(rows=ROWS), schema="n int")
    doubled = rows.with_columns(double="n * 2L", text="string(n)")
    assert doubled.columns == ("n", "double", "text")
    assert doubled.schema.simpleString() == "struct<n:int,double:bigint,text:string>"
    doubled.show(1)
    assert capsys.readouterr().out.split() == ["n", "double", "text", "1", "2", "1"]
    assert "int" in rows._repr_html_()
    assert spark is not None
