"""Reading a checkpoint directory without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.checkpoints import write_sealed

from headrace import Pipeline, connect
from headrace.checkpoints.layout import Progress, find_orphans, progress_of, queries_with_state
from headrace.errors import OptionError
from headrace.plan.graph import Graph


def checkpoint(place: Path, *, epochs: int = 1, watermark: int = 0) -> Path:
    conf = {"conf": {"spark.sql.shuffle.partitions": "2"}}
    for epoch in range(epochs):
        write_sealed(place / "spark" / "offsets" / str(epoch), f"v1\n{json.dumps(conf)}\n0\n")
        done = {"nextBatchWatermarkMs": watermark + epoch}
        write_sealed(place / "spark" / "commits" / str(epoch), f"v1\n{json.dumps(done)}")
    return place


@pytest.fixture
def graph() -> Graph:
    pipeline = Pipeline("pipe")
    tx = pipeline.read("tx", connect.memory(), schema="card string")
    tx.distinct("unique", on="card").write("out", connect.memory())
    tx.key_by("card").aggregate("counts", n="count(*)").write("all", connect.memory())
    return pipeline._plan()


def test_last_committed_epoch_and_its_watermark(tmp_path: Path) -> None:
    made = checkpoint(tmp_path, epochs=11, watermark=1_700_000_000_000)
    write_sealed(made / "spark" / "offsets" / "11", "v1\n{}\n0\n")  # begun, not finished
    assert progress_of(made) == Progress(10, "2023-11-14T22:13:20.010Z", 2)


def test_no_watermark_and_the_end_of_the_input(tmp_path: Path) -> None:
    assert progress_of(checkpoint(tmp_path / "a")).watermark is None
    assert progress_of(checkpoint(tmp_path / "b", watermark=253_402_300_799_000)).watermark == "end"
    assert progress_of(tmp_path / "nothing") == Progress()


def test_steps_with_a_checkpoint_and_orphaned_checkpoints(graph: Graph, tmp_path: Path) -> None:
    for name in ("unique", "older"):
        checkpoint(tmp_path / "queries" / name)
    assert [query.name for query in queries_with_state(graph, tmp_path)] == ["unique"]
    assert find_orphans(graph, tmp_path) == ["older"]


def test_missing_checkpoint_or_step_is_an_error(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no checkpoint\n  hint: run the pipeline first"):
        queries_with_state(graph, tmp_path)
    checkpoint(tmp_path / "queries" / "unique")
    with pytest.raises(OptionError, match="the step `counts` has no checkpoint yet"):
        queries_with_state(graph, tmp_path, "counts")
    with pytest.raises(OptionError, match="unknown stateful step `uniqe`\n  hint: did you mean `unique`"):
        queries_with_state(graph, tmp_path, "uniqe")


def test_step_that_only_the_checkpoint_has_is_an_error(graph: Graph, tmp_path: Path) -> None:
    checkpoint(tmp_path / "queries" / "older")
    with pytest.raises(
        OptionError, match="the plan has no stateful step `older`, of which there is a checkpoint"
    ):
        queries_with_state(graph, tmp_path, "older")
