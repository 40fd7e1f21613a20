"""The state in a checkpoint after a real run is read correctly or rejected."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.checkpoints import read_sealed_text, write_sealed

from headrace import Pipeline, Processor, Stream, connect, patterns, state, triggers, windows
from headrace.checkpoints.layout import progress_of
from headrace.checkpoints.repartition import repartition
from headrace.checkpoints.signatures import read_signature, write_signature
from headrace.cli.app import main
from headrace.debugging.state import StepState, state_of
from headrace.errors import OptionError, PlanError
from headrace.plan.graph import Graph

SCHEMA = "card string, amount int, ts timestamp"
EARLY = triggers.after_count(1)


def payment(card: str, amount: int, second: float) -> dict[str, Any]:
    return {"card": card, "amount": amount, "ts": datetime.fromtimestamp(second, UTC)}


PAYMENTS = [payment("a", 1, 1), payment("b", 2, 2), payment("a", 30, 11), payment("a", 4, 65)]


def time(second: int) -> str:
    return f"1970-01-01T00:{second // 60:02}:{second % 60:02}.000Z"


class Payments:
    """A pipeline with every kind of state; the window of `totals` is given."""

    def __init__(self, feed: Any, *, size: str = "1 minute") -> None:
        self.pipeline = Pipeline("payments")
        self.tx = self.pipeline.read("tx", feed, schema=SCHEMA).event_time("ts", out_of_order="10 seconds")
        self.sinks: dict[str, Any] = {}
        cards = self.tx.key_by("card")
        totals = (
            cards.window(windows.tumbling(size)).emit(early=EARLY).aggregate("totals", total="sum(amount)")
        )
        threes = cards.window(windows.count(3)).aggregate("threes", total="sum(amount)")
        plain = cards.window(windows.tumbling("1 minute"), engine="native")
        native = plain.aggregate("native", mean="avg(amount)", n="count(*)")
        visits = self.tx.key_by(who="upper(card)").window(windows.session("1 minute"), engine="native")
        sessions = visits.aggregate("sessions", n="count(*)")
        running = self.tx.aggregate("running", mean="avg(amount)")
        unique = self.tx.distinct("unique", on="card", within="1 hour")
        for name, step in {
            "totals": totals,
            "threes": threes,
            "native": native,
            "sessions": sessions,
            "running": running,
            "unique": unique,
        }.items():
            self.sinks[name] = connect.memory()
            step.write(f"{name}_out", self.sinks[name])

    @property
    def graph(self) -> Graph:
        return self.pipeline._plan()

    def run(self, checkpoint: Path, **options: Any) -> None:
        with self.pipeline.start(checkpoint=checkpoint, **options) as running:
            running.wait(timeout=300)


@pytest.fixture(scope="module")
def feed() -> Any:
    return connect.memory(rows=PAYMENTS)


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, feed: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("state") / "checkpoint"
    Payments(feed).run(place, until="caught_up")
    return place


@pytest.fixture(scope="module")
def states(feed: Any, checkpoint: Path) -> dict[str, StepState]:
    return {state.step: state for state in state_of(Payments(feed).graph, checkpoint)}


def test_open_windows_of_the_kernel(states: dict[str, StepState]) -> None:
    totals = states["totals"]
    assert (totals.progress.watermark, totals.progress.partitions) == (time(55), 2)
    assert (totals.stored.keys, totals.stored.counts) == (2, {"windows": 3})
    first, second = totals.stored.entries
    assert first["key"] == {"card": "a"}
    assert second["windows"] == [
        {
            "start": time(0),
            "end": time(60),
            "number": None,
            "rows": 1,
            "unshown": 0,
            "last_pane": 0,
            "closed": False,
            "values": {"total": 2},
        }
    ]
    assert [(w["start"], w["rows"], w["values"]) for w in first["windows"]] == [
        (time(0), 2, {"total": 31}),
        (time(60), 1, {"total": 4}),
    ]


def test_order_dependent_windows_and_buffered_rows(states: dict[str, StepState]) -> None:
    actual = states["threes"].stored
    assert actual.counts == {"windows": 2, "waiting": 1}
    entry = actual.entries[0]
    assert [(w["number"], w["rows"], w["last_pane"], w["values"]) for w in entry["windows"]] == [
        (0, 2, None, {"total": 31})
    ]
    assert [(row["time"], row["row"]["amount"]) for row in entry["waiting"]] == [(time(65), 4)]


def test_windows_of_the_native_operator_are_evaluated(states: dict[str, StepState]) -> None:
    actual = states["native"].stored
    assert (actual.keys, actual.counts) == (2, {"windows": 3})
    assert actual.entries[0]["windows"][0] == {
        "start": time(0),
        "end": time(60),
        "values": {"mean": 15.5, "n": 2},
    }


def test_sessions_of_the_native_operator_have_key_names_and_ends(states: dict[str, StepState]) -> None:
    window = {"start": time(1), "end": time(125), "values": {"n": 3}}
    assert states["sessions"].stored.entries[0] == {"key": {"who": "A"}, "windows": [window]}


def test_running_aggregates_and_kept_times(states: dict[str, StepState]) -> None:
    assert states["running"].stored.entries == ({"key": {}, "values": {"mean": 9.25}},)
    assert states["unique"].stored.entries == (
        {"key": {"card": "a"}, "kept": [time(1)]},
        {"key": {"card": "b"}, "kept": [time(2)]},
    )


def test_one_step_and_one_key(feed: Any, checkpoint: Path) -> None:
    (totals,) = state_of(Payments(feed).graph, checkpoint, step="totals", key="b")
    assert [entry["key"] for entry in totals.stored.entries] == [{"card": "b"}]


def test_changed_window_is_rejected_by_run_and_state(feed: Any, checkpoint: Path) -> None:
    other = Payments(feed, size="2 minutes")
    message = r"`totals`: its checkpoint holds .*: window was `tumbling\(size=1 minute\)`, is `tumbling\(size=2 minutes\)`"
    with pytest.raises(PlanError, match=message):
        other.run(checkpoint, until="caught_up")
    with pytest.raises(PlanError, match=message):
        state_of(other.graph, checkpoint, step="totals")


def test_uncommitted_epoch_is_not_repartitioned(feed: Any, checkpoint: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(checkpoint, tmp_path / "copy"))
    offsets = copy / "queries" / "totals" / "spark" / "offsets"
    last = max(int(file.name) for file in offsets.glob("[0-9]*"))
    write_sealed(offsets / str(last + 1), read_sealed_text(offsets / str(last)))
    with pytest.raises(
        OptionError, match=r"Spark cannot repartition it: .*\n  hint: if an epoch is not committed"
    ):
        repartition(Payments(feed).graph, copy, 3, step="totals")


@pytest.fixture
def partitions(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", str(before))


@pytest.mark.usefixtures("partitions")
def test_more_sinks_more_steps_and_other_partitions_keep_the_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark keeps the checkpoint's number of partitions, not the session's.

    The results are those of one run.
    """
    feed = connect.memory(rows=PAYMENTS)
    outs: list[Any] = []
    for options in (
        {"until": "caught_up"},
        {"until": "drained", "conf": {"spark.sql.shuffle.partitions": "5"}},
    ):
        pipeline = Pipeline("totals")
        tx: Stream = pipeline.read("tx", feed, schema=SCHEMA)
        if outs:
            tx = tx.with_columns(note="'new'").where("amount > 0")
        cards = tx.event_time("ts", out_of_order="10 seconds").key_by("card")
        minute = windows.tumbling("1 minute")
        kernel = cards.window(minute).aggregate("kernel", total="sum(amount)")
        native = cards.window(minute, engine="native").aggregate("native", total="sum(amount)")
        outs = outs or [connect.memory(), connect.memory(), connect.memory()]
        kernel.write("kernel_out", outs[0])
        native.write("native_out", outs[1])
        if options["until"] == "drained":
            kernel.where("total > 5").write("more", outs[2])
        with pipeline.start(checkpoint=tmp_path / "checkpoint", **options) as running:
            running.wait(timeout=300)
        if options["until"] == "caught_up":
            assert repartition(pipeline._plan(), tmp_path / "checkpoint", 3, step="kernel") == {
                "kernel": (2, 3)
            }
        feed.add(payment("a", 5, 66), payment("b", 6, 50), payment("c", 7, 130))
    places = {name: tmp_path / "checkpoint" / "queries" / name for name in ("kernel", "native")}
    assert {name: progress_of(place).partitions for name, place in places.items()} == {
        "kernel": 3,
        "native": 2,
    }
    expected = [("a", 0, 31), ("a", 60, 9), ("b", 0, 8), ("c", 120, 7)]
    for out in outs[:2]:
        rows = [(row["card"], row["window"]["start"].timestamp(), row["total"]) for row in out.contents()]
        assert sorted(rows) == expected
    assert sorted(row["total"] for row in outs[2].contents()) == [7, 8, 9, 31]


def test_partial_matches_and_buffered_rows_are_in_the_state(spark: SparkSession, tmp_path: Path) -> None:
    feed = connect.memory(
        rows=[payment("a", 1, 1), payment("a", 2, 5), payment("b", 1, 6), payment("a", 9, 60)]
    )
    pipeline = Pipeline("rises")
    tx = pipeline.read("tx", feed, schema=SCHEMA).event_time("ts", out_of_order="10 seconds")
    rise = patterns.step("low", "amount = 1").followed_by("high", "amount > 100 * low.amount")
    tx.key_by("card").match("rise", rise, within="1 hour").write("out", connect.memory())
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    [state] = state_of(pipeline._plan(), tmp_path)
    assert state.stored.counts == {"matches": 2, "waiting": 1}
    [of_a, of_b] = state.stored.entries
    assert of_a["key"] == {"card": "a"}
    [begun] = of_a["matches"]
    assert (begun["start"], begun["complete"], begun["matched"]["high"]) == (time(1), False, [])
    assert [row["row"]["amount"] for row in of_a["waiting"]] == [9]
    assert "waiting" not in of_b


class Spent(Processor):
    """The total of a card."""

    output = "card string, total int"
    total: int = state.value(0)

    def process(self, row: Any) -> dict[str, Any]:
        self.total += row.amount
        return {"card": row.card, "total": self.total}


def test_joins_tables_and_processors_have_their_keys_in_the_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline("keyed")
    tx = pipeline.read("tx", connect.memory(rows=PAYMENTS), schema=SCHEMA).event_time("ts")
    cards = tx.key_by("CARD")
    steps = {
        "near": tx.join("near", tx, on="card", within="1 hour", select={"n": "left.amount"}),
        "before": tx.join_as_of("before", tx, on="card", select={"n": "left.amount"}),
        "newest": cards.latest("newest"),
        "largest": cards.top_n("largest", n=1, order_by="amount desc"),
        "spent": cards.process("spent", Spent),
    }
    for name, step in steps.items():
        step.write(f"{name}_out", connect.memory())
    pipeline.run(until="caught_up", checkpoint=tmp_path)

    states = {each.step: each.stored for each in state_of(pipeline._plan(), tmp_path)}
    names = {
        name: sorted({column for entry in states[name].entries for column in entry["key"]}) for name in steps
    }
    assert names == {name: ["card" if name in ("near", "before") else "CARD"] for name in steps}
    assert all(entry["stored"]["bytes"] > 0 for name in ("near", "newest") for entry in states[name].entries)
    assert {entry["key"]["CARD"]: entry["state"] for entry in states["spent"].entries} == {
        "a": {"total": 35},
        "b": {"total": 2},
    }


def test_changed_pattern_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    def run(condition: str, *, at: str = "low.ts") -> None:
        pipeline = Pipeline("rises")
        feed = connect.memory(rows=[payment("a", 1, 1)])
        tx = pipeline.read("tx", feed, schema=SCHEMA).event_time("ts")
        rise = patterns.step("low", condition).followed_by("high", "amount > 100")
        tx.key_by("card").match("rise", rise, within="1 hour", select={"at": at}).write(
            "out", connect.memory()
        )
        pipeline.run(until="caught_up", checkpoint=tmp_path)

    run("amount = 1")
    run("amount = 1", at="high.ts")  # what a match gives is not in the state
    with pytest.raises(
        PlanError, match=r"another declaration: pattern was `.*amount = 1.*`, is `.*amount = 2"
    ):
        run("amount = 2")


def test_matches_continue_after_repartitioning(spark: SparkSession, tmp_path: Path) -> None:
    feed = connect.memory(rows=[payment("a", 1, 1), payment("b", 1, 1), payment("a", 1, 20)])
    out = connect.memory()
    pipeline = Pipeline("rises")
    tx = pipeline.read("tx", feed, schema=SCHEMA).event_time("ts", out_of_order="10 seconds")
    rise = patterns.step("low", "amount = 1").followed_by("high", "amount = 200")
    select = {"high": "high.amount", "at": "low.ts"}
    tx.key_by("card").match("rise", rise, within="1 hour", select=select).write("out", out)
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    # More rows wait than one entry holds.
    feed.add(*(payment("a", 1, 20) for _ in range(300)), payment("a", 200, 21), payment("b", 200, 20))
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    assert repartition(pipeline._plan(), tmp_path, 3) == {"rise": (2, 3)}
    [state] = state_of(pipeline._plan(), tmp_path)
    assert state.stored.counts == {"matches": 2, "waiting": 303}
    feed.add(payment("c", 1, 100))
    pipeline.run(until="drained", checkpoint=tmp_path)
    actual = sorted((row["card"], row["at"].timestamp(), row["high"]) for row in out.contents())
    assert actual == [("a", 1, 200), ("b", 1, 200)]


def test_state_of_an_older_layout_is_rejected(tmp_path: Path) -> None:
    pipeline = Pipeline("rises")
    tx = pipeline.read("tx", connect.memory(rows=[payment("a", 1, 1)]), schema=SCHEMA).event_time("ts")
    tx.key_by("card").match("rise", patterns.step("low", "amount = 1")).write("out", connect.memory())
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    query = tmp_path / "queries" / "rise"
    signature = read_signature(query) or {}
    write_signature(query, {name: value for name, value in signature.items() if name != "version"})
    with pytest.raises(PlanError, match=r"its checkpoint was written by version 0\.1 of Headrace"):
        pipeline.run(until="caught_up", checkpoint=tmp_path)


def test_unknown_key_is_an_error_with_near_keys(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/1.json").write_text('{"card": "4711"}\n{"card": "0815"}\n')
    Path("counts.yaml").write_text(
        "name: counts\n"
        "sources: {tx: {files: {path: in/}, format: json, schema: card string}}\n"
        "steps: {counts: {from: tx, key_by: card, aggregate: {n: count(*)}}}\n"
        "sinks: {out: {from: counts, files: {path: out/, format: json}, mode: update}}\n"
    )
    assert exit_status("run", "counts.yaml", "--once") == 0
    capsys.readouterr()
    assert exit_status("state", "counts.yaml", "--key", "4712") == 2
    problem = "error: --key: the state of `counts` has no key 4712\n  hint: near keys: 4711\n"
    assert capsys.readouterr().err == problem
    assert exit_status("state", "counts.yaml", "--key", "4711") == 0
    assert "card=4711  n=1" in capsys.readouterr().out


def exit_status(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)
