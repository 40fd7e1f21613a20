"""Each call returns the next stage; a stage lacks the verbs of later stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, connect, patterns, triggers, windows
from headrace.errors import NoEventTimeError, OptionError, PlanError, RenamedError
from headrace.steps.base import Ref
from headrace.steps.rows.columns import Where
from headrace.streams.keyed import KeyedStream, Updates
from headrace.streams.panes import Deduplicated, Panes
from headrace.streams.pipeline import collecting
from headrace.streams.stream import SourceStream, Stream
from headrace.streams.timed import TimedKeyedStream, TimedStream
from headrace.streams.windowed import WindowedStream
from headrace.windows.declare import WindowAggregate


@pytest.fixture
def tx() -> SourceStream:
    return Pipeline("p").read("tx", connect.memory(), schema="card string, amount double, ts timestamp")


@pytest.mark.parametrize("verb", ["window", "match", "match_rules"])
def test_error_of_a_verb_that_needs_a_time_names_event_time(tx: SourceStream, verb: str) -> None:
    for stage in (tx.key_by("card"), tx.where("amount > 1").key_by("card")):
        assert not hasattr(stage, verb)
        with pytest.raises(
            NoEventTimeError, match=rf"`tx.*`: `{verb}` needs rows with a time\n  hint: .*event_time"
        ):
            getattr(stage, verb)


def test_latest_of_a_stream_without_time_is_an_error(tx: SourceStream) -> None:
    with pytest.raises(
        NoEventTimeError, match=r"`tx`: `latest` needs rows with a time\n  hint: .*event_time"
    ):
        tx.key_by("card").latest("current")


def test_an_unknown_verb_is_an_attribute_error(tx: SourceStream) -> None:
    for stage in (tx, tx.key_by("card")):
        with pytest.raises(AttributeError, match="object has no attribute 'windw'"):
            stage.windw  # type: ignore[union-attr]  # noqa: B018


def test_stages_follow_each_other(tx: SourceStream) -> None:
    timed = tx.event_time("ts")
    keyed = timed.key_by("card")
    windowed = keyed.window(windows.session("1 minute"))
    stages = [
        tx,
        timed,
        keyed,
        windowed,
        windowed.emit(lateness="1 s"),
        windowed.aggregate("w", n="count(*)"),
    ]
    expected = [SourceStream, TimedStream, TimedKeyedStream, WindowedStream, WindowedStream, Panes]
    assert [type(stage) for stage in stages] == expected


def test_only_a_timed_stream_can_be_windowed(tx: SourceStream) -> None:
    assert not hasattr(tx, "window")
    assert not hasattr(tx.key_by("card"), "window")


def test_stateless_verbs_keep_the_stage_but_not_the_outputs_of_a_step(tx: SourceStream) -> None:
    timed = tx.event_time("ts")
    assert type(timed.where("amount > 1")) is TimedStream
    assert type(tx.where("amount > 1")) is Stream
    assert not hasattr(tx.where("amount > 1"), "dead_letters")
    panes = timed.window(windows.global_window()).aggregate("w", n="count(*)")
    assert type(panes.select("n")) is TimedStream


def test_keyed_and_windowed_streams_have_the_stateless_verbs(tx: SourceStream) -> None:
    keyed = tx.event_time("ts").key_by("card")
    large = keyed.where("amount > 1", name="large").with_columns(cents="amount * 100").drop("amount")
    assert type(large) is TimedKeyedStream
    windowed = large.window(windows.tumbling("1 hour"), ttl=None).emit(lateness="1 s")
    billed = windowed.where("cents < 900").select("card", "cents", "ts")
    assert type(billed) is WindowedStream
    totals = billed.aggregate("totals", n="count(*)")
    node = totals._pipeline.graph["totals"]
    assert isinstance(node, WindowAggregate)
    assert (node.keys, node.emission.lateness) == (keyed._keys, 1_000_000)
    keyed.write("rows", connect.memory())
    windowed.write("windowed_rows", connect.memory())
    assert "large" in {step.name for step in totals._pipeline.check()}


def test_stateless_verbs_of_a_keyed_stream_return_the_same_stage_with_the_same_keys(tx: SourceStream) -> None:
    current = tx.event_time("ts").key_by("card").latest("current")
    for keyed in (tx.key_by("card"), tx.event_time("ts").key_by(day="to_date(ts)"), current.key_by("card")):
        for after in (
            keyed.where("amount > 1"),
            keyed.with_columns(cents="amount * 100"),
            keyed.drop("amount"),
        ):
            assert (type(after), after._keys) == (type(keyed), keyed._keys)


def test_key_of_a_keyed_stream_is_evaluated_on_the_rows_that_the_step_reads(tx: SourceStream) -> None:
    keyed = tx.key_by("card")
    totals = keyed.with_columns(card="upper(card)", step_name="upper").aggregate("totals", n="count(*)")
    node = totals._pipeline.graph["totals"]
    assert (node.inputs, node.key_names) == ((Ref("upper"),), ("card",))
    totals._pipeline.check()
    keyed.drop("card").aggregate("dropped", n="count(*)")
    with pytest.raises(PlanError, match="`dropped`: unknown key column `card`"):
        totals._pipeline.check()


def test_a_join_and_a_union_take_no_keyed_stream(tx: SourceStream) -> None:
    timed = tx.event_time("ts")
    keyed: Any = timed.key_by("card")
    with pytest.raises(OptionError, match="expected a stream with time, got <TimedKeyedStream"):
        timed.join("pairs", keyed, on="card", within="1 minute")
    with pytest.raises(OptionError, match="expected a stream"):
        timed.union(keyed)


def test_a_running_aggregate_gives_updates_that_no_window_takes(tx: SourceStream) -> None:
    running = tx.key_by("card").aggregate("totals", n="count(*)")
    assert type(running) is Updates
    assert not hasattr(running, "key_by")
    assert type(tx.key_by("card")) is KeyedStream


def test_distinct_on_a_timed_stream_has_late_rows(tx: SourceStream) -> None:
    unique = tx.event_time("ts").distinct("unique", on="card", within="1 minute")
    assert type(unique) is Deduplicated
    assert repr(unique.late) == "<unique.late of p>"


def test_a_step_without_options_can_be_named(tx: SourceStream) -> None:
    big = tx.where("amount > 50", name="big")
    assert big._pipeline.graph["big"] == Where("big", Ref("tx"), "amount > 50")
    assert repr(big.with_columns(n="1", step_name="one")) == "<one of p>"
    assert repr(big.drop("amount", name="less")) == "<less of p>"
    assert repr(big.select("card", name="card", step_name="named")) == "<named of p>"
    assert repr(big.union(tx, name="both")) == "<both of p>"
    assert repr(big.event_time("ts", name="timed")) == "<timed of p>"


def test_emit_in_both_forms_gives_the_same_plan(tx: SourceStream) -> None:
    window = tx.event_time("ts").window(windows.tumbling("1 minute"))
    every, once = triggers.every("30 seconds"), triggers.after_count(1)
    window.emit(early=every, lateness="1 minute").aggregate("short", n="count(*)")
    long = window.emit(trigger=triggers.after_watermark(early=every, late=once), lateness="1 minute")
    long.aggregate("long", n="count(*)")
    nodes = tx._pipeline.graph.of(WindowAggregate)
    assert nodes[0].emission == nodes[1].emission


def test_both_forms_of_emit_at_once_are_refused(tx: SourceStream) -> None:
    window = tx.event_time("ts").window(windows.tumbling("1 minute"))
    with pytest.raises(OptionError, match="expected either `trigger`, or `early` and `late`, got both"):
        window.emit(trigger=triggers.after_count(1), early=triggers.after_count(1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tx: tx.select(), "expected at least one column"),
        (lambda tx: tx.key_by(), "expected at least one key"),
        (lambda tx: tx.key_by("card").aggregate("n"), "expected at least one aggregate"),
        (lambda tx: tx.route("r"), "expected at least one named condition"),
        (lambda tx: tx.route("r", big="amount > 1")["bigger"], "did you mean `big`?"),
        (lambda tx: tx.where(5), "expected Spark SQL text or a pyspark Column, got 5"),
        (lambda tx: tx.sql("s", "select * from txs"), "did you mean `tx`?"),
        (lambda tx: tx.sql("s", "select from where"), "SQL syntax error at line 1, column"),
        (lambda tx: tx.sql("s", "drop table tx"), "expected one select query"),
        (
            lambda tx: tx.union(Pipeline("q").read("b", connect.memory(), schema="a int")),
            "a stream of the same pipeline",
        ),
        (
            lambda tx: tx.event_time("ts", out_of_order="5 minuets"),
            "expected a duration, got '5 minuets'",
        ),
    ],
)
def test_a_wrong_call_is_refused_where_it_is_made(tx: SourceStream, call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OptionError if "minuets" not in message else Exception) as caught:
        call(tx)
    assert message in str(caught.value)


def test_a_pipeline_needs_a_name() -> None:
    with pytest.raises(OptionError, match="expected a name of letters"):
        Pipeline("my pipeline")


def test_while_collecting_pipelines_are_listed_and_run_does_nothing() -> None:
    with collecting() as actual:
        pipeline = Pipeline("p")
        pipeline.run()
    assert actual == [pipeline]


def test_plans_are_equal_with_any_names_of_unnamed_steps() -> None:
    def build(order: int) -> Pipeline:
        pipeline = Pipeline("p")
        tx = pipeline.read("tx", connect.memory(), schema="a int")
        branches: list[Callable[[], object]] = [
            lambda: tx.where("a > 1", name="one"),
            lambda: tx.where("a > 2").select("a", step_name="two"),
        ]
        for branch in branches[::order]:
            branch()
        return pipeline

    assert build(1).graph == build(-1).graph
    changed = build(1)
    changed.sql("three", "select a from one")
    assert changed.graph != build(1).graph


def test_a_word_is_no_connector(tx: SourceStream) -> None:
    with pytest.raises(
        OptionError, match=r"`a`: expected a connector, got 'kafka'\n  hint: read a connector of `connect`"
    ):
        Pipeline("p").read("a", "kafka")  # type: ignore[arg-type]
    with pytest.raises(
        OptionError, match=r"`out`: expected a connector, got 'console'\n  hint: write a connector"
    ):
        tx.write("out", "console")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda tx: tx.window("1 minute"),
            "window: expected a window, got '1 minute'\n  hint: such as windows.t",
        ),
        (
            lambda tx: tx.window(windows.tumbling("1 minute")).emit(early=3),
            "emit: early: expected a trigger, got 3",
        ),
        (
            lambda tx: tx.match("m", patterns.step("a", "true"), witin="1 minute"),
            "`m`: unknown option `witin`",
        ),
        (lambda tx: tx.match_rules("m", rules="r.yaml", ordr="arrival"), "`m`: unknown option `ordr`"),
        (lambda tx: tx.map("m", print, output="a int", onerror="fail"), "`m`: unknown option `onerror`"),
        (lambda tx: tx.lookup("m", 3, on="card"), "`m`: table: expected a table, got 3"),
        (lambda tx: triggers.repeatedly(3), "repeatedly: expected a trigger, got 3"),  # type: ignore[arg-type]
        (lambda tx: triggers.after_watermark(late=3), "after_watermark: late: expected a trigger"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_reported_where_they_are_set(
    tx: SourceStream, build: Callable[[TimedStream], object], message: str
) -> None:
    with pytest.raises(OptionError) as caught:
        build(tx.event_time("ts"))
    assert message in str(caught.value)


def test_a_name_given_twice_is_one_problem_and_not_many(tx: SourceStream) -> None:
    tx.write("tx", connect.console())
    tx.key_by("card").aggregate("totals", n="count(*)").write("out", connect.console())
    with pytest.raises(PlanError) as caught:
        tx._pipeline.check()
    assert [problem.what for problem in caught.value.problems] == ["the name `tx` is already used"]


@pytest.mark.parametrize(("name", "now"), [("rejects", r"\.dead_letters"), ("named", "the argument `name`")])
def test_name_of_an_earlier_version_gives_the_new_one(tx: SourceStream, name: str, now: str) -> None:
    with pytest.raises(RenamedError, match=rf"`tx`: `{name}` was renamed\n  hint: use {now}"):
        getattr(tx, name)
