"""A checkpoint belongs to its sources and its pipeline; others are rejected before Spark starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import Pipeline, connect, windows
from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.sources import check_sources
from headrace.connectors.base import Connector
from headrace.errors import OptionError, PlanError


def kafka(**options: Any) -> connect.kafka:
    return connect.kafka(servers="h:1", **options)


def visits(table: str = "visits", cursor: str = "id") -> connect.sqlite:
    return connect.sqlite(path="x.db", table=table, cursor=cursor)


def changes(table: str) -> connect.postgres_cdc:
    return connect.postgres_cdc(url="postgresql://h/d", table=table)


def begin(directory: Path, *sources: Connector, names: str = "ab") -> None:
    """Start a pipeline of one query, which reads these sources, as far as to its first epoch."""
    pipeline = Pipeline("p")
    read = [
        pipeline.read(name, item, schema="id bigint", format="json" if item.carries == "bytes" else None)
        for name, item in zip(names, sources, strict=False)
    ]
    (read[0].union(*read[1:]) if read[1:] else read[0]).write("out", connect.memory())
    check_sources(pipeline._plan(), directory)
    for query in (directory / "queries").iterdir():
        (query / "spark" / "offsets").mkdir(parents=True, exist_ok=True)
        (query / "spark" / "offsets" / "0").touch()


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (kafka(topic="a"), kafka(topics=["b", "a"])),
        (kafka(topic="a"), kafka(pattern="a|b")),
        (kafka(pattern="a|b"), kafka(topic="a")),
        (kafka(assign={"a": [0, 1]}), kafka(topic="a")),
        (kafka(topic="a"), kafka(topic="b", on_data_loss="continue")),
        (kafka(topic="a-1"), kafka(pattern=r"\p{L}-.")),
        (visits(), connect.sqlite(path="moved.db", table="visits", cursor="id")),
    ],
)
def test_source_with_the_same_offset_identity_resumes(was: Connector, now: Connector, tmp_path: Path) -> None:
    begin(tmp_path, was)
    begin(tmp_path, now)


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        (
            kafka(topic="a"),
            kafka(topic="b"),
            "`a`: its checkpoint has offsets of a, but it reads kafka, b",
        ),
        (kafka(topics=["a", "b"]), kafka(topic="b"), "has offsets of a, but"),
        (kafka(assign={"a": [0, 1]}), kafka(assign={"a": [1]}), "has offsets of a-0, but"),
        (kafka(topic="a"), kafka(pattern="b.*"), "has offsets of a, but it reads kafka"),
        (kafka(topic="a"), connect.files(path="in"), "has offsets of kafka, a, but it reads files"),
        (
            visits(),
            visits(table="hits"),
            "has offsets of table `visits`, but it reads sqlite, table `hits`",
        ),
        (changes("a"), changes("b"), "has offsets of table `a`, but"),
        (
            connect.http(poll="https://ada:hush@host/a?token=hush", every="1 minute", format="json"),
            connect.http(poll="https://host/b", every="1 minute", format="json"),
            "has offsets of address https://ada:***@host/a?token=***, but",
        ),
        (visits(), visits(cursor="at"), "has offsets of column `id`, but"),
    ],
)
def test_source_with_another_offset_identity_is_rejected_and_the_checkpoint_stays(
    was: Connector, now: Connector, message: str, tmp_path: Path
) -> None:
    begin(tmp_path, was)
    with pytest.raises(PlanError) as caught:
        begin(tmp_path, now)
    assert message in str(caught.value)
    assert "\n  hint: restore the source to resume, or start over with --fresh" in str(caught.value)
    begin(tmp_path, was)


def test_sources_keep_their_order(tmp_path: Path) -> None:
    begin(tmp_path, visits(), visits("hits"))
    with pytest.raises(PlanError, match=r"has the sources `a`, `b`, the plan has `b`, `a`"):
        begin(tmp_path, visits("hits"), visits(), names="ba")


def test_checkpoint_belongs_to_one_execution_mode(tmp_path: Path) -> None:
    pipeline = Pipeline("p")
    tx = pipeline.read("tx", kafka(topic="a"), format="json", schema="k string, at timestamp").event_time(
        "at"
    )
    windowed = tx.key_by("k").window(windows.tumbling("1 minute")).aggregate("totals", n="count(*)")
    windowed.write("out", kafka(topic="b"))
    graph = pipeline._plan()
    for _ in range(2):
        check_sources(graph, tmp_path, real_time=True)
        (tmp_path / "queries" / "totals" / "spark" / "offsets").mkdir(parents=True, exist_ok=True)
        (tmp_path / "queries" / "totals" / "spark" / "offsets" / "0").touch()
    with pytest.raises(
        PlanError,
        match=r"written by a run in real time; a run in micro-batches cannot.*\n  hint: run it as before, or",
    ):
        check_sources(graph, tmp_path)


def test_checkpoint_of_another_pipeline_is_rejected(tmp_path: Path) -> None:
    PipelineDirectory.acquire("mine", tmp_path).release()
    with pytest.raises(
        OptionError,
        match=r"it is the checkpoint of another pipeline, `mine`\n  hint: choose another --checkpoint",
    ):
        PipelineDirectory.acquire("yours", tmp_path)
    PipelineDirectory.acquire("mine", tmp_path).release()
