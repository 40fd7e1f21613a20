"""The SQLite connector: an epoch is one transaction, keys are kept, types are checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.support.sinks import deliver, rows

from headrace import connect
from headrace.connectors import failpoints
from headrace.connectors.base import ReadContext, WriteContext
from headrace.errors import DeliveryError, FencedError, SourceError

MakeRun = Callable[..., WriteContext]
STEPS = ["sqlite.fenced", "sqlite.staged", "sqlite.begun", "sqlite.rows", "sqlite.ledger", "sqlite.committed"]


def query(path: Path, text: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(text).fetchall()


def panes(spark: SparkSession, *values: tuple[str, int, int, bool]) -> DataFrame:
    """Panes (key, value, index, retraction) of one window, in this order."""
    texts = [
        f"('{k}', named_struct('start', timestamp '2026-01-01', 'end', timestamp '2026-01-02'), {v},"
        f" named_struct('index', {index}, 'timing', 'early', 'retraction', {str(retraction).lower()}))"
        for k, v, index, retraction in values
    ]
    return spark.sql(f"select * from values {', '.join(texts)} as t(k, window, v, pane)").coalesce(1)


def test_rows_are_appended_once(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "new" / "x.db", table="t")
    for epoch in (0, 1, 1):
        deliver(out, run(), epoch, rows(spark, ("a", epoch)))
    assert query(tmp_path / "new" / "x.db", "SELECT * FROM t ORDER BY v") == [("a", 0), ("a", 1)]
    assert query(
        tmp_path / "new" / "x.db", "SELECT pipeline, sink, checkpoint_id, epoch, token FROM _headrace_epochs"
    ) == [("pipe", "out", "checkpoint-one", 1, 2)]


def test_values_of_every_type(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    frame = spark.sql(
        "select 'x' s, 1L l, cast(2 as tinyint) b, true t, 1.5D d, 12.50BD n, binary('raw') r, date "
        "'2026-01-02' day, timestamp '2026-01-02 03:04:05.000006' ts, timestamp_ntz '1900-01-02 "
        "03:04:05.000006' local, array(1, null) a, map('k', 1) m, named_struct('f', timestamp '2026-01-02 "
        "03:04:05.000006', 'g', null) st, interval '1' day i, cast(null as string) nothing"
    )
    deliver(connect.sqlite(path=tmp_path / "x.db", table="t"), run(), 0, frame)
    [row] = query(tmp_path / "x.db", "SELECT * FROM t")
    assert row == (
        *("x", 1, 2, 1, 1.5, 12.5, b"raw", "2026-01-02", "2026-01-02T03:04:05.000006Z"),
        *(
            "1900-01-02T03:04:05.000006",
            "[1,null]",
            '{"k":1}',
            '{"f":"2026-01-02T03:04:05.000006Z","g":null}',
        ),
        *(86400.0, None),
    )
    declared = query(tmp_path / "x.db", "SELECT name, type FROM pragma_table_info('t')")
    assert dict(declared)["n"] == "NUMERIC"
    assert dict(declared)["ts"] == "TEXT"


def test_decimal_that_would_be_rounded_is_refused(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t")
    kept = "values (12345678901234567.00BD), (0.10BD), (-1234567.12345678BD), (null) as t(n)"
    deliver(out, run(), 0, spark.sql(f"select cast(n as decimal(38, 10)) n from {kept}").coalesce(1))
    assert query(tmp_path / "x.db", "SELECT n FROM t") == [
        (12345678901234567,),
        (0.1,),
        (-1234567.12345678,),
        (None,),
    ]
    with pytest.raises(
        DeliveryError,
        match=r"out: SQLite would round 1234567890\.1234567890 in `n`: it stores 15 digits of a fraction\n"
        r"  hint: in a select, cast\(n as string\) keeps all digits",
    ):
        deliver(out, run(), 1, spark.sql("select cast(1234567890.123456789BD as decimal(38, 10)) n"))
    assert len(query(tmp_path / "x.db", "SELECT n FROM t")) == 4


@pytest.mark.parametrize("mode", ["append", "update"])
def test_newer_row_of_a_key_overwrites(spark: SparkSession, run: MakeRun, tmp_path: Path, mode: str) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t", key="k")
    deliver(out, run(mode), 0, rows(spark, ("a", 1), ("b", 1), (None, 1)))
    deliver(out, run(mode), 1, rows(spark, ("a", 2), (None, 2)))
    assert query(tmp_path / "x.db", "SELECT * FROM t ORDER BY k") == [(None, 2), ("a", 2), ("b", 1)]


def test_null_in_a_numeric_key_is_a_key(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t", key="v")
    for epoch, k in enumerate("ab"):
        deliver(out, run(), epoch, rows(spark, (k, None)))
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("b", None)]


def test_complete_mode_replaces_the_table(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t")
    deliver(out, run("complete"), 0, rows(spark, ("a", 1), ("b", 1)))
    deliver(out, run("complete"), 1, rows(spark, ("b", 2)))
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("b", 2)]


def test_update_mode_needs_a_key(run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="out: rows are updated, so the sink needs `key`"):
        connect.sqlite(path=tmp_path / "x.db", table="t").writer().open(run("update"))


def test_window_in_a_key_means_its_columns(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t", key=["k", "window"])
    deliver(out, run(), 0, panes(spark, ("a", 1, 0, False)))
    deliver(out, run(), 1, panes(spark, ("a", 2, 1, False)))
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [
        ("a", "2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z", 2, 1, "early")
    ]
    assert [row[0] for row in query(tmp_path / "x.db", "SELECT name FROM pragma_table_info('t')")] == [
        *("k", "window_start", "window_end", "v", "pane_index", "pane_timing")
    ]


def test_numbered_window_is_known_by_its_number(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t", key=["k", "window"])
    for epoch, end in enumerate(("2026-01-02", "2026-01-03")):
        frame = spark.sql(f"select 'a' k, named_struct('start', 0, 'end', '{end}', 'number', 7) window")
        deliver(out, run(), epoch, frame)
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("a", 0, "2026-01-03", 7)]


def test_retraction_deletes_and_what_follows_it_stays(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t", key=["k", "window"])
    deliver(out, run(), 0, panes(spark, ("a", 1, 0, False), ("b", 1, 0, False)))
    frame = panes(
        spark, ("a", 1, 0, True), ("a", 5, 1, False), ("b", 1, 0, True), ("c", 1, 0, False), ("c", 1, 0, True)
    )
    deliver(out, run(), 1, frame)
    assert query(tmp_path / "x.db", "SELECT k, v FROM t") == [("a", 5)]


def test_without_a_key_retractions_are_rows(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t")
    deliver(out, run(), 0, panes(spark, ("a", 1, 0, False), ("a", 1, 0, True)))
    assert query(tmp_path / "x.db", "SELECT k, v, pane_retraction FROM t") == [("a", 1, 0), ("a", 1, 1)]


@pytest.mark.parametrize("key", ["", "k"])
@pytest.mark.parametrize("step", STEPS)
def test_crash_after_each_step_loses_and_repeats_nothing(
    spark: SparkSession, run: MakeRun, tmp_path: Path, step: str, key: str
) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t", key=[key] if key else [])
    deliver(out, run(), 0, rows(spark, ("a", 0)))
    with failpoints.arm(step), pytest.raises(failpoints.Crash, match=step):
        deliver(out, run(), 1, rows(spark, ("b", 1), ("c", 2)))
    assert query(tmp_path / "x.db", "SELECT count(*) FROM t") == [(3 if step == "sqlite.committed" else 1,)]
    deliver(out, run(), 1, rows(spark, ("b", 1), ("c", 2)))
    assert query(tmp_path / "x.db", "SELECT * FROM t ORDER BY v") == [("a", 0), ("b", 1), ("c", 2)]


def test_every_step_has_a_fail_point(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    reached: list[str] = []
    with failpoints.watch(reached.append):
        deliver(connect.sqlite(path=tmp_path / "x.db", table="t"), run(), 0, rows(spark, ("a", 1)))
    assert reached == STEPS


def test_older_run_is_fenced(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t")
    old, new = out.writer(), out.writer()
    old.open(run())
    staged = old.stage(0, rows(spark, ("a", 1)))
    assert new.open(run()) == -1
    with pytest.raises(FencedError, match=r"out: epoch 0 is not written: a newer run has taken over .*x\.db"):
        old.commit(0, staged)
    new.commit(0, staged)
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("a", 1)]


def test_two_sinks_and_two_checkpoints_have_their_own_ledger(
    spark: SparkSession, run: MakeRun, tmp_path: Path
) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t")
    for value in (run(), run(sink="other"), run(checkpoint_id="two")):
        deliver(out, value, 0, rows(spark, ("a", 1)))
    assert query(tmp_path / "x.db", "SELECT count(*) FROM t") == [(3,)]
    assert out.writer().open(run()) == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "k TEXT, v TEXT",
            "out: column `v` is TEXT in the table `t` and int in the stream\n  hint: cast it in a select",
        ),
        (
            "k TEXT",
            "out: the table `t` has no column `v`; the stream has it as int\n"
            "  hint: ALTER TABLE t ADD COLUMN `v` INTEGER",
        ),
        (
            "k TEXT, v INTEGER, w TEXT NOT NULL",
            "out: the table `t` requires a value in `w`, which the stream lacks\n  hint: add the column to "
            "the stream",
        ),
    ],
)
def test_table_that_does_not_fit_is_an_error(
    spark: SparkSession, run: MakeRun, tmp_path: Path, table: str, message: str
) -> None:
    query(tmp_path / "x.db", f"CREATE TABLE t ({table})")
    with pytest.raises(DeliveryError) as caught:
        deliver(connect.sqlite(path=tmp_path / "x.db", table="t"), run(), 0, rows(spark, ("a", 1)))
    assert str(caught.value).startswith(message)


def test_table_of_other_words_that_fits_is_taken(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    query(tmp_path / "x.db", "CREATE TABLE t (extra TEXT DEFAULT 'x', ts DATETIME, v BIGINT, k VARCHAR(9))")
    frame = spark.sql("select 'a' k, 1 v, timestamp '2026-01-01' ts")
    deliver(connect.sqlite(path=tmp_path / "x.db", table="t"), run(), 0, frame)
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("x", "2026-01-01T00:00:00.000000Z", 1, "a")]


def test_unknown_key_column_is_named(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t", key="kk")
    with pytest.raises(DeliveryError, match="out: unknown key column `kk`\n  hint: did you mean `k`"):
        deliver(out, run(), 0, rows(spark, ("a", 1)))


def test_file_that_is_no_database_is_an_error(run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("something else " * 100)
    with pytest.raises(
        DeliveryError, match=r"x\.db cannot be opened: file is not a database\n  hint: give the path"
    ):
        connect.sqlite(path=tmp_path / "x.db", table="t").writer().open(run())


def test_directory_in_the_way_is_an_error(run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(
        DeliveryError, match=r"cannot be opened: unable to open database file\n  hint: does its directory"
    ):
        connect.sqlite(path=tmp_path, table="t").writer().open(run())


def test_full_database_keeps_the_epoch_out(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    out = connect.sqlite(path=tmp_path / "x.db", table="t")
    writer = out.writer()
    writer.open(run())
    writer._session.get().execute("PRAGMA max_page_count = 8")  # type: ignore[attr-defined]
    frame = rows(spark, *[("a" * 1000, v) for v in range(100)])
    with pytest.raises(
        DeliveryError, match=r"cannot commit epoch 0: database or disk is full\n  hint: free some space"
    ):
        writer.commit(0, writer.stage(0, frame))
    writer.close()
    deliver(out, run(), 0, frame)
    assert query(tmp_path / "x.db", "SELECT count(*) FROM t") == [(100,)]


def test_read_only_database_is_an_error(spark: SparkSession, run: MakeRun, tmp_path: Path) -> None:
    writer = connect.sqlite(path=tmp_path / "x.db", table="t").writer()
    writer.open(run())
    writer._session.get().execute("PRAGMA query_only = 1")  # type: ignore[attr-defined]
    with pytest.raises(DeliveryError, match="attempt to write a readonly database\n  hint: make the file"):
        writer.commit(0, writer.stage(0, rows(spark, ("a", 1))))


def test_lookup_reads_the_declared_types(
    spark: SparkSession, context: Callable[..., ReadContext], tmp_path: Path
) -> None:
    query(
        tmp_path / "x.db", "CREATE TABLE homes (card TEXT, n INTEGER, share REAL, since DATETIME, raw BLOB)"
    )
    with closing(sqlite3.connect(tmp_path / "x.db")) as database, database:
        database.execute("INSERT INTO homes VALUES (12, 1, 0.5, '2026-01-01T00:00:00Z', x'00')")
        database.execute("INSERT INTO homes VALUES (NULL, NULL, NULL, NULL, NULL)")
    reader = connect.sqlite(path=tmp_path / "x.db", table="homes").reader()
    frame = reader.batch(spark, context())
    assert frame.dtypes[:3] == [("card", "string"), ("n", "bigint"), ("share", "double")]
    assert frame.select("card", "n", "share", "raw").collect() == [
        ("12", 1, 0.5, b"\0"),
        (None, None, None, None),
    ]


def test_column_may_have_the_name_of_a_literal(
    spark: SparkSession, context: Callable[..., ReadContext], tmp_path: Path
) -> None:
    query(tmp_path / "x.db", "CREATE TABLE homes (`null` TEXT, `true` INTEGER)")
    with closing(sqlite3.connect(tmp_path / "x.db")) as database, database:
        database.execute("INSERT INTO homes VALUES ('a', 7)")
    reader = connect.sqlite(path=tmp_path / "x.db", table="homes").reader()
    assert reader.batch(spark, context()).collect() == [("a", 7)]


def test_lookup_obeys_a_schema(
    spark: SparkSession, context: Callable[..., ReadContext], tmp_path: Path
) -> None:
    query(tmp_path / "x.db", "CREATE TABLE homes (card TEXT, since TEXT)")
    with closing(sqlite3.connect(tmp_path / "x.db")) as database, database:
        database.execute("INSERT INTO homes VALUES ('a', '2026-01-01T00:00:00.000000Z')")
    reader = connect.sqlite(path=tmp_path / "x.db", table="homes").reader()
    frame = reader.batch(spark, context("since timestamp, card string"))
    assert frame.selectExpr("unix_seconds(since)", "card").collect() == [(1767225600, "a")]
    with pytest.raises(
        SourceError, match="tx: the table `homes` has no column `crd`\n  hint: did you mean `card`"
    ):
        reader.batch(spark, context("crd string"))


def test_lookup_names_what_does_not_exist(
    spark: SparkSession, context: Callable[..., ReadContext], tmp_path: Path
) -> None:
    with pytest.raises(
        SourceError, match=r"tx: the table `homes` at .*x\.db cannot be read: the file does not exist"
    ):
        connect.sqlite(path=tmp_path / "x.db", table="homes").reader().batch(spark, context())
    query(tmp_path / "x.db", "CREATE TABLE homes (card TEXT)")
    with pytest.raises(SourceError, match=r"unknown table `home` at .*\n  hint: did you mean `homes`"):
        connect.sqlite(path=tmp_path / "x.db", table="home").reader().batch(spark, context())
    assert connect.sqlite(path=tmp_path / "x.db", table="homes").reader().batch(spark, context()).count() == 0
    with pytest.raises(
        SourceError,
        match="cannot be read as a stream without a cursor column\n  hint: name a column that increases",
    ):
        connect.sqlite(path=tmp_path / "x.db", table="homes").reader().stream(spark, context())
