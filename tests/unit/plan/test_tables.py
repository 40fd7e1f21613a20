"""Joins with tables and aggregates over changelogs before Spark: columns, errors, state bounds and documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, connect, triggers, windows, yaml
from headrace.errors import DocumentError, OptionError, PlanError, TableInputError
from headrace.plan.changes import feeds_changes
from headrace.plan.queries import queries_of
from headrace.steps.base import Ref
from headrace.streams.tables import Table
from headrace.streams.timed import TimedStream
from headrace.windows.declare import WindowAggregate

Sides = tuple[TimedStream, Table]


def sides(pipeline: Pipeline) -> Sides:
    sales = pipeline.read("sales", connect.memory(), schema="id int, item string, ts timestamp")
    prices = pipeline.read("prices", connect.memory(), schema="item string, price int, at timestamp")
    return sales.event_time("ts", out_of_order="1 minute"), prices.event_time("at").key_by("item").latest(
        "current"
    )


def problems(build: Callable[[TimedStream, Table], Any]) -> list[str]:
    pipeline = Pipeline("p")
    build(*sides(pipeline))
    with pytest.raises(PlanError) as error:
        pipeline.check()
    return [f"{problem.what}; {problem.hint}" for problem in error.value.problems]


def test_results_are_streams_or_tables_with_the_columns_of_both_sides() -> None:
    pipeline = Pipeline("p")
    sales, current = sides(pipeline)
    sales.join_table("arrived", current, on="item").write("a", connect.memory())
    sales.join_table("versioned", current, on="item", at="event_time").late.write("b", connect.memory())
    sales.join_table("live", current, on="item", at="live", how="left").write("c", connect.memory())
    keyed = sales.key_by("id").latest("sold").join("both", current, on="item")
    keyed.write("d", connect.memory())
    graph = pipeline._plan()
    columns = ("id", "item", "ts", "price", "at")
    assert graph.facts(Ref("arrived")).columns == graph.facts(Ref("versioned")).columns == columns
    assert graph.facts(Ref("live")).columns == (*columns, "change")
    late = ("id", "item", "ts", "late_by", "window", "watermark", "reason")
    assert graph.facts(Ref("versioned", "late")).columns == late
    kinds = {name: graph.facts(Ref(name)).change for name in ("arrived", "versioned", "live", "both")}
    assert kinds == {"arrived": "none", "versioned": "none", "live": "table", "both": "table"}
    assert graph.facts(Ref("both")).table_key == ("id",)
    assert isinstance(keyed, Table)
    assert [query.name for query in queries_of(graph)] == [
        "current", "arrived", "versioned", "live", "sold", "both",
    ]  # fmt: skip
    assert yaml.from_text(yaml.dump(graph)) == graph


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda sales, current: sales.join_table("j", sales, on="item"),
            "expected a table on the right, but `sales` is a stream; convert it to a table",
        ),
        (
            lambda sales, current: sales.join_table(
                "j", current.where("price > 1"), on="item", at="event_time"
            ),
            "a join at event time requires the versions of `latest`, but `current` has none; create the table",
        ),
        (
            lambda sales, current: sales.join_table("j", current, on={"name": "items"}),
            "unknown left key column `name`",
        ),
        (
            lambda sales, current: sales.join_table("j", current, on="item", select={"p": "right.prise"}),
            "unknown column `right.prise`",
        ),
        (
            lambda sales, current: sales.union(current),
            "all inputs of a union must be tables, or none: `sales:event_time` is a stream, `current` is a "
            "table; convert the others with key_by(...).latest(...), or read the stream behind the table",
        ),
        (
            lambda sales, current: current.key_by("price").latest("again"),
            "latest does not accept a table as input, and `current` is a table; read the stream behind",
        ),
        (
            lambda sales, current: (
                current.key_by("price")
                .window(windows.session("1 minute"))
                .emit(lateness="1 minute")
                .aggregate("w", n="count(*)")
            ),
            "a session over a table fires once, when it closes; remove early, late, lateness and trigger",
        ),
        (
            lambda sales, current: (
                current.key_by("price").window(windows.count(2, order="arrival")).aggregate("w", n="count(*)")
            ),
            "count windows in arrival order do not accept a table as input; use event time",
        ),
        (
            lambda sales, current: (
                sales.key_by("item")
                .window(windows.tumbling("1 minute"))
                .emit(early=triggers.after_count(1), mode="retracting")
                .aggregate("w", n="count(*)")
                .join_table("j", current, on="item", at="arrival")
            ),
            'at="arrival" requires a stream, but the rows of `w` change; use at="live"',
        ),
        (
            lambda sales, current: (
                sales.key_by("item")
                .window(windows.tumbling("1 minute"))
                .emit(early=triggers.after_count(1), mode="retracting")
                .aggregate("w", n="count(*)")
                .distinct(on="item", within="1 minute")
            ),
            "which would be counted twice; let the previous step fire once",
        ),
    ],
)
def test_mistakes_are_found_before_spark(build: Callable[[TimedStream, Table], Any], expected: str) -> None:
    assert any(expected in problem for problem in problems(build)), problems(build)


def test_a_native_window_over_a_table_is_an_error() -> None:
    pipeline = Pipeline.from_yaml_text("""\
name: p
sources: {prices: {memory: {}, schema: "item string, price double, ts timestamp", event_time: ts}}
steps:
  current: {from: prices, key_by: item, latest: {}}
  w: {from: current, key_by: price, window: {tumbling: 1 minute}, engine: native, aggregate: {n: count(*)}}
""")
    with pytest.raises(PlanError) as error:
        pipeline.check()
    [problem] = error.value.problems
    assert problem.where == "<text>:5:75: `w`"
    assert problem.what == 'engine="native" runs on Spark\'s own operators, which have no retractions'
    assert problem.hint == "remove engine"


def test_latest_of_a_table_is_one_problem_even_without_time() -> None:
    pipeline = Pipeline("p")
    scores = pipeline.read("scores", connect.memory(), schema="game string, score int").key_by("game")
    scores.top_n("best", n=2, order_by="score").key_by("game").latest("again")
    with pytest.raises(PlanError) as error:
        pipeline.check()
    assert [problem.what for problem in error.value.problems] == [
        "latest does not accept a table as input, and `best` is a table"
    ]


@pytest.mark.parametrize("verb", ["match", "match_rules"])
def test_patterns_do_not_accept_a_table(verb: str) -> None:
    _, current = sides(Pipeline("p"))
    message = f"{verb} does not accept a table as input, and `current` is a table\n  hint: read the stream"
    with pytest.raises(TableInputError, match=message):
        getattr(current.key_by("price"), verb)
    with pytest.raises(AttributeError, match="object has no attribute 'windw'"):
        current.key_by("price").windw  # type: ignore[attr-defined]  # noqa: B018


def test_tables_have_a_union() -> None:
    pipeline = Pipeline("p")
    sides(pipeline)
    document = yaml.dump(pipeline._graph)
    steps = "  sold: {from: sales, key_by: item, latest: {}}\n  all: {union: [current, sold]}\n"
    graph = yaml.from_text(document.replace("steps:\n", f"steps:\n{steps}"))
    assert graph.facts(Ref("all")).change == "table"


def test_one_kind_of_time_is_needed_at_event_time() -> None:
    pipeline = Pipeline("p")
    sales, current = sides(pipeline)
    sales.processing_time().join_table("j", current, on="item", at="event_time").write("s", connect.memory())
    with pytest.raises(PlanError, match="the stream and the table have different kinds of time"):
        pipeline.check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": "noon"}, "at: expected one of arrival, event_time, live, got 'noon'"),
        ({"how": "full"}, "expected how to be inner or left, got 'full'"),
        ({"within": "1 minute"}, "unknown option `within`"),
    ],
)
def test_an_invalid_option_is_an_error(options: dict[str, Any], message: str) -> None:
    sales, current = sides(Pipeline("p"))
    with pytest.raises(OptionError, match="`j`") as error:
        sales.join_table("j", current, **{"on": "item", **options})
    assert message in str(error.value)


def test_the_right_side_is_a_table_of_the_same_pipeline() -> None:
    (sales, _), (_, other) = sides(Pipeline("p")), sides(Pipeline("q"))
    with pytest.raises(OptionError, match="expected a stream of the same pipeline"):
        sales.join_table("j", other, on="item")
    with pytest.raises(OptionError, match="expected a table, got 'prices'"):
        sales.join_table("j", "prices", on="item", at="arrival")  # type: ignore[call-overload]


def test_state_bounds_and_tiers_are_explained() -> None:
    pipeline = Pipeline("p")
    sales, current = sides(pipeline)
    sales.join_table("arrived", current, on="item")
    sales.join_table("versioned", current, on="item", at="event_time")
    sales.join_table("live", current, on="item", at="live")
    sales.key_by("id").latest("sold").join("both", current, on="item")
    current.key_by("price").aggregate("sums", n="count(*)", s="sum(price)", top="max(at)")
    current.key_by("price").window(windows.tumbling("1 hour")).aggregate("hours", d="count(distinct item)")
    graph = pipeline._graph
    bounds = {name: str(graph[name].state_bound(graph)) for name in ("arrived", "versioned", "live", "both")}
    assert bounds == {
        "arrived": "the rows of the table, by item; no bound: grows with the rows of the table",
        "versioned": "the last version of each item, later ones, and the rows of the last 1 minute; "
        "no bound: grows with the distinct values of item",
        "live": "all rows of the stream and of the table, by item; no bound: grows with the rows of "
        '`sales:event_time` (at="arrival" keeps no row)',
        "both": "the rows of both tables, by item; no bound: grows with the rows of the tables",
    }
    sums = graph["sums"]
    assert sums.tier(graph).name == "kernel"
    why = "n subtracts; s subtracts integers and decimals; top keeps its values"
    assert why in sums.tier(graph).why
    assert "the values of top" in str(sums.state_bound(graph))
    assert "d keeps its values" in graph["hours"].tier(graph).why
    assert "the values of d" in str(graph["hours"].state_bound(graph))


@pytest.mark.parametrize("mode", ["accumulating", "retracting", "discarding"])
def test_panes_that_fire_again_feed_steps_that_process_retractions(mode: Any) -> None:
    pipeline = Pipeline("p")
    sales, _ = sides(pipeline)
    parts = sales.key_by("item").window(windows.tumbling("1 minute"))
    panes = parts.emit(early=triggers.after_count(1), mode=mode).aggregate("parts", n="count(*)")
    panes.where("n > 1").key_by("n").top_n("top", n=1, order_by="item").write("s", connect.memory())
    graph = pipeline._plan()
    window = graph["parts"]
    assert isinstance(window, WindowAggregate)
    assert feeds_changes(graph, window) == (mode == "accumulating")


def test_discarding_panes_feed_any_stateful_step() -> None:
    pipeline = Pipeline("p")
    sales, _ = sides(pipeline)
    parts = sales.key_by("item").window(windows.tumbling("1 minute"))
    panes = parts.emit(early=triggers.after_count(1), mode="discarding").aggregate("parts", n="count(*)")
    panes.distinct("unique", on="item", within="1 minute").write("s", connect.memory())
    pipeline.check()


def test_a_full_join_takes_two_tables() -> None:
    text = """
name: p
sources:
  sales: {memory: {}, schema: "id int, item string, ts timestamp", event_time: ts}
  prices: {memory: {}, schema: "item string, price int, at timestamp", event_time: at}
steps:
  current: {from: prices, key_by: item, latest: {}}
  j: {from: sales, join: {with: current, on: item, how: full}}
sinks:
  out: {from: j, memory: {}}
"""
    with pytest.raises(PlanError) as error:
        Pipeline.from_yaml_text(text).check()
    assert 'how=full requires at="live", but `sales' in str(error.value)


def test_a_full_join_is_identified_by_the_key_that_both_tables_have() -> None:
    pipeline = Pipeline("p")
    sales, current = sides(pipeline)
    sold = sales.key_by("item").latest("sold")
    sold.join("all", current, on="item", how="full").write("a", connect.memory())
    by_id = sales.key_by("id").latest("by_id")
    by_id.join("foreign", current, on="item", how="right").write("b", connect.memory())
    graph = pipeline._plan()
    assert graph.facts(Ref("all")).table_key == ("item",)
    assert graph.facts(Ref("foreign")).table_key == ("id", "item")


def streams(pipeline: Pipeline) -> tuple[Any, Any]:
    left = pipeline.read("views", connect.memory(), schema="id int, user string")
    return left, pipeline.read("orders", connect.memory(), schema="order_id int, user string")


def test_a_live_join_of_streams_is_a_table_with_its_state_and_its_columns() -> None:
    pipeline = Pipeline("p")
    views, orders = streams(pipeline)
    views.join_table("both", orders, on="user", at="live", how="full", where="left.id > 1").write(
        "a", connect.memory()
    )
    views.join_table("crossed", orders.drop("user"), at="live").write("b", connect.memory())
    views.join_table("without", orders, on="user", at="live", how="anti").write("c", connect.memory())
    graph = pipeline._plan()
    assert graph.facts(Ref("both")).columns == ("id", "user", "order_id", "change")
    assert graph.facts(Ref("without")).columns == ("id", "user", "change")
    assert graph.facts(Ref("both")).table_key == ()
    bounds = {name: str(graph[name].state_bound(graph)) for name in ("both", "crossed")}
    hint = "(within= joins rows that are close in event time, and keeps no others)"
    assert bounds == {
        "both": f"all rows of both streams, by user; no bound: grows with the rows of the streams {hint}",
        "crossed": f"all rows of both streams, in one task; no bound: grows with the rows of the streams {hint}",
    }
    assert graph["both"].description()[:2] == ["full join with orders", "following its changes"]
    assert yaml.from_text(yaml.dump(graph)) == graph


@pytest.mark.parametrize(
    ("how", "foreign", "key"),
    [
        ("inner", {"on": {"item": "item"}}, ("id",)),
        ("left", {"on": {"item": "item"}}, ("id",)),
        ("semi", {"on": "item", "where": "right.price > 1"}, ("id",)),
        ("left", {}, ("id", "other")),
        ("right", {"select": {"id": "left.id", "item": "right.item"}}, ("id", "item")),
        ("full", {"on": "item", "select": {"item": "right.item"}}, ()),
    ],
)
def test_the_result_of_a_live_join_has_the_keys_of_the_sides_with_several_rows(
    how: Any, foreign: dict[str, Any], key: tuple[str, ...]
) -> None:
    pipeline = Pipeline("p")
    sales, current = sides(pipeline)
    if how == "left" and not foreign:
        foreign = {"select": {"id": "left.id", "other": "right.item"}}
    sales.key_by("id").latest("sold").join("j", current, how=how, **foreign)
    assert pipeline._plan().facts(Ref("j")).table_key == key


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (
            lambda v, o: v.join_table("j", o, on="user", at="live", where="left.idd > 1"),
            "unknown column `left.idd`",
        ),
        (
            lambda v, o: v.join_table(
                "j", o, on="user", at="live", how="semi", select={"x": "right.order_id"}
            ),
            "semi and anti joins return columns of the left stream",
        ),
        (
            lambda v, o: v.with_columns(change="'x'").join_table("j", o, on="user", at="live"),
            "the result has the column `change` of its own, and one of both sides has it, too",
        ),
    ],
)
def test_a_live_join_that_cannot_be_planned(build: Callable[[Any, Any], Any], problem: str) -> None:
    pipeline = Pipeline("p")
    build(*streams(pipeline)).write("out", connect.memory())
    with pytest.raises(PlanError) as error:
        pipeline.check()
    assert problem in str(error.value)


def test_a_join_at_a_moment_needs_key_columns() -> None:
    pipeline = Pipeline("p")
    sales, current = sides(pipeline)
    with pytest.raises(OptionError, match="`on` of join is missing"):
        sales.join_table("j", current)  # type: ignore[call-overload]
    text = "{from: sales, join: {with: current, at: arrival}}"
    document = f"""
name: p
sources:
  sales: {{memory: {{}}, schema: "id int, item string"}}
  prices: {{memory: {{}}, schema: "item string, at timestamp", event_time: at}}
steps:
  current: {{from: prices, key_by: item, latest: {{}}}}
  j: {text}
"""
    with pytest.raises(DocumentError, match="`on` of join is missing"):
        Pipeline.from_yaml_text(document)
