"""`headrace mqtt`: up, pub and sub, in processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import TIMEOUT

COMMAND = [sys.executable, "-m", "headrace.cli.app", "mqtt"]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a broker that `headrace mqtt up` has started."""
    words = [*COMMAND, "up", "--port", "0", "--dir", str(tmp_path), "--json"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    text = ""
    while not text.rstrip().endswith("}"):
        text += running.stdout.readline()
    yield json.loads(text)["url"]
    running.send_signal(signal.SIGINT)
    assert running.wait(TIMEOUT) == 0
    running.stdout.close()


def run(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], input=stdin, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def test_messages_go_from_pub_to_sub(url: str) -> None:
    lines = run("pub", "building/1/t", "--url", url, "--retain", stdin="20\n21.5\n")
    assert "2 messages to building/1/t" in lines.stderr + lines.stdout
    assert run("pub", "building/2/{t}", "19", "--retain", "--url", url).returncode == 0
    shown = run("sub", "building/#", "--max", "2", "--json", "--url", url)
    received = sorted((json.loads(line) for line in shown.stdout.splitlines()), key=lambda row: row["topic"])
    expected = {"topic": "building/1/t", "payload": "21.5", "qos": 1, "retained": True}
    assert received == [expected, {**expected, "topic": "building/2/{t}", "payload": "19"}]
    plain = run("sub", "building/1/t", "--max", "1", "--url", url)
    assert plain.stdout == "building/1/t 21.5\n"


def test_mistakes_end_with_status_2_or_1_and_a_hint() -> None:
    wrong = run("sub", "building/#/t")
    assert wrong.returncode == 2
    assert "`#` before its last level" in wrong.stderr
    away = run("pub", "a", "b", "--url", "mqtt://127.0.0.1:1")
    assert away.returncode
    assert "no MQTT broker answers at mqtt://127.0.0.1:1" in away.stderr
    assert "headrace mqtt up" in away.stderr
