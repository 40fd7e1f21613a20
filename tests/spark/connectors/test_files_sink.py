"""The files sink: each row of a committed epoch is visible once, after crashes at any step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.sinks import deliver, rows

from headrace import connect
from headrace.connectors import failpoints
from headrace.connectors.base import WriteContext
from headrace.errors import DamagedFileError, DeliveryError, FencedError

MakeRun = Callable[..., WriteContext]
STEPS = [
    "files.rolled_forward",
    "files.fenced",
    "files.staged",
    "files.manifest",
    "files.shown",
    "files.cleaned",
]


def read_rows(directory: Path) -> list[Any]:
    """Return the rows that a reader of the directory gets."""
    files = [file for file in directory.rglob("*.json") if "_headrace" not in file.parts]
    return sorted(json.loads(line)["v"] for file in files for line in file.read_text().splitlines())


def test_rows_are_seen_after_the_commit_and_not_before(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    writer = connect.files(path=tmp_path / "out", format="json").writer()
    assert writer.open(run()) == -1
    staged = writer.stage(0, rows(spark, ("a", 1), ("b", 2)))
    assert staged.rows == 2
    assert read_rows(tmp_path / "out") == []
    writer.commit(0, staged)
    assert read_rows(tmp_path / "out") == [1, 2]
    assert spark.read.json(str(tmp_path / "out")).count() == 2


def test_file_names_contain_sink_checkpoint_and_epoch(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    deliver(connect.files(path=tmp_path, format="json"), run(), 7, rows(spark, ("a", 1)))
    assert [file.name for file in tmp_path.glob("*.json")] == ["out-checkpoi-00000007-0000.json"]


def test_repeated_epoch_is_written_once(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="json")
    for epoch in (0, 1, 1, 0):
        deliver(out, run(), epoch, rows(spark, ("a", epoch)))
    assert read_rows(tmp_path) == [0, 1]


def test_same_writer_skips_a_committed_epoch(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    writer = connect.files(path=tmp_path, format="json").writer()
    writer.open(run())
    for _ in range(2):
        writer.commit(3, writer.stage(3, rows(spark, ("a", 3))))
    assert read_rows(tmp_path) == [3]


def test_open_returns_the_last_epoch_of_its_checkpoint(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.files(path=tmp_path, format="json")
    deliver(out, run(checkpoint_id="one"), 4, rows(spark, ("a", 1)))
    deliver(out, run(checkpoint_id="two"), 0, rows(spark, ("a", 2)))
    assert out.writer().open(run(checkpoint_id="one")) == 4
    assert out.writer().open(run(checkpoint_id="two")) == 0
    assert out.writer().open(run(checkpoint_id="three")) == -1
    assert read_rows(tmp_path) == [1, 2]


@pytest.mark.parametrize("step", STEPS)
def test_crash_after_each_step_loses_and_repeats_nothing(
    spark: SparkSession, run: MakeRun, tmp_path: Path, step: str
) -> None:
    out = connect.files(path=tmp_path, format="json")
    deliver(out, run(), 0, rows(spark, ("a", 0)))
    frame = rows(spark, *[("a", v) for v in range(1, 6)])
    with failpoints.arm(step), pytest.raises(failpoints.Crash, match=step):
        deliver(out, run(), 1, frame)
    assert set(read_rows(tmp_path)) in ({0}, {0, 1, 2, 3, 4, 5}) or step == "files.shown"
    deliver(out, run(), 1, frame)
    assert read_rows(tmp_path) == [0, 1, 2, 3, 4, 5]
    deliver(out, run(), 2, rows(spark, ("a", 6)))
    assert read_rows(tmp_path) == [0, 1, 2, 3, 4, 5, 6]
    assert list(tmp_path.glob("_headrace/*/staging/*")) == []


def test_every_step_has_a_fail_point(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    reached: list[str] = []
    with failpoints.watch(reached.append):
        deliver(connect.files(path=tmp_path, format="json"), run(), 0, rows(spark, ("a", 1)))
    assert list(dict.fromkeys(reached)) == STEPS


def test_older_run_is_fenced_at_its_commit(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="json")
    old, new = out.writer(), out.writer()
    old.open(run())
    staged = old.stage(0, rows(spark, ("a", 1)))
    new.open(run())
    with pytest.raises(FencedError, match=r"out: epoch 0 is not written: a newer run has taken over file:.*"):
        old.commit(0, staged)
    new.commit(0, new.stage(0, rows(spark, ("a", 2))))
    assert read_rows(tmp_path) == [2]


def test_newer_run_completes_what_a_dead_one_committed(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.files(path=tmp_path, format="json")
    writer = out.writer()
    writer.open(run())
    staged = writer.stage(0, rows(spark, ("a", 1)))
    with failpoints.arm("files.manifest"), pytest.raises(failpoints.Crash):
        writer.commit(0, staged)
    assert read_rows(tmp_path) == []
    assert out.writer().open(run()) == 0
    assert read_rows(tmp_path) == [1]


def test_complete_mode_holds_one_file_with_the_last_epoch(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.files(path=tmp_path, format="json")
    deliver(out, run("complete"), 0, rows(spark, ("a", 1), ("b", 1)))
    deliver(out, run("complete"), 1, rows(spark, ("a", 2)))
    assert [file.name for file in tmp_path.glob("*.json")] == ["out.json"]
    assert read_rows(tmp_path) == [2]
    deliver(out, run("complete"), 2, rows(spark, ("a", 2)).where("false"))
    assert read_rows(tmp_path) == []


@pytest.mark.parametrize("step", STEPS)
def test_complete_mode_survives_a_crash_after_each_step(
    spark: SparkSession, run: MakeRun, tmp_path: Path, step: str
) -> None:
    out = connect.files(path=tmp_path, format="json")
    deliver(out, run("complete"), 0, rows(spark, ("a", 0)))
    with failpoints.arm(step), pytest.raises(failpoints.Crash):
        deliver(out, run("complete"), 1, rows(spark, ("a", 1), ("b", 2)))
    assert read_rows(tmp_path) in ([0], [1, 2])
    deliver(out, run("complete"), 1, rows(spark, ("a", 1), ("b", 2)))
    assert read_rows(tmp_path) == [1, 2]


def test_update_mode_appends_changed_rows(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="json")
    deliver(out, run("update"), 0, rows(spark, ("a", 1)))
    deliver(out, run("update"), 1, rows(spark, ("a", 2)))
    assert read_rows(tmp_path) == [1, 2]


def test_epoch_without_rows_leaves_no_file(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="parquet")
    deliver(out, run(), 0, rows(spark, ("a", 1)).where("false"))
    assert list(tmp_path.glob("*.parquet")) == []
    assert out.writer().open(run()) == 0


@pytest.mark.parametrize("name", ["json", "csv", "parquet"])
def test_panes_come_back_from_each_format(
    spark: SparkSession, run: MakeRun, tmp_path: Path, name: str
) -> None:
    frame = spark.sql(
        "select 'a' k, named_struct('start', timestamp '2026-01-01 00:00:00.000001', 'end', timestamp "
        "'2026-01-02') as window, array(1, 2) as vs, named_struct('index', 0, 'timing', 'late', "
        "'retraction', false) as pane"
    )
    deliver(connect.files(path=tmp_path, format=name), run(), 0, frame)
    [file] = tmp_path.glob(f"*.{'snappy.parquet' if name == 'parquet' else name}")
    if name == "json":
        assert json.loads(file.read_text()) == {
            "k": "a",
            "window": {"start": "2026-01-01T00:00:00.000001Z", "end": "2026-01-02T00:00:00.000000Z"},
            "vs": [1, 2],
            "pane": {"index": 0, "timing": "late", "retraction": False},
        }
    elif name == "csv":
        assert file.read_text() == (
            'a,2026-01-01T00:00:00.000001Z,2026-01-02T00:00:00.000000Z,"[1,2]",0,late,false\n'
        )
    else:
        assert spark.read.parquet(str(tmp_path)).collect() == frame.collect()


@pytest.mark.parametrize("encoding", ["json", "csv"])
def test_intervals_are_written_as_seconds(
    spark: SparkSession, run: MakeRun, tmp_path: Path, encoding: str
) -> None:
    frame = spark.sql("select 'a' k, interval '10' minute + interval '0.5' second as late_by")
    deliver(connect.files(path=tmp_path, format=encoding), run(), 0, frame)
    [file] = tmp_path.glob(f"*.{encoding}")
    assert file.read_text().strip() == ('{"k":"a","late_by":600.5}' if encoding == "json" else "a,600.5")


def test_csv_options_of_the_format_are_obeyed(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format={"csv": {"delimiter": ";", "header": True}})
    deliver(out, run(), 0, rows(spark, ("a;b", 1)).coalesce(1))
    [file] = tmp_path.glob("*.csv")
    assert file.read_text() == 'k;v\n"a;b";1\n'


def test_text_takes_one_string_column(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="text")
    deliver(out, run(), 0, spark.sql("select 'hello' as line"))
    assert [file.read_text() for file in tmp_path.glob("*.txt")] == ["hello\n"]
    with pytest.raises(
        DeliveryError, match=r"text files take one column of type string, got `k string, v int`"
    ):
        deliver(out, run(), 1, rows(spark, ("a", 1)))


def test_partition_columns_become_directories(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="json", partition_by=["k"])
    deliver(out, run(), 0, rows(spark, ("a", 1), ("b", 2)))
    assert read_rows(tmp_path / "k=a") == [1]
    assert read_rows(tmp_path / "k=b") == [2]
    assert spark.read.json(str(tmp_path)).where("k = 'b'").select("v").first() == (2,)


def test_unknown_partition_column_is_named(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="json", partition_by="kk")
    with pytest.raises(DeliveryError, match=r"out: unknown partition column `kk`\n  hint: did you mean `k`"):
        deliver(out, run(), 0, rows(spark, ("a", 1)))


def test_complete_mode_with_partitions_is_refused(run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="out: `complete` replaces one file"):
        connect.files(path=tmp_path, format="json", partition_by="k").writer().open(run("complete"))


def test_target_that_is_a_file_is_a_delivery_error(run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(DeliveryError, match=r"out: file:.*/out cannot be written to: .*Not a directory"):
        connect.files(path=tmp_path / "out", format="json").writer().open(run())


def test_disk_that_fails_while_rows_are_written_is_a_delivery_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    writer = connect.files(path=tmp_path, format="json").writer()
    writer.open(run())
    (tmp_path / "_headrace" / "pipe.out" / "staging").write_text("in the way")
    with pytest.raises(
        DeliveryError, match=r"out: epoch 0 cannot be written to file:.*\n  hint: is the disk full"
    ):
        writer.stage(0, rows(spark, ("a", 1)))


def test_rows_that_cannot_be_computed_are_no_fault_of_the_disk(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    writer = connect.files(path=tmp_path, format="json").writer()
    writer.open(run())
    with pytest.raises(DeliveryError, match=r"out: its rows cannot be computed: Division by zero") as caught:
        writer.stage(0, spark.range(3).selectExpr("1 / (id - 1) as x"))
    assert "disk" not in str(caught.value)


def test_ledger_forgets_old_entries(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    writer = connect.files(path=tmp_path, format="json").writer()
    writer.open(run())
    staged = writer.stage(0, rows(spark, ("a", 1)).where("false"))
    for epoch in range(250):
        writer.commit(epoch, staged)
    assert 100 <= len(list(tmp_path.glob("_headrace/pipe.out/log/*"))) <= 202
    assert connect.files(path=tmp_path, format="json").writer().open(run()) == 249


def test_other_file_systems_go_through_hadoop(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    """A viewfs mount is not local to us, although its files are."""
    spark.conf.set("fs.viewfs.mounttable.test.link./data", f"file://{tmp_path}")
    out = connect.files(path="viewfs://test/data/out", format="json")
    for epoch in (0, 1, 1):
        deliver(out, run(), epoch, rows(spark, ("a", epoch)))
    assert read_rows(tmp_path / "out") == [0, 1]
    old = out.writer()
    old.open(run())
    out.writer().open(run())
    with pytest.raises(FencedError):
        old.commit(2, old.stage(2, rows(spark, ("a", 2))))


def test_missing_staged_file_of_a_committed_epoch_is_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.files(path=tmp_path, format="json")
    with failpoints.arm("files.manifest"), pytest.raises(failpoints.Crash):
        deliver(out, run(), 0, rows(spark, ("a", 1)))
    staged = max(tmp_path.glob("_headrace/*/staging/*/*.json"), key=lambda file: file.stat().st_size)
    staged.unlink()
    with pytest.raises(
        DamagedFileError, match="it has rows of a committed epoch, to be moved to out-"
    ) as caught:
        out.writer().open(run())
    assert caught.value.where.endswith(staged.name)


def test_visible_file_may_be_removed_by_its_reader(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.files(path=tmp_path, format="json")
    deliver(out, run(), 0, rows(spark, ("a", 1)))
    for file in tmp_path.glob("*.json"):
        file.unlink()
    assert out.writer().open(run()) == 0
