"""Reading the files of a job: side outputs and logs."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from headrace.dashboard.feeds.base import JobFigures, StepFigures
from headrace.dashboard.stored.checkpoints import QueryCheckpoint
from headrace.dashboard.stored.logs import LogFilter, LogRecord, read_log, spark_log
from headrace.dashboard.stored.side_outputs import list_side_outputs, read_payloads, read_rows
from headrace.dashboard.stored.sinks import list_sinks


def texts(log: Path, wanted: LogFilter | None = None, offset: int = -1) -> list[str]:
    return [record.text for record in read_log(log, wanted, offset=offset).records]


def write_rows(checkpoint: Path, name: str, *rows: Mapping[str, object]) -> None:
    directory = checkpoint / "unrouted" / name
    directory.mkdir(parents=True)
    if rows:
        (directory / "part.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_payload_of_a_dead_letter_is_decoded(tmp_path: Path) -> None:
    raw = base64.b64encode(b'{"id": 1').decode()
    write_rows(tmp_path, "tx.dead_letters", {"raw": raw, "reason": "not JSON", "field": None, "position": 3})
    [row] = read_rows(tmp_path, "tx.dead_letters")
    assert (row.reason, row.summary, row.values["position"]) == ("not JSON", '{"id": 1', "3")


def test_newest_rows_come_first_and_can_be_searched(tmp_path: Path) -> None:
    write_rows(tmp_path, "totals.late", *[{"reason": "late", "card": f"c{n}"} for n in range(5)])
    assert [row.values["card"] for row in read_rows(tmp_path, "totals.late", limit=2)] == ["c4", "c3"]
    assert [row.values["card"] for row in read_rows(tmp_path, "totals.late", search="C1")] == ["c1"]


def test_late_row_shows_by_how_much(tmp_path: Path) -> None:
    late, undated = {"reason": "too_late", "late_by": 265.396}, {"reason": "no_event_time", "late_by": None}
    write_rows(tmp_path, "totals.late", late, undated)
    reasons = [row.reason for row in read_rows(tmp_path, "totals.late")]
    assert reasons == ["no_event_time", "late by 4 min 25 s"]


def test_outputs_with_rows_are_listed_first(tmp_path: Path) -> None:
    write_rows(tmp_path, "a.late")
    write_rows(tmp_path, "tx.dead_letters", {"reason": "r"})
    assert [(each.name, each.kind) for each in list_side_outputs(tmp_path)] == [
        ("tx.dead_letters", "dead letters"),
        ("a.late", "late data"),
    ]


def test_name_of_an_output_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "secret.d").mkdir()
    (tmp_path / "secret.d" / "x.json").write_text('{"reason": "secret"}\n')
    write_rows(tmp_path / "checkpoint", "tx.late", {"reason": "r"})
    assert read_rows(tmp_path / "checkpoint", "../../secret.d") == []


def test_log_is_continued_where_the_last_read_ended(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    assert texts(log) == []
    log.write_text("one\ntwo\nthr")
    first = read_log(log)
    assert [record.text for record in first.records] == ["one", "two"]
    log.write_text("one\ntwo\nthree\n")
    assert texts(log, offset=first.offset) == ["three"]
    assert texts(log, LogFilter(search="O")) == ["one", "two"]


def test_offset_beyond_a_replaced_log_starts_over(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("new\n")
    assert texts(log, offset=10_000) == ["new"]


def test_records_have_time_level_step_and_epoch_and_are_filtered(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        "2026-03-02T09:00:00.120Z INFO  step=totals epoch=11 committed: 40 rows read\n"
        '{"card": "c1"}\n'
        "2026-03-02T09:00:01.000Z WARN  MicroBatchExecution: batch 12 took 9 s\n"
        "2026-03-02T09:00:02.000Z ERROR TaskSetManager: lost task\n"
        "java.lang.Exception: full\n"
        "\tat a.B.c(B.scala:7)\n"
    )
    first, row, slow, error = read_log(log).records
    assert first == LogRecord("committed: 40 rows read", "2026-03-02T09:00:00.120Z", "INFO", "totals", "11")
    assert (row.level, row.text) == ("", '{"card": "c1"}')
    assert (slow.level, slow.epoch) == ("WARN", "12")
    assert error.text.splitlines()[1:] == ["java.lang.Exception: full", "\tat a.B.c(B.scala:7)"]
    assert read_log(log, LogFilter(level="WARN")).records == (slow, error)
    assert read_log(log, LogFilter(step="totals")).records == (first,)
    assert read_log(log, LogFilter(epoch="12")).records == (slow,)


def test_log_of_spark_is_that_of_the_process_of_the_attempt(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in (
        "spark-20260302-090000-17.log",
        "spark-20260302-090500-17.log",
        "spark-20260302-091000-18.log",
    ):
        (tmp_path / "logs" / name).write_text("x\n")
    assert spark_log(tmp_path, 17).name == "spark-20260302-090500-17.log"
    assert not spark_log(tmp_path, None).exists()


def test_payloads_of_dead_letters_become_lines_of_sample_rows(tmp_path: Path) -> None:
    raw = [b'{"id": "x"}', b"two\nlines", b'"quoted"', b"\xff", b" ", b"last"]
    letters = [{"raw": base64.b64encode(each).decode(), "reason": "r"} for each in raw]
    write_rows(tmp_path, "tx.dead_letters", *letters, {"reason": "without a payload"})
    payloads = read_payloads(tmp_path, "tx.dead_letters")
    assert payloads is not None
    lines = payloads.lines.split("\n")
    assert lines == ['{"id": "x"}', '"two\\nlines"', '"\\"quoted\\""', '" "', "last"]
    assert (payloads.source, payloads.count, payloads.unreadable, payloads.stored) == ("tx", 5, 1, 6)
    newest = read_payloads(tmp_path, "tx.dead_letters", limit=2)
    assert newest is not None
    assert newest.lines == '" "\nlast'
    assert read_payloads(tmp_path, "../tx.dead_letters") is None


def test_row_with_a_line_separator_of_unicode_is_one_row(tmp_path: Path) -> None:
    directory = tmp_path / "unrouted" / "totals.late"
    directory.mkdir(parents=True)
    (directory / "part.json").write_text('{"reason": "late", "note": "a\u2028b\x85c"}\n')
    [row] = read_rows(tmp_path, "totals.late")
    assert row.values["note"] == "a\u2028b\x85c"


def test_sink_has_the_epoch_of_its_ledger_beside_that_of_its_query() -> None:
    steps = [{"name": name, "kind": "sink", "facts": ["memory"]} for name in ("out", "printed")]
    plan = {"steps": steps, "queries": [{"name": "q", "sinks": ["out", "printed"]}]}
    figures = JobFigures(steps={"out": StepFigures(rows_out=5, ledger_epoch=39), "printed": StepFigures()})
    sinks = list_sinks(plan, figures, [QueryCheckpoint("q", 41, None, 2, 1.0)])
    assert [(sink.name, sink.epoch, sink.ledger) for sink in sinks] == [
        ("out", 41, 39),
        ("printed", 41, None),
    ]
