"""Sinks with a key do not keep rows of a running aggregate that no longer exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, SourceStream, connect
from headrace.errors import PlanError
from headrace.steps.stateful.updates import needs_old_rows
from headrace.streams.tables import Table

KEY = connect.memory(key=["k"])


def read(name: str = "p") -> SourceStream:
    return Pipeline(name).read("tx", connect.memory(), schema="k string, day int, v int")


def counts() -> Table:
    return read().key_by("k").aggregate("counts", n="count(*)")


def tier_of_counts(stream: Table) -> str:
    graph = stream._pipeline._plan()
    return graph["counts"].tier(graph).name


def inner_lookup() -> Table:
    return counts().lookup("homes", connect.memory(), on="k", on_miss="drop", schema="k string")


@pytest.mark.parametrize(
    ("then", "key", "problem"),
    [
        (lambda: counts().select("n"), "n", "`n` of the sink's key is not a key of the running aggregate"),
        (lambda: counts().select("n as k"), "k", "`k` of the sink's key is not a key of the running"),
        (lambda: counts().with_columns(k="n + 1"), "k", "`k` of the sink's key is not a key of the running"),
        (
            lambda: counts().select("now() as k", "n"),
            "k",
            "`k` of the sink's key is not a key of the running",
        ),
        (counts, ["k", "n"], "`n` of the sink's key is not a key of the running aggregate"),
        (lambda: read().aggregate("all", n="count(*)"), "n", "`n` of the sink's key is not a key of the"),
        (
            lambda: read().key_by("k", "day").aggregate("counts", n="count(*)"),
            "k",
            "the sink's key lacks day: rows would replace those of other keys of the aggregate",
        ),
        (inner_lookup, "k", "a key whose row `homes` (lookup) drops would keep its old row"),
    ],
)
def test_a_sink_with_a_key_that_would_keep_old_rows_is_refused(
    then: Callable[[], Table], key: str | list[str], problem: str
) -> None:
    stream = then()
    stream.write("out", connect.memory(key=key))
    with pytest.raises(PlanError) as caught:
        stream._pipeline.check()
    assert problem in str(caught.value)
    assert "hint: " in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ('rare: {from: counts, filter: "operator:not_"}', "a key whose row `rare` (filter) drops would keep"),
        (
            'rare: {sql: "select k, n from counts where n < 2"}',
            "a key whose row `rare` (sql) drops would keep",
        ),
        (
            'rare: {sql: "select n as k from counts"}',
            "`k` of the sink's key is not a key of the running aggregate",
        ),
        (
            'rare: {sql: "select count(*) n from tx group by k"}',
            "`k` of the sink's key is not a key of the running",
        ),
    ],
)
def test_a_document_that_would_keep_old_rows_is_refused(steps: str, problem: str) -> None:
    document = f"""
sources: {{tx: {{memory: {{}}, schema: "k string, v int"}}}}
steps:
  counts: {{from: tx, key_by: k, aggregate: {{n: count(*)}}}}
  {steps}
sinks: {{out: {{from: rare, memory: {{key: k}}}}}}
"""
    pipeline = Pipeline.from_yaml_text(document, name="p")
    with pytest.raises(PlanError) as caught:
        pipeline.check()
    assert problem in str(caught.value)


def test_sql_over_an_aggregate_of_a_table_does_not_delete_keys() -> None:
    timed = Pipeline("p").read("tx", connect.memory(), schema="k string, ts timestamp").event_time("ts")
    timed.key_by("k").latest("current").key_by("k").aggregate("counts", n="count(*)")
    timed._pipeline.sql("q", "select k, n from counts").write("out", KEY)
    with pytest.raises(PlanError, match="a key that leaves the table behind `q` would keep its old row"):
        timed._pipeline.check()


@pytest.mark.parametrize(
    "then",
    [
        counts,
        lambda: counts().select("k", "n * 2 as m"),
        lambda: counts().select("concat(k, '!') as k", "n"),
        lambda: counts().where("n < 2"),
        lambda: counts().where("n < 2").with_columns(m="n"),
    ],
)
def test_a_running_aggregate_of_the_kernel_has_sinks_with_and_without_a_key(
    then: Callable[[], Table],
) -> None:
    stream = then()
    stream.write("rows", connect.memory())
    stream.write("out", KEY)
    stream._pipeline.check()
    assert tier_of_counts(stream) == "kernel"


@pytest.mark.parametrize(
    ("then", "connector", "mode", "needed"),
    [
        (counts, connect.memory(), None, False),
        (counts, KEY, None, False),
        (counts, connect.memory(), "changes", True),
        (lambda: counts().where("n < 2"), connect.memory(), None, False),
        (lambda: counts().where("n < 2"), KEY, None, True),
        (lambda: counts().key_by("n").aggregate("again", m="count(*)"), connect.memory(), None, True),
    ],
)
def test_old_rows_are_emitted_if_something_reads_them(
    then: Callable[[], Table], connector: Any, mode: Any, needed: bool
) -> None:
    stream = then()
    stream.write("out", connector, mode=mode)
    graph = stream._pipeline._plan()
    assert needs_old_rows(graph, graph["counts"]) == needed


def test_a_constant_can_be_the_key_of_an_aggregate_of_all_rows() -> None:
    total = read().aggregate("counts", n="count(*)").with_columns(k="'all'")
    total.write("out", KEY)
    total._pipeline.check()


def test_rows_of_a_running_aggregate_have_no_column_change_of_the_user() -> None:
    stream = read().key_by("k").aggregate("counts", change="sum(v)")
    with pytest.raises(PlanError, match="a running aggregate is a table, whose changes are marked by"):
        stream._pipeline.check()


def test_a_reader_of_changes_and_a_sink_of_all_rows_exclude_each_other() -> None:
    stream = counts()
    stream.write("out", connect.memory(), mode="complete")
    stream.key_by("n").aggregate("again", m="count(*)").write("others", connect.memory())
    with pytest.raises(PlanError, match="a sink in mode complete and `again` read it"):
        stream._pipeline.check()


def test_distinct_values_are_kept_by_the_kernel() -> None:
    stream = read().key_by("k").aggregate("counts", n="count(distinct v)")
    stream.write("out", connect.memory())
    assert tier_of_counts(stream) == "kernel"
    whole = read().key_by("k").aggregate("counts", n="count(distinct v)")
    whole.write("out", connect.memory(), mode="complete")
    with pytest.raises(
        PlanError, match="mode complete runs on Spark's own aggregation, which has no distinct"
    ):
        whole._pipeline.check()


def test_a_key_of_a_kafka_record_can_be_shared() -> None:
    stream = read().key_by("k", "day").aggregate("counts", n="count(*)").where("n > 1")
    stream.write("out", connect.kafka(servers="localhost:9092", topic="t", format="json", key=["k"]))
    stream._pipeline.check()


def test_redis_cannot_delete_a_key() -> None:
    stream = counts().where("n < 2")
    stream.write("out", connect.redis(url="redis://localhost", hash="count:{k}"))
    with pytest.raises(PlanError, match="would keep its old row"):
        stream._pipeline.check()
