"""`headrace run` with Spark: it ends by itself, stops gracefully on Ctrl-C, and at once on the second."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.cli.app import main

WORDS = """
from headrace import Pipeline
from headrace.connectors.files import Files

words = Pipeline("words")
lines = words.read("lines", Files(path="in/"), format="text")
split = lines.select("explode(split(value, ' ')) as word")
split.where("{where}").write("out", Files(path="out/", format="json"))
"""
SLOW = "java_method('java.lang.Thread', 'sleep', 60000L) is null"
SMALL = ("--master", "local[2]", "--conf", "spark.driver.memory=1g")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("to be or\nnot to be\n")
    (tmp_path / "words.py").write_text(WORDS.format(where="true"))
    return tmp_path


def read_output(here: Path) -> list[str]:
    rows = [line for file in (here / "out").glob("*.json") for line in file.read_text().splitlines()]
    return sorted(json.loads(row)["word"] for row in rows)


@contextmanager
def start_process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A `headrace run` in a process of its own."""
    command = [sys.executable, "-m", "headrace.cli.app", "run", *words, *SMALL, "--status-every", "0.2 s"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env={**os.environ}, **pipes) as process:  # type: ignore[call-overload]
        limit = threading.Timer(300, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()


def read_messages(process: subprocess.Popen[str], wanted: str | Callable[[], bool]) -> str:
    """Read its standard error up to the line that holds `wanted`, or until `wanted` is true."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if (wanted in line) if isinstance(wanted, str) else wanted():
            return line
    raise AssertionError(f"never said {wanted!r}: {''.join(seen)}")


def test_once_processes_the_available_input_and_prints_how_to_resume(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["headrace", "run", "words.py", "--once"])
    with pytest.raises(SystemExit) as ended:
        main(["run", "words.py", "--once"])
    message = capsys.readouterr().err
    assert ended.value.code == 0, message
    assert read_output(here) == ["be", "be", "not", "or", "to", "to"]
    assert "words processed the available input" in message
    assert "written      6 rows  out 6" in message
    assert "to resume    headrace run words.py --once" in message


def test_json_ends_with_a_summary(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "words.py", "--drain", "--json"])
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["event"], last["ending"], last["rows_out"]) == ("summary", "drained", 6)


def test_failed_run_prints_where_its_log_is_and_exits_with_1(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = "raise_error('no such word') is null"
    (here / "words.py").write_text(WORDS.format(where=failing))
    with pytest.raises(SystemExit) as ended:
        main(["run", "words.py", "--once"])
    message = capsys.readouterr().err
    assert ended.value.code == 1, message
    assert "no such word" in message
    assert "Traceback" not in message
    assert f"log is in {Path('.headrace/words/logs')}" in message


def test_ctrl_c_stops_gracefully_and_the_next_run_resumes(here: Path) -> None:
    with start_process("words.py") as process:
        read_messages(process, "out 6")
        process.send_signal(signal.SIGINT)
        read_messages(process, "stopping")
        read_messages(process, "words stopped in")
        assert "to resume    headrace run words.py" in read_messages(process, "to resume")
        assert process.wait() == 0
    assert read_output(here) == ["be", "be", "not", "or", "to", "to"]


def test_second_ctrl_c_stops_at_once(here: Path) -> None:
    (here / "words.py").write_text(WORDS.format(where=SLOW))
    with start_process("words.py") as process:
        read_messages(process, lambda: any(Path(".headrace/words/queries").glob("*/spark/offsets/0")))
        process.send_signal(signal.SIGINT)
        read_messages(process, "stopping")
        process.send_signal(signal.SIGINT)
        read_messages(process, "stopped at once")
        assert process.wait() == 130
    assert not (here / "out").exists() or read_output(here) == []


def test_options_of_run_in_the_file_apply_and_are_printed(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "words.py").write_text(WORDS.format(where="true") + 'words.run(until="drained")\n')
    with pytest.raises(SystemExit) as ended:
        main(["run", "words.py"])
    printed = capsys.readouterr().err
    assert ended.value.code == 0, printed
    assert "words.py:9: run(...) sets until='drained'" in printed
    assert "words drained" in printed
    assert Path(".headrace/words/drained").exists()
