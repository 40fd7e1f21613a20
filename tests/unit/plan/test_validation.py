"""All errors of a plan are reported at once, each with a hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from headrace import Pipeline, SourceStream, connect, triggers, windows
from headrace.connectors.base import Connector
from headrace.errors import PlanError
from headrace.streams.timed import TimedStream

SCHEMA = "card string, amount double, ts timestamp"
OUT = connect.files(path="out", format="json")


class OnlySink(Connector):
    """A connector that can't be read."""

    kind = "only_sink"
    roles = frozenset({"sink"})


class OnlySource(Connector):
    """A connector that can't be written."""

    kind = "only_source"
    roles = frozenset({"source"})


def read(pipeline: Pipeline, schema: str = SCHEMA) -> SourceStream:
    return pipeline.read("tx", connect.files(path="in"), format="json", schema=schema)


def read_timed(pipeline: Pipeline) -> TimedStream:
    return read(pipeline).event_time("ts")


def lossy(pipeline: Pipeline) -> None:
    window = read_timed(pipeline).window(windows.tumbling("1 minute"))
    window.emit(trigger=triggers.after_count(3)).aggregate("w", n="count(*)")


def twice(pipeline: Pipeline) -> None:
    read(pipeline).write("out", OUT)
    pipeline.read("out", connect.files(path="in"), format="text")


def refine(pipeline: Pipeline) -> None:
    early = read_timed(pipeline).window(windows.tumbling("1 minute")).emit(early=triggers.after_count(1))
    early.aggregate("w", n="count(*)").distinct("again", on="n", within="1 minute")


def count_natively(pipeline: Pipeline) -> None:
    read_timed(pipeline).window(windows.count(3), engine="native").aggregate("w", n="count(*)")


def two_modes(pipeline: Pipeline) -> None:
    running = read(pipeline).key_by("card").aggregate("running", n="count(*)")
    running.write("a", OUT, mode="update")
    running.write("b", connect.memory(), mode="complete")


def share_directory(pipeline: Pipeline) -> None:
    tx = read(pipeline)
    tx.write("a", OUT)
    tx.where("amount > 50").write("b", OUT)


BAD: dict[str, tuple[Callable[[Pipeline], object], str, str]] = {
    "nothing at all": (lambda p: None, "it has no steps", "begin with pipeline.read"),
    "a sink as a source": (
        lambda p: p.read("tx", OnlySink(), format="json", schema=SCHEMA),
        "only_sink cannot be read from",
        "it is a sink only",
    ),
    "a source as a sink": (
        lambda p: read(p).write("out", OnlySource()),
        "only_source cannot be written to",
        "it is a source only",
    ),
    "bytes without a format": (
        lambda p: p.read("tx", connect.files(path="in"), schema=SCHEMA),
        "files delivers bytes; set `format`",
        'add format="json"',
    ),
    "json without a schema": (
        lambda p: p.read("tx", connect.files(path="in"), format="json"),
        "schema is missing",
        'add schema="id string',
    ),
    "on_error misspelt": (
        lambda p: p.read("tx", connect.files(path="in"), format="text", on_error="ignore"),  # type: ignore[arg-type]
        "expected on_error to be fail, skip or divert, got 'ignore'",
        "",
    ),
    "event time in a column that isn't there": (
        lambda p: read(p).event_time("tss"),
        "unknown event time column `tss`",
        "did you mean `ts`?",
    ),
    "event time that is no timestamp": (
        lambda p: read(p).event_time("amount"),
        "event time must be a timestamp; `amount` is double",
        "with_columns",
    ),
    "an unknown key": (
        lambda p: read(p).key_by("crad").aggregate("n", n="count(*)"),
        "unknown key column `crad`",
        "did you mean `card`?",
    ),
    "an unknown column to drop": (
        lambda p: read(p).drop("cards"),
        "unknown drop column `cards`",
        "did you mean `card`?",
    ),
    "distinct on an unknown column": (
        lambda p: read(p).distinct(on="id"),
        "unknown distinct column `id`",
        "Known: amount, card, ts",
    ),
    "a name that is key and aggregate": (
        lambda p: read(p).key_by("card").aggregate("n", card="count(*)"),
        "two columns are called `card`",
        "keys and aggregates need different names",
    ),
    "a key with the name of a result": (
        lambda p: (
            read(p)
            .event_time("ts")
            .key_by(window="card")
            .window(windows.tumbling("1 hour"))
            .aggregate("n", n="count(*)")
        ),
        "two columns are called `window`",
        'such as key_by(of_window="window")',
    ),
    "distinct within a time, without time": (
        lambda p: cast("Any", read(p)).distinct(on="card", within="1 minute"),
        "distinct needs rows with time",
        "add event_time(column)",
    ),
    "a union of timed and untimed": (
        lambda p: read(p).union(
            p.read("b", connect.files(path="b"), format="json", schema=SCHEMA).event_time("ts")
        ),
        "all streams of a union must have event time, or none",
        "add event_time to the others",
    ),
    "a trigger that ends": (lossy, "this trigger may leave rows unemitted", "set allow_loss=True"),
    "lateness on count windows": (
        lambda p: (
            read_timed(p).window(windows.count(3)).emit(lateness="1 minute").aggregate("w", n="count(*)")
        ),
        "count windows process rows in order, so they have no lateness",
        "increase out_of_order",
    ),
    "a ttl of windows that end": (
        lambda p: read_timed(p).window(windows.session("1 minute"), ttl="1 day").aggregate("w", n="count(*)"),
        "session windows end by themselves, so they have no ttl",
        "remove ttl",
    ),
    "native count windows": (
        count_natively,
        "which have no count window",
        "remove engine",
    ),
    "a stateful step on rows that come again": (
        refine,
        "which would be counted twice",
        "let the previous step fire once",
    ),
    "a running aggregate appended": (
        lambda p: read(p).key_by("card").aggregate("n", n="count(*)").write("out", OUT, mode="append"),
        "a running aggregate changes its rows, so mode append is not possible",
        'use mode="update", "changes" or "complete"',
    ),
    "update mode for rows that never change": (
        lambda p: read(p).write("out", OUT, mode="update"),
        'mode="update" is for running aggregates',
        "remove mode",
    ),
    "a running aggregate into a table without a key": (
        lambda p: (
            read(p)
            .key_by("card")
            .aggregate("n", n="count(*)")
            .write("out", connect.sqlite(path="x.db", table="t"))
        ),
        "rows are updated, so the sink needs `key`, the columns that identify a row",
        "set `key`, such as `key: [card, window]`",
    ),
    "a sink that is a glob": (
        lambda p: read(p).write("out", connect.files(path="out/*.json")),
        "a sink writes into one directory, not into the glob `out/*.json`",
        "",
    ),
    "partitions by a column that isn't there": (
        lambda p: read(p).write("out", connect.files(path="out", format="json", partition_by="crad")),
        "unknown partition_by column `crad`",
        "did you mean `card`?",
    ),
    "two columns of one name in a select": (
        lambda p: read(p).select("card", "amount as Card"),
        "two columns are called `Card`",
        "rename one of them with `as`",
    ),
    "a column that stream and table both have": (
        lambda p: read(p).lookup("l", connect.memory(), on="card", schema="card string, amount double"),
        "two columns are called `amount`",
        "the stream and the table both have it",
    ),
    "two sinks of one directory": (
        share_directory,
        "`b`: `a` writes to the same target, the directory ",
        "write a union of the two streams",
    ),
    "two modes on one aggregate": (two_modes, "its sinks have different modes", "set mode complete for all"),
    "two steps of one name": (
        twice,
        "the name `out` is already used",
        "rename one; the first is at test_validation.py:",
    ),
    "a name with a space": (
        lambda p: p.read("my source", connect.files(path="in"), format="text"),
        "expected a name of letters, digits, _ and -, got 'my source'",
        "rename the step",
    ),
    "idle of no time": (
        lambda p: read(p).event_time("ts", idle="1 ms"),
        "expected idle of a second or more, got 1 millisecond",
        "",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_plan_is_refused_with_what_and_hint(case: str) -> None:
    build, what, hint = BAD[case]
    pipeline = Pipeline("p")
    build(pipeline)
    with pytest.raises(PlanError) as caught:
        pipeline.check()
    assert what in str(caught.value)
    assert hint in str(caught.value)


def test_all_problems_are_reported_at_once_with_file_and_line() -> None:
    pipeline = Pipeline("p")
    read(pipeline).event_time("nope").key_by("crad").window(windows.session("1 s")).aggregate(
        "w", n="count(*)"
    )
    with pytest.raises(PlanError) as caught:
        pipeline.check()
    assert len(caught.value.problems) == 2
    assert all(problem.where.startswith("test_validation.py:") for problem in caught.value.problems)


def test_a_right_plan_passes() -> None:
    pipeline = Pipeline("p")
    read_timed(pipeline).key_by("card").window(windows.sliding("1 hour", every="1 minute")).aggregate(
        "w", n="count(*)"
    ).write("out", OUT)
    assert pipeline._plan().name == "p"
