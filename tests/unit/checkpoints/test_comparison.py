"""Two versions of a pipeline are compared by their stored state, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checkpoints import write_epochs

from headrace import Pipeline, connect, windows
from headrace.checkpoints.comparison import Comparison, compare
from headrace.checkpoints.layout import renew_checkpoint_id
from headrace.checkpoints.owner import write_owner
from headrace.checkpoints.planned_state import state_of_checkpoint, state_of_plan
from headrace.checkpoints.rename import rename_state, warn_of_unused_state
from headrace.checkpoints.signatures import write_signature
from headrace.checkpoints.sources import check_sources
from headrace.connectors.base import Connector
from headrace.errors import OptionError
from headrace.plan.graph import Graph

TABLE = connect.sqlite(path="out.db", table="totals", key=["card", "window"])


def payments(
    *,
    topic: str = "payments",
    size: str = "1 minute",
    amount: str = "double",
    step: str = "totals",
    sink: Connector = TABLE,
    name: str = "fraud",
    extra: bool = False,
) -> Graph:
    pipeline = Pipeline(name)
    source = connect.kafka(servers="h:1", topic=topic)
    rows = pipeline.read("tx", source, format="json", schema=f"card string, amount {amount}, ts timestamp")
    timed = rows.event_time("ts")
    totals = timed.key_by("card").window(windows.tumbling(size)).aggregate(step, total="sum(amount)")
    totals.write("out", sink)
    if extra:
        timed.key_by("card").aggregate("counts", n="count(*)").write("counted", connect.memory())
        rows.write("log", connect.files(path="log", format="json"))
    return pipeline._plan()


def build_chain(size: str) -> Graph:
    pipeline = Pipeline("chained")
    rows = pipeline.read("tx", connect.memory(), schema="card string, ts timestamp").event_time("ts")
    counts = rows.key_by("card").window(windows.tumbling(size)).aggregate("counts", n="count(*)")
    sums = counts.window(windows.tumbling("1 hour")).aggregate("sums", n="sum(n)")
    sums.write("out", connect.memory())
    return pipeline._plan()


def between(old: Graph, new: Graph) -> Comparison:
    return compare(state_of_plan(old), new)


def verdicts(comparison: Comparison) -> dict[str, str]:
    return {change.step: change.verdict for change in comparison.steps}


def start(graph: Graph, directory: Path) -> None:
    """Write the records of a first epoch, as a run does before Spark starts."""
    write_owner(directory, graph.name)
    check_sources(graph, directory)
    for name, state in state_of_plan(graph).queries.items():
        checkpoint = directory / "queries" / name
        write_epochs(checkpoint)
        renew_checkpoint_id(checkpoint)
        write_signature(checkpoint, state.signature)


def test_same_pipeline_is_compatible() -> None:
    comparison = between(payments(), payments())
    assert (comparison.verdict, verdicts(comparison)) == ("compatible", {"totals": "compatible"})
    assert [change.verdict for change in comparison.sinks] == ["continues"]


def test_changed_window_needs_a_replay_from_the_start_of_the_topic() -> None:
    comparison = between(payments(), payments(size="5 minutes"))
    (step,) = comparison.steps
    assert step.verdict == comparison.verdict == "replay"
    assert step.reasons == ("window was `tumbling(size=1 minute)`, is `tumbling(size=5 minutes)`",)
    assert step.replay_from == ("tx (kafka, payments): the beginning",)


def test_changed_type_of_a_declared_column_needs_a_replay() -> None:
    (step,) = between(payments(), payments(amount="decimal(10,2)")).steps
    assert step.verdict == "replay"
    assert "columns were" in step.reasons[0]


def test_another_topic_needs_a_replay() -> None:
    (step,) = between(payments(), payments(topic="other")).steps
    assert step.verdict == "replay"
    assert "has offsets of payments" in step.reasons[0]


@pytest.mark.parametrize(
    ("sink", "verdict", "words"),
    [
        (TABLE, "overwritten", "rows with the same key (card, window) are overwritten"),
        (connect.files(path="out", format="json"), "appended", "written again"),
        (connect.kafka(servers="h:1", topic="out", key="card"), "appended", "written again"),
    ],
)
def test_replay_overwrites_keyed_rows_and_appends_others(sink: Connector, verdict: str, words: str) -> None:
    (change,) = between(payments(sink=sink), payments(sink=sink, size="2 minutes")).sinks
    assert change.verdict == verdict
    assert words in change.reason


def test_new_and_removed_steps_and_sinks_are_listed() -> None:
    grown = between(payments(), payments(extra=True))
    assert verdicts(grown) == {"totals": "compatible", "counts": "new", "tx": "new"}
    assert {change.sink: change.verdict for change in grown.sinks} == {
        "out": "continues",
        "counted": "new",
        "log": "new",
    }
    shrunk = between(payments(extra=True), payments())
    assert verdicts(shrunk) == {"totals": "compatible", "counts": "removed", "tx": "removed"}
    assert [change.sink for change in shrunk.sinks if change.verdict == "removed"] == ["counted", "log"]


def test_renamed_step_migrates() -> None:
    comparison = between(payments(), payments(step="sums"))
    (step,) = comparison.steps
    assert (comparison.verdict, step.verdict, step.renamed_from) == ("migrates", "migrates", "totals")
    assert [change.verdict for change in comparison.sinks] == ["continues"]


def test_renamed_and_changed_step_is_new() -> None:
    comparison = between(payments(), payments(step="sums", size="1 hour"))
    assert verdicts(comparison) == {"sums": "new", "totals": "removed"}


def test_reader_of_a_replayed_step_is_replayed() -> None:
    comparison = between(build_chain("1 minute"), build_chain("2 minutes"))
    assert verdicts(comparison) == {"counts": "replay", "sums": "replay"}
    assert comparison.steps[1].reasons == ("reads `counts`, which is replayed",)


def test_renamed_pipeline_needs_a_replay() -> None:
    (step,) = between(payments(), payments(name="other")).steps
    assert step.verdict == "replay"
    assert step.reasons == ("the pipeline was renamed: the checkpoint belongs to `fraud`",)


def test_plan_is_compared_with_a_checkpoint_directory(tmp_path: Path) -> None:
    start(payments(), tmp_path)
    assert compare(state_of_checkpoint(tmp_path), payments()).verdict == "compatible"
    assert compare(state_of_checkpoint(tmp_path), payments(size="1 hour")).verdict == "replay"
    assert verdicts(compare(state_of_checkpoint(tmp_path), payments(extra=True)))["counts"] == "new"


def test_types_of_computed_columns_are_left_to_the_run(tmp_path: Path) -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.memory(), schema="card string, amount int")
    doubled = rows.with_columns(twice="amount * 2").key_by("card").aggregate("totals", total="sum(twice)")
    doubled.write("out", connect.memory())
    (step,) = between(pipeline._plan(), pipeline._plan()).steps
    assert (step.verdict, step.unchecked) == ("compatible", ("card", "twice"))


def test_directory_without_a_checkpoint_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no checkpoint"):
        state_of_checkpoint(tmp_path)


def test_renaming_moves_the_checkpoint_of_a_step(tmp_path: Path) -> None:
    start(payments(), tmp_path)
    renamed = payments(step="sums")
    rename_state(renamed, tmp_path, "totals", "sums")
    assert compare(state_of_checkpoint(tmp_path), renamed).verdict == "compatible"
    with pytest.raises(OptionError, match="`totals` has no checkpoint"):
        rename_state(renamed, tmp_path, "totals", "sums")
    with pytest.raises(OptionError, match="unknown step `sms`"):
        rename_state(renamed, tmp_path, "sums", "sms")


def test_state_of_a_removed_step_that_stays_unused_gives_a_warning(tmp_path: Path) -> None:
    start(payments(), tmp_path)
    assert warn_of_unused_state(payments(extra=True), tmp_path) == []
    (warning,) = warn_of_unused_state(payments(step="sums"), tmp_path)
    assert "--rename totals=sums" in warning.hint


def test_step_with_an_exchange_is_not_renamed(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="shares an exchange with another query"):
        rename_state(build_chain("1 minute"), tmp_path, "old", "counts")
