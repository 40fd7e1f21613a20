"""Each call returns the next stage; a stage lacks the verbs of later stages."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer

from headrace import Pipeline, connect, patterns, triggers, windows
from headrace.cli.app import app
from headrace.errors import MissingOutputError, NoEventTimeError, OptionError, PlanError
from headrace.lookups.declare import Lookup
from headrace.runtime.options import RunOptions
from headrace.steps.base import Ref
from headrace.steps.rows.columns import Where
from headrace.streams.keyed import KeyedStream
from headrace.streams.pipeline import collecting
from headrace.streams.results import (
    DivertingStream,
    Panes,
    SourceStream,
    TimedDivertingStream,
    TimedResult,
)
from headrace.streams.stream import Stream
from headrace.streams.tables import Table
from headrace.streams.timed import TimedKeyedStream, TimedStream
from headrace.streams.windowed import NativeWindowedStream, WindowedStream
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


def test_latest_of_a_stream_without_time_is_in_the_order_of_arrival(tx: SourceStream) -> None:
    tx.key_by("card").latest("current").write("table", connect.memory(key=["card"]))
    assert "arrival order" in tx._pipeline.explain()


def test_latest_by_event_time_of_a_stream_without_time_is_an_error(tx: SourceStream) -> None:
    tx.key_by("card").latest("current", order="event_time").write("table", connect.memory(key=["card"]))
    with pytest.raises(PlanError, match="latest by event time needs rows with time\n  hint: add event_time"):
        tx._pipeline.check()
    with pytest.raises(OptionError, match="order: expected one of event_time, arrival, got 'newest'"):
        tx.key_by("card").latest("other", order="newest")  # type: ignore[arg-type]


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
    large = keyed.where("amount > 1", step_name="large").with_columns(cents="amount * 100").drop("amount")
    assert type(large) is TimedKeyedStream
    windowed = large.window(windows.tumbling("1 hour"), ttl=None).emit(lateness="1 s")
    billed = windowed.where("cents < 900").select("card", "cents", "ts")
    assert type(billed) is WindowedStream
    totals = billed.aggregate("totals", n="count(*)")
    node = totals._pipeline._graph["totals"]
    assert isinstance(node, WindowAggregate)
    assert (node.keys, node.emission.lateness) == (keyed._keys, 1_000_000)
    keyed.write("rows", connect.memory())
    windowed.write("windowed_rows", connect.memory())
    assert "large" in {step.name for step in totals._pipeline._plan()}


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
    node = totals._pipeline._graph["totals"]
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


def test_a_running_aggregate_is_a_table(tx: SourceStream) -> None:
    running = tx.key_by("card").aggregate("totals", n="count(*)")
    assert type(running) is Table
    assert type(running.key_by("n").aggregate("again", m="count(*)")) is Table
    assert type(tx.key_by("card")) is KeyedStream


def test_distinct_on_a_timed_stream_has_late_rows(tx: SourceStream) -> None:
    unique = tx.event_time("ts").distinct("unique", on="card", within="1 minute")
    assert type(unique) is TimedResult
    assert repr(unique.late) == "<unique.late of p>"


def test_a_step_without_options_can_be_named(tx: SourceStream) -> None:
    big = tx.where("amount > 50", step_name="big")
    assert big._pipeline._graph["big"] == Where("big", Ref("tx"), "amount > 50")
    assert repr(big.with_columns(n="1", step_name="one")) == "<one of p>"
    assert repr(big.drop("amount", step_name="less")) == "<less of p>"
    assert repr(big.select("card", name="card", step_name="named")) == "<named of p>"
    assert repr(big.union(tx, step_name="both")) == "<both of p>"
    assert repr(big.event_time("ts", step_name="timed")) == "<timed of p>"


def test_emit_in_both_forms_gives_the_same_plan(tx: SourceStream) -> None:
    window = tx.event_time("ts").window(windows.tumbling("1 minute"))
    every, once = triggers.every("30 seconds"), triggers.after_count(1)
    window.emit(early=every, lateness="1 minute").aggregate("short", n="count(*)")
    long = window.emit(trigger=triggers.after_watermark(early=every, late=once), lateness="1 minute")
    long.aggregate("long", n="count(*)")
    nodes = tx._pipeline._graph.of(WindowAggregate)
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
        (lambda tx: tx.sql("s", "select from where"), "1:17: SQL syntax error: expected table name"),
        (lambda tx: tx.sql("s", "drop table tx"), "a sql step is one query, not DROP"),
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
            lambda: tx.where("a > 1", step_name="one"),
            lambda: tx.where("a > 2").select("a", step_name="two"),
        ]
        for branch in branches[::order]:
            branch()
        return pipeline

    assert build(1)._graph == build(-1)._graph
    changed = build(1)
    changed.sql("three", "select a from one")
    assert changed._graph != build(1)._graph


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


@pytest.mark.parametrize("name", ["late", "dead_letters", "timeouts", "faults"])
def test_side_output_of_another_step_is_an_error_that_names_its_steps(tx: SourceStream, name: str) -> None:
    hits = tx.event_time("ts").key_by("card").match_rules("hits", rules="rules.yaml")
    with pytest.raises(
        MissingOutputError, match=rf"`hits:where`: `{name}` is not an output\n  hint: it is an output of "
    ):
        getattr(hits.where("version = 1"), name)
    keyed = tx.event_time("ts").key_by("card")
    for stage in (keyed, keyed.window(windows.tumbling("1 hour")), keyed.latest("current").where("true")):
        with pytest.raises(MissingOutputError, match=f"`{name}` is not an output"):
            getattr(stage, name)


OLD: list[tuple[Callable[[Any], object], str]] = [
    (
        lambda tx: tx.where("amount > 1", name="big"),
        "where: unknown option `name`\n  hint: write step_name=;",
    ),
    (lambda tx: tx.drop("amount", name="less"), "drop: unknown option `name`\n  hint: write step_name=;"),
    (lambda tx: tx.union(tx, name="both"), "union: unknown option `name`\n  hint: write step_name=;"),
    (
        lambda tx: tx.event_time("ts", name="t"),
        "event_time: unknown option `name`\n  hint: write step_name=;",
    ),
    (
        lambda tx: tx.join("j", tx, on="card", at="live"),
        "`tx`: join needs streams with a time\n  hint: a join with a table is join_table(...);",
    ),
    (
        lambda tx: tx.event_time("ts").join("j", tx, on="card"),
        "`j`: join needs a stream and within=...\n  hint: a join with a table is join_table(...);",
    ),
    (
        lambda tx: tx.event_time("ts").join("j", tx, on="card", at="live"),
        "`j`: unknown option `at`\n  hint: write join_table(..., at=...);",
    ),
    (
        lambda tx: tx.event_time("ts").window(windows.tumbling("1 hour")).join("j", tx),
        "a join inside windows is join_window\n  hint: write join_window(...);",
    ),
    (
        lambda tx: tx.event_time("ts").window(windows.tumbling("1 hour")).emit(late_rows="count"),
        'emit: unknown option `late_rows`\n  hint: write window(..., engine="native") in place of late_rows="count";',
    ),
]


@pytest.mark.parametrize(("call", "message"), OLD)
def test_a_spelling_of_0_2_is_an_error_with_the_new_one(
    tx: SourceStream, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(OptionError) as caught:
        call(tx)
    assert message in str(caught.value)
    assert "`headrace migrate FILE` rewrites programs of 0.2" in str(caught.value)


def test_filter_takes_a_condition_or_a_function(tx: SourceStream) -> None:
    assert repr(tx.filter("amount > 5", step_name="large")) == "<large of p>"
    assert tx._pipeline._graph["large"] == Where("large", Ref("tx"), "amount > 5")
    assert type(tx.filter("amount > 5")) is Stream
    assert type(tx.filter("odd", lambda row: row.amount % 2 == 1)) is DivertingStream
    assert type(tx.event_time("ts").filter("one", lambda row: True)) is TimedDivertingStream


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tx: tx.filter(lambda row: True), "a filter by a function needs a name"),
        (lambda tx: tx.filter("a", len, step_name="b"), "a filter by a function has its name first"),
        (lambda tx: tx.filter("amount > 5", on_error="fail"), "a condition has no options"),
        (lambda tx: tx.filter(5), "expected Spark SQL text or a pyspark Column, got 5"),
        (lambda tx: tx.to_dataframe(how="table"), "expected how to be stream or batch, got 'table'"),
    ],
)
def test_wrong_arguments_of_filter_and_to_dataframe(
    tx: SourceStream, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(OptionError) as caught:
        call(tx)
    assert message in str(caught.value)


def test_a_native_window_has_no_late_rows_and_no_ttl(tx: SourceStream) -> None:
    keyed = tx.event_time("ts").key_by("card")
    native = keyed.window(windows.tumbling("1 hour"), engine="native")
    assert type(native.where("amount > 1")) is NativeWindowedStream
    totals = native.aggregate("totals", n="count(*)")
    assert type(totals) is TimedStream
    assert tx._pipeline._graph["totals"].outputs == ("",)
    wrong: Any = keyed.window
    with pytest.raises(OptionError, match='a window with engine="native" has no ttl'):
        wrong(windows.global_window(), ttl="1 day", engine="native")
    with pytest.raises(OptionError, match="expected engine to be kernel or native, got 'spark'"):
        wrong(windows.global_window(), engine="spark")


def test_lookup_with_the_option_of_0_2_drops_rows_without_a_match(tx: SourceStream) -> None:
    look_up: Any = tx.lookup
    table = connect.sqlite(path="x.db", table="t")
    look_up("old", table, on="card", schema="card string, home string", how="inner")
    tx.lookup("new", table, on="card", schema="card string, home string", on_miss="drop")
    old, new = (tx._pipeline._graph[name] for name in ("old", "new"))
    assert isinstance(old, Lookup)
    assert isinstance(new, Lookup)
    assert old.miss == new.miss == "drop"


def test_options_that_turn_a_side_output_off_return_the_stage_without_it(tx: SourceStream) -> None:
    timed = tx.event_time("ts")
    assert type(timed.map("m", len, output="n int", on_error="fail")) is TimedStream
    assert (
        type(tx.key_by("card").stateful_map("s", max, initial=0, output="n int", on_error="fail")) is Stream
    )
    assert type(timed.distinct("all", on="card")) is TimedStream


def test_run_and_start_have_the_options_of_a_run_and_of_the_command_line() -> None:
    own = {each.name: each.default for each in dataclasses.fields(RunOptions)}
    for method in (Pipeline.run, Pipeline.start):
        parameters = dict(inspect.signature(method).parameters)
        del parameters["self"]
        assert list(parameters) == list(own)
        assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())
        assert {name: each.default for name, each in parameters.items()} == own | {"conf": None}
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    flags = {option for parameter in command.params for option in parameter.opts}
    renamed = {"progress": "--quiet"}
    assert {renamed.get(name, f"--{name}") for name in own} <= flags
