"""Output of `headrace run`: the status line, the summary, invalid options. Runs are in tests/spark."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from headrace.cli.commands.run import resume_command
from headrace.cli.terminal.summary import Summary
from headrace.cli.terminal.views import JsonView, LiveView, PlainView, View, view_for
from headrace.explain.text import text_of
from headrace.runtime.progress.interrupts import Interrupts
from headrace.runtime.progress.row_accounting import RowAccounting
from headrace.runtime.progress.status import QueryStatus, Status
from headrace.runtime.progress.status_text import status_text
from headrace.runtime.run import STARTING_SPARK

Call = Callable[..., subprocess.CompletedProcess[str]]

STATUS = Status(
    active=True,
    rows_in=12345,
    rows_out=678,
    rate=1030.4,
    latency_ms=420.0,
    watermark="2026-03-01T12:00:05.250Z",
    late=3,
    dead_letters=1,
    queries=(QueryStatus("totals", 7),),
    sinks={"totals_table": 600, "alerts": 78},
)


def summary(**changed: object) -> Summary:
    facts = {
        "pipeline": "fraud",
        "ending": "stopped",
        "seconds": 12.34,
        "status": STATUS,
        "directory": Path(".headrace/fraud"),
        "command": "headrace run fraud.py",
    }
    return Summary(**{**facts, **changed})  # type: ignore[arg-type]


def test_status_line_has_rows_rate_latency_watermark_late_and_dead_letters() -> None:
    assert status_text(STATUS, 3725) == (
        "1:02:05 · in 12,345 (1,030/s) · out 678 · latency 420 ms · watermark 2026-03-01 12:00:05 · late 3 "
        "· dead letters 1"
    )


def test_status_line_omits_unknown_values() -> None:
    empty = Status(True, 0, 0, 0.0, None, None, 0, 0)
    assert status_text(empty, 3) == "00:03 · in 0 (0/s) · out 0 · late 0 · dead letters 0"


def test_status_line_omits_values_that_real_time_mode_does_not_count() -> None:
    alive = replace(STATUS, counted=False, latency_ms=None)
    assert status_text(alive, 3) == "00:03 · in 12,345 (1,030/s) · watermark 2026-03-01 12:00:05"
    assert "written" not in text_of(summary(status=alive).lines())


def test_status_line_shows_what_is_under_way_before_the_first_epoch() -> None:
    starting = Status(True, 0, 0, 0.0, None, None, 0, 0, phase="reading")
    assert status_text(starting, 3) == "00:03 · reading"


def test_summary_lists_counts_and_how_to_resume(tmp_path: Path) -> None:
    status = replace(STATUS, unrouted={"totals.late": 2, "pairs.late": 0, "tx.dead_letters": 0})
    assert text_of(summary(directory=tmp_path, status=status).lines()).splitlines() == [
        "fraud stopped in 12.3 s",
        "  read         12,345 rows  1,030/s",
        "  written      678 rows  totals_table 600, alerts 78",
        f"  late         3 rows  2 stored in {tmp_path}/unrouted/totals.late",
        "  dead letters 1 record",
        "  watermark    2026-03-01 12:00:05",
        f"  checkpoint   in {tmp_path}",
        "  to resume    headrace run fraud.py",
    ]


ACCOUNTED = replace(
    STATUS,
    late=2,
    steps={
        "totals": RowAccounting.between(
            {}, {"rows": 9, "processed": 7, "late": 2, "assigned": 7, "emitted": 3, "dropped": 1}
        )
    },
)


def test_row_accounting_is_in_the_status_line_and_the_summary() -> None:
    assert "in open windows 3 · late 2 · dropped 1 · dead letters 1" in status_text(ACCOUNTED, 0)
    text = text_of(summary(status=ACCOUNTED).lines())
    assert "  totals       9 rows = 3 emitted + 3 in open windows + 1 dropped + 2 late\n" in text
    assert "do not add up" not in text
    assert summary(status=ACCOUNTED).data()["balanced"]
    assert summary(status=ACCOUNTED).data()["steps"]["totals"]["in_open_windows"] == 3


def test_rows_that_do_not_add_up_are_reported() -> None:
    off = replace(STATUS, steps={"totals": RowAccounting.between({}, {"rows": 9})})
    assert "  totals       9 rows = 0  these do not add up: please report it" in text_of(
        summary(status=off).lines()
    )
    assert not summary(status=off).data()["balanced"]


def test_the_command_that_resumes_a_fresh_run_does_not_start_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/headrace", "run", "my fraud.py", "--fresh", "--once"])
    assert resume_command() == "headrace run 'my fraud.py' --once"


def test_drained_run_cannot_be_resumed() -> None:
    text = text_of(summary(ending="drained", command="").lines())
    assert not [word for word in ("to resume", "checkpoint", "watermark") if word in text]


def test_json_lines_are_one_object_each_and_end_with_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    view = JsonView("fraud", period=0)
    view.show(STATUS)
    view.end(summary())
    status, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (status["event"], status["rows_in"], status["queries"][0]["epoch"]) == ("status", 12345, 7)
    assert (last["event"], last["resume"], last["sinks"]) == (
        "summary",
        "headrace run fraud.py",
        STATUS.sinks,
    )


def test_plain_lines_respect_the_period(capsys: pytest.CaptureFixture[str]) -> None:
    often, seldom = PlainView("fraud", period=0), PlainView("fraud", period=3600)
    for view in (often, seldom):
        view.show(STATUS)
        view.show(STATUS)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_terminal_gets_one_live_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    view = view_for("fraud", period=1, quiet=False, json=False)
    assert isinstance(view, LiveView)
    with view:
        view.show(STATUS)
        view.note("stopping")
    view.end(summary())
    printed = capsys.readouterr().err
    assert "in 12,345 (1,030/s)" in printed
    assert "stopping" in printed
    assert "to resume" in printed


def test_quiet_shows_only_notes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = view_for("fraud", period=0, quiet=True, json=False)
    assert type(view) is View
    with view:
        view.show(STATUS)
        view.note("stopping")
    view.end(summary())
    assert capsys.readouterr().err == "stopping\n"


@pytest.mark.parametrize(
    ("words", "text"), [((), "words: starting Spark ...\n"), (("--quiet",), ""), (("--json",), "")]
)
def test_without_a_terminal_one_line_is_printed_while_spark_starts(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], text: str
) -> None:
    def start(graph: object, options: object, on_phase: Callable[[str], None]) -> NoReturn:
        on_phase(STARTING_SPARK)
        on_phase("planning")
        raise SystemExit

    monkeypatch.setattr("headrace.runtime.run.start", start)
    assert call("run", "good.py", *words).stderr == text


def test_interrupts_while_spark_starts_are_acknowledged(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(graph: object, options: object, on_phase: Callable[[str], None]) -> None:
        on_phase(STARTING_SPARK)
        os.kill(os.getpid(), signal.SIGINT)
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:  # as py4j does
            logging.exception("KeyboardInterrupt while sending command.")
            raise

    monkeypatch.setattr("headrace.runtime.run.start", start)
    done = call("run", "good.py")
    assert done.returncode == 130
    [_, first, second] = done.stderr.splitlines()
    assert "stopping when the run has started; press Ctrl-C again" in first
    assert "interrupted" in second


def test_first_interrupt_is_counted_and_the_second_raises() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.count == 1
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--once", "--drain"), "run: expected --once or --drain, got both"),
        (("--once", "--until", "drained"), "run: expected --once or --until drained, got both"),
        (("--until", "drained", "--every", "1 s"), "run: expected --every or --until drained, got both"),
        (("--until", "caught_up", "--mode", "real_time"), "expected --mode real_time or --until caught_up"),
        (("--real-time", "--mode", "micro_batch"), "expected --real-time or --mode micro_batch, got both"),
        (("--once", "--every", "1 s"), "run: expected --every or --once, got both"),
        (("--once", "--real-time"), "run: expected --real-time or --once, got both"),
        (("--every", "soon"), "--every: expected a duration, got 'soon'"),
        (("--conf", "spark.x"), "--conf: expected KEY=VALUE, got 'spark.x'"),
        (("--status-every", "5 parsecs"), "--status-every: expected a duration, got '5 parsecs'"),
        (("--guarantee", "always"), "'always' is not one of 'at_most_once', 'at_least_once', 'exactly_once'"),
        (("--pipeline", "wrods"), "good.py: unknown pipeline `wrods`"),
    ],
)
def test_invalid_options_are_reported_before_spark_starts(
    call: Call, words: tuple[str, ...], text: str
) -> None:
    done = call("run", "good.py", *words)
    assert done.returncode == 2
    assert text in " ".join(done.stderr.replace("│", " ").split())


def test_invalid_pipeline_is_not_started(call: Call, write: Callable[[str, str], Path]) -> None:
    write("empty.py", 'from headrace import Pipeline\nPipeline("empty")\n')
    done = call("run", "empty.py")
    assert done.returncode == 2
    assert done.stderr.startswith("error: pipeline `empty`: it has no steps\n")


def test_summary_of_a_standby_has_the_reason_of_its_end() -> None:
    ended = summary(ending="standby", reason="the run of process 7 was stopped")
    assert text_of(ended.lines()).endswith(" standby ended: the run of process 7 was stopped")
    assert (ended.data()["ending"], ended.data()["reason"]) == ("standby", "the run of process 7 was stopped")
    assert "reason" not in summary().data()
