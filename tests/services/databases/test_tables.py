"""Sinks on database servers: one suite for all of them, against real servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.support.servers import Server
from tests.support.sinks import deliver, rows

from headrace import connect
from headrace.connectors import failpoints
from headrace.connectors.base import Connector, ReadContext, WriteContext
from headrace.errors import DeliveryError, FencedError, OptionError, SourceError

MakeRun = Callable[..., WriteContext]
STEPS = [
    *("database.fenced", "database.swept", "database.prepared", "database.staged", "database.begun"),
    *("database.rows", "database.ledger", "database.committed", "database.cleared"),
]


def sink(server: Server, table: str, **options: Any) -> Connector:
    return getattr(connect, server.kind)(url=server.url, table=table, **options)  # type: ignore[no-any-return]


def content(server: Server, table: str) -> list[tuple[Any, ...]]:
    return sorted(server.sql(f"SELECT * FROM {table}"), key=repr)


def panes(spark: SparkSession, *values: tuple[str | None, int, int, bool]) -> DataFrame:
    """Panes (key, value, index, retraction) of one window, in this order."""
    texts = [
        f"({'null' if k is None else repr(k)}, named_struct('start', timestamp '2026-01-01', 'end', "
        f"timestamp '2026-01-02'), {v}, named_struct('index', {index}, 'timing', 'early', 'retraction', "
        f"{str(retraction).lower()}))"
        for k, v, index, retraction in values
    ]
    return spark.sql(f"select * from values {', '.join(texts)} as t(k, window, v, pane)").coalesce(1)


def test_rows_are_appended_once(spark: SparkSession, server: Server, table: str, run: MakeRun) -> None:
    for epoch in (0, 1, 1):
        deliver(sink(server, table), run(), epoch, rows(spark, ("a", epoch), ("b", epoch)))
    assert content(server, table) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    ledger = server.sql(
        "SELECT sink, checkpoint_id, epoch, token FROM _headrace_epochs WHERE pipeline = %s",
        (f"pipe-{table}",),
    )
    assert ledger == [("out", "checkpoint-one", 1, 2)]


def test_values_of_every_type(spark: SparkSession, server: Server, table: str, run: MakeRun) -> None:
    frame = spark.sql(
        r"select 'tab\t line\n\r back\\ quote\' \\N ö 😀' s, '' e, bigint('-9223372036854775808') l, "
        r"tinyint(-20) b, true t, 1.5D d,"
        " 12.50BD n, binary('raw') r, date '2026-01-02' day, timestamp '2026-01-02 03:04:05.000006' ts,"
        " array(1, null) a, named_struct('f', 'g\"\\\\', 'at', timestamp '1969-01-02 03:04:05.000006', "
        "'no', null) st,"
        " interval '1' day i, cast(null as string) nothing"
    )
    deliver(sink(server, table), run(), 0, frame)
    [row] = content(server, table)
    zone = UTC if server.kind == "postgres" else None
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=zone)
    values = [json.loads(v) if i in (10, 11) and isinstance(v, str) else v for i, v in enumerate(row)]
    assert values[:10] == [
        *("tab\t line\n\r back\\ quote' \\N ö 😀", "", -(2**63), -20, True, 1.5, Decimal("12.50"), b"raw"),
        *(date(2026, 1, 2), moment),
    ]
    struct = {"f": 'g"\\', "at": "1969-01-02T03:04:05.000006Z", "no": None}
    assert values[10:] == [[1, None], struct, 86400.0, None]


@pytest.mark.parametrize("mode", ["append", "update"])
def test_newer_row_of_a_key_overwrites(
    spark: SparkSession, server: Server, table: str, run: MakeRun, mode: str
) -> None:
    out = sink(server, table, key="k")
    deliver(out, run(mode), 0, rows(spark, ("a", 1), ("b", 1), (None, 1), ("A", 1), ("a ", 1)))
    deliver(out, run(mode), 1, rows(spark, ("a", 2), (None, 2)))
    assert content(server, table) == [("A", 1), ("a ", 1), ("a", 2), ("b", 1), (None, 2)]


def test_new_keys_and_known_ones_take_turns_within_a_run(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    epochs: list[list[tuple[str | None, int]]] = [
        [("a", 1), ("b", 1)],
        [("c", 2), ("d", 2), ("d", 3)],  # new ones, one of them twice
        [
            ("e", 3),
            ("a", 3),
            ("f", 3),
        ],  # one key exists: the insert is rolled back, and the rows are upserted
        [("g", 4), (None, 4)],
        [("h", 5), (None, 5), ("g", 5)],
    ]
    writer = sink(server, table, key="k").writer()
    writer.open(run())
    for epoch, value in enumerate(epochs):
        writer.commit(epoch, writer.stage(epoch, rows(spark, *value).coalesce(1)))
    writer.close()
    held = dict(pair for value in epochs for pair in value)
    assert dict(content(server, table)) == held
    assert len(content(server, table)) == len(held)


def test_of_two_rows_of_a_key_in_one_epoch_the_last_stays(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    out = sink(server, table, key="k")
    deliver(out, run(), 0, rows(spark, *[("a", v) for v in range(50)]).coalesce(1).orderBy("v"))
    assert content(server, table) == [("a", 49)]


def test_complete_mode_replaces_the_table(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    out = sink(server, table)
    deliver(out, run("complete"), 0, rows(spark, ("a", 1), ("b", 1)))
    deliver(out, run("complete"), 1, rows(spark, ("b", 2)))
    assert content(server, table) == [("b", 2)]
    deliver(out, run("complete"), 2, rows(spark, ("b", 2)).where("false"))
    assert content(server, table) == []


def test_retraction_deletes_and_what_follows_it_stays(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    out = sink(server, table, key=["k", "window"])
    deliver(out, run(), 0, panes(spark, ("a", 1, 0, False), ("b", 1, 0, False), (None, 1, 0, False)))
    frame = panes(
        spark,
        *(("a", 1, 0, True), ("a", 5, 1, False), ("b", 1, 0, True), (None, 1, 0, True)),
        *(("c", 1, 0, False), ("c", 1, 0, True)),
    )
    deliver(out, run(), 1, frame)
    assert server.sql(f"SELECT k, v, pane_index FROM {table}") == [("a", 5, 1)]
    assert "window_start" in [row[0] for row in server.sql(_columns(table))]


def test_without_a_key_retractions_are_rows(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    deliver(sink(server, table), run(), 0, panes(spark, ("a", 1, 0, False), ("a", 1, 0, True)))
    assert server.sql(f"SELECT k, v, pane_retraction FROM {table} ORDER BY 3") == [("a", 1, 0), ("a", 1, 1)]


def test_every_step_has_a_fail_point(spark: SparkSession, server: Server, table: str, run: MakeRun) -> None:
    reached: list[str] = []
    with failpoints.watch(reached.append):
        deliver(sink(server, table), run(), 0, rows(spark, ("a", 1)))
    assert reached == STEPS
    assert [row for row in server.sql(_tables()) if row[0].startswith("_headrace_stage")] == []


def test_rows_of_an_attempt_that_spark_did_not_count_stay_out(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    writer: Any = sink(server, table).writer()
    writer.open(run())
    staged: Any = writer.stage(0, rows(spark, ("a", 1)))
    with closing(writer._dialect.connect()) as database:
        database.load(writer._staging._stage, {"k": "string", "v": "int"}, 999_999, [b"0\tghost\t1\n"])
    writer.commit(0, staged)
    writer.close()
    assert content(server, table) == [("a", 1)]


def test_staging_table_is_created_once_per_run_and_truncated_after_each_epoch(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    writer = sink(server, table, key="k").writer()
    writer.open(run())
    created, left = set(), []
    for epoch in range(3):
        writer.commit(epoch, writer.stage(epoch, rows(spark, ("a", epoch), ("b", epoch))))
        stage = writer._staging._stage  # type: ignore[attr-defined]
        created.update(server.sql(_identity(server), (stage,)))
        left += server.sql(f"SELECT count(*) FROM {stage}")
    writer.close()
    assert len(created) == 1
    assert left == [(0,)] * 3
    assert content(server, table) == [("a", 2), ("b", 2)]


def test_commit_does_not_wait_for_a_task_that_still_loads(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    writer: Any = sink(server, table).writer()
    writer.open(run())
    staged = writer.stage(0, rows(spark, ("a", 0)))
    stage = writer._staging._stage
    with closing(writer._dialect.connect()) as task:
        task.execute("BEGIN")
        task.execute(f"INSERT INTO {stage} (_headrace_attempt, k) VALUES (-1, 'ghost')")
        writer.commit(0, staged)
        task.execute("COMMIT")
    writer.commit(1, writer.stage(1, rows(spark, ("a", 1))))
    assert server.sql(f"SELECT count(*) FROM {stage}") == [(0,)]
    newer = sink(server, table).writer()
    newer.open(run())
    assert stage not in [name for (name,) in server.sql(_tables())]
    writer.close()
    newer.close()
    assert content(server, table) == [("a", 0), ("a", 1)]


def test_older_run_is_fenced(spark: SparkSession, server: Server, table: str, run: MakeRun) -> None:
    out = sink(server, table)
    old, new = out.writer(), out.writer()
    old.open(run())
    staged = old.stage(0, rows(spark, ("a", 1)))
    assert new.open(run()) == -1
    with pytest.raises(FencedError, match="out: epoch 0 is not written: a newer run has taken over"):
        old.commit(0, staged)
    with pytest.raises(FencedError, match="out: nothing is written: a newer run has taken over"):
        old.stage(1, rows(spark, ("a", 2)))
    new.commit(0, new.stage(0, rows(spark, ("a", 1))))
    old.close()
    new.close()
    assert content(server, table) == [("a", 1)]


def test_two_sinks_and_two_checkpoints_have_their_own_ledger(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    out = sink(server, table)
    for value in (run(), run(sink="other"), run(checkpoint_id="two")):
        deliver(out, value, 0, rows(spark, ("a", 1)))
    assert content(server, table) == [("a", 1)] * 3


@pytest.mark.parametrize(
    ("columns", "message", "hint"),
    [
        ("k varchar(9), v date", "column `v` is date in the table `T` and int in the stream", "cast it"),
        ("k varchar(9)", "the table `T` has no column `v`; the stream has it as int", "ALTER TABLE T ADD"),
        ("k varchar(9), v int, w int NOT NULL", "the table `T` requires a value in `w`", "add the column"),
    ],
)
def test_table_that_does_not_fit_is_an_error(
    spark: SparkSession, server: Server, table: str, run: MakeRun, columns: str, message: str, hint: str
) -> None:
    server.sql(f"CREATE TABLE {table} ({columns})")
    with pytest.raises(DeliveryError) as caught:
        deliver(sink(server, table), run(), 0, rows(spark, ("a", 1)))
    assert message.replace("`T`", f"`{table}`") in str(caught.value)
    assert f"hint: {hint.replace(' T ', f' {table} ')}" in str(caught.value)


def test_table_without_the_unique_key_is_an_error(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    server.sql(f"CREATE TABLE {table} (k varchar(9), v int)")
    with pytest.raises(DeliveryError, match=r"the key .* is not unique in the table") as caught:
        deliver(sink(server, table, key="k"), run(), 0, rows(spark, ("a", 1)))
    assert caught.value.hint.endswith(", or name another key")
    server.sql(caught.value.hint.partition(", or")[0])
    deliver(sink(server, table, key="k"), run(), 0, rows(spark, ("a", 1)))
    assert content(server, table) == [("a", 1)]


def test_row_that_would_overwrite_one_of_another_key_is_refused(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    quote = '"' if server.kind == "postgres" else "`"
    server.sql(f"CREATE TABLE {table} (k varchar(9) PRIMARY KEY, {quote}100 %s{quote} int UNIQUE)")
    out = sink(server, table, key="k")
    schema = "k string, `100 %s` int"
    deliver(out, run(), 0, rows(spark, ("a", 1), ("b", 2), schema=schema))
    deliver(out, run(), 1, rows(spark, ("a", 3), schema=schema))
    with pytest.raises(DeliveryError, match=r"cannot commit epoch 2: .*(unique)"):
        deliver(out, run(), 2, rows(spark, ("c", 2), schema=schema))
    assert sorted(content(server, table)) == [("a", 3), ("b", 2)]


def test_table_without_transactions_is_refused(
    spark: SparkSession, servers: Callable[[str], Server], run: MakeRun
) -> None:
    server = servers("mysql")
    server.sql("CREATE TABLE unsafe (k text, v int) ENGINE MyISAM")
    with pytest.raises(
        DeliveryError,
        match=r"cannot take epoch 0: its engine, MyISAM, has no transactions\n  hint: ALTER TABLE \.\.\. "
        r"ENGINE InnoDB",
    ):
        deliver(sink(server, "unsafe"), run(), 0, rows(spark, ("a", 1)))


def test_value_that_does_not_fit_fails_the_epoch(
    spark: SparkSession, server: Server, table: str, run: MakeRun
) -> None:
    server.sql(f"CREATE TABLE {table} (k varchar(3), v int)")
    with pytest.raises(DeliveryError, match=r"(?is)cannot take epoch 0: .*(too long|truncated)") as caught:
        deliver(sink(server, table), run(), 0, rows(spark, ("abc", 1), ("abcd", 2)))
    assert "Traceback" not in str(caught.value)
    assert "hint: the value does not fit the column" in str(caught.value)
    assert content(server, table) == []


def test_refused_login_is_an_error(run: MakeRun, server: Server, table: str) -> None:
    url = server.url.replace("let%20me%20in", "wrong")
    with pytest.raises(DeliveryError, match="hint: check user and password") as caught:
        getattr(connect, server.kind)(url=url, table=table).writer().open(run())
    assert "wrong" not in str(caught.value)


def test_missing_database_is_an_error(run: MakeRun, server: Server, table: str) -> None:
    url = server.url.replace("/streams", "/nowhere")
    with pytest.raises(
        DeliveryError, match=r"hint: (create the database|grant the user rights on the database)"
    ):
        getattr(connect, server.kind)(url=url, table=table).writer().open(run())


def test_server_that_is_unavailable_at_the_start_is_an_error(
    run: MakeRun, server: Server, table: str
) -> None:
    url = server.url.replace(f":{server.port}/", ":1/")
    with pytest.raises(
        DeliveryError, match=r"at 127.0.0.1:1/streams cannot be opened.*\n  hint: is the server"
    ):
        getattr(connect, server.kind)(url=url, table=table).writer().open(run())


def test_wrong_url_is_refused(server: Server, table: str) -> None:
    with pytest.raises(OptionError, match=rf"{server.scheme}://user:password@host:port/database"):
        getattr(connect, server.kind)(url="http://127.0.0.1/x", table=table)


def test_lookup_reads_the_declared_types(
    spark: SparkSession, server: Server, table: str, context: Callable[..., ReadContext]
) -> None:
    moment, raw = ("timestamptz", "bytea") if server.kind == "postgres" else ("datetime", "blob")
    server.sql(
        f"CREATE TABLE {table} (card varchar(9), n bigint, share numeric(6, 2), since {moment}, raw {raw})"
    )
    values = ("a", 1, Decimal("0.50"), "2026-01-01 00:00:00", b"\0\1")
    server.sql(f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s), (null, null, null, null, null)", values)
    frame = sink(server, table).reader().batch(spark, context())
    assert dict(frame.dtypes)["since"] == "timestamp"
    shown = frame.selectExpr("card", "n", "share", "unix_seconds(since)", "raw").orderBy("n").collect()
    assert shown == [(None,) * 5, ("a", 1, Decimal("0.50"), 1767225600, bytearray(b"\0\1"))]
    chosen = sink(server, table).reader().batch(spark, context("n int, card string"))
    assert chosen.dtypes == [("n", "int"), ("card", "string")]
    with pytest.raises(SourceError, match="has no column `crd`\n  hint: did you mean `card`"):
        sink(server, table).reader().batch(spark, context("crd string"))
    with pytest.raises(SourceError, match="unknown table `nothing`"):
        sink(server, "nothing").reader().batch(spark, context())


def _tables() -> str:
    return "SELECT table_name FROM information_schema.tables"


def _columns(table: str) -> str:
    return f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"


def _identity(server: Server) -> str:
    """A query for what distinguishes a table from a later one of the same name."""
    if server.kind == "postgres":
        return "SELECT oid FROM pg_class WHERE relname = %s"
    return "SELECT table_name FROM information_schema.tables WHERE table_name = %s"
