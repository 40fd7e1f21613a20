"""Watermarks per source partition: the kernel against the small model, and against transcripts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.sealed_files import read_sealed
from headrace.spark.gateway import java_map, jvm, kernel
from headrace.testing import Case, read_file, run_case
from headrace.testing.transcripts.runs.partitions import PartitionModel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("p-0", "p-1", "p-2")
CASES = [case for case in read_file("tests/transcripts/contract/partitions.yaml") if isinstance(case, Case)]
TIMES = st.one_of(st.none(), st.integers(0, 200_000))
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.dictionaries(st.sampled_from(NAMES), TIMES), st.sets(st.sampled_from(NAMES))),
        st.integers(1, 15_000),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(idle=st.sampled_from([None, 4_000, 30_000]), actions=ACTIONS)
def test_kernel_and_model_agree(spark: SparkSession, idle: int | None, actions: list[Any]) -> None:
    clock = kernel(spark).time.VirtualTime.clock()
    times = kernel(spark).time.PartitionTimesDriver(-1 if idle is None else idle, clock)
    model = PartitionModel(idle)
    for action in actions:
        if isinstance(action, int):
            clock.advance(action)
            assert times.tick() == model.tick(clock.getTimeMillis())
        else:
            rows, unread = action
            reached = times.complete(_java_rows(spark, rows), jvm(spark).java.util.HashSet(list(unread)))
            assert reached == model.complete(rows, clock.getTimeMillis(), unread)


def _java_rows(spark: SparkSession, rows: Mapping[str, int | None]) -> Any:
    return java_map(spark, rows)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contract(spark: SparkSession, case: Case) -> None:
    assert run_case(case, spark=spark).failure == ""


def test_highest_event_times_are_stored_per_epoch(spark: SparkSession, tmp_path: Path) -> None:
    store = kernel(spark).time.PartitionTimesDriver.store(str(tmp_path))
    for epoch in range(4):
        store.write(epoch, java_map(spark, {"p-0": 10 * epoch}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.json", "3.json"]
    assert dict(store.read(3)) == {"p-0": 20}
    assert read_sealed(tmp_path / "3.json", hint="") == {"p-0": 30}
    content = (tmp_path / "2.json").read_bytes()
    for damaged in (content.replace(b":20", b":90"), content[:-10], b"", (tmp_path / "3.json").read_bytes()):
        (tmp_path / "2.json").write_bytes(damaged)
        with pytest.raises(Exception, match="its checksum does not match, or is missing"):
            store.read(3)


def test_a_missing_file_of_event_times_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    store = kernel(spark).time.PartitionTimesDriver.store(str(tmp_path / "tx"))
    assert dict(store.read(0)) == {}
    assert dict(store.read(3)) == {}, "a step that is new in epoch 3"
    store.write(3, java_map(spark, {"p-0": 30}))
    assert dict(store.read(3)) == {}
    assert dict(store.read(4)) == {"p-0": 30}
    (tmp_path / "tx" / "3.json").unlink()
    with pytest.raises(Exception, match=r"NoSuchFileException.*3\.json"):
        store.read(4)
