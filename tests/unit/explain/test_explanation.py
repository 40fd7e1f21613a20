"""`explain`: the drawing, the flowchart and the data describe the plan."""

from __future__ import annotations

from typing import ClassVar

import pytest

from headrace import Pipeline, triggers, windows
from headrace.connectors.base import Connector, Guarantee, Role
from headrace.explain.explanation import as_json, explain
from headrace.explain.mermaid import mermaid
from headrace.explain.rails import rails
from headrace.explain.text import drawing, text_of
from headrace.steps.base import Ref
from headrace.steps.expressions import Opaque
from headrace.steps.rows.columns import Where
from headrace.triggers import Emission


class Log(Connector):
    kind: ClassVar[str] = "log"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    path: str
    key: list[str] | None = None
    password: str | None = None
    url: str | None = None

    @property
    def replayable(self) -> bool:
        return True


class Wire(Connector):
    kind: ClassVar[str] = "wire"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})
    port: int = 1


class Screen(Connector):
    kind: ClassVar[str] = "screen"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})


PAYMENTS = "card string, country string, amount double, ts timestamp"


def fraud() -> Pipeline:
    pipeline = Pipeline("card-fraud")
    tx = pipeline.read("tx", Log(path="payments/"), format="json", schema=PAYMENTS)
    timed = tx.event_time("ts", out_of_order="1 minute", idle="30 seconds")
    totals = (
        timed.key_by("card")
        .window(windows.tumbling("10 minutes"))
        .emit(early=triggers.every("30 seconds"), lateness="5 minutes", mode="retracting")
        .aggregate("totals", n="count(*)", total="sum(amount)")
    )
    totals.write("totals_table", Log(path="totals.db", key=["card", "window"]))
    totals.late.write("late_rows", Log(path="late/"))
    tx.dead_letters.write("bad", Log(path="bad/"))
    big = timed.where("amount > 50", step_name="big")
    homes = timed.lookup(
        "home", Log(path="homes.csv"), on="card", format="csv", schema="card string, residence string"
    )
    abroad = homes.where("country <> residence").select("card", "country", "amount")
    big.union(abroad, step_name="both").write("alerts", Screen())
    abroad.write("abroad", Log(path="abroad/"))
    return pipeline


def test_tiers_list_a_pyspark_column_which_may_contain_a_python_function() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", Log(path="payments/"), format="json", schema=PAYMENTS)
    pipeline._add(Where("big", Ref("tx"), Opaque("amount > 50")))
    pipeline._add(Where("home", Ref("big"), "country = 'FI'"))
    tiers = text_of(drawing(explain(pipeline._graph))).partition("Tiers")[2]
    assert "big  native  a pyspark Column: native unless it contains a Python function" in tiers
    assert "home" not in tiers


def build_chain() -> Pipeline:
    pipeline = Pipeline("chained")
    timed = pipeline.read("b", Log(path="b/"), format="json", schema="v int, ts timestamp").event_time("ts")
    tens = timed.window(windows.count(10)).aggregate("tens", s="sum(v)")
    tens.write("tens_out", Log(path="tens/"))
    tens.window(windows.tumbling("1 hour")).aggregate("hourly", m="max(s)").write("out", Screen())
    return pipeline


FRAUD = """\
card-fraud   at least once · 2 queries
  ◉ read   ○ step   ● keeps state   ■ write

  ◉      tx            read          log path=payments/ · json
  │                                  card string, country string, amount double, ts timestamp
  ├─╮    .dead_letters
  │ ■    bad           write         log path=bad/
  ○                    event_time    event time is ts · up to 1 minute out of order · idle after 30 seconds
  ├─╮
  │ ●    totals        window        tumbling 10 minutes · by card
  │ │                                fires early every 30 seconds, at the watermark, late after each row
  │ │                                lateness 5 minutes · retracting · n = count(*), total = sum(amount)
  │ ├─╮  .late
  │ │ ■  late_rows     write         log path=late/
  │ ■    totals_table  write         log path=totals.db key=card,window
  ├─╮
  │ ○    big           where         amount > 50
  ○ │    home          lookup        in log path=homes.csv · on card · nulls for rows without a match
  ○ │                  where         country <> residence
  ○ │                  select        card, country, amount
  ├─┤
  │ ○    both          union         big + home
  │ ■    alerts        write         screen
  ■      abroad        write         log path=abroad/

Queries   what Spark runs; each stateful step has one query
   1  tx → totals → totals_table, late_rows
   2  tx → big, home, both → alerts, abroad, bad

Tiers   where steps run; the others are plain Spark expressions
  tx      kernel  decodes json from bytes straight into rows
  totals  kernel  Spark fires a window once; Spark has no retractions; late rows go to .late
                  state: open windows of each card, kept 16 minutes from their start

Delivery   at least once from end to end
  totals_table  exactly once   the sink's connector (log) delivers exactly once
  late_rows     exactly once   the sink's connector (log) delivers exactly once
  bad           exactly once   the sink's connector (log) delivers exactly once
  alerts        at least once  the sink's connector (screen) delivers at least once (weakest link); better:
                               write to delta, files, kafka, mysql, postgres, redis or sqlite, which deliver
                               exactly once
  abroad        exactly once   the sink's connector (log) delivers exactly once

Real time   what blocks it
  tx            log is read in micro-batches; real-time mode reads Kafka only
                its dead letters are written at the end of a micro-batch (on_error="skip" or "fail" has none)
                its rows go to several sinks (alerts, abroad); real-time mode runs a chain without branches
  event_time    idle needs heartbeats, which real-time mode does not have
  totals_table  log is written with foreachBatch; real-time mode writes to Kafka only
  late_rows     log is written with foreachBatch; real-time mode writes to Kafka only
  bad           log is written with foreachBatch; real-time mode writes to Kafka only
  alerts        screen is written with foreachBatch; real-time mode writes to Kafka only
  abroad        log is written with foreachBatch; real-time mode writes to Kafka only"""


def test_the_drawing_shows_branches_facts_queries_tiers_and_delivery() -> None:
    assert text_of(drawing(explain(fraud()._plan()), width=110)) == FRAUD


def test_a_narrow_terminal_wraps_facts_beside_the_rails() -> None:
    lines = text_of(drawing(explain(fraud()._plan()), width=76)).splitlines()
    assert max(map(len, lines)) <= 80
    assert "  │                                  idle after 30 seconds" in lines


def test_a_cut_is_drawn_as_a_broken_rail() -> None:
    text = text_of(drawing(explain(build_chain()._plan()), width=110))
    assert "  ╎    exchange\n  ●    hourly" in text
    assert "   2  exchange of tens → hourly → out" in text


def test_two_sources_without_a_common_step_stand_apart() -> None:
    pipeline = Pipeline("apart")
    for name in ("a", "b"):
        pipeline.read(name, Wire(), format="text").write(f"{name}_out", Screen())
    marks = [row.rails for row in rails(pipeline._plan())]
    assert marks == ["◉", "■", "", "◉", "■"]


def test_a_union_of_two_sources_joins_their_rails() -> None:
    pipeline = Pipeline("joined")
    a, b = (pipeline.read(name, Wire(), format="text") for name in "ab")
    a.union(b, step_name="both").write("out", Screen())
    assert [row.rails for row in rails(pipeline._plan())] == ["◉", "│ ◉", "├─╯", "○", "■"]


def test_a_branch_that_passes_a_rail_crosses_it_without_joining() -> None:
    pipeline = Pipeline("crossing")
    a, b, c = (pipeline.read(name, Wire(), format="text") for name in "abc")
    a.union(c, step_name="ac").write("ac_out", Screen())
    b.union(c, step_name="bc").write("bc_out", Screen())
    rows = [row.rails for row in rails(pipeline._plan())]
    assert rows == ["◉", "│ ◉", "│ │ ◉", "├─│─┤", "○ │ │", "│ ├─╯", "│ ○", "│ ■", "■"]


def test_a_pipeline_without_a_sink_has_nothing_to_run() -> None:
    pipeline = Pipeline("idle")
    pipeline.read("a", Wire(), format="text")
    assert text_of(drawing(explain(pipeline._plan()))).startswith(
        "idle   exactly once · nothing to run: no sink"
    )


def test_secrets_and_credentials_are_masked() -> None:
    pipeline = Pipeline("p")
    pipeline.read("a", Wire(), format="text").write(
        "out", Log(path="x", password="hunter2", url="db://joe:hunter2@host/x")
    )
    text = text_of(drawing(explain(pipeline._plan()), width=200))
    assert "hunter2" not in text
    assert "password=*** url=db://joe:***@host/x" in text


def test_the_flowchart_frames_queries_and_breaks_the_arrow_of_a_cut() -> None:
    text = mermaid(explain(build_chain()._plan()))
    assert text.startswith("flowchart LR\n")
    assert 'subgraph q2["query 2: hourly"]' in text
    assert '-.->|"exchange"|' in text
    assert "&lt;" in mermaid(explain(fraud()._plan())) or "&gt;" in mermaid(explain(fraud()._plan()))


def test_the_data_name_tier_reason_state_and_queries_of_each_step() -> None:
    data = as_json(explain(fraud()._plan()))
    totals = next(step for step in data["steps"] if step["name"] == "totals")
    assert totals["tier"] == "kernel"
    assert totals["queries"] == [1]
    assert totals["inputs"] == ["tx:event_time"]
    assert totals["outputs"] == ["main", "late"]
    assert data["guarantee"] == "at_least_once"
    assert [query["name"] for query in data["queries"]] == ["totals", "tx"]


@pytest.mark.parametrize(
    ("window", "words", "state"),
    [
        (
            windows.tumbling("1 day", offset="6 hours"),
            "tumbling 1 day offset 6 hours",
            "open windows, kept 1 day",
        ),
        (windows.sliding("1 hour", every="10 minutes"), "sliding 1 hour every 10 minutes", "kept 1 hour"),
        (windows.session("30 seconds"), "session, gap 30 seconds", "open sessions, kept 30 seconds"),
        (windows.global_window(), "global window", "one window, never expired"),
        (windows.count(100, every=10), "count 100 every 10", "the open window"),
        (
            windows.delta("v", by=0.5, order="arrival"),
            "delta of v by 0.5 in arrival order",
            "the open window",
        ),
        (windows.punctuation("v = 1"), "up to each row with v = 1", "the open window"),
        (windows.landmark(when="v = 1"), "from each row with v = 1", "the open window"),
        (
            windows.landmark(reset="1 day", step="1 hour"),
            "from each 1 day, in steps of 1 hour",
            "the open window",
        ),
        (windows.trailing("1 hour"), "trailing 1 hour of each row", "the rows of the last 1 hour"),
    ],
)
def test_each_window_has_words_and_a_bound_of_its_state(
    window: windows.Window, words: str, state: str
) -> None:
    pipeline = Pipeline("p")
    timed = pipeline.read("a", Wire(), format="json", schema="v int, ts timestamp").event_time("ts")
    timed.window(window).aggregate("w", n="count(*)").write("out", Screen())
    step = explain(pipeline._plan()).steps["w"]
    assert window.describe() == words
    assert step.tier.name == "kernel"
    assert step.state is not None
    assert state in step.state.kept


def test_late_rows_counted_by_spark_make_a_window_native() -> None:
    pipeline = Pipeline("p")
    timed = pipeline.read("a", Wire(), format="json", schema="v int, ts timestamp").event_time("ts")
    hour = windows.tumbling("1 hour")
    timed.window(hour).aggregate("kernel", n="count(*)").write("out", Screen())
    timed.window(hour, engine="native").aggregate("native", n="count(*)").write("out2", Screen())
    steps = explain(pipeline._plan()).steps
    assert steps["native"].tier.name == "native"
    assert steps["kernel"].tier.why == 'late rows go to .late (native with engine="native")'


def test_sliding_windows_that_fire_once_share_slices() -> None:
    pipeline = Pipeline("p")
    timed = pipeline.read("a", Wire(), format="json", schema="v int, ts timestamp").event_time("ts")
    windowed = timed.window(windows.sliding("1 hour", every="25 minutes"))
    windowed.aggregate("once", n="count(*)").write("out", Screen())
    windowed.emit(lateness="1 minute").aggregate("again", n="count(*)").write("out2", Screen())
    steps = explain(pipeline._plan()).steps
    assert "windows share slices of 5 minutes" in steps["once"].tier.why
    assert "slices" not in steps["again"].tier.why


def test_triggers_and_emissions_have_words() -> None:
    trigger = triggers.or_finally(
        triggers.repeatedly(triggers.all_of(triggers.every("1 minute"), triggers.after_count(10))),
        triggers.in_sequence(triggers.after_count(1), triggers.after_watermark()),
    )
    message = trigger.describe()
    assert message == (
        "(repeatedly all of (every 1 minute, after 10 rows), until (after each row, then at the watermark))"
    )
    lossy = Emission.create(trigger=triggers.after_count(5), mode="discarding", allow_loss=True)
    assert lossy.describe(windows.global_window().on_time) == [
        "fires after 5 rows",
        "discarding",
        "may leave rows unemitted",
    ]
    assert Emission().describe(windows.count(3).on_time) == ["fires when it closes"]
    assert Emission().describe(windows.global_window().on_time) == ["fires when the input ends"]


@pytest.mark.parametrize(("partitioned", "notes"), [(True, 1), (False, 0)])
def test_watermark_of_a_source_with_partitions_is_explained(
    monkeypatch: pytest.MonkeyPatch, partitioned: bool, notes: int
) -> None:
    monkeypatch.setattr(Log, "has_partitions", partitioned)
    text = text_of(drawing(explain(fraud()._plan())))
    assert text.count("the slowest partition determines the watermark") == notes
