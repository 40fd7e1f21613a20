"""Fail-points raise in tests and kill the process if the environment variable is set."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from headrace.connectors import failpoints


def test_armed_point_raises_the_nth_time_and_then_no_more() -> None:
    with failpoints.arm("a.step", 2):
        failpoints.reach("a.step")
        failpoints.reach("b.step")
        with pytest.raises(failpoints.Crash, match=r"a\.step"):
            failpoints.reach("a.step")
    failpoints.reach("a.step")


@pytest.mark.parametrize(("failpoint", "output"), [("a", ""), ("a@2", "1\n"), ("b@2", "1\n2\n3\n")])
def test_environment_kills_the_process_at_the_nth_time(failpoint: str, output: str) -> None:
    code = "from headrace.connectors.failpoints import reach\nfor n in (1, 2, 3): reach('a'); print(n, flush=True)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, failpoints.VARIABLE: failpoint},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == output
    assert ended.returncode == (0 if failpoint == "b@2" else -signal.SIGKILL)
