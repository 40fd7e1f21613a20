"""The text of `headrace jobs show`."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.commands.service.listing import describe_job


def attempt(number: int, ended: float | None, reason: str | None) -> dict[str, Any]:
    return {"number": number, "started": 100.0 * number, "ended": ended, "exit_reason": reason}


def test_show_prints_the_last_attempts_with_their_exit_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    ended = [attempt(number, 100.0 * number + 65, "no broker\ntraceback") for number in range(1, 7)]
    counts = dict.fromkeys(("rows_in", "rows_out", "late", "dead_letters", "lag", "watermark"))
    job = {
        **dict.fromkeys(("id", "name", "state", "owner", "version"), "x"),
        **{"attempts": 7, "restarts": 6, "pid": 1, "exit_reason": None, "error": None},
        "metrics": counts | {"latency_ms": dict.fromkeys(("p50", "p95", "p99"))},
        "history": [*ended, attempt(7, None, None)],
    }
    describe_job(job)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("attempt ")]
    assert len(printed) == 5
    assert printed[0] == "attempt 3      started 1970-01-01 00:05:00 UTC, ended after 01:05: no broker"
    assert printed[-1] == "attempt 7      started 1970-01-01 00:11:40 UTC"
