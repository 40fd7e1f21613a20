"""Changelog sources: the rows that they need, and what reads them."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect, statements, yaml
from headrace.errors import DocumentError, PlanError
from headrace.steps.tables.latest import Latest

SCHEMA = "id int, name string, ts timestamp, change string"


def test_the_three_spellings_are_the_same_plan() -> None:
    pipeline = Pipeline("p")
    people = pipeline.read("people", connect.memory(), schema="id int, name string, change string")
    people.changelog().key_by("id").latest("people:latest")
    document = """
        name: p
        sources: {people: {memory: {}, schema: "id int, name string, change string", changelog: true}}
        steps: {'people:latest': {from: people, key_by: id, latest: {}}}"""
    script = """CREATE TABLE people (id int, name string, PRIMARY KEY (id))
        WITH (connector = 'memory', changelog = 'true')"""
    nodes = dict(pipeline._graph.nodes)
    assert nodes == dict(yaml.from_text(document).nodes)
    assert nodes == dict(statements.from_text(script, name="p").nodes)
    written = pipeline.to_yaml()
    assert "changelog: true" in written.split("steps:")[0]
    assert dict(yaml.from_text(written).nodes) == nodes


def test_latest_applies_changes_in_the_order_of_arrival() -> None:
    pipeline = Pipeline("p")
    people = pipeline.read("people", connect.memory(), schema=SCHEMA).event_time("ts").changelog()
    people.key_by("id").latest("current").write("out", connect.memory(key=["id"]))
    pipeline.check()
    [latest] = pipeline._graph.of(Latest)
    assert latest.by_arrival(pipeline._graph.facts(latest.input))
    assert "arrival order" in pipeline.explain()


def test_changes_are_not_applied_by_event_time() -> None:
    pipeline = Pipeline("p")
    people = pipeline.read("people", connect.memory(), schema=SCHEMA).event_time("ts").changelog()
    people.key_by("id").latest("current", order="event_time").write("out", connect.memory(key=["id"]))
    with pytest.raises(PlanError, match="changes cannot be applied by event time\n  hint: remove order"):
        pipeline.check()


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ("id int", "the rows of `people` have no column `change`\n  hint: add `change string` to the schema"),
        (
            "id int, change int",
            "the column `change` must be a string, got int\n  hint: its values are insert",
        ),
    ],
)
def test_rows_without_changes_are_refused(schema: str, what: str) -> None:
    pipeline = Pipeline("p")
    people = pipeline.read("people", connect.memory(), schema=schema).changelog()
    people.write("out", connect.memory())
    with pytest.raises(PlanError, match=what):
        pipeline.check()


def test_a_table_is_no_stream_of_changes() -> None:
    document = """
        name: p
        sources: {people: {memory: {}, schema: "id int"}}
        steps:
          current: {from: people, key_by: id, latest: {}}
          again: {from: current, changelog: true}
        sinks: {out: {from: again, memory: {}}}"""
    with pytest.raises(PlanError, match="the rows of `current` replace earlier ones already\n  hint: rem"):
        Pipeline.from_yaml_text(document).check()


def test_a_cdc_source_is_refused() -> None:
    pipeline = Pipeline("p")
    cdc = connect.postgres_cdc(url="postgresql://host/db", publication="p", slot="s", table="t")
    pipeline.read("people", cdc).changelog().write("out", connect.memory())
    with pytest.raises(PlanError, match="`people` is a CDC source, whose changes have the operation in a"):
        pipeline.check()


def test_changelog_of_a_source_is_true_false_or_retract() -> None:
    script = "CREATE SOURCE people (id int) WITH (connector = 'memory', changelog = 'upsert')"
    with pytest.raises(DocumentError, match=r"<sql>:1:\d+: expected true, retract, false, got 'upsert'"):
        statements.from_text(script)
    plain = statements.from_text("CREATE SOURCE a (id int) WITH (connector = 'memory', changelog = 'false')")
    assert list(plain.nodes) == ["a"]


def test_other_tables_are_no_input_of_latest() -> None:
    pipeline = Pipeline("p")
    people = pipeline.read("people", connect.memory(), schema="id int, name string")
    first = people.key_by("id").latest("first")
    first.key_by("name").latest("second").write("out", connect.memory())
    with pytest.raises(PlanError, match="latest does not accept a table as input, and `first` is a table"):
        pipeline.check()
