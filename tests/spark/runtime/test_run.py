"""Runs from memory to memory: each verb, each division into queries, each way to end."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.checkpoints.owner import read_owner, write_owner
from headrace.connectors.failpoints import Crash, arm
from headrace.errors import DecodeError, HeadraceError, OptionError, PlanError

SCHEMA = "card string, amount int, ts timestamp"


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def payment(card: str, amount: int, second: float) -> dict[str, Any]:
    return {"card": card, "amount": amount, "ts": at(second)}


NO_DATA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
PAYMENTS = [payment("a", 1, 1), payment("b", 2, 2), payment("a", 30, 11), payment("a", 4, 65)]


class Bench:
    """A pipeline with a memory source, run to its end."""

    def __init__(self, directory: Path) -> None:
        self.pipeline = Pipeline("bench")
        self.feed = connect.memory(rows=PAYMENTS)
        self.tx = self.pipeline.read("tx", self.feed, schema=SCHEMA)
        self.directory = directory

    def sink(self) -> Any:
        return connect.memory()

    def run(self, **options: Any) -> Any:
        options = options or {"until": "drained"}
        with self.pipeline.start(checkpoint=self.directory / "checkpoint", **options) as running:
            running.wait(timeout=300)
            return running.status()


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def read_columns(sink: Any, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in columns) for row in sink.contents())


def test_stateless_verbs(bench: Bench) -> None:
    big, small, rest, both, looked = (bench.sink() for _ in range(5))
    homes = connect.memory(rows=[{"card": "a", "home": "FI"}])
    split = bench.tx.route("split", small="amount < 3", rest="true")
    split.small.drop("ts").write("small", small)
    split.rest.select("card", double="amount * 2").write("rest", rest)
    bench.tx.where("amount > 3").with_columns(more="amount + 1").write("big", big)
    split.small.union(split.rest).write("both", both)
    bench.tx.lookup("home", homes, on="card", schema="card string, home string").write("looked", looked)
    status = bench.run(until="caught_up")
    assert read_columns(small, "card", "amount") == [("a", 1), ("b", 2)]
    assert read_columns(rest, "card", "double") == [("a", 8), ("a", 60)]
    assert read_columns(big, "amount", "more") == [(4, 5), (30, 31)]
    assert len(both.contents()) == 4
    assert read_columns(looked, "amount", "home") == [(1, "FI"), (2, None), (4, "FI"), (30, "FI")]
    assert (status.rows_in, status.sinks["big"], status.active) == (4, 2, False)


def test_native_windows_and_their_order_of_columns(bench: Bench) -> None:
    kinds = {
        "tumbling": windows.tumbling("10 seconds"),
        "shifted": windows.tumbling("10 seconds", offset="2 seconds"),
        "session": windows.session("10 seconds"),
    }
    sinks = {name: bench.sink() for name in kinds}
    timed = bench.tx.event_time("ts", out_of_order="5 seconds").key_by("card")
    for name, window in kinds.items():
        timed.window(window, engine="native").aggregate(name, total="sum(amount)").write(
            f"{name}_out", sinks[name]
        )
    bench.run()
    got = {
        name: sorted(
            (row["card"], row["window"]["start"].timestamp(), row["window"]["end"].timestamp(), row["total"])
            for row in sink.contents()
        )
        for name, sink in sinks.items()
    }
    assert got["tumbling"] == [("a", 0, 10, 1), ("a", 10, 20, 30), ("a", 60, 70, 4), ("b", 0, 10, 2)]
    assert got["shifted"] == [("a", -8, 2, 1), ("a", 2, 12, 30), ("a", 62, 72, 4), ("b", 2, 12, 2)]
    assert got["session"] == [("a", 1, 11, 1), ("a", 11, 21, 30), ("a", 65, 75, 4), ("b", 2, 12, 2)]
    first = sinks["tumbling"].contents()[0]
    assert list(first) == ["card", "window", "total", "pane"]
    assert first["pane"] == {"index": 0, "timing": "on_time", "retraction": False}


def test_windows_of_windows_through_an_exchange(bench: Bench) -> None:
    tens, minutes = bench.sink(), bench.sink()
    first = bench.tx.event_time("ts").window(windows.tumbling("10 seconds"), engine="native")
    panes = first.aggregate("tens", n="count(*)")
    panes.write("tens_out", tens)
    second = panes.window(windows.tumbling("1 minute"), engine="native")
    second.aggregate("minutes", n="sum(n)").write("minutes_out", minutes)
    bench.run()
    assert read_columns(tens, "n") == [(1,), (1,), (2,)]
    assert read_columns(minutes, "n") == [(1,), (3,)]


def test_panes_windowed_again_keep_their_columns(bench: Bench) -> None:
    rows = bench.sink()
    first = bench.tx.event_time("ts").window(windows.tumbling("10 seconds"))
    panes = first.aggregate("tens", n="count(*)")
    panes.window(windows.trailing("1 minute")).aggregate("trailing", total="sum(n)").write("rows", rows)
    bench.run()  # with late rows kept in files, whose columns must differ
    assert read_columns(rows, "n", "total") == [(1, 2), (1, 3), (2, 2)]
    assert list(rows.contents()[0]) == ["n", "window", "total", "pane"]


def test_input_column_named_like_a_late_column_gets_a_prefix(bench: Bench) -> None:
    late = bench.sink()
    named = bench.tx.with_columns(reason="'refund'").event_time("ts")
    named.window(windows.tumbling("1 minute")).aggregate("n", n="count(*)").late.write("late", late)
    bench.run(until="caught_up")
    bench.feed.add(payment("a", 1, 3))
    bench.run(until="caught_up")
    (row,) = late.contents()
    assert list(row) == ["card", "amount", "ts", "input_reason", "late_by", "window", "watermark", "reason"]
    assert (row["input_reason"], row["reason"]) == ("refund", "too_late")


def test_pending_firing_of_a_killed_run_happens_in_the_next_run(spark: SparkSession, bench: Bench) -> None:
    """Spark runs no batch without rows after a restart, and the rows have ended.

    Both queries still owe one.
    """
    tens, minutes = bench.sink(), bench.sink()
    first = bench.tx.event_time("ts").window(windows.tumbling("10 seconds"), engine="native")
    panes = first.aggregate("tens", n="count(*)")
    panes.write("tens_out", tens)
    panes.window(windows.tumbling("1 minute")).aggregate("minutes", n="sum(n)").write("minutes_out", minutes)
    spark.conf.set(NO_DATA_BATCHES, "false")  # as if killed between every two batches that would follow so
    try:
        bench.run(until="drained")
    finally:
        spark.conf.unset(NO_DATA_BATCHES)
    assert read_columns(tens, "n") == [(1,), (2,)]
    assert read_columns(minutes, "n") == []
    (bench.directory / "checkpoint" / "drained").unlink()
    write_owner(bench.directory / "checkpoint", read_owner(bench.directory / "checkpoint"))
    bench.run(until="drained")
    assert read_columns(tens, "n") == [(1,), (1,), (2,)]
    assert read_columns(minutes, "n") == [(1,), (3,)]


def test_running_aggregate_is_updated(bench: Bench) -> None:
    changes = bench.sink()
    bench.tx.key_by("card").aggregate("totals", n="count(*)", total="sum(amount)").write("changes", changes)
    bench.run(until="caught_up")
    bench.feed.add(payment("b", 5, 70))
    bench.run(until="caught_up")
    assert read_columns(changes, "card", "n", "total") == [("a", 3, 35), ("b", 1, 2), ("b", 2, 7)]


def test_complete_mode_writes_all_keys_every_time(bench: Bench) -> None:
    everything = bench.sink()
    bench.tx.key_by("card").aggregate("totals", n="count(*)").write("all", everything, mode="complete")
    bench.run(until="caught_up")
    bench.feed.add(payment("b", 5, 70))
    bench.run(until="caught_up")
    assert read_columns(everything, "card", "n") == [("a", 3), ("b", 2)]


def test_sql_over_named_streams(bench: Bench) -> None:
    out = bench.sink()
    bench.tx.where("amount > 1", step_name="some")
    query = "with doubled as (select card, amount * 2 d from some) select card, d from doubled where d > 5"
    bench.pipeline.sql("report", query).write("out", out)
    bench.run(until="caught_up")
    assert read_columns(out, "card", "d") == [("a", 8), ("a", 60)]


def test_distinct_with_and_without_within(bench: Bench) -> None:
    near, ever = bench.sink(), bench.sink()
    timed = bench.tx.event_time("ts", out_of_order="1 minute")
    timed.distinct("near", on="card", within="20 seconds").write("near_out", near)
    bench.tx.distinct("ever", on="card").write("ever_out", ever)
    bench.run(until="caught_up")
    assert read_columns(near, "card", "amount") == [("a", 1), ("a", 4), ("b", 2)]
    assert read_columns(ever, "card", "amount") == [("a", 1), ("b", 2)]


def test_distinct_sends_rows_of_expired_state_to_late(bench: Bench) -> None:
    out, late = bench.sink(), bench.sink()
    unique = bench.tx.event_time("ts").distinct("unique", on="card", within="10 seconds")
    unique.write("out", out)
    unique.late.write("late", late)
    bench.run(until="caught_up")  # the watermark is 65 now
    bench.feed.add(payment("a", 7, 54), payment("c", 8, 56), {"card": "d", "amount": 9, "ts": None})
    bench.run(until="caught_up")
    assert ("c", 8) in read_columns(out, "card", "amount")
    rows = {row["card"]: row for row in late.contents()}
    assert rows["a"]["reason"] == "too_late"
    assert rows["a"]["late_by"].total_seconds() == 11
    assert rows["a"]["watermark"] == at(65)
    assert (rows["d"]["reason"], rows["d"]["late_by"]) == ("no_event_time", None)


def test_ingestion_time_closes_windows_by_the_clock(bench: Bench) -> None:
    out = bench.sink()
    window = bench.tx.ingestion_time().window(windows.tumbling("1 hour"), engine="native")
    window.aggregate("n", n="count(*)").write("out", out)
    bench.run()
    assert read_columns(out, "n") == [(4,)]


def test_caught_up_run_leaves_windows_open_for_the_next_run(bench: Bench) -> None:
    out = bench.sink()
    window = bench.tx.event_time("ts").window(windows.tumbling("1 minute"), engine="native")
    window.aggregate("n", n="count(*)").write("out", out)
    bench.run(until="caught_up")
    assert read_columns(out, "n") == [(3,)]
    bench.feed.add(payment("a", 1, 70))
    bench.run(until="drained")
    assert read_columns(out, "n") == [(2,), (3,)]


def test_drained_pipeline_is_not_run_again(bench: Bench) -> None:
    bench.tx.write("out", bench.sink())
    bench.run(until="drained")
    with pytest.raises(OptionError, match="the pipeline was drained here: its input has ended for good"):
        bench.run(until="drained")


def test_second_run_in_one_directory_is_rejected(bench: Bench) -> None:
    bench.tx.write("out", bench.sink())
    place = bench.directory / "checkpoint"
    refused = pytest.raises(OptionError, match="another run of the pipeline is using it")
    with bench.pipeline.start(checkpoint=place), refused:
        bench.pipeline.start(checkpoint=place)


def test_gracefully_stopped_run_has_delivered_all_rows_it_read(bench: Bench) -> None:
    out = bench.sink()
    bench.tx.write("out", out)
    with bench.pipeline.start(checkpoint=bench.directory / "checkpoint") as running:
        while not out.contents():
            assert not running.wait(timeout=0.05)
        running.stop()
        assert running.wait()
    assert len(out.contents()) == 4


@pytest.mark.parametrize("step", ["delivery.staged", "delivery.committed"])
def test_epoch_of_a_failed_run_is_delivered_once(bench: Bench, step: str) -> None:
    all_rows, some_rows = bench.sink(), bench.sink()
    totals = bench.tx.key_by("card").aggregate("totals", n="count(*)")
    totals.write("one", all_rows)
    totals.where("n > 1").write("two", some_rows)
    with arm(step), pytest.raises((Crash, HeadraceError)):
        bench.run(until="caught_up")
    bench.run(until="caught_up")
    assert read_columns(all_rows, "card", "n") == [("a", 3), ("b", 1)]
    assert read_columns(some_rows, "card", "n") == [("a", 3)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda tx: tx.where("amuont > 1"),
            "where after `tx`: unknown column `amuont`\n  hint: did you mean `amount`",
        ),
        (
            lambda tx: tx.select("amount +"),
            "select after `tx`: syntax error in `amount \\+`",
        ),
        (lambda tx: tx.where("map(1, 2) = map(1, 2)"), "where after `tx`.*MAP"),
        (lambda tx: tx.key_by("card").aggregate("n", n="sun(amount)"), "`n`: .*`sun`"),
        (lambda tx: tx.key_by("card").aggregate("n", n="amount"), "`n`: "),
    ],
)
def test_error_of_spark_names_the_step_without_a_stack_trace(
    bench: Bench, build: Any, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    build(bench.tx).write("out", bench.sink())
    with pytest.raises(PlanError) as caught:
        bench.run(until="caught_up")
    text = str(caught.value)
    assert text.startswith("test_run.py:")
    assert re.search(message, text)
    assert "\tat " not in text
    assert "JVM" not in text
    assert "stacktrace" not in capfd.readouterr().err


def test_decode_error_stops_a_run_with_on_error_fail(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.jsonl").write_text('{"a": 1}\n{"a": "x"}\n')
    rows = bench.pipeline.read(
        "rows", connect.files(path=str(tmp_path / "in")), format="json", schema="a int", on_error="fail"
    )
    rows.write("out", bench.sink())
    with pytest.raises(DecodeError, match="expected int"):
        bench.run(until="caught_up")


def test_unrouted_dead_letters_are_stored_and_epochs_without_any_write_nothing(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for number, lines in enumerate(['{"a": 1}\n', '{"a": 2}\n{"a": "x"}\n', '{"a": 3}\n']):
        path = tmp_path / "in" / f"{number}.jsonl"
        path.write_text(lines)
        os.utime(path, (number, number))
    out = bench.sink()
    source = connect.files(path=str(tmp_path / "in"), max_files_per_batch=1)
    bench.pipeline.read("rows", source, format="json", schema="a int").write("out", out)
    status = bench.run(until="caught_up")
    place = tmp_path / "checkpoint" / "unrouted" / "rows.dead_letters"
    kept = list(place.glob("*.json"))
    assert (len(out.contents()), status.dead_letters, len(kept)) == (3, 1, 1)
    assert "-00000001-" in kept[0].name
    assert '"field":"a"' in kept[0].read_text()


@pytest.mark.parametrize("on_error", ["divert", "skip"])
def test_dead_letters_are_counted_with_divert_and_skip(bench: Bench, tmp_path: Path, on_error: Any) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.jsonl").write_text('{"a": 2}\n{"a": "x"}\n')
    out, taken = bench.sink(), bench.sink()
    source = connect.files(path=str(tmp_path / "in"))
    rows = bench.pipeline.read("rows", source, format="json", schema="a int", on_error=on_error)
    rows.write("out", out)
    if on_error == "divert":
        rows.dead_letters.write("taken", taken)
    status = bench.run(until="caught_up")
    assert (status.dead_letters, status.dead_letters_of) == (1, {"rows": 1})
    assert (len(out.contents()), len(taken.contents())) == (1, 1 if on_error == "divert" else 0)


def test_pipeline_without_a_sink_is_rejected(bench: Bench) -> None:
    with pytest.raises(PlanError, match="nothing is written"):
        bench.run(until="caught_up")


def test_dataframes_as_source_and_result(spark: SparkSession, bench: Bench) -> None:
    frame = spark.createDataFrame([("x", 1)], "card string, amount int")
    joined = bench.pipeline.from_dataframe("more", frame).where("amount = 1")
    assert joined.to_dataframe(how="batch").collect() == [("x", 1)]
    assert bench.tx.to_dataframe().isStreaming


def test_a_batch_dataframe_is_a_source_of_a_run(spark: SparkSession, bench: Bench) -> None:
    out = bench.sink()
    frame = spark.createDataFrame([("x", 1), ("y", 2)], "card string, amount int")
    bench.pipeline.from_dataframe("more", frame).where("amount = 2").write("out", out)
    for _ in range(2):  # a second run with the same checkpoint finds nothing new
        bench.run(until="caught_up")
        assert [row["card"] for row in out.contents()] == ["y"]


def test_batch_dataframe_is_stored_in_the_directory_that_the_process_changed_to(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = connect.memory()
    pipeline = Pipeline("frames")
    pipeline.from_dataframe("more", spark.createDataFrame([("x",)], "card string")).write("out", out)
    pipeline.run(until="caught_up", checkpoint="checkpoint")
    assert [row["card"] for row in out.contents()] == ["x"]
    assert (tmp_path / "checkpoint/sources/more").is_dir()
