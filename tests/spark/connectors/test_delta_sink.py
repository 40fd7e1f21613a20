"""The Delta sink: each row of a committed epoch is visible once, read back with delta-rs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from pyspark.sql import SparkSession
from tests.support.sinks import deliver, rows

from headrace import connect
from headrace.connectors import failpoints
from headrace.connectors.base import DELETED, WriteContext
from headrace.errors import DeliveryError, FencedError
from headrace.testing import delivery

MakeRun = Callable[..., WriteContext]
LEDGER = "headrace/pipe/out"
OTHER = pyarrow.table({"k": ["z"], "v": pyarrow.array([9], pyarrow.int32())})
"""A row of another writer."""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows that another reader of the table gets, sorted."""
    return sorted(DeltaTable(path).to_pyarrow_table().to_pylist(), key=repr)


def values(path: Path) -> list[Any]:
    return sorted(row["v"] for row in read_rows(path))


def staged_files(path: Path) -> set[str]:
    """Return the files of sinks that no version of the table refers to."""
    known = {Path(uri.removeprefix("file://")).name for uri in DeltaTable(path).file_uris()}
    return {file.name for file in path.rglob("*.parquet") if "headrace-" in str(file)} - known


@contextmanager
def opened(connector: connect.delta, context: WriteContext) -> Iterator[Any]:
    writer = connector.writer()
    writer.open(context)
    try:
        yield writer
    finally:
        writer.close()


@pytest.mark.parametrize("key", [(), ("id",)])
def test_crash_harness_finds_no_lost_or_duplicated_row(
    spark: SparkSession, tmp_path: Path, key: tuple[str, ...]
) -> None:
    def target(trial: str) -> delivery.Target:
        table = connect.delta(path=tmp_path / trial.replace(" ", "-"), key=list(key))
        return delivery.Target(table, lambda: [row["id"] for row in read_rows(Path(str(table.path)))])

    report = delivery.check_sink(spark, target)
    assert report.passed, str(report)
    steps = {trial.name for trial in report.trials}
    assert {"killed after delta.read", "killed after delta.staged", "killed after delta.committed"} <= steps


def test_rows_and_ledger_become_visible_in_one_version(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    path = tmp_path / "lake" / "out"
    with opened(connect.delta(path=path), run()) as writer:
        staged = writer.stage(0, rows(spark, ("a", 1), ("b", 2)))
        assert staged.rows == 2
        assert read_rows(path) == []
        before = DeltaTable(path).version()
        writer.commit(0, staged)
    table = DeltaTable(path)
    assert table.version() == before + 1
    assert values(path) == [1, 2]
    assert table.transaction_version(f"{LEDGER}/checkpoint-one") == 0
    assert table.transaction_version(LEDGER) is not None


def test_repeated_epoch_is_written_once(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path)
    for epoch in (0, 1, 1, 0):
        deliver(out, run(), epoch, rows(spark, ("a", epoch)))
    deliver(out, run(checkpoint_id="two"), 0, rows(spark, ("a", 7)))
    assert values(tmp_path) == [0, 1, 7]
    assert out.writer().open(run()) == 1
    assert out.writer().open(run(checkpoint_id="two")) == 0
    assert out.writer().open(run(checkpoint_id="three")) == -1


def test_ledger_survives_a_checkpoint_of_the_log(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path)
    deliver(out, run(), 3, rows(spark, ("a", 3)))
    write_deltalake(tmp_path, OTHER, mode="append")
    DeltaTable(tmp_path).create_checkpoint()
    for entry in sorted((tmp_path / "_delta_log").glob("0*.json"))[:-1]:
        entry.unlink()
    assert out.writer().open(run()) == 3


def test_files_of_an_epoch_that_never_committed_are_removed(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.delta(path=tmp_path)
    deliver(out, run(), 0, rows(spark, ("a", 0)))
    foreign = tmp_path / "of-another-tool.parquet"
    foreign.write_bytes(b"")
    for checkpoint_id, epoch in (("checkpoint-one", 5), ("two", 1200)):
        with opened(out, run(checkpoint_id=checkpoint_id)) as writer:
            writer.stage(epoch, rows(spark, ("a", 1)))
        assert staged_files(tmp_path)
    out.writer().open(run(checkpoint_id="three"))
    assert staged_files(tmp_path) == set()
    assert foreign.exists()
    assert values(tmp_path) == [0]


def test_files_of_a_run_without_a_table_are_removed_by_the_run_that_creates_it(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.delta(path=tmp_path)
    with opened(out, run()) as older, opened(out, run()) as newer:
        newer.commit(0, newer.stage(0, rows(spark, ("a", 1))))
        with pytest.raises(FencedError, match="a newer run has taken over"):
            older.stage(0, rows(spark, ("a", 1)))
        newer.commit(1, newer.stage(1, rows(spark, ("a", 2))))
    assert values(tmp_path) == [1, 2]


def test_newer_run_fences_a_commit_that_has_read_the_ledger(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.delta(path=tmp_path)
    with opened(out, run()) as older:
        staged = older.stage(0, rows(spark, ("a", 1)))
        newer = out.writer()

        def take_over(step: str) -> None:
            if step == "delta.read":
                newer.open(run())

        with failpoints.watch(take_over), pytest.raises(FencedError, match="epoch 0 is not written"):
            older.commit(0, staged)
    assert read_rows(tmp_path) == []


def test_commits_of_other_writers_are_no_conflict(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path)
    interrupt = {"delta.read": lambda: write_deltalake(tmp_path, OTHER, mode="append")}
    with opened(out, run()) as writer:
        staged = writer.stage(0, rows(spark, ("a", 1)))
        with failpoints.watch(lambda step: interrupt.pop(step, lambda: None)()):
            writer.commit(0, staged)
    assert values(tmp_path) == [1, 9]


def test_conflicting_commit_is_retried(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    def change() -> None:
        DeltaTable(tmp_path).alter.set_table_properties({"delta.logRetentionDuration": "interval 60 days"})

    interrupt = {"delta.read": change}
    with opened(connect.delta(path=tmp_path), run()) as writer:
        staged = writer.stage(0, rows(spark, ("a", 1)))
        with failpoints.watch(lambda step: interrupt.pop(step, lambda: None)()):
            writer.commit(0, staged)
    assert not interrupt
    assert values(tmp_path) == [1]


def test_complete_replaces_all_rows_in_one_version(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path)
    deliver(out, run("complete"), 0, rows(spark, ("a", 1), ("b", 2)))
    before = DeltaTable(tmp_path).version()
    deliver(out, run("complete"), 1, rows(spark, ("a", 3)))
    assert values(tmp_path) == [3]
    deliver(out, run("complete"), 2, rows(spark, ("a", 3)).where("false"))
    assert values(tmp_path) == []
    assert [row["v"] for row in DeltaTable(tmp_path, before).to_pyarrow_table().to_pylist()] == [1, 2]


def test_update_needs_a_key(run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="the sink needs `key`"):
        connect.delta(path=tmp_path).writer().open(run("update"))


def test_rows_are_partitioned_by_columns(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    schema = "k string, day date, n int, v int"
    day = date(2026, 11, 1)
    frame = rows(spark, ("x/y z=%41", day, 1, 1), (None, day, None, 2), ("ü", day, 2, 3), schema=schema)
    deliver(connect.delta(path=tmp_path, partition_by=["k", "day", "n"]), run(), 0, frame)
    assert DeltaTable(tmp_path).metadata().partition_columns == ["k", "day", "n"]
    assert sorted(
        (row["k"] or "", str(row["day"]), row["n"] or 0, row["v"]) for row in read_rows(tmp_path)
    ) == [
        ("", "2026-11-01", 0, 2),
        ("x/y z=%41", "2026-11-01", 1, 1),
        ("ü", "2026-11-01", 2, 3),
    ]


def test_existing_partitioning_is_kept_and_another_one_is_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    deliver(connect.delta(path=tmp_path, partition_by="k"), run(), 0, rows(spark, ("a", 1)))
    deliver(connect.delta(path=tmp_path), run(), 1, rows(spark, ("b", 2)))
    assert DeltaTable(tmp_path).to_pyarrow_table(filters=[("k", "=", "b")]).num_rows == 1
    with pytest.raises(DeliveryError, match=r"the table is partitioned by \['k'\], not by \['v'\]"):
        deliver(connect.delta(path=tmp_path, partition_by="v"), run(), 2, rows(spark, ("b", 2)))


def test_statistics_hold_rows_and_ranges(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    frame = spark.sql(
        "select id, if(id = 1, null, concat('t', id)) as text, id / 2 as half, "
        "timestamp_seconds(id) as ts, date_add(date'2026-01-01', int(id)) as day from range(3)"
    ).coalesce(1)
    deliver(connect.delta(path=tmp_path), run(), 0, frame)
    [line] = [line for log in (tmp_path / "_delta_log").glob("*.json") for line in log.read_text().splitlines() if '"add"' in line]  # fmt: skip
    statistics = json.loads(json.loads(line)["add"]["stats"])
    assert statistics["numRecords"] == 3
    assert statistics["nullCount"] == {"id": 0, "text": 1, "half": 0, "ts": 0, "day": 0}
    assert statistics["maxValues"] == {
        "id": 2, "text": "t2", "ts": "1970-01-01T00:00:02.000000Z", "day": "2026-01-03",
    }  # fmt: skip
    assert DeltaTable(tmp_path).to_pyarrow_table(filters=[("id", ">", 1)]).num_rows == 1


def test_every_type_comes_back(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    deliver(
        connect.delta(path=tmp_path),
        run(),
        0,
        spark.sql(
            "select 1Y as b, 2S as s, 3 as i, 4L as l, 1.5F as f, 2.5D as d, 3.50BD as e, true as yes, "
            "X'01' as raw, date'2026-11-01' as day, timestamp'2026-11-01 10:00:00.000001' as ts, "
            "timestamp_ntz'2026-11-01 10:00:00' as local, array(1, null) as many, map('a', 1) as pairs, "
            "struct(timestamp'2026-11-01 10:00:00' as start) as `window`, interval '1' minute as late_by"
        ),
    )
    [row] = read_rows(tmp_path)
    assert (row["b"], row["s"], row["i"], row["l"], row["f"], row["d"], str(row["e"])) == (
        1,
        2,
        3,
        4,
        1.5,
        2.5,
        "3.50",
    )
    assert (row["yes"], row["raw"], str(row["day"]), row["many"], row["pairs"]) == (
        True, b"\x01", "2026-11-01", [1, None], [("a", 1)],
    )  # fmt: skip
    assert row["ts"].isoformat() == "2026-11-01T10:00:00.000001+00:00"
    assert row["local"].isoformat() == "2026-11-01T10:00:00"
    assert row["window"]["start"].isoformat() == "2026-11-01T10:00:00+00:00"
    assert row["late_by"] == 60.0


def test_new_column_is_added_to_the_table(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path)
    deliver(out, run(), 0, rows(spark, ("a", 1)))
    deliver(out, run(), 1, rows(spark, ("b", 2, True), schema="k string, v int, large boolean"))
    deliver(out, run(), 2, rows(spark, ("c",), schema="k string"))
    assert read_rows(tmp_path) == [
        {"k": "a", "v": 1, "large": None},
        {"k": "b", "v": 2, "large": True},
        {"k": "c", "v": None, "large": None},
    ]


def test_column_of_another_type_is_an_error(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path)
    deliver(out, run(), 0, rows(spark, ("a", 1)))
    with pytest.raises(DeliveryError, match="column `v` is integer in the table and string in the stream"):
        deliver(out, run(), 1, rows(spark, ("a", "x"), schema="k string, v string"))
    assert values(tmp_path) == [1]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (
            "interval '1' year as age",
            "column `age` has the type interval year, which a Delta table cannot hold",
        ),
        ("parse_json('1') as doc", "column `doc` has the type variant"),
        ("null as nothing", "void"),
        ("1 as `a b`", "the column name `a b` contains a character that Delta tables reserve"),
        ("named_struct('a=b', 1) as s", "the column name `a=b` contains a character"),
    ],
)
def test_column_that_a_table_cannot_hold_is_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path, column: str, problem: str
) -> None:
    with pytest.raises(DeliveryError, match=problem) as error:
        deliver(connect.delta(path=tmp_path), run(), 0, spark.sql(f"select {column}"))
    assert error.value.where == "out"
    assert error.value.hint


def test_partition_column_of_another_type_is_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    with pytest.raises(DeliveryError, match="the partition column `x` has the type double"):
        deliver(connect.delta(path=tmp_path, partition_by="x"), run(), 0, spark.sql("select 1D as x, 1 as v"))


def test_rows_that_consist_of_partition_columns_are_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    with pytest.raises(DeliveryError, match="`partition_by` names all columns"):
        deliver(connect.delta(path=tmp_path, partition_by=["k", "v"]), run(), 0, rows(spark, ("a", 1)))
    deliver(connect.delta(path=tmp_path, partition_by="k"), run(), 0, rows(spark, ("a", 1)))
    with pytest.raises(DeliveryError, match="the stream has only partition columns of the table"):
        deliver(connect.delta(path=tmp_path), run(), 1, rows(spark, ("a",), schema="k string"))


def test_table_with_constraints_is_an_error(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path)
    deliver(out, run(), 0, rows(spark, ("a", 1)))
    DeltaTable(tmp_path).alter.add_constraint({"positive": "v > 0"})
    with pytest.raises(DeliveryError, match=r"the property `delta.constraints.positive`"):
        deliver(out, run(), 1, rows(spark, ("a", -1)))


def test_required_column_that_the_stream_lacks_is_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    columns = pyarrow.schema([("k", pyarrow.string()), pyarrow.field("v", pyarrow.int32(), nullable=False)])
    DeltaTable.create(tmp_path, columns)
    with pytest.raises(DeliveryError, match="the table requires a value in `v`, which the stream lacks"):
        deliver(connect.delta(path=tmp_path), run(), 0, rows(spark, ("a",), schema="k string"))


def test_key_upserts_and_deletes_rows(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path, key="k")
    schema = f"k string, v int, {DELETED} boolean"
    first = [("a", 1, False), ("b", 2, False), (None, 3, False), ("d", 4, False)]
    deliver(out, run(), 0, rows(spark, *first, schema=schema))
    deliver(out, run(), 1, rows(spark, ("a", 10, False), ("b", 2, True), (None, 30, False), schema=schema))
    assert {row["k"]: row["v"] for row in read_rows(tmp_path)} == {"a": 10, "d": 4, None: 30}
    deliver(out, run(), 2, rows(spark, ("unknown", 1, True), schema=schema))
    assert out.writer().open(run()) == 2
    assert set(read_rows(tmp_path)[0]) == {"k", "v"}
    assert staged_files(tmp_path) == set()


def test_last_row_of_a_window_is_valid_and_a_retraction_deletes_it(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    def panes(*rows: tuple[str, int, int, bool]) -> Any:
        frame = spark.createDataFrame(list(rows), "card string, minute int, n int, retraction boolean")
        return frame.coalesce(1).selectExpr(
            "card",
            "struct(timestamp_seconds(minute * 60) as start, timestamp_seconds(minute * 60 + 60) as end) as window",
            "n",
            "struct(0L as index, 'on_time' as timing, retraction) as pane",
        )

    out = connect.delta(path=tmp_path, key=["card", "window"])
    deliver(out, run(), 0, panes(("a", 0, 1, False), ("a", 1, 1, False), ("b", 0, 1, False)))
    second = [
        ("a", 0, 1, True),
        ("a", 0, 2, False),
        ("b", 0, 1, True),
        ("a", 2, 1, False),
        ("a", 2, 5, False),
    ]
    deliver(out, run(), 1, panes(*second))
    actual = [(row["card"], row["window"]["start"].minute, row["n"]) for row in read_rows(tmp_path)]
    assert sorted(actual) == [("a", 0, 2), ("a", 1, 1), ("a", 2, 5)]
    assert set(read_rows(tmp_path)[0]["pane"]) == {"index", "timing"}


def test_key_in_a_partitioned_table(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.delta(path=tmp_path, key=["k"], partition_by="k")
    deliver(out, run("update"), 0, rows(spark, ("a", 1), (None, 2)))
    deliver(out, run("update"), 1, rows(spark, ("a", 3), (None, 4), ("c", 5)))
    assert values(tmp_path) == [3, 4, 5]


def test_key_that_is_no_plain_value_is_an_error(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="the key column `s` is struct"):
        deliver(connect.delta(path=tmp_path, key="s"), run(), 0, spark.sql("select struct(1 as a) as s"))


def test_damaged_log_is_an_error_with_a_hint(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    deliver(connect.delta(path=tmp_path), run(), 0, rows(spark, ("a", 1)))
    (tmp_path / "_delta_log" / "00000000000000000001.json").write_text("{broken")
    with pytest.raises(DeliveryError, match=r"cannot be opened: .*Json error") as error:
        connect.delta(path=tmp_path).writer().open(run())
    assert "restore the file in _delta_log" in error.value.hint
    assert "\n" not in error.value.what


def test_path_of_a_file_is_an_error_with_a_hint(run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeliveryError, match="cannot be opened") as error:
        connect.delta(path=tmp_path / "file").writer().open(run())
    assert "name a directory" in error.value.hint


def test_rows_that_cannot_be_computed_are_an_error(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match=r"cannot take epoch 0: .*error here"):
        deliver(
            connect.delta(path=tmp_path),
            run(),
            0,
            spark.sql("select cast(raise_error('error here') as int) as v"),
        )


def test_table_that_is_removed_during_a_run_is_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    with opened(connect.delta(path=path), run()) as writer:
        staged = writer.stage(0, rows(spark, ("a", 1)))
        shutil.rmtree(path)
        with pytest.raises(DeliveryError, match="cannot commit epoch 0"):
            writer.commit(0, staged)


def test_ledger_entries_of_other_applications_do_not_matter(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.delta(path=tmp_path)
    deliver(out, run(), 0, rows(spark, ("a", 1)))
    properties = CommitProperties(app_transactions=[Transaction("other", 99)])
    write_deltalake(tmp_path, OTHER, mode="append", commit_properties=properties)
    assert out.writer().open(run()) == 0
