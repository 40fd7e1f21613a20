"""Tables, ranks, joins with tables and aggregates over changelogs equal small models on random rows."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession, functions
from tests.support import tables_model as model
from tests.support.tables_model import Change, Put

from headrace import windows
from headrace.joins.declare import How, TableJoin
from headrace.joins.tables import pack_table, table_join_step
from headrace.lowering.keyed_steps import KeyedStepDriver
from headrace.lowering.tables.steps import running_step
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.base import Ref
from headrace.steps.facts import Facts
from headrace.triggers import Emission
from headrace.windows import Window
from headrace.windows.lower import WindowDriver, declaration

SECOND = 1_000_000
POSITION = "__position struct<source: string, partition: string, offset: bigint>"
ROW = "id int, g string, v int"
AGGREGATES = {
    "n": "count(*)",
    "total": "sum(v)",
    "mean": "avg(v)",
    "best": "max(v)",
    "kinds": "count(distinct v)",
    "all": "sort_array(collect_list(v))",
}
CHECKED = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), database=None)
PUTS = st.builds(
    Put,
    id=st.integers(0, 3),
    group=st.sampled_from(["a", "a", "b", None]),
    value=st.sampled_from([None, 0, 1, 1, 2, 5]),
    time=st.integers(0, 12),
)
BATCHES = st.lists(st.lists(PUTS, max_size=5), min_size=1, max_size=6)


def script(
    batches: Iterable[Sequence[dict[str, Any]]], watermarks: Iterable[int | None]
) -> list[dict[str, Any]]:
    events = []
    for rows, watermark in zip(batches, watermarks, strict=True):
        event: dict[str, Any] = {"rows": list(rows), "clock": 0, "restart": True}
        if watermark:
            event["watermark"] = watermark * SECOND
        events.append(event)
    return events


def plain(put: Put) -> dict[str, Any]:
    return {"id": put.id, "g": put.group, "v": put.value, "__ts": put.time * SECOND}


def main_rows(event: Sequence[Any]) -> list[dict[str, Any]]:
    return [row["__main"] for row in event if row["__output"] == "main"]


def table_driver(frame: DataFrame, kind: str, declared: str) -> KeyedStepDriver:
    """Return a kind of table step in virtual time; the rows of the frame are not read."""
    step = getattr(kernel(frame.sparkSession).tables, kind)
    return KeyedStepDriver(frame.sparkSession, step.apply(java_frame(frame), declared))


@cache
def latest_driver(spark: SparkSession) -> KeyedStepDriver:
    frame = spark.createDataFrame([], f"{ROW}, __delete boolean, __ts timestamp, {POSITION}")
    return table_driver(frame, "LatestStep", json.dumps({"keys": ["id"], "time": "event", "versions": True}))


@CHECKED
@given(batches=BATCHES)
def test_latest_equals_the_model(spark: SparkSession, batches: list[list[Put]]) -> None:
    rows, number = [], 0
    for batch in batches:
        rows.append([{**plain(put), "__delete": put.value is None} for put in batch])
        for row in rows[-1]:
            row["__position"] = {"source": "s", "partition": "0", "offset": number}
            number += 1
    answer = latest_driver(spark).run(script(rows, [None] * len(rows)))
    bag: Counter[Any] = Counter()
    so_far: list[Put] = []
    for batch, event in zip(batches, answer["events"], strict=True):
        so_far += batch
        model.apply(bag, [((r["id"], r["g"], r["v"]), r["__change"]) for r in main_rows(event)])
        assert bag == Counter((put.id, put.group, put.value) for put in model.latest(so_far).values())
        versions = [row["__versions"] for row in event if row["__output"] == "versions"]
        assert sorted((r["id"], r["__ts"]) for r in versions) == sorted(
            (p.id, p.time * SECOND) for p in batch
        )
    counts = answer["counts"]
    assert counts["rows"] == counts["processed"] + counts["superseded"] == len(so_far)


@cache
def top_driver(spark: SparkSession) -> KeyedStepDriver:
    frame = spark.createDataFrame([], f"{ROW}, __ts timestamp, __change string, __order0 int, __order1 int")
    return table_driver(
        frame, "TopNStep", json.dumps({"keys": ["g"], "time": "none", "n": 2, "order": ["desc", "asc"]})
    )


@CHECKED
@given(batches=BATCHES)
def test_ranks_over_a_table_equal_the_model(spark: SparkSession, batches: list[list[Put]]) -> None:
    tables, changes = history(batches)
    ranked = [
        [{**labelled(change), "__order0": change.row.value, "__order1": change.row.id} for change in batch]
        for batch in changes
    ]
    answer = top_driver(spark).run(script(ranked, [None] * len(ranked)))
    bag: Counter[Any] = Counter()
    for table, event in zip(tables, answer["events"], strict=True):
        rows = [((r["g"], r["id"], r["v"], r["rank"]), r["__change"]) for r in main_rows(event)]
        model.apply(bag, rows)
        assert bag == model.top(table.values(), 2)


def history(batches: Sequence[Sequence[Put]]) -> tuple[list[dict[int, Put]], list[list[Change]]]:
    """Return the table after each micro-batch, and its changes."""
    table: dict[int, Put] = {}
    tables, changes = [], []
    for batch in batches:
        changes.append(model.changelog(table, batch))
        tables.append(dict(table))
    return tables, changes


def labelled(change: Change) -> dict[str, Any]:
    return {**plain(change.row), "__change": change.label}


CONDITIONS: dict[str, model.Condition | None] = {
    "": None,
    "left.v > right.v": lambda a, b: a.value is not None and b.value is not None and a.value > b.value,
    "left.v <=> right.v or left.id = right.id": lambda a, b: a.value == b.value or a.id == b.id,
    "right.v is null": lambda a, b: b.value is None,
    "left.v > 1": lambda a, b: a.value is not None and a.value > 1,
}


@cache
def join_driver(spark: SparkSession, tables: tuple[bool, bool], **options: Any) -> KeyedStepDriver:
    """Return a join in virtual time; `tables` names the sides that are tables, the others are streams."""
    label = ", __change string" if tables[0] else ""
    left = spark.createDataFrame([], f"{ROW}, __ts timestamp{label}")
    own = "__deleted boolean, __sequence bigint" if options["at"] == "event_time" else "__change string"
    right = spark.createDataFrame([], f"{ROW}, __ts timestamp{f', {own}' if tables[1] else ''}")
    node = TableJoin.create("j", Ref("l"), Ref("r"), **options)
    columns = ("id", "g", "v")
    facts = [
        Facts(columns, timed=True, change="table", table_key=("id",)) if table else Facts(columns, timed=True)
        for table in tables
    ]
    frame = pack_table(left, right, node)
    return KeyedStepDriver(spark, table_join_step(frame, node, facts))


def right_row(put: Put, **more: Any) -> dict[str, Any]:
    row = {f"__right_{name}": value for name, value in plain(put).items() if name != "__ts"}
    time = put.time * SECOND
    return {"__key0": put.group, "__ts": time, "__right": {**row, "__ts": time}, **more}


def make_left_row(put: Put, **more: Any) -> dict[str, Any]:
    return {**plain(put), "__key0": put.group, **more}


def pair(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["id"], row["v"], row["__right_id"], row["__right_v"])


@CHECKED
@given(
    left=BATCHES,
    right=BATCHES,
    how=st.sampled_from(get_args(How)),
    where=st.sampled_from(list(CONDITIONS)),
    tables=st.tuples(st.booleans(), st.booleans()),
    by_group=st.booleans(),
)
def test_live_joins_equal_the_model(
    spark: SparkSession,
    left: list[list[Put]],
    right: list[list[Put]],
    how: str,
    where: str,
    tables: tuple[bool, bool],
    by_group: bool,
) -> None:
    size = max(len(left), len(right))
    left, right = ([*side, *([[]] * (size - len(side)))] for side in (left, right))
    left_rows, left_changes = side_history(left, table=tables[0])
    right_rows, right_changes = side_history(right, table=tables[1])
    keys: dict[str, str] = {"on": "g"} if by_group else {}
    driver = join_driver(spark, tables, at="live", how=how, where=where or None, **keys)
    batches = [
        [
            *(make_left_row(put, **named("__change", label)) for put, label in left_changes[number]),
            *(right_row(put, **named("__right_change", label)) for put, label in right_changes[number]),
        ]
        for number in range(size)
    ]
    if not by_group:
        batches = [[{k: v for k, v in row.items() if k != "__key0"} for row in batch] for batch in batches]
    answer = driver.run(script(batches, [None] * size))
    bag: Counter[Any] = Counter()
    for number, event in enumerate(answer["events"]):
        model.apply(bag, [(result_of(row), row["__change"]) for row in main_rows(event)])
        assert bag == model.join(
            left_rows[number], right_rows[number], how=how, where=CONDITIONS[where], by_group=by_group
        )
    assert answer["counts"]["rows"] == answer["counts"]["processed"]


def side_history(
    batches: list[list[Put]], *, table: bool
) -> tuple[list[list[Put]], list[list[tuple[Put, str | None]]]]:
    """Return the rows of one side after each batch, and the changes of each batch."""
    if not table:
        rows = [[put for batch in batches[: number + 1] for put in batch] for number in range(len(batches))]
        return rows, [[(put, None) for put in batch] for batch in batches]
    tables, changes = history(batches)
    return [list(rows.values()) for rows in tables], [[(c.row, c.label) for c in batch] for batch in changes]


def named(name: str, label: str | None) -> dict[str, str]:
    return {} if label is None else {name: label}


def result_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return pair(row) if "__right_id" in row else (row["id"], row["v"])


@CHECKED
@given(left=BATCHES, right=BATCHES, outer=st.booleans())
def test_joins_at_arrival_equal_the_model(
    spark: SparkSession, left: list[list[Put]], right: list[list[Put]], outer: bool
) -> None:
    size = min(len(left), len(right))
    tables, changes = history(right)
    batches = [
        [*map(make_left_row, left[n]), *(right_row(c.row, __right_change=c.label) for c in changes[n])]
        for n in range(size)
    ]
    driver = join_driver(spark, (False, True), on="g", at="arrival", how="left" if outer else "inner")
    answer = driver.run(script(batches, [None] * size))
    for number, event in enumerate(answer["events"]):
        expected = model.join(left[number], tables[number].values(), how="left" if outer else "inner")
        assert Counter(map(pair, main_rows(event))) == expected
    counts = answer["counts"]
    assert counts["rows"] == counts["processed"] + counts["unmatched"]


@CHECKED
@given(
    left=BATCHES,
    right=BATCHES,
    steps=st.lists(st.integers(0, 5), min_size=6, max_size=6),
    outer=st.booleans(),
)
def test_joins_at_event_time_equal_the_model(
    spark: SparkSession, left: list[list[Put]], right: list[list[Put]], steps: list[int], outer: bool
) -> None:
    size = min(len(left), len(right))
    watermarks = [sum(steps[: n + 1]) for n in range(size)]
    versions: dict[Any, list[Put]] = defaultdict(list)
    waiting: list[Put] = []
    batches: list[list[dict[str, Any]]] = []
    expected, late = [], 0
    for number, watermark in enumerate([*watermarks, 10**6]):
        ready = [put for put in waiting if put.time < watermark]
        waiting = [put for put in waiting if put.time >= watermark]
        expected.append(Counter(x for put in ready if (x := _with_version(put, versions, outer)) is not None))
        if number == size:
            batches.append([])
            break
        rows = []
        for put in right[number]:
            versions[put.group].append(put)
            rows.append(right_row(put, __deleted=put.value is None, __sequence=len(versions[put.group])))
        on_time = [put for put in left[number] if watermark == 0 or put.time >= watermark]
        late += len(left[number]) - len(on_time)
        waiting += on_time
        batches.append([*reversed(rows), *map(make_left_row, left[number])])
    answer = join_driver(spark, (False, True), on="g", at="event_time", how="left" if outer else "inner").run(
        script(batches, [*watermarks, 10**6])
    )
    assert [Counter(map(pair, main_rows(event))) for event in answer["events"]] == expected
    assert answer["counts"]["late"] == late


def _with_version(put: Put, versions: dict[Any, list[Put]], outer: bool) -> tuple[Any, ...] | None:
    partner = None if put.group is None else model.version_at(versions[put.group], put.time)
    if partner is None:
        return (put.id, put.value, None, None) if outer else None
    return (put.id, put.value, partner.id, partner.value)


@cache
def aggregate_driver(spark: SparkSession) -> KeyedStepDriver:
    frame = spark.createDataFrame([], f"{ROW}, __ts timestamp, __change string")
    columns = [functions.expr(text).alias(name) for name, text in AGGREGATES.items()]
    return KeyedStepDriver(spark, running_step(frame, ["g"], columns))


@CHECKED
@given(batches=BATCHES)
def test_running_aggregates_over_a_table_equal_the_model(
    spark: SparkSession, batches: list[list[Put]]
) -> None:
    tables, changes = history(batches)
    rows = [[labelled(change) for change in batch] for batch in changes]
    answer = aggregate_driver(spark).run(script(rows, [None] * len(rows)))
    bag: Counter[Any] = Counter()
    for table, event in zip(tables, answer["events"], strict=True):
        model.apply(bag, [((r["g"], *results(r)), r["__change"]) for r in main_rows(event)])
        assert bag == Counter((group, *values) for group, values in model.aggregates(table.values()).items())
    assert answer["keys"] == len({put.group for put in tables[-1].values()})


def results(row: dict[str, Any]) -> tuple[Any, ...]:
    return (*(row[name] for name in list(AGGREGATES)[:-1]), tuple(row["all"]))


@cache
def window_driver(spark: SparkSession) -> WindowDriver:
    frame = spark.createDataFrame([], f"{ROW}, __ts timestamp, __change string")
    return WindowDriver(frame, ["g"], AGGREGATES)


@CHECKED
@given(
    batches=BATCHES,
    steps=st.lists(st.integers(0, 6), min_size=6, max_size=6),
    window=st.sampled_from([(5, 5), (6, 2), (4, 3)]),
)
def test_windows_over_a_table_equal_the_model(
    spark: SparkSession, batches: list[list[Put]], steps: list[int], window: tuple[int, int]
) -> None:
    size, every = window
    _, changes = history(batches)
    watermarks = [*(sum(steps[: n + 1]) for n in range(len(batches))), 10**6]
    rows = [*([labelled(change) for change in batch] for batch in changes), []]
    answer = window_driver(spark).run(declaration(_window(size, every), Emission()), script(rows, watermarks))
    content: dict[tuple[Any, int], Counter[int]] = defaultdict(Counter)
    for batch, watermark, event in zip([*changes, []], watermarks, answer["events"], strict=True):
        closed = [place for place in content if place[1] + size <= watermark]
        expected = Counter(_pane(*place, content.pop(place)) for place in closed)
        panes = Counter(
            (r["g"], r["window"]["start"] // SECOND, *results(r)) for r in main_rows(event) if r["__present"]
        )
        assert panes == +Counter({pane: n for pane, n in expected.items() if pane is not None})
        for change in batch:
            time = change.row.time
            for start in range(time - time % every, time - size, -every):
                if watermark == 0 or start + size > watermark:
                    sign = -1 if change.label in model.REMOVES else 1
                    content[(change.row.group, start)][change.row.value or 0] += sign


def _window(size: int, every: int) -> Window:
    if size == every:
        return windows.tumbling(f"{size} seconds")
    return windows.sliding(f"{size} seconds", every=f"{every} seconds")


def _pane(group: Any, start: int, content: Counter[int]) -> tuple[Any, ...] | None:
    rows = [Put(0, group, value, start) for value in content.elements()]
    return (group, start, *model.aggregates(rows)[group]) if rows else None
