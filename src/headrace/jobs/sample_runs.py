"""Test runs: a document on sample rows, in a process of its own, without writing to its sinks."""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.errors import DocumentError, Problem, without_passwords
from headrace.jobs.directory import read_json, write_json
from headrace.jobs.process import environment_of, kill_group
from headrace.jobs.security.documents import apply_defaults, check_submission
from headrace.jobs.security.policy import Policy
from headrace.jobs.states import ConflictError
from headrace.jobs.submission import Submission

COMMAND = (sys.executable, "-P", "-m", "headrace.testing.sample_run")
SECONDS = 90
"""The time limit of a run, the start of Spark included."""
MAX_RUNS = 2
"""Runs at the same time; each has a JVM."""
FILE = "pipeline.yaml"
"""The name of the document in errors."""
_LOG_BYTES = 2000


class SampleRuns:
    """Runs documents on sample rows under the policy of a service."""

    def __init__(self, policy: Policy, *, command: Sequence[str] = COMMAND, seconds: float = SECONDS) -> None:
        self._policy = policy
        self._command = tuple(command)
        self._seconds = seconds
        self._slots = threading.BoundedSemaphore(MAX_RUNS)
        self._processes: dict[str, int] = {}

    def run(self, document: str, rows: Mapping[str, str], directory: str | None = None) -> dict[str, Any]:
        """Run a document on rows and return the rows of its sinks and side outputs.

        The document is checked as a submission is; no connector of it is opened.

        Args:
            document: the YAML document.
            rows: JSON lines by source or table.
            directory: the working directory, for relative paths in the document.

        Raises:
            ConflictError: too many runs are under way.
            OptionError: the working directory is not accepted.
            DocumentError: the document or a row is wrong, or the run failed or took too long.
            PlanError: the pipeline can't run as written.
        """
        submission = Submission(FILE, {FILE: document.encode(errors="replace")}, directory=directory)
        check_submission(submission, self._policy)
        settings = apply_defaults(submission.settings, self._policy)
        memory = {"spark.driver.memory": settings.memory} if settings.memory else {}
        request = {"document": document, "file": FILE, "rows": dict(rows), "conf": memory}
        with self._slot(), tempfile.TemporaryDirectory(prefix="headrace-test-") as place:
            write_json(Path(place) / "request.json", request | {"seconds": int(self._seconds) + 5})
            return self._answer(Path(place), directory)

    def close(self) -> None:
        """Kill the runs that are under way."""
        for run, pid in list(self._processes.items()):
            kill_group(pid, run)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._slots.acquire(blocking=False):
            raise ConflictError(f"{MAX_RUNS} test runs are under way", where="test", hint="try again later")
        try:
            yield
        finally:
            self._slots.release()

    def _answer(self, place: Path, directory: str | None) -> dict[str, Any]:
        status = self._execute(place, directory or str(place))
        answer = read_json(place / "result.json")
        if answer is None:
            raise DocumentError([self._describe_end(place, status)])
        if problems := answer.get("problems"):
            raise DocumentError([Problem(**problem) for problem in problems])
        result: dict[str, Any] = answer["result"]
        return result

    def _execute(self, place: Path, directory: str) -> int | None:
        """Run the process and return its exit status; None if it was killed at the time limit."""
        run = f"test-{secrets.token_hex(6)}"
        with (place / "log.txt").open("wb") as log:
            process = subprocess.Popen(
                [*self._command, str(place)],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment_of(run, self._policy.access),
            )
        self._processes[run] = process.pid
        try:
            return process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            kill_group(process.pid, run)  # also the JVM of a process that crashed
            process.wait()
            del self._processes[run]

    def _describe_end(self, place: Path, status: int | None) -> Problem:
        if status is None:
            hint = "use fewer rows or shorter steps"
            return Problem("test", f"the run took longer than {self._seconds:g} seconds", hint)
        limit = self._policy.memory_limit
        hint = f"the memory limit is {limit}" if limit else ""
        ending = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        log = (place / "log.txt").read_bytes()[-_LOG_BYTES:].decode(errors="replace").strip().splitlines()
        last = f": {without_passwords(log[-1])}" if log else ""
        return Problem("test", f"the process of the run ended with {ending}{last}", hint)
