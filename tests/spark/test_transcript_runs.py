"""Transcripts on Spark: reports of failures, kills and restarts, and stream equals batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace import Pipeline
from headrace.errors import HeadraceError, TranscriptError
from headrace.testing import Case, read_case, read_file, run_case, run_cases, stream_equals_batch
from headrace.testing.transcripts.case import read_text
from headrace.testing.transcripts.runs.kernel import check_replays
from headrace.testing.transcripts.runs.kernel_cases import runs_in_kernel
from headrace.testing.transcripts.runs.spark import SparkRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUMS = """\
name: sums
pipeline:
  sources: {tx: {memory: {}, schema: "k string, v int"}}
  steps: {sums: {from: tx, key_by: k, aggregate: {s: sum(v)}}}
script:
  - rows: {tx: [{k: a, v: 1}, {k: b, v: 2}]}
"""


def test_a_failure_names_the_line_the_nearest_row_and_the_columns(spark: SparkSession) -> None:
    outcome = run_case(SUMS + "  - expect:\n      sums: [{k: a, s: 1}, {k: b, s: 3}]\n", spark=spark)
    assert outcome.failure == (
        "<text>:8:7: sums: expected 2 rows, 2 rows came\n"
        "  missing     {k: b, s: 3}\n"
        "  came        {k: b, s: 2}\n"
        "              ^ s: expected 3, got 2"
    )


def test_rows_left_over_at_the_end_fail(spark: SparkSession) -> None:
    script = "  - expect: {sums: [{k: a}, {k: b}]}\n  - rows: {tx: [{k: c, v: 7}]}\n"
    assert run_case(SUMS + script, spark=spark).failure == (
        "<text>:1:1: at the end of the script\nsums: expected no rows, 1 row came\n  unexpected  {k: c, s: 7}"
    )


def test_a_run_that_fails_is_reported_with_the_line_and_the_cause(spark: SparkSession) -> None:
    text = """
name: fails
pipeline:
  sources: {tx: {files: {path: x}, format: json, schema: v int, on_error: fail}}
  steps: {big: {from: tx, where: v > 1}}
script:
  - rows: {tx: ['{"v": "x"}']}
  - expect: {big: []}
"""
    failure = run_case(text, spark=spark).failure
    assert failure.startswith("<text>:7:5: the run failed\n")
    assert "expected int" in failure
    assert "Traceback" not in failure


def test_unknown_column_makes_the_case_invalid(spark: SparkSession) -> None:
    text = SUMS.replace("sum(v)", "sum(w)") + "  - expect: {sums: []}\n"
    with pytest.raises(HeadraceError, match="unknown column `w`"):
        run_case(text, spark=spark)


def test_type_error_in_an_expression_fails_the_case(spark: SparkSession) -> None:
    text = SUMS.replace("sum(v)", '"sum(map(1, v))"') + "  - expect: {sums: []}\n"
    failure = run_case(text, spark=spark).failure
    assert "the run failed" in failure
    assert "sum(map(1, v))" in failure


def test_outcomes_are_in_the_order_of_the_cases_and_a_broken_one_is_among_them(spark: SparkSession) -> None:
    good = SUMS + "  - expect: {sums: [{k: a}, {k: b}]}\n"
    outcomes = run_cases(read_text(f"{good}---\nname: broken\n---\n{good}"), spark=spark)
    assert [(outcome.name, outcome.passed) for outcome in outcomes] == [
        ("sums", True),
        ("broken", False),
        ("sums", True),
    ]
    assert "`pipeline` of the case is missing" in outcomes[1].failure


def test_a_kill_before_the_commit_leaves_the_rows_written_and_the_epoch_open(spark: SparkSession) -> None:
    case = read_case(SUMS + "  - restart: {kill: before_commit}\n  - expect: {sums: []}\n")
    run = SparkRun(spark, case)
    [rows, *_] = case.script
    run.rows(rows.rows, kill=True)  # type: ignore[union-attr]
    [built] = run._queries
    assert not built.spark_query.isActive
    assert len(run.all_rows("sums")) == 2  # the sink has them
    assert not list((built.checkpoint / "spark" / "commits").glob("[0-9]*"))  # Spark has not committed
    run.restart()
    assert len(run.take("sums")) == 2  # the epoch ran again, and its rows are there once
    assert list((built.checkpoint / "spark" / "commits").glob("[0-9]*"))
    run.close()


def test_the_batch_of_a_case_is_compared(spark: SparkSession) -> None:
    text = """
name: the clock differs
pipeline:
  sources: {tx: {memory: {}, schema: v int}}
  steps: {stamped: {from: tx, select: [v, current_timestamp() > timestamp'2000-01-01' as late]}}
script:
  - rows: {tx: [{v: 1}]}
  - expect: {stamped: [{v: 1, late: false}]}
"""
    assert run_case(text, spark=spark).passed
    assert run_case(text, batch=True, spark=spark).failure == (
        "<text>:2:1: the rows of the batch (expected) differ from those of the stream (came)\n"
        "stamped: expected 1 row, 1 row came\n"
        "  missing     {v: 1, late: true}\n"
        "  came        {v: 1, late: false}\n"
        "              ^ late: expected true, got false"
    )


PIPELINE = """
name: whole
sources:
  tx:
    memory: {rows: [{k: a, v: 1, ts: 1}, {k: b, v: 2, ts: 11}, {k: a, v: 3, ts: 12}]}
    schema: k string, v int, ts timestamp
    event_time: {column: ts, out_of_order: 1 minute}
steps:
  sums: {from: tx, key_by: k, window: {tumbling: 10 seconds}, emit: {late_rows: count}, aggregate: {s: sum(v)}}
  totals: {from: tx, key_by: k, aggregate: {s: sum(v), last: max(ts)}}
sinks:
  out: {from: sums, memory: {name: never-written}}
  table: {from: totals, memory: {name: never-written}, mode: complete}
"""


@pytest.mark.parametrize("document", [PIPELINE], ids=["windows and running totals"])
def test_a_whole_pipeline_as_stream_and_as_batch(spark: SparkSession, document: str) -> None:
    assert stream_equals_batch(Pipeline.from_yaml_text(document), spark=spark) == []


BEAM = Path(__file__).parents[1] / "transcripts" / "beam" / "trigger_transcripts.yaml"
SAMPLE = ("fixed default late data", "early late sessions", "discarding early fixed")


def test_a_sample_of_what_runs_in_process_passes_through_spark_too(spark: SparkSession) -> None:
    actual = [case for case in read_file(BEAM) if isinstance(case, Case) and case.name in SAMPLE]
    assert len(actual) == len(SAMPLE)
    assert all(runs_in_kernel(case) for case in actual)
    outcomes = run_cases([replace(case, through="spark") for case in actual], spark=spark)
    assert [outcome.failure for outcome in outcomes] == [""] * len(SAMPLE)


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("script:", "through: spark\nscript:"),
        ("  - expect", "  - restart: kill\n  - expect"),
        ("event_time: {column: ts}", "event_time: {column: ts, idle: 1 minute}"),
        ("from: tx", "from: tx, where: v > 0"),
        ("aggregate", "emit: {late_rows: count}, aggregate"),
    ],
)
def test_what_the_driver_cannot_show_goes_through_spark(change: str, to: str) -> None:
    text = (
        "name: x\npipeline:\n"
        "  sources: {tx: {memory: {}, schema: 'v int, ts timestamp', event_time: {column: ts}}}\n"
        "  steps: {n: {from: tx, window: {tumbling: 1 s}, aggregate: {n: count(*)}}}\n"
        "script:\n  - expect: {n: []}\n"
    )
    assert runs_in_kernel(read_case(text))
    assert not runs_in_kernel(read_case(text.replace(change, to, 1)))


DYING = """
name: a session grows, dies and grows
pipeline:
  sources: {s: {memory: {}, schema: "v int, ts timestamp", event_time: {column: ts}}}
  steps: {out: {from: s, window: {session: 10 seconds}, aggregate: {vs: collect_list(v)}}}
script:
  - rows: {s: [{v: 1, ts: 1}]}
  - restart: kill
  - rows: {s: [{v: 2, ts: 5}]}
  - restart: {kill: before_commit}
  - watermark: {s: 15}
  - expect: {out: [{window: {start: 1, end: 15}, vs: [1, 2]}]}
"""


def test_a_death_without_a_query_goes_on_from_the_state_and_does_the_epoch_again(spark: SparkSession) -> None:
    case = replace(read_case(DYING), through="kernel")
    assert runs_in_kernel(case)
    assert not runs_in_kernel(replace(case, through="any"))
    assert run_case(case, spark=spark).failure == ""


def test_an_epoch_that_gives_other_rows_when_it_is_done_again_is_reported() -> None:
    pane, other = {"__main": {"n": 1}}, {"__main": {"n": 2}}
    check_replays({"doomed": [None, [pane, other]], "events": [[pane], [other, pane]]})
    with pytest.raises(
        TranscriptError, match=r"micro-batch 1 emitted .*'n': 1.* before the run was killed, and .*'n': 2"
    ):
        check_replays({"doomed": [None, [pane]], "events": [[pane], [other]]})


@pytest.mark.parametrize("file", ["windows_kernel.yaml", "windows_native.yaml"])
def test_windows_with_late_rows_equal_their_batch(spark: SparkSession, file: str) -> None:
    """The late rows are left out of the batch.

    Where Spark dropped some uncounted, the case is not compared.
    """
    [first, second, *_] = read_file(BEAM.parents[1] / "pipelines" / file)
    outcomes = run_cases([first, second], batch=True, spark=spark)
    assert [outcome.failure for outcome in outcomes] == ["", ""]


EVERYWHERE = ("beam", "contract", "windows")


def test_a_sample_of_transcripts_equals_their_batch(spark: SparkSession) -> None:
    """Every sixth case that runs without a query.

    The others take `headrace test --batch tests/transcripts`.
    """
    files = [path for folder in EVERYWHERE for path in sorted((BEAM.parents[1] / folder).glob("*.yaml"))]
    cases = [
        case for path in files for case in read_file(path) if isinstance(case, Case) and runs_in_kernel(case)
    ]
    missing_some = [case for case in cases if case.name.startswith("lateness holds for each sliding window")]
    outcomes = run_cases([*cases[::6], *missing_some], batch=True, spark=spark)
    assert len(outcomes) > 10
    assert [outcome.failure for outcome in outcomes if not outcome.passed] == []
