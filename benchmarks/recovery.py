"""The time from the death of a run to the first epoch that its successor commits, with and without a standby.

    python -m benchmarks.recovery [--kills 3]

A run of a window per key reads files and is killed with SIGKILL in the middle of an epoch. Its successor is a
new process that starts at the moment of the kill, or a standby that was waiting. Prints the seconds until the
successor has committed an epoch, once per kill.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median

from benchmarks.topics import exit_on_sigterm
from headrace.checkpoints.layout import last_entry

FILES = 2000
ROWS = 200
EPOCHS = 3
"""Epochs that a run commits before it is killed."""
TIMEOUT = 300.0
PIPELINE = """name: recovery
sources:
  tx:
    files: {path: in, format: json, max_files_per_batch: 1, schema: "card string, ts timestamp"}
    event_time: {column: ts, out_of_order: 1 second}
steps:
  totals: {from: tx, key_by: card, window: {tumbling: 10 seconds}, aggregate: {n: count(*)}}
sinks:
  table: {from: totals, sqlite: {path: out.db, table: totals, key: [card, window]}}
"""


def main() -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(description="Recovery with and without a standby.")
    parser.add_argument("--kills", type=int, default=3)
    kills = parser.parse_args().kills
    with exit_on_sigterm():
        measure_all(kills)


def measure_all(kills: int) -> None:
    """Kill runs with either successor, and print the medians."""
    for name, measure in (("new process", measure_restart), ("standby", measure_standby)):
        seconds = []
        for _ in range(kills):
            with (
                tempfile.TemporaryDirectory(prefix="headrace-recovery-") as directory,
                ExitStack() as processes,
            ):
                write_input(Path(directory))
                seconds.append(measure(Path(directory), processes))
        shown = ", ".join(f"{each:.1f}" for each in sorted(seconds))
        sys.stdout.write(f"{name:<12} {median(seconds):6.1f} s  ({shown})\n")
        sys.stdout.flush()


def write_input(work: Path) -> None:
    """Write the files: more than the runs read."""
    (work / "in").mkdir()
    (work / "recovery.yaml").write_text(PIPELINE)
    for number in range(FILES):
        minute, second = divmod(number, 60)
        at = f"2026-03-02T{9 + minute // 60:02}:{minute % 60:02}:{second:02}Z"
        rows = (json.dumps({"card": f"c{row}", "ts": at}) for row in range(ROWS))
        (work / "in" / f"{number:05}.json").write_text("\n".join(rows))


def measure_restart(work: Path, processes: ExitStack) -> float:
    """Return the recovery time of a new process."""
    first = processes.enter_context(run(work))
    await_condition(lambda: last_commit(work) >= EPOCHS)
    killed = kill(first)
    processes.enter_context(run(work))
    return seconds_to_commit(work, killed)


def measure_standby(work: Path, processes: ExitStack) -> float:
    """Return the recovery time with a standby."""
    first = processes.enter_context(run(work))
    await_condition(lambda: last_commit(work) >= EPOCHS)
    standby = processes.enter_context(run(work, "--standby"))
    await_condition(lambda: "standby: waiting" in (work / f"{standby.pid}.txt").read_text())
    return seconds_to_commit(work, kill(first))


def kill(process: subprocess.Popen[bytes]) -> float:
    """Kill the driver of a run, and return the time at which it was dead."""
    process.kill()
    process.wait()
    return time.monotonic()


def seconds_to_commit(work: Path, killed: float) -> float:
    """Return the seconds from the kill to the next commit, which is that of the successor."""
    before = last_commit(work)
    await_condition(lambda: last_commit(work) > before)
    return time.monotonic() - killed


@contextmanager
def run(work: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the pipeline from the command line; kill it and its JVM in the end.

    Its messages go to a file named after the process.
    """
    command = [sys.executable, "-m", "headrace.cli.app", "run", "recovery.yaml", *options]
    draft = work / "messages"
    with draft.open("wb") as messages:
        process = subprocess.Popen(command, cwd=work, stderr=messages, start_new_session=True)
    draft.rename(work / f"{process.pid}.txt")
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def last_commit(work: Path) -> int:
    """Return the last committed epoch; -1 before the first."""
    return last_entry(work / ".headrace" / "recovery" / "queries" / "totals" / "spark" / "commits")


def await_condition(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: it did not within `TIMEOUT` seconds.
    """
    deadline = time.monotonic() + TIMEOUT
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)


if __name__ == "__main__":
    main()
