"""A document loads to the plan that Python builds, with the positions of the document."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from ruamel.yaml import YAML
from tests.support.document_words import CONTRACT, SCHEMA, TRIGGERS, WINDOWS

from headrace import Connector, Pipeline, TimedStream, connect, triggers, windows
from headrace.connectors.registry import connector
from headrace.errors import DocumentError, PlanError
from headrace.plan.graph import Graph
from headrace.steps.base import Ref
from headrace.steps.rows.columns import Select
from headrace.steps.rows.event_time import EventTime
from headrace.steps.stateful.aggregate import Aggregate
from headrace.triggers import Emission, Trigger
from headrace.windows import Window
from headrace.windows.declare import WindowAggregate
from headrace.yaml import dump, from_mapping, from_text

TX = f"sources: {{tx: {{feed: {{}}, schema: '{SCHEMA}', event_time: ts}}}}\n"


def graph(text: str) -> Graph:
    return Pipeline.from_yaml_text(dedent(text), file="p.yaml", name="p")._graph


def feed() -> Connector:
    return connector("feed")()


def python() -> tuple[Pipeline, TimedStream]:
    pipeline = Pipeline("p")
    return pipeline, pipeline.read("tx", feed(), schema=SCHEMA).event_time("ts")


def test_the_contract_example_is_the_same_plan_in_python_and_yaml(tmp_path: Path) -> None:
    document = tmp_path / "fraud.yaml"
    document.write_text(CONTRACT)
    fraud = Pipeline("card-fraud")
    tx = fraud.read(
        "tx", connect.kafka(servers="localhost:9092", topic="payments"), format="json", schema=SCHEMA
    )
    timed = tx.event_time("ts", out_of_order="1 minute", idle="30 seconds")
    big = timed.where("amount > 50", step_name="big")
    totals = (
        timed.key_by("card")
        .window(windows.tumbling("10 minutes"))
        .emit(early=triggers.every("30 seconds"), lateness="5 minutes", mode="retracting")
        .aggregate("totals", n="count(*)", total="sum(amount)")
    )
    homes = connect.files(path="homes.csv", format="csv", schema="card string, residence string")
    home = timed.lookup("home", homes, on="card")
    big.union(home, step_name="both")
    timed.distinct("unique", on=["id"], within="10 minutes")
    timed.route("split", foreign="country <> 'FI'", rest="true")
    query = "select country, count(*) n from tx group by country, window(ts, '1 hour')"
    fraud.sql("report", query)
    totals.write("totals_table", connect.postgres(url="there", table="totals", key=["card", "window"]))
    totals.late.write("late_rows", connect.files(path="late/", format="json"), mode="append")

    loaded = Pipeline.from_yaml(document, environment={"PG": "there"})

    assert loaded._graph == fraud._graph
    assert loaded._plan() == fraud._plan()


def test_a_source_reference_means_its_timed_stream() -> None:
    read = graph(TX + "steps: {big: {from: tx, where: amount > 50}}")["big"].inputs
    assert read == (Ref("tx:event_time"),)


def test_dead_letters_are_an_output_of_the_source() -> None:
    actual = graph("""\
        sources: {tx: {kafka: {servers: s:1, topic: t}, format: text}}
        sinks: {bad: {from: tx.dead_letters, feed: {}}}
    """)
    assert actual["bad"].inputs == (Ref("tx", "dead_letters"),)


def test_keys_of_a_step_apply_in_the_order_of_the_contract() -> None:
    pipeline, timed = python()
    panes = (
        timed.where("amount > 0")
        .with_columns(euros="amount / 100")
        .key_by("card", day="to_date(ts)")
        .window(windows.session("30 seconds"))
        .aggregate("totals", n="count(*)")
    )
    panes.select("card", "n * 2 as twice", m="n").drop("m").write("out", feed())
    actual = graph(
        TX
        + """
steps:
  totals:
    drop: m
    select: [card, n * 2 as twice, {m: n}]
    aggregate: {n: count(*)}
    window: {session: 30 seconds}
    key_by: [card, {day: to_date(ts)}]
    with_columns: {euros: amount / 100}
    where: amount > 0
    from: tx
sinks: {out: {from: totals, feed: {}}}
"""
    )
    assert actual == pipeline._graph


def test_outputs_of_a_step_with_select_are_those_of_its_window() -> None:
    actual = graph(
        TX
        + """
steps: {totals: {from: tx, window: {tumbling: 1 minute}, aggregate: {n: count(*)}, select: n}}
sinks:
  rows: {from: totals, feed: {}}
  late: {from: totals.late, feed: {}}
"""
    )
    assert actual["rows"].inputs == (Ref("totals:select"),)
    assert actual["late"].inputs == (Ref("totals", "late"),)


def test_steps_may_be_written_in_any_order() -> None:
    forth = graph(TX + "steps: {a: {from: tx, where: x}, b: {from: a, where: y}, c: {union: [b, a]}}")
    back = graph(TX + "steps: {c: {union: [b, a]}, b: {from: a, where: y}, a: {from: tx, where: x}}")
    assert forth == back
    assert list(back.nodes) == ["tx", "tx:event_time", "a", "b", "c"]


def test_event_time_applies_after_with_columns() -> None:
    actual = graph("""\
        sources: {tx: {feed: {}, schema: at string}}
        steps:
          timed: {from: tx, with_columns: {ts: to_timestamp(at)}, event_time: {column: ts, watermark_when: ok}}
    """)
    assert actual["timed"] == EventTime("timed", Ref("tx:with_columns"), "ts", watermark_when="ok")


@pytest.mark.parametrize("written", ["true", "{}", ""])
@pytest.mark.parametrize("clock", ["ingestion", "processing"])
def test_clock_time_is_true_or_has_no_value(clock: str, written: str) -> None:
    actual = graph(f"sources:\n  tx:\n    feed:\n    schema: id string\n    {clock}_time: {written}")
    assert [node.name for node in actual] == ["tx", f"tx:{clock}_time"]


def test_clock_time_that_is_false_has_no_effect() -> None:
    assert len(graph("sources: {tx: {feed: {}, schema: id string, ingestion_time: false}}").nodes) == 1


def test_without_a_window_an_aggregate_is_running() -> None:
    actual = graph(TX + "steps: {n: {from: tx, aggregate: {n: count(*)}}}")
    assert actual["n"] == Aggregate("n", Ref("tx:event_time"), aggregates=(("n", "count(*)"),))


def test_sql_with_from_reads_this() -> None:
    actual = graph(
        TX + "steps: {n: {from: tx, where: amount > 1, sql: 'select card from this', select: card}}"
    )
    assert actual["n"].inputs == (Ref("tx:where"),)
    assert isinstance(actual["n:select"], Select)


def test_numbers_and_booleans_are_accepted_as_expressions() -> None:
    actual = graph(
        TX + "steps: {s: {from: tx, route: {never: false, rest: true}}, o: {from: tx, select: {one: 1}}}"
    )
    assert actual["s"].outputs == ("never", "rest")
    assert actual["o"] == Select("o", Ref("tx:event_time"), (("one", "1"),))


def test_numbers_are_accepted_as_text_options() -> None:
    actual = graph(
        "sources: {tx: {kafka: {servers: s:1, group: 9092, topic: 7, min_tasks: '3'}, format: text}}"
    )
    options = actual["tx"].connector.model_dump(exclude_defaults=True)  # type: ignore[attr-defined]
    assert options == {"servers": "s:1", "group": "9092", "topic": "7", "min_tasks": 3}


@pytest.mark.parametrize(("written", "window"), WINDOWS)
def test_windows(written: str, window: Window) -> None:
    node = graph(TX + f"steps: {{t: {{from: tx, window: {written}, aggregate: {{n: count(*)}}}}}}")["t"]
    assert isinstance(node, WindowAggregate)
    assert node.window == window


@pytest.mark.parametrize(("written", "trigger"), TRIGGERS)
def test_triggers(written: str, trigger: Trigger) -> None:
    emits = f"{{trigger: {written}, lateness: 1 minute, mode: discarding, allow_loss: true}}"
    node = graph(
        TX
        + f"steps: {{t: {{from: tx, window: {{tumbling: 1 hour}}, emit: {emits}, aggregate: {{n: count(*)}}}}}}"
    )["t"]
    assert isinstance(node, WindowAggregate)
    assert node.emission == Emission.create(
        trigger=trigger, lateness="1 minute", mode="discarding", allow_loss=True
    )


@pytest.mark.parametrize("keys", ["engine: native", "emit: {late_rows: count}"], ids=["now", "in 0.2"])
def test_a_window_can_be_aggregated_by_spark(keys: str) -> None:
    actual = graph(
        "sources: {tx: {feed: {}, schema: ts timestamp, event_time: ts}}\n"
        f"steps: {{t: {{from: tx, window: {{tumbling: 1 hour}}, {keys}, aggregate: {{n: count(*)}}}}}}"
    )
    node = actual["t"]
    assert isinstance(node, WindowAggregate)
    assert node.native
    assert "{from: tx, window: {tumbling: 1 hour}, engine: native, aggregate: {n: count(*)}}" in dump(actual)


def test_problems_of_the_plan_carry_the_lines_of_the_document() -> None:
    pipeline = Pipeline.from_yaml_text(
        TX + "steps:\n  n: {from: tx, key_by: crd, aggregate: {n: count(*)}}\n"
        "  m:\n    from: tx\n    event_time: {column: id}\n    distinct: id",
        file="p.yaml",
        name="p",
    )
    with pytest.raises(PlanError) as raised:
        pipeline.check()
    assert [problem.where for problem in raised.value.problems] == [
        "p.yaml:3:25: `n`",
        "p.yaml:6:17: event_time after `tx`",  # `id` is no timestamp
    ]


def test_variables_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWS", "7")
    monkeypatch.setenv("EMPTY", "")
    actual = graph(
        TX
        + """
steps:
  t:
    from: tx
    where: kind = '${KIND:-a}' and x = '$${raw}' and y = '${EMPTY}${EMPTY:-full}'
    window: {tumbling: 1 hour}
    aggregate: {n: count(*)}
"""
    )
    assert actual["tx:where"].condition == "kind = 'a' and x = '${raw}' and y = 'full'"  # type: ignore[attr-defined]
    rows = graph(
        TX + "steps:\n  t:\n    from: tx\n    window:\n      count: ${ROWS}\n    aggregate: {n: count(*)}"
    )
    assert rows["t"].window == windows.count(7)  # type: ignore[attr-defined]


def test_the_name_comes_from_the_document_or_else_from_the_caller() -> None:
    assert Pipeline.from_yaml_text(TX, name="given").name == "given"
    assert Pipeline.from_yaml_text("name: own\n" + TX, name="given").name == "own"


def test_anchors_aliases_and_merges_are_yaml_as_usual() -> None:
    actual = graph(
        TX
        + """
steps:
  a: &daily {from: tx, window: {tumbling: 1 day}, aggregate: {n: count(*)}}
  b: {<<: *daily, key_by: card}
"""
    )
    assert actual["b"].window == windows.tumbling("1 day")  # type: ignore[attr-defined]


def test_a_composed_part_of_a_larger_file_keeps_its_lines() -> None:
    file = "name: a case\npipeline:\n  sources:\n    tx: {feed: {}, schema: id string}\n  steps:\n    a: {from: ty, where: x}\n"
    [(_, _), (_, node)] = YAML().compose(file).value
    with pytest.raises(DocumentError, match=r"^case.yaml:6:15: unknown source or step `ty`"):
        from_mapping(node, file="case.yaml", name="p")


def test_a_round_trip_mapping_keeps_its_lines() -> None:
    file = "pipeline:\n  sources:\n    tx: {feed: {}, schema: id string}\n  steps:\n    a: {from: ty, where: x}\n"
    with pytest.raises(DocumentError, match=r"^case.yaml:5:15: unknown source or step `ty`"):
        from_mapping(YAML().load(file)["pipeline"], file="case.yaml", name="p")


def test_errors_in_a_plain_mapping_are_located_by_path() -> None:
    sources = {"tx": {"feed": {}, "schema": "id string"}}
    whole = {"sources": sources, "steps": {"a": {"from": "tx", "where": "id = '${X:-1}'"}}}
    assert from_mapping(whole, name="p")["a"].condition == "id = '1'"  # type: ignore[attr-defined]
    with pytest.raises(DocumentError, match=r"^doc: steps.a.from: unknown source or step `ty`"):
        from_mapping({"sources": sources, "steps": {"a": {"from": "ty", "where": "x"}}}, file="doc", name="p")


def test_a_byte_order_mark_and_carriage_returns_are_accepted(tmp_path: Path) -> None:
    document = tmp_path / "p.yaml"
    document.write_bytes(b"\xef\xbb\xbfname: p\r\nsources:\r\n  tx: {feed: {}, schema: a int}\r\n")
    assert Pipeline.from_yaml(document)._graph.places == {"tx": f"{document}:3:3"}


def test_variables_of_a_plain_mapping_are_replaced_inside_lists() -> None:
    whole = {
        "sources": {"tx": {"feed": {}, "schema": "a int"}},
        "steps": {"u": {"union": ["${A:-tx}", "tx"]}},
    }
    assert from_mapping(whole, name="p")["u"].inputs == (Ref("tx"), Ref("tx"))
    with pytest.raises(DocumentError) as raised:
        from_mapping({"name": "${NOT_SET_ANYWHERE}"}, file="doc", environment={})
    assert str(raised.value) == (
        "doc: name: the environment variable `NOT_SET_ANYWHERE` is not set\n"
        "  hint: set it, or write ${NOT_SET_ANYWHERE:-a default}"
    )


def test_lists_of_a_round_trip_mapping_keep_their_lines() -> None:
    whole = YAML().load(
        "sources:\n  tx: {feed: {}, schema: a int}\nsteps:\n  u:\n    union:\n    - tx\n    - ty\n"
    )
    with pytest.raises(DocumentError, match=r"^doc:7:7: unknown source or step `ty`"):
        from_mapping(whole, file="doc", name="p")


def test_numbers_inside_lists_are_accepted_as_text_options() -> None:
    actual = graph(
        "sources: {tx: {feed: {}, schema: a int}}\nsinks: {o: {from: tx, shelf: {url: u, table: 5, key: [1, b]}}}"
    )
    assert repr(actual["o"].connector) == "Shelf(url='u', table='5', key=('1', 'b'))"  # type: ignore[attr-defined]


def test_a_wrong_option_inside_a_list_has_its_own_column() -> None:
    with pytest.raises(DocumentError) as raised:
        graph(
            "sources: {tx: {feed: {}, schema: a int}}\nsinks: {o: {from: tx, shelf: {url: u, table: t, key: [b, [c]]}}}"
        )
    assert str(raised.value).startswith(
        "p.yaml:2:58: shelf: key.1: input should be a valid string, got ['c']"
    )


def test_errors_of_a_step_are_not_repeated_for_its_readers() -> None:
    with pytest.raises(DocumentError) as raised:
        graph(
            TX + "steps: {a: {from: tx, wher: x}, b: {from: a, where: y}, c: {sql: select * from b}}\n"
            "sinks: {out: {from: c, feed: {}}}"
        )
    assert [problem.what for problem in raised.value.problems] == ["unknown key `wher` in the step `a`"]


def test_problems_of_the_plan_are_reported_with_errors_of_the_document() -> None:
    with pytest.raises(DocumentError) as raised:
        graph(
            TX
            + "steps: {n: {from: tx, key_by: crd, aggregate: {n: count(*)}}, top: {from: tx, top_n: {n: 3, "
            "order_by: id}}, reader: {from: top, where: rank = 1}}"
        )
    problems = [problem.what for problem in raised.value.problems]
    assert problems == ["unknown key column `crd`", "top_n requires a key"]


def test_generated_names_differ_from_names_in_the_document() -> None:
    actual = graph(TX + "steps: {a: {from: tx, where: x, distinct: id}, tx:where: {from: tx, where: y}}")
    assert actual["a"].inputs == (Ref("tx:where:2"),)
    assert actual["tx:where"].condition == "y"  # type: ignore[attr-defined]


def test_loading_imports_no_pyspark() -> None:
    code = "import sys; from headrace import yaml; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_folded_text_is_read_without_marks_of_its_folds() -> None:
    text = "name: p\nsources:\n  tx:\n    memory: {}\n    schema: >\n      a int,\n      b int\n"
    assert from_text(text)["tx"].schema.names == ("a", "b")  # type: ignore[attr-defined]


def test_problem_of_an_empty_value_is_at_its_key() -> None:
    text = "name: p\nsources: {tx: {memory: {}, schema: a int}}\nsteps:\n  big:\n    from: tx\n    where:\n  other: {from: tx, where: a > 1}\n"
    with pytest.raises(DocumentError) as caught:
        from_text(text, file="p.yaml")
    assert [problem.where for problem in caught.value.problems] == ["p.yaml:6:5"]


def test_a_wrong_duration_does_not_hide_the_other_mistakes_of_its_step() -> None:
    text = (
        TX
        + "steps: {w: {from: tx, key_by: card, window: {tumbling: ten minutes}, aggregate: {m: min(amout)}}}"
    )
    with pytest.raises(DocumentError) as raised:
        from_text(text, name="p")
    assert [problem.what for problem in raised.value.problems] == [
        "expected a duration, got 'ten minutes'",
        "unknown column `amout`",
    ]
