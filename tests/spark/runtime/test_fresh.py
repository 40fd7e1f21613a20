"""`fresh=True` starts with a new checkpoint, deletes nothing from sinks, and lists the effect per sink."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import Connector
from headrace.errors import OptionError


def build(log: Connector, table: Connector) -> Pipeline:
    pipeline = Pipeline("words")
    rows = pipeline.read("rows", connect.memory(rows=[{"k": "a", "v": 1}]), schema="k string, v int")
    rows.write("log", log)
    rows.write("table", table)
    rows.key_by("k").aggregate("n", n="count(*)").write("whole", connect.memory(), mode="complete")
    return pipeline


def test_fresh_run_keeps_rows_of_sinks_and_moves_the_checkpoint_aside(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = connect.memory()
    table = connect.sqlite(path=str(tmp_path / "rows.db"), table="rows", key=["k"])
    checkpoint = tmp_path / "words"
    build(log, table).run(until="drained", checkpoint=checkpoint)
    assert capsys.readouterr().err == ""
    with pytest.raises(
        OptionError, match=r"the pipeline was drained here.*\n  hint: start over with --fresh"
    ):
        build(log, table).run(until="caught_up", checkpoint=checkpoint)
    build(log, table).run(until="caught_up", checkpoint=checkpoint, fresh=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"starting over: the previous checkpoint moves to {checkpoint}.old-1; sinks keep their rows",
        "  log (memory): rows are written again and appended to those of earlier runs",
        "  table (sqlite): rows with the same key (k) are overwritten",
        "  whole (memory): the new run replaces all rows",
    ]
    assert len(log.contents()) == 2
    assert (tmp_path / "words.old-1" / "drained").exists()
    assert not (checkpoint / "drained").exists()


def test_checkpoint_of_version_0_1_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "queries" / "rows").mkdir(parents=True)
    (tmp_path / "queries" / "rows" / "lineage").write_text("1234")
    with pytest.raises(OptionError, match=r"written by headrace 0.1.*\n  hint: start over with --fresh"):
        build(connect.memory(), connect.memory()).run(checkpoint=tmp_path)
