"""A plan printed as YAML loads back to the same plan."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from headrace import Pipeline, connect, triggers, windows
from headrace.connectors.registry import connector
from headrace.errors import DocumentError
from headrace.steps.base import Ref
from headrace.steps.expressions import Opaque
from headrace.steps.rows.columns import Where
from headrace.steps.rows.sql import Sql
from headrace.triggers import Emission
from headrace.windows import Window

SCHEMA = "id string, card string, country string, amount double, ts timestamp"


def feed() -> Any:
    return connector("feed")()


def tx(pipeline: Pipeline) -> Any:
    return pipeline.read("tx", feed(), schema=SCHEMA)


def text_of(body: str) -> str:
    return dedent(body)


def test_the_contract_example_is_printed_as_it_is_written() -> None:
    written = dedent("""\
        name: card-fraud
        sources:
          tx:
            kafka: {servers: localhost:9092, topic: payments}
            format: json
            schema: id string, card string, country string, amount double, ts timestamp
            event_time: {column: ts, out_of_order: 1 minute, idle: 30 seconds}
        steps:
          big: {from: tx, where: amount > 50}
          totals:
            from: tx
            key_by: card
            window: {tumbling: 10 minutes}
            emit: {early: {every: 30 seconds}, lateness: 5 minutes, mode: retracting}
            aggregate: {n: count(*), total: sum(amount)}
          home:
            from: tx
            lookup: {files: {path: homes.csv, format: csv, schema: 'card string, residence string'}, on: card}
          both: {union: [big, home]}
          unique: {from: tx, distinct: {on: id, within: 10 minutes}}
          split: {from: tx, route: {foreign: country <> 'FI', rest: 'true'}}
          report:
            from: tx
            key_by: country
            window: {tumbling: 1 hour}
            aggregate: {n: COUNT(*)}
            select: {country: country, n: n}
        sinks:
          totals_table: {from: totals, postgres: {url: there, table: totals, key: [card, window]}}
          late_rows: {from: totals.late, files: {path: late/, format: json}, mode: append}
    """)
    assert Pipeline.from_yaml_text(written).to_yaml() == written


def test_unnamed_steps_are_folded_into_the_step_that_reads_them() -> None:
    pipeline = Pipeline("p")
    timed = tx(pipeline).event_time("ts")
    cleaned = timed.where("amount > 0").with_columns(euros="amount / 100")
    counts = cleaned.key_by("card").window(windows.count(10)).aggregate("counts", n="count(*)")
    counts.select("card", "n").write("out", feed())
    counts.late.write("late", feed())
    assert pipeline.to_yaml() == text_of("""\
        name: p
        sources:
          tx:
            feed: {}
            schema: id string, card string, country string, amount double, ts timestamp
            event_time: ts
        steps:
          counts:
            from: tx
            where: amount > 0
            with_columns: {euros: amount / 100}
            key_by: card
            window: {count: 10}
            aggregate: {n: count(*)}
            select: [card, n]
        sinks:
          out: {from: counts, feed: {}}
          late: {from: counts.late, feed: {}}
    """)


def test_what_does_not_fit_into_a_step_keeps_its_made_up_name() -> None:
    pipeline = Pipeline("p")
    read = pipeline.read("tx", feed(), schema="a int")
    read.select("a").where("a > 1").where("a > 2").write("out", feed())
    assert pipeline.to_yaml() == text_of("""\
        name: p
        sources:
          tx: {feed: {}, schema: a int}
        steps:
          tx:select: {from: tx, select: [a]}
          tx:where: {from: tx:select, where: a > 1}
          tx:where:2: {from: tx:where, where: a > 2}
        sinks:
          out: {from: tx:where:2, feed: {}}
    """)
    assert Pipeline.from_yaml_text(pipeline.to_yaml())._graph == pipeline._graph


def test_an_unnamed_step_keeps_the_select_that_follows_it() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", feed(), schema="a int").distinct(on="a").select("a").where("a > 1")
    assert pipeline.to_yaml().endswith(
        "  tx:distinct: {from: tx, distinct: a, select: [a]}\n  tx:where: {from: tx:distinct, where: a > 1}\n"
    )
    assert Pipeline.from_yaml_text(pipeline.to_yaml())._graph == pipeline._graph


def test_event_time_stays_in_the_steps_where_someone_reads_the_source_without() -> None:
    pipeline = Pipeline("p")
    read = pipeline.read("tx", feed(), schema="ts timestamp")
    read.write("raw", feed())
    read.event_time("ts").window(windows.tumbling("1 hour")).aggregate("hourly", n="count(*)")
    assert pipeline.to_yaml() == text_of("""\
        name: p
        sources:
          tx: {feed: {}, schema: ts timestamp}
        steps:
          hourly: {from: tx, event_time: ts, window: {tumbling: 1 hour}, aggregate: {n: count(*)}}
        sinks:
          raw: {from: tx, feed: {}}
    """)


def test_long_sql_is_a_block_and_dollars_are_escaped() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", feed(), schema="a int")
    pipeline.sql("report", "select '${a}' as a\nfrom tx\n")
    printed = pipeline.to_yaml()
    assert printed.endswith("  report:\n    sql: |\n      select '$${a}' as a\n      from tx\n")
    assert Pipeline.from_yaml_text(printed)._graph == pipeline._graph


def test_a_column_of_pyspark_cannot_be_printed() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", feed(), schema="a int")
    pipeline._add(Where("big", Ref("tx"), Opaque(object())))
    with pytest.raises(DocumentError) as raised:
        pipeline.to_yaml()
    place, _, problem = str(raised.value).partition(": ")
    assert place.startswith("test_dump.py:")
    assert problem == (
        "`big`: a pyspark Column cannot be written in a document\n  hint: write it as Spark SQL text"
    )


def test_options_that_yaml_has_no_word_for_cannot_be_printed() -> None:
    pipeline = Pipeline("p")
    rows = [{"ts": datetime(2026, 1, 1, tzinfo=UTC)}]
    read = pipeline.read("tx", connect.memory(rows=rows), schema="ts timestamp")
    read.lookup("home", connect.memory(rows=rows), on="ts", schema="ts timestamp").write(
        "out", connect.memory()
    )
    with pytest.raises(DocumentError) as raised:
        pipeline.to_yaml()
    assert [(problem.what, problem.hint) for problem in raised.value.problems] == [
        (
            "the options of `memory` contain values that YAML cannot represent",
            "use text, numbers, true and false, lists and mappings",
        )
    ] * 2


def test_secrets_are_printed_because_the_document_needs_them() -> None:
    pipeline = Pipeline("p")
    pushed = pipeline.read(
        "pushed", connect.http(listen="127.0.0.1:8080", token="t1"), format="json", schema="a int"
    )
    pushed.write("hook", connect.webhook(url="http://host/", headers={"x-key": "k1"}))
    text = pipeline.to_yaml()
    assert "token: t1" in text
    assert "x-key: k1" in text
    assert Pipeline.from_yaml_text(text)._graph == pipeline._graph


def test_options_of_every_kind_are_printed_and_read_back_the_same() -> None:
    pipeline = Pipeline("p")
    rows = [{"a": 1, "b": "1", "c": None, "d": [1.5, True], "e": {"f": "${x}"}}]
    pipeline.read("held", connect.memory(rows=rows, name="n"), schema="a int")
    columns = {"card": {"integer": {"prefix": "card-"}}, "amount": "lognormal"}
    pipeline.read("made", connect.generator(rows=10, columns=columns, planted={3: {"amount": 900}}))
    csv = {"csv": {"delimiter": ";", "header": True}}
    pipeline.read("read", connect.files(path="in/*.csv", format=csv, schema="a int", max_files_per_batch=3))
    held = pipeline.read("heard", connect.socket(port=9999), format="text")
    held.write("shown", connect.console())
    held.write("kept", connect.sqlite(path="a.db", table="t", key=["value"]))
    assert Pipeline.from_yaml_text(pipeline.to_yaml())._graph == pipeline._graph


def test_a_dataframe_cannot_be_printed() -> None:
    pipeline = Pipeline("p")
    frame: Any = object()
    pipeline.from_dataframe("frame", frame)
    read = pipeline.read("tx", feed(), schema="a int")
    table: Any = SimpleNamespace(schema="")
    read.lookup("home", table, on="a")
    with pytest.raises(DocumentError) as raised:
        pipeline.to_yaml()
    assert [problem.what for problem in raised.value.problems] == [
        "a DataFrame cannot be written in a document"
    ] * 2
    assert [problem.hint for problem in raised.value.problems] == [
        "read it from a connector",
        "look up in a connector",
    ]


def test_code_without_a_name_cannot_be_printed() -> None:
    pipeline = Pipeline("p")
    read = pipeline.read("tx", feed(), schema="a int")
    read.map("made", lambda row: row.a, output="a int").write("out", connect.console())
    read.key_by("a").stateful_map("sums", divmod, initial=0, output="a int").write("sum", connect.console())
    with pytest.raises(DocumentError) as raised:
        pipeline.to_yaml()
    assert [(problem.what.rpartition("` ")[2], problem.hint) for problem in raised.value.problems] == [
        ("cannot be written in a document", "move it to the top level of a module"),
        ("cannot be written in a document", "write a Processor and use `process`"),
    ]


EXPRESSION = st.one_of(
    st.sampled_from(
        [
            "amount > 50",
            "true",
            "1",
            "null",
            "~",
            "a: b",
            "- x",
            "'q'",
            '"',
            "${X}",
            "$${",
            "a # b",
            "x\ny",
            "\n x\n\ty \n\n",
            "?0",
            "{a}",
            "*",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8).filter(
        str.strip
    ),
)
NAME = st.sampled_from(["a", "b", "total", "the n", "1", "true", "<<", "é"])
NAMED = st.dictionaries(NAME, EXPRESSION, min_size=1, max_size=3)
LENGTH = st.integers(1, 10_000_000_000).map(lambda number: f"{number} microseconds")
ORDER = st.sampled_from(["event_time", "arrival"])
WINDOW: st.SearchStrategy[Window] = st.one_of(
    st.builds(windows.tumbling, LENGTH, offset=LENGTH),
    st.builds(lambda size, part: windows.sliding(f"{size * part} seconds", every=f"{part} seconds"), st.integers(1, 9), st.integers(1, 9)),
    st.builds(windows.session, LENGTH),
    st.builds(windows.count, st.integers(1, 100), every=st.none() | st.integers(1, 100), order=ORDER),
    st.builds(windows.delta, EXPRESSION, by=st.integers(0, 9) | st.floats(0, 1e9), order=ORDER),
    st.builds(windows.punctuation, EXPRESSION, order=ORDER),
    st.builds(lambda when, order: windows.landmark(when=when, order=order), EXPRESSION, ORDER),
    st.builds(lambda n: windows.landmark(reset=f"{n} hours", step="1 hour"), st.integers(1, 48)),
    st.builds(windows.trailing, LENGTH),
    st.just(windows.global_window()),
)  # fmt: skip
TRIGGER = st.recursive(
    st.builds(triggers.every, LENGTH) | st.builds(triggers.after_count, st.integers(1, 1000)),
    lambda inner: st.one_of(
        st.builds(triggers.after_watermark, early=st.none() | inner, late=st.none() | inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda several: triggers.any_of(*several)),
        st.lists(inner, min_size=1, max_size=3).map(lambda several: triggers.all_of(*several)),
        st.lists(inner, min_size=1, max_size=3).map(lambda several: triggers.in_sequence(*several)),
        st.builds(triggers.repeatedly, inner),
        st.builds(triggers.or_finally, inner, inner),
    ),
    max_leaves=4,
)
EMISSION = st.builds(
    Emission.create,
    trigger=st.builds(triggers.after_watermark, early=st.none() | TRIGGER, late=st.none() | TRIGGER)
    | TRIGGER,
    lateness=st.sampled_from(["0 seconds", "1 minute"]),
    mode=st.sampled_from(["discarding", "accumulating", "retracting"]),
    allow_loss=st.booleans(),
    late_rows=st.sampled_from(["divert", "count"]),
)
VERBS = (
    "where", "select", "with_columns", "drop", "union", "event_time", "clock", "route", "distinct", "lookup",
    "aggregate", "window", "sql", "this", "write", "late",
)  # fmt: skip


@st.composite
def plans(draw: st.DrawFn) -> Pipeline:
    pipeline = Pipeline("p")
    csv: Any = {"csv": {"delimiter": ";"}}
    streams: list[Any] = [
        pipeline.read("tx", feed(), schema=SCHEMA, on_error=draw(st.sampled_from(["divert", "skip"]))),
        pipeline.read("log", connect.kafka(servers="s:1", topic="t"), format=csv, schema="a int"),
    ]  # fmt: skip
    if draw(st.booleans()):
        streams.append(streams[0].event_time("ts", out_of_order="1 minute"))
    for number, verb in enumerate(draw(st.lists(st.sampled_from(VERBS), max_size=14))):
        stream = draw(st.sampled_from(streams))
        streams += grown(draw, pipeline, streams, stream, verb, f"s{number}")
    return pipeline


def grown(
    draw: st.DrawFn, pipeline: Pipeline, streams: list[Any], stream: Any, verb: str, name: str
) -> list[Any]:
    """The streams that a verb adds to a plan."""
    columns = st.lists(NAME, min_size=1, max_size=2, unique=True)
    match verb:
        case "where":
            return [stream.where(draw(EXPRESSION), step_name=draw(st.sampled_from([None, name])))]
        case "select":
            return [
                stream.select(
                    *draw(st.lists(EXPRESSION, min_size=1, max_size=2)),
                    step_name=draw(st.sampled_from([None, name])),
                    **draw(NAMED | st.just({})),
                )
            ]
        case "with_columns":
            return [stream.with_columns(step_name=draw(st.sampled_from([None, name])), **draw(NAMED))]
        case "drop":
            return [stream.drop(*draw(columns), step_name=draw(st.sampled_from([None, name])))]
        case "lookup":
            shelf: Any = connector("shelf")
            table = shelf(url="u", table="t")
            return [
                stream.lookup(name, table, on=draw(columns), on_miss=draw(st.sampled_from([None, "drop"])))
            ]
        case "write":
            stream.write(name, feed(), mode=draw(st.sampled_from([None, "append", "update"])))
            return []
        case "late" if hasattr(stream, "late"):
            return [stream.late]
    return _more(draw, pipeline, streams, stream, verb, name) if hasattr(stream, "route") else []


def _more(
    draw: st.DrawFn, pipeline: Pipeline, streams: list[Any], stream: Any, verb: str, name: str
) -> list[Any]:
    columns = st.lists(NAME, min_size=1, max_size=2, unique=True)
    named_by = draw(st.dictionaries(NAME, EXPRESSION, max_size=2))
    match verb:
        case "union":
            return [stream.union(draw(st.sampled_from(streams)))]
        case "event_time":
            when = draw(st.none() | EXPRESSION)
            return [
                stream.event_time(
                    "ts", out_of_order=draw(LENGTH), idle=draw(st.none() | LENGTH), watermark_when=when
                )
            ]
        case "clock":
            return [draw(st.sampled_from([stream.ingestion_time, stream.processing_time]))()]
        case "route":
            routes = stream.route(name, **{"big": draw(EXPRESSION), "rest": "true"})
            return [routes["big"], routes["rest"]]
        case "distinct":
            return [
                stream.distinct(
                    draw(st.sampled_from([name, None])), on=draw(columns), within=draw(st.none() | LENGTH)
                )
            ]
        case "aggregate":
            return [stream.key_by(*draw(columns), **named_by).aggregate(name, **draw(NAMED))]
        case "window" if hasattr(stream, "window"):
            windowed = stream.key_by(*draw(columns), **named_by).window(draw(WINDOW))
            windowed._emission = draw(EMISSION)
            return [windowed.aggregate(name, **draw(NAMED))]
        case "sql":
            return [pipeline.sql(name, "select a from tx union all select a from log")]
        case "this":
            return [stream.sql(name, "select a from this")]
    return []


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans())
def test_every_plan_is_printed_and_read_back_the_same(pipeline: Pipeline) -> None:
    note(repr(pipeline._graph.nodes))
    printed = pipeline.to_yaml()
    note(printed)
    loaded = Pipeline.from_yaml_text(printed)
    assert loaded._graph == pipeline._graph
    assert loaded.to_yaml() == printed


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(WINDOW, EMISSION)
def test_every_window_and_emission_is_printed_and_read_back_the_same(
    window: Window, emission: Emission
) -> None:
    pipeline = Pipeline("p")
    windowed = tx(pipeline).event_time("ts").window(window)
    windowed._emission = emission
    windowed.aggregate("totals", n="count(*)")
    assert Pipeline.from_yaml_text(pipeline.to_yaml())._graph == pipeline._graph


def test_tables_formats_and_columns_are_printed_in_their_shortest_form() -> None:
    written = dedent("""\
        name: p
        sources:
          tx: {files: {path: in/, format: json}, schema: 'id string, card string', on_error: skip}
          log: {socket: {port: 9999}, format: text}
        steps:
          home:
            from: tx
            lookup:
              memory: {}
              on: [id, card]
              schema: id string, card string, residence string, since date, street string, town string
              how: inner
          homes:
            from: tx
            lookup: {files: {path: homes.csv, format: {csv: {delimiter: ;}}}, on: card, schema: a int}
          twice: {from: tx, select: [id, a: id, a: card]}
          keyed: {from: tx, key_by: [id, day: to_date(ts)], aggregate: {n: count(*)}}
          named: {from: tx, key_by: {day: to_date(ts), hour: hour(ts)}, aggregate: {n: count(*)}, drop: [n, day]}
    """)
    assert Pipeline.from_yaml_text(written).to_yaml() == written


def test_long_lists_are_printed_one_item_a_line() -> None:
    pipeline = Pipeline("p")
    items = [f"a_rather_long_expression_{number} + 1 as column_{number}" for number in range(3)]
    pipeline.read("tx", feed(), schema="a int").select(*items, step_name="wide")
    assert pipeline.to_yaml().endswith("    select:\n" + "".join(f"      - {item}\n" for item in items))


def test_a_query_that_calls_a_stream_by_another_name_cannot_be_printed() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", feed(), schema="a int")
    pipeline._add(Sql("report", "select a from payments", (("payments", Ref("tx")),)))
    with pytest.raises(DocumentError) as raised:
        pipeline.to_yaml()
    problem = str(raised.value).partition(": ")[2]
    assert problem == ("`report`: the query refers to `tx` as `payments`\n  hint: use the name of the stream")
