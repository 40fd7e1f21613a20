"""`headrace draw` reports errors before Spark starts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import TranscriptError
from headrace.testing.drawing import draw

Call = Callable[..., "subprocess.CompletedProcess[str]"]
CASE = """
name: rows pass
pipeline:
  sources: {tx: {memory: {}, schema: "v int"}}
  steps: {all: {from: tx, where: "true"}}
script:
  - expect: {all: []}
"""


def test_a_file_that_is_not_there_is_reported(call: Call) -> None:
    message = call("draw", "nowhere.yaml")
    assert message.returncode == 2
    assert "nowhere.yaml: no such file" in message.stderr


def test_a_case_that_is_not_there_is_reported(call: Call, write: Callable[[str, str], Path]) -> None:
    write("cases.yaml", CASE)
    message = call("draw", "cases.yaml", "--case", "rows pas by")
    assert message.returncode == 2
    assert "no case is named 'rows pas by'" in message.stderr
    assert "rows pass" in message.stderr


def test_a_case_without_a_window_is_reported_before_spark_starts(
    write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start() -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("headrace.testing.drawing.test_session", start)
    with pytest.raises(TranscriptError, match="there is nothing to draw: no step has a window or is a join"):
        draw(write("cases.yaml", CASE))


FRAUD = """
name: fraud
sources: {tx: {memory: {}, schema: "card string, amount double, ts timestamp", event_time: ts}}
steps:
  hits:
    from: tx
    key_by: card
    match: {steps: [{small: amount < 1}, {large: {followed_by: amount > 500}}], within: 1 minute}
  falls:
    sql: |
      select * from tx match_recognize (partition by card order by ts pattern (high low+) define low as amount < prev(amount))
sinks: {out: {from: hits, memory: {}}, more: {from: falls, memory: {}}}
"""


def test_the_patterns_of_a_pipeline_are_drawn_as_state_diagrams(
    call: Call, write: Callable[[str, str], Path]
) -> None:
    write("fraud.yaml", FRAUD)
    message = call("draw", "fraud.yaml")
    assert message.returncode == 0, message.stderr
    picture = Path("fraud.svg").read_text()
    assert picture.startswith("<svg ")
    assert all(f">{word}</text>" in picture for word in ("small", "amount &lt; 1", "followed by", "large"))
    assert all(f">{word}</text>" in picture for word in ("falls", "HIGH", "LOW", "amount &lt; prev(amount)"))


def test_a_file_that_cannot_be_read_or_written_is_reported(
    call: Call, write: Callable[[str, str], Path]
) -> None:
    Path("cases.yaml").write_bytes(b"\xff\xfe")
    assert "cases.yaml: expected UTF-8 text, got the byte 0xff" in call("draw", "cases.yaml").stderr
    write("fraud.yaml", FRAUD)
    Path("pictures").mkdir()
    message = call("draw", "fraud.yaml", "-o", "pictures")
    assert (message.returncode, message.stderr) == (
        2,
        "error: --output: pictures cannot be written: Is a directory\n",
    )


def test_a_pipeline_without_a_pattern_has_nothing_to_draw(call: Call) -> None:
    message = call("draw", "good.py")
    assert message.returncode == 2
    assert "good.py: nothing to draw: no step has a `match` or a MATCH_RECOGNIZE" in message.stderr


def test_a_pattern_is_a_mermaid_state_diagram(call: Call, write: Callable[[str, str], Path]) -> None:
    write("fraud.yaml", FRAUD)
    message = call("explain", "fraud.yaml", "--mermaid", "--step", "hits")
    assert message.stdout.startswith("stateDiagram-v2\n")
    assert "s0 --> s1 : followed by" in message.stdout
    alone = call("explain", "fraud.yaml", "--step", "hits")
    assert (alone.returncode, alone.stderr) == (
        2,
        "error: explain: --step requires --mermaid\n  hint: add --mermaid\n",
    )
    wrong = call("explain", "fraud.yaml", "--mermaid", "--step", "hit")
    assert "no step `hit` with a pattern\n  hint: did you mean `hits`?" in wrong.stderr


def test_explain_describes_a_pattern_in_words(call: Call, write: Callable[[str, str], Path]) -> None:
    write("fraud.yaml", FRAUD)
    message = call("explain", "fraud.yaml").stdout
    assert "small, followed by large · by card · within 1 minute" in message
    assert "small: amount < 1" in message
    assert "large: amount > 500" in message
    assert "partial matches of each card, kept 1 minute" in message
